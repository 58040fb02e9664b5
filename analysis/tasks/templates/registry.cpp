#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/number_text.hpp"
#include "base/text.hpp"
#include "headscope/error.hpp"
#include "tasks/templates/template.hpp"

namespace headscope {

const std::vector<TaskTemplate>& task_templates() {
  static const std::vector<TaskTemplate> all{ioi_template(), greater_than_template(),
                                             gendered_pronoun_template(), acronym_template(),
                                             sva_template()};
  return all;
}

const TaskTemplate& task_template(const std::string& name) {
  const auto found = std::ranges::find(task_templates(), name, &TaskTemplate::name);
  if (found != task_templates().end()) return *found;
  throw OptionError("TEMPLATE", "expected one of " +
                                    joined(task_templates(), ", ",
                                           [](const TaskTemplate& task) { return task.name; }) +
                                    ", got " + name);
}

std::pair<std::string, std::string> Draws::two_of(const std::vector<std::string>& words) {
  const std::uint64_t first = below(words.size()), second = below(words.size() - 1);
  return {words[first], words[second < first ? second : second + 1]};
}

std::vector<std::string> TokenizerCheck::single_token_words(const std::string& kind,
                                                            const std::vector<std::string>& words,
                                                            std::size_t least) const {
  std::vector<std::string> found;
  for (const std::string& word : words) {
    if (is_single(" " + word)) found.push_back(word);
  }
  if (found.size() < least) {
    refuse("expected at least " + std::to_string(least) + " " + kind +
           " of one token in the tokenizer, got " + std::to_string(found.size()) + " of " +
           std::to_string(words.size()));
  }
  return found;
}

bool TokenizerCheck::keeps_tokens(const std::string& prefix,
                                  const std::string& continuation) const {
  TokenIds parts = tokenizer_.encode(prefix).ids;
  const TokenIds second = tokenizer_.encode(continuation, /*continues=*/true).ids;
  parts.insert(parts.end(), second.begin(), second.end());
  return tokenizer_.encode(prefix + continuation).ids == parts;
}

void TokenizerCheck::refuse(const std::string& problem) const {
  throw DataError(task_, "", problem);
}

DrawnPairs template_pairs(const TaskTemplate& task, const Tokenizer& tokenizer,
                          const PairSelection& selection) {
  const TokenizerCheck words(tokenizer, task.name);
  const PairMaker make = task.maker(words);
  std::map<std::size_t, std::vector<TemplatePair>> by_length;  // tokens of a side; 0 for any
  std::set<TemplatePair> drawn;
  std::uint64_t n_left_out = 0;
  std::uint64_t n_vain_draw = 0;  // since the last new pair
  for (std::uint64_t i = 0; n_vain_draw < 1000 + 10 * (drawn.size() - n_left_out); ++i) {
    Draws draws(CounterRandom(selection.seed, i));
    TemplatePair pair = make(draws);
    ++n_vain_draw;
    if (!drawn.insert(pair).second) continue;
    if (!words.keeps_tokens(pair.prefix, pair.good) || !words.keeps_tokens(pair.prefix, pair.bad)) {
      ++n_left_out;
      continue;
    }
    n_vain_draw = 0;
    std::size_t length = 0;
    if (selection.one_length) {
      length = words.n_token(pair.prefix + pair.good);
      if (words.n_token(pair.prefix + pair.bad) != length) continue;
    }
    std::vector<TemplatePair>& pairs = by_length[length];
    pairs.push_back(std::move(pair));
    if (pairs.size() == selection.n_pair) return {pairs, n_left_out};
  }
  std::size_t most = 0;
  for (const auto& [length, pairs] : by_length) most = std::max(most, pairs.size());
  throw OptionError("--pairs", "expected at most about " + std::to_string(most) +
                                   ", the different pairs of " + task.name +
                                   (selection.one_length ? " of one length" : "") +
                                   " with this tokenizer, got " + std::to_string(selection.n_pair) +
                                   (n_left_out == 0 ? "" : "; " + left_out_text(n_left_out)));
}

std::string left_out_text(std::uint64_t n_pair) {
  return count_text(n_pair, "pair") +
         " left out: the tokenizer reads prefix and continuation together as other tokens";
}

std::string json_line(const TaskTemplate& task, const TemplatePair& pair) {
  nlohmann::ordered_json line{
      {"task", task.name}, {"prefix", pair.prefix}, {"good", pair.good}, {"bad", pair.bad}};
  if (!task.relation.empty()) line["relation"] = task.relation;
  return line.dump();
}

std::string filled(std::string frame, const std::map<std::string, std::string>& slots) {
  for (const auto& [slot, word] : slots) replace_all(frame, "{" + slot + "}", word);
  return frame;
}

}  // namespace headscope
