#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

/// The options of a command. Each stands once, beside the field that holds its value; parsing,
/// help, the options recorded in results and the check that shards are of one run are made from it.
namespace headscope {

enum class OptionScope {
  numbers,  ///< decides numbers: shards and resumed runs must agree on it
  run,      ///< of the run, but decides no number, or is compared by content (model and corpus)
  process,  ///< of one process; `headscope merge` does not take it from the shards
};

struct Option {
  std::string name;             ///< without dashes: `seed`
  char letter = 0;              ///< `o` for `-o`
  std::string value = {};       ///< stands for the value in help: `N`, `DIR`; empty: a switch
  std::string help = {};        ///< without the default, which help states from the field
  std::string when_empty = {};  ///< what 0 or no value means: `all`
  std::string required = {};    ///< what must be given: `a folder for the results`; empty: optional
  std::vector<std::string> choices = {};  ///< the values it can have; empty: any
  std::uint64_t most = std::numeric_limits<std::int64_t>::max();  ///< of a number
  bool several = false;     ///< takes one or more words, a value each
  bool positional = false;  ///< given by its place, without its name
  bool path = false;        ///< names files or folders
  bool in_usage = false;    ///< shown in the command's usage line though not required
  OptionScope scope = OptionScope::numbers;

  // Filled in by the table.
  std::string heading = {};             ///< of its group in help
  std::string default_value = {};       ///< as text; empty: none
  std::vector<std::string> words = {};  ///< the value given, else the default
  bool given = false;
  /// Stores words in the field. @throws OptionError `--seed: expected ..., got ...`
  std::function<void(const std::vector<std::string>&)> store = {};

  bool is_switch() const { return value.empty(); }
  /// Sets option and field.
  void set(const std::vector<std::string>& given_words);
};

/// Options in the order of help, bound to fields that outlive the table.
class OptionTable {
 public:
  /// Begins a group.
  void heading(const std::string& text) { heading_ = text; }

  /// A switch, which inverts the field.
  void operator()(bool& field, Option option);
  void operator()(std::uint64_t& field, Option option);
  void operator()(std::string& field, Option option);
  /// Names with commas between them, or, if it takes several, words.
  void operator()(std::vector<std::string>& field, Option option);
  /// An option without a default, in a form of its own.
  /// @param store  false if the text is not as `expected`.
  void add(Option option, const std::string& expected,
           const std::function<bool(const std::string&)>& store);
  void add(Option option);

  /// @throws OptionError if there is none of this name.
  Option& at(const std::string& name);
  std::vector<Option>& options() { return options_; }
  const std::vector<Option>& options() const { return options_; }

 private:
  std::string heading_;
  std::vector<Option> options_;
};

}  // namespace headscope
