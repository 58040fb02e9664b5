#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

/// The options of a command. Each is declared once, bound to the field that holds its value.
/// Parsing, help, the options recorded in results and the check that shards belong to one run all
/// use this declaration.
namespace headscope {

enum class OptionScope {
  numbers,  ///< affects the numbers: shards and resumed runs must agree on it
  run,      ///< same for all shards; affects no number, or is compared by content (model, corpus)
  process,  ///< may differ between shards; `headscope merge` ignores the shards' value
};

struct Option {
  using Words = std::vector<std::string>;

  std::string name;             ///< without dashes: `seed`; `output,o` for `-o, --output`
  std::string value = {};       ///< placeholder in help: `N`, `DIR`; empty: a switch
  std::string help = {};        ///< without the default, which is taken from the field
  std::string when_empty = {};  ///< meaning of 0 or of no value: `all`
  OptionScope scope = OptionScope::numbers;
  std::string required = {};  ///< what is expected: `a folder for the results`; empty: optional
  Words choices = {};         ///< allowed values; empty: any
  std::uint64_t least = 0;    ///< smallest number allowed
  std::uint64_t most = std::numeric_limits<std::int64_t>::max();  ///< largest number allowed
  bool several = false;                                           ///< takes one or more values
  bool positional = false;                                        ///< an argument without a name
  bool in_usage = false;  ///< optional, but shown in the usage line

  // Filled in by the table.
  char letter = 0;                 ///< `o` of `-o`; 0: none
  std::string heading = {};        ///< of its group in the help
  std::string analysis = {};       ///< the analysis whose option it is; empty: none alone
  std::string default_value = {};  ///< as text; empty: none
  Words words = {};                ///< the values given, else the default
  bool given = false;
  std::function<void(const Option&, const Words&)> store = {};

  bool is_switch() const { return value.empty(); }
  /// Whether it names files or folders.
  bool is_path() const {
    return value == "FILE" || value == "DIR" || value == "PATH..." || value == "FILE...";
  }
  /// Sets the option and its field. @throws OptionError `--seed: expected ..., got ...`
  void set(const Words& given_words);
  [[noreturn]] void refuse(const std::string& expected, const std::string& got) const;
};

/// Options in the order of the help, bound to fields that outlive the table. A field's value when
/// its option is added is the default. The reference returned is valid until the next addition.
class OptionTable {
 public:
  /// Begins a group of options in the help. @param analysis  whose options they are; empty: none.
  void heading(const std::string& text, const std::string& analysis = "") {
    heading_ = text;
    analysis_ = analysis;
  }

  /// A switch. Giving it inverts the field.
  Option& operator()(bool& field, Option option);
  Option& operator()(std::uint64_t& field, Option option);
  /// A text, which may not be empty.
  Option& operator()(std::string& field, Option option);
  /// Comma-separated names in one argument or, if `several`, one value per argument.
  Option& operator()(std::vector<std::string>& field, Option option);
  Option& add(Option option);

  /// @throws OptionError if there is no option of this name.
  Option& at(const std::string& name);
  std::vector<Option>& options() { return options_; }
  const std::vector<Option>& options() const { return options_; }

 private:
  std::string heading_, analysis_;
  std::vector<Option> options_;
};

}  // namespace headscope
