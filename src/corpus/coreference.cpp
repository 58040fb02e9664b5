#include "corpus/coreference.hpp"

#include <algorithm>

#include "base/fields.hpp"
#include "base/number_text.hpp"
#include "headscope/error.hpp"

namespace headscope::coreference {
namespace {

using fields::split;

// Far deeper than annotators nest; an open mention takes memory for each word until it closes.
constexpr std::size_t most_pending = 1000;

}  // namespace

EntityFields EntityFields::parse(std::string_view declaration) {
  EntityFields fields;
  const auto names = split(declaration, '-');
  for (std::size_t i = 1; i < names.size(); ++i) {
    if (names[i] == "etype") fields.type = i;
    if (names[i] == "head" || names[i] == "minspan") fields.head = i;
  }
  return fields;
}

MentionReader::MentionReader(std::string file, EntityFields fields, bool is_whole)
    : file_(std::move(file)), fields_(fields), whole_(is_whole) {}

void MentionReader::fail(std::size_t line, const std::string& problem) const {
  throw DataError(file_, std::to_string(line), problem);
}

void MentionReader::add(std::optional<Index> word, std::string_view entity, std::size_t line) {
  for (Open& mention : open_) mention.nodes.push_back(word);
  const std::string_view value = entity;
  while (!entity.empty()) {
    const bool opens = entity.starts_with('(');
    if (opens) entity.remove_prefix(1);
    const std::size_t end = std::min(entity.find_first_of("()"), entity.size());
    const bool closes = end < entity.size() && entity[end] == ')';
    const std::string_view content = entity.substr(0, end);
    if (content.empty() || (!opens && !closes)) {
      fail(line, "expected Entity= in brackets, got " + fields::quoted(value));
    }
    if (opens) open(content, word, line);
    if (closes) close(opens ? split(content, '-')[0] : content, line);
    entity.remove_prefix(end + (closes ? 1 : 0));
  }
}

MentionReader::Name MentionReader::parse_name(std::string_view text, std::size_t line) const {
  const std::size_t bracket = text.find('[');
  Name name{std::string(text.substr(0, bracket)), 1, 1};
  if (bracket != std::string_view::npos) {
    const std::string_view part = text.substr(bracket + 1);
    const std::size_t slash = std::min(part.find('/'), part.size());
    const auto number = parse_whole_number(part.substr(0, slash));
    const bool well_formed = part.ends_with(']') && slash < part.size();
    const auto count = well_formed
                           ? parse_whole_number(part.substr(slash + 1, part.size() - slash - 2))
                           : std::nullopt;
    if (!number || !count || *number < 1 || *number > *count) {
      fail(line, "expected a part like [1/2] of an entity, got " + fields::quoted(text));
    }
    name.part = *number;
    name.n_part = *count;
  }
  return name;
}

void MentionReader::open(std::string_view content, std::optional<Index> word, std::size_t line) {
  if (open_.size() + partial_.size() >= most_pending) {
    fail(line, "expected at most " + std::to_string(most_pending) +
                   " entities to be open at once, got more");
  }
  const auto values = split(content, '-');
  const auto field = [&](std::optional<std::size_t> position) {
    return position && *position < values.size() ? std::string(values[*position]) : std::string();
  };
  open_.push_back({parse_name(values[0], line),
                   field(fields_.type),
                   field(fields_.head),
                   line,
                   n_opened_++,
                   {word}});
}

void MentionReader::close(std::string_view content, std::size_t line) {
  const Name name = parse_name(content, line);
  const auto found = std::ranges::find(open_.rbegin(), open_.rend(), name, &Open::name);
  if (found == open_.rend()) {
    if (whole_)
      fail(line, "expected an open bracket of entity " + fields::quoted(content) + ", got none");
    return;
  }
  Open mention = std::move(*found);
  open_.erase(std::next(found).base());
  if (name.n_part == 1) {
    complete_.push_back(std::move(mention));
  } else {
    add_part(std::move(mention));
  }
}

void MentionReader::add_part(Open part) {
  if (part.name.part == 1) {
    partial_.push_back(std::move(part));
    return;
  }
  Name previous = part.name;
  --previous.part;
  const auto found = std::ranges::find(partial_, previous, &Open::name);
  if (found == partial_.end()) {
    if (whole_) {
      fail(part.line, "expected part " + std::to_string(previous.part) + " of entity " +
                          fields::quoted(previous.identity) + " before part " +
                          std::to_string(part.name.part) + ", got none");
    }
    return;
  }
  found->name = part.name;
  found->nodes.insert(found->nodes.end(), part.nodes.begin(), part.nodes.end());
  if (part.name.part == part.name.n_part) {
    complete_.push_back(std::move(*found));
    partial_.erase(found);
  }
}

Index MentionReader::head_word(const Open& mention, const std::vector<Index>& words,
                               const Heads& heads) const {
  std::vector<Index> candidates;
  for (const std::string_view text : split(mention.head, ',')) {
    const auto position = parse_whole_number(text);
    if (!position) continue;
    if (*position < 1 || *position > mention.nodes.size()) {
      fail(mention.line, "expected a head position from 1 to " +
                             std::to_string(mention.nodes.size()) + " in entity " +
                             fields::quoted(mention.name.identity) + ", got " +
                             fields::quoted(text));
    }
    if (const auto word = mention.nodes[*position - 1]) candidates.push_back(*word);
  }
  if (candidates.empty()) candidates = words;
  for (const Index word : candidates) {
    const auto head = heads[word];
    if (!head || !std::ranges::binary_search(words, *head)) return word;
  }
  return candidates[0];
}

std::vector<Mention> MentionReader::finish(const Heads& heads) {
  if (whole_ && !open_.empty()) {
    fail(open_[0].line, "expected a closing bracket of entity " +
                            fields::quoted(open_[0].name.identity) + " in the document, got none");
  }
  if (whole_ && !partial_.empty()) {
    const Name& name = partial_[0].name;
    fail(partial_[0].line, "expected part " + std::to_string(name.part + 1) + " of entity " +
                               fields::quoted(name.identity) + " in the document, got none");
  }
  std::ranges::sort(complete_, {}, &Open::order);
  std::vector<Mention> mentions;
  for (const Open& open : complete_) {
    Mention mention{open.name.identity, open.type, {}, 0};
    for (const auto& word : open.nodes) {
      if (word) mention.words.push_back(*word);
    }
    if (mention.words.empty()) continue;
    mention.head_word = head_word(open, mention.words, heads);
    mentions.push_back(std::move(mention));
  }
  std::ranges::stable_sort(mentions, {}, [](const Mention& mention) { return mention.words[0]; });
  return mentions;
}

}  // namespace headscope::coreference
