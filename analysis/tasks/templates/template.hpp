#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "headscope/random.hpp"
#include "headscope/tokenizer.hpp"

namespace headscope {

/// A minimal pair as text: two continuations of one text.
struct TemplatePair {
  std::string prefix, good, bad;
  auto operator<=>(const TemplatePair&) const = default;
};

/// Random choices for one pair.
class Draws {
 public:
  explicit Draws(const CounterRandom& random) : random_(random) {}
  std::uint64_t below(std::uint64_t n) { return random_.below(n, next_++); }
  template <typename Value>
  const Value& one_of(const std::vector<Value>& values) {
    return values[below(values.size())];
  }
  /// Two that differ. @param words  at least two, all different.
  std::pair<std::string, std::string> two_of(const std::vector<std::string>& words);

 private:
  CounterRandom random_;
  std::uint64_t next_ = 0;
};

/// Tells which words a tokenizer writes as one token; errors name the task.
class TokenizerCheck {
 public:
  TokenizerCheck(const Tokenizer& tokenizer, std::string task)
      : tokenizer_(tokenizer), task_(std::move(task)) {}

  /// Those of the words that are one token after a blank.
  /// @param kind  for the error: `names`.
  /// @throws DataError if there are fewer than `least`.
  std::vector<std::string> single_token_words(const std::string& kind,
                                              const std::vector<std::string>& words,
                                              std::size_t least = 2) const;
  /// Whether the text as it stands, after other text, is one token.
  bool is_single(const std::string& text) const { return n_token(text) == 1; }
  /// Tokens of a text that follows other text.
  std::size_t n_token(const std::string& text) const {
    return tokenizer_.encode(text, /*continues=*/true).ids.size();
  }
  /// Whether the tokens of prefix and continuation are those of the text that they make.
  bool keeps_tokens(const std::string& prefix, const std::string& continuation) const;
  /// @throws DataError  `greater_than: expected …, got …`.
  [[noreturn]] void refuse(const std::string& problem) const;

 private:
  const Tokenizer& tokenizer_;
  std::string task_;
};

using PairMaker = std::function<TemplatePair(Draws& draws)>;

/// A grammar of minimal pairs.
struct TaskTemplate {
  std::string name;      ///< of the task and on the command line
  std::string purpose;   ///< what a model must do, in one sentence
  std::string source;    ///< the paper that defines the task
  std::string relation;  ///< the UD relation that the task is about; may be empty
  /// @throws DataError if the tokenizer has too few of the words.
  std::function<PairMaker(const TokenizerCheck& words)> maker;
};

/// All templates: one line each in registry.cpp.
const std::vector<TaskTemplate>& task_templates();

/// @throws OptionError naming all, if there is none of this name.
const TaskTemplate& task_template(const std::string& name);

/// Which pairs of a template are wanted.
struct PairSelection {
  std::uint64_t n_pair = 200;
  std::uint64_t seed = 0;
  bool one_length = false;  ///< all sides of all pairs have the same number of tokens
};

/// Pairs of a template.
struct DrawnPairs {
  std::vector<TemplatePair> pairs;
  std::uint64_t n_left_out = 0;  ///< whose joined text has other tokens than their parts
};

/// Different pairs in random order. Pairs of one length have the length that is first found often
/// enough. TaskFiles reads prefix and continuation apart: pairs are left out of which a side, read
/// as one text, has other tokens.
/// @throws DataError if the tokenizer has too few of the words.
/// @throws OptionError if 1,000 draws, and ten more for each pair found, give no new one.
DrawnPairs template_pairs(const TaskTemplate& task, const Tokenizer& tokenizer,
                          const PairSelection& selection);

/// `3 pairs left out: …`, of DrawnPairs::n_left_out.
std::string left_out_text(std::uint64_t n_pair);

/// One pair as TaskFiles reads it, without the line's end.
std::string json_line(const TaskTemplate& task, const TemplatePair& pair);

/// The text with each `{slot}` replaced by its word.
std::string filled(std::string frame, const std::map<std::string, std::string>& slots);

TaskTemplate ioi_template();
TaskTemplate greater_than_template();
TaskTemplate gendered_pronoun_template();
TaskTemplate acronym_template();
TaskTemplate sva_template();

}  // namespace headscope
