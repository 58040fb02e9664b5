#include "corpus/conllu.hpp"

#include <algorithm>
#include <string_view>

#include "base/fields.hpp"
#include "base/number_text.hpp"
#include "headscope/error.hpp"

namespace headscope::conllu {
namespace {

using fields::split;

enum Column { id, form, lemma, upos, xpos, feats, head, deprel, deps, misc, n_column };

constexpr Index most_words = 50'000;  // in a sentence

/// The two numbers of `3-4` or `8.1`.
std::optional<std::pair<Index, Index>> number_pair(std::string_view text, char separator) {
  const std::size_t position = text.find(separator);
  if (position == std::string_view::npos) return std::nullopt;
  const auto first = parse_whole_number(text.substr(0, position));
  const auto second = parse_whole_number(text.substr(position + 1));
  if (!first || !second) return std::nullopt;
  return std::pair(*first, *second);
}

std::string value_or_empty(std::string_view column) {
  return column == "_" ? std::string() : std::string(column);
}

std::string_view trim(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

/// The value of a comment `# key = value`, empty for `# key`; nothing for other comments.
std::optional<std::string_view> comment_value(std::string_view line, std::string_view key) {
  std::string_view rest = trim(line.substr(1));
  if (!rest.starts_with(key)) return std::nullopt;
  rest = trim(rest.substr(key.size()));
  if (rest.empty()) return rest;
  if (!rest.starts_with('=')) return std::nullopt;
  return trim(rest.substr(1));
}

}  // namespace

bool is_word_line(std::string_view line) {
  const std::size_t end = line.find_first_not_of("0123456789-.");
  return end > 0 && end < line.size() && line[end] == '\t' &&
         std::ranges::count(line, '\t') == n_column - 1;
}

std::string without_subtype(std::string_view relation) {
  return std::string(relation.substr(0, relation.find(':')));
}

std::string_view misc_value(std::string_view misc, std::string_view key) {
  for (const std::string_view attribute : split(misc, '|')) {
    if (attribute.starts_with(key) && attribute.substr(key.size()).starts_with('=')) {
      return attribute.substr(key.size() + 1);
    }
  }
  return {};
}

Reader::Reader(std::istream& input, std::string file, std::uint64_t offset, std::size_t line)
    : input_(input), file_(std::move(file)), line_{.end = offset, .number = line} {}

void Reader::fail(std::size_t line, const std::string& problem) const {
  throw DataError(file_, std::to_string(line), problem);
}

std::optional<Sentence> Reader::next() {
  Sentence sentence;
  sentence.begin = line_.end;
  sentence.line = line_.number + 1;
  heads_.clear();
  while (true) {
    const bool more = read_line(input_, file_, line_);
    std::string& line = line_.text;
    if (line.ends_with('\r')) line.pop_back();
    if (!more || line.empty()) {
      if (!sentence.nodes.empty()) break;
      if (!more) return std::nullopt;
    } else if (line[0] == '#' && sentence.nodes.empty()) {
      read_comment(line, sentence);
    } else {
      read_node(line, sentence);
    }
  }
  sentence.end = line_.end;
  finish(sentence);
  return sentence;
}

void Reader::read_comment(const std::string& line, Sentence& sentence) const {
  if (comment_value(line, "newdoc")) sentence.starts_document = true;
  if (const auto value = comment_value(line, "newdoc id")) {
    sentence.starts_document = true;
    sentence.document_id = *value;
  }
  if (const auto value = comment_value(line, "global.Entity")) sentence.entities = *value;
}

void Reader::read_node(const std::string& line, Sentence& sentence) {
  const auto columns = split(line, '\t');
  if (columns.size() != n_column) {
    fail(line_.number, "expected 10 tab-separated columns, got " + std::to_string(columns.size()));
  }
  const Index n_word = sentence.words.size();
  // A sentence longer than the context is read again for each piece of it.
  if (n_word >= most_words) {
    fail(line_.number, "expected a sentence of at most " + std::to_string(most_words) +
                           " words, got a longer one; an empty line ends a sentence");
  }
  const std::string expected_word = "expected word " + std::to_string(n_word + 1);
  if (const auto number = parse_whole_number(columns[id])) {
    if (*number != n_word + 1)
      fail(line_.number, expected_word + ", got " + fields::quoted(columns[id]));
    sentence.nodes.push_back(
        {n_word, std::string(misc_value(columns[misc], "Entity")), line_.number});
    read_word(columns, sentence);
  } else if (const auto range = number_pair(columns[id], '-')) {
    const bool open = !sentence.surfaces.empty() && sentence.surfaces.back().end_word > n_word;
    if (range->first != n_word + 1 || range->second <= range->first || open) {
      fail(line_.number, expected_word + (open ? " of a multiword token" : " or a range from it") +
                             ", got " + fields::quoted(columns[id]));
    }
    sentence.surfaces.push_back({std::string(columns[form]), n_word, range->second,
                                 misc_value(columns[misc], "SpaceAfter") != "No", line_.number});
  } else if (const auto empty = number_pair(columns[id], '.')) {
    if (empty->first != n_word) {
      fail(line_.number, "expected an empty node after word " + std::to_string(n_word) + ", got " +
                             fields::quoted(columns[id]));
    }
    sentence.nodes.push_back(
        {std::nullopt, std::string(misc_value(columns[misc], "Entity")), line_.number});
  } else {
    fail(line_.number, "expected an id like 3, 3-4 or 3.1, got " + fields::quoted(columns[id]));
  }
  if (columns[form].empty()) fail(line_.number, "expected a word form, got an empty column");
}

void Reader::read_word(const std::vector<std::string_view>& columns, Sentence& sentence) {
  const Index index = sentence.words.size();
  Word word;
  word.form = columns[form];
  // A lemma `_` means empty, unless the word itself is an underscore.
  word.lemma = columns[form] == "_" ? std::string(columns[lemma]) : value_or_empty(columns[lemma]);
  word.upos = value_or_empty(columns[upos]);
  word.xpos = value_or_empty(columns[xpos]);
  if (columns[feats] != "_") {
    for (const std::string_view feature : split(columns[feats], '|')) {
      const std::size_t equals = feature.find('=');
      if (equals == std::string_view::npos || equals == 0) {
        fail(line_.number, "expected features like Name=Value, got " + fields::quoted(feature));
      }
      word.features.emplace_back(feature.substr(0, equals), feature.substr(equals + 1));
    }
  }
  word.relation = without_subtype(value_or_empty(columns[deprel]));
  heads_.emplace_back(columns[head], line_.number);
  if (sentence.surfaces.empty() || sentence.surfaces.back().end_word <= index) {
    sentence.surfaces.push_back({word.form, index, index + 1,
                                 misc_value(columns[misc], "SpaceAfter") != "No", line_.number});
  }
  sentence.words.push_back(std::move(word));
}

void Reader::finish(Sentence& sentence) const {
  const Index n_word = sentence.words.size();
  if (n_word == 0) fail(sentence.nodes[0].line, "expected a word in the sentence, got none");
  if (const Surface& last = sentence.surfaces.back(); last.end_word > n_word) {
    fail(last.line, "expected words up to " + std::to_string(last.end_word) +
                        ", got a sentence of " + std::to_string(n_word));
  }
  sentence.has_dependencies =
      std::ranges::any_of(heads_, [](const auto& head) { return head.first != "_"; });
  if (!sentence.has_dependencies) return;
  for (Index i = 0; i < n_word; ++i) {
    const auto& [text, line] = heads_[i];
    const auto number = parse_whole_number(text);
    if (!number || *number > n_word) {
      fail(line,
           "expected a head from 0 to " + std::to_string(n_word) + ", got " + fields::quoted(text));
    }
    if (*number > 0) sentence.words[i].head = *number - 1;
  }
  // Follow the heads from each word; reaching a word of the same walk again means a cycle.
  std::vector<Index> walk_of(n_word, n_word);
  for (Index start = 0; start < n_word; ++start) {
    std::optional<Index> word = start;
    while (word && walk_of[*word] == n_word) {
      walk_of[*word] = start;
      word = sentence.words[*word].head;
    }
    if (word && walk_of[*word] == start) {
      fail(heads_[*word].second,
           "expected a tree, got a cycle through word " + std::to_string(*word + 1));
    }
  }
}

}  // namespace headscope::conllu
