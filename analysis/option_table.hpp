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
  using Words = std::vector<std::string>;

  std::string name;             ///< without dashes: `seed`; `output,o` for `-o, --output`
  std::string value = {};       ///< stands for the value in help: `N`, `DIR`; empty: a switch
  std::string help = {};        ///< without the default, which help states from the field
  std::string when_empty = {};  ///< what 0 or no value means: `all`
  OptionScope scope = OptionScope::numbers;
  std::string required = {};  ///< what must be given: `a folder for the results`; empty: optional
  Words choices = {};         ///< the values it can have; empty: any
  std::uint64_t most = std::numeric_limits<std::int64_t>::max();  ///< of a number
  bool several = false;     ///< takes one or more words, a value each
  bool positional = false;  ///< given by its place, without its name
  bool in_usage = false;    ///< shown in the command's usage line though not required

  // Filled in by the table.
  char letter = 0;                 ///< `o` of `-o`; 0: none
  std::string heading = {};        ///< of its group in help
  std::string default_value = {};  ///< as text; empty: none
  Words words = {};                ///< the value given, else the default
  bool given = false;
  std::function<void(const Option&, const Words&)> store = {};

  bool is_switch() const { return value.empty(); }
  /// Whether it names files or folders.
  bool is_path() const { return value == "FILE" || value == "DIR" || value == "PATH..."; }
  /// Sets option and field. @throws OptionError `--seed: expected ..., got ...`
  void set(const Words& given_words);
  [[noreturn]] void refuse(const std::string& expected, const std::string& got) const;
};

/// Options in the order of help, bound to fields that outlive the table and hold the defaults when
/// they are added. What is added can be changed until the next one is.
class OptionTable {
 public:
  /// Begins a group.
  void heading(const std::string& text) { heading_ = text; }

  /// A switch, which inverts the field.
  Option& operator()(bool& field, Option option);
  Option& operator()(std::uint64_t& field, Option option);
  Option& operator()(std::string& field, Option option);
  /// Names with commas between them, or, if it takes several, words.
  Option& operator()(std::vector<std::string>& field, Option option);
  Option& add(Option option);

  /// @throws OptionError if there is none of this name.
  Option& at(const std::string& name);
  std::vector<Option>& options() { return options_; }
  const std::vector<Option>& options() const { return options_; }

 private:
  std::string heading_;
  std::vector<Option> options_;
};

}  // namespace headscope
