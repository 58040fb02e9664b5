#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "headscope/array.hpp"
#include "headscope/estimate.hpp"

namespace headscope {

/// Before the names of groups of an untrained model: `control/correlation`.
inline constexpr const char* control_prefix = "control/";

/// `references` of quantities that this project defines itself.
inline constexpr const char* headscope_definition = "Headscope";

/// Names of dimensions, outermost first: `"layer head"`, or `{"layer", "head"}`.
struct DimensionNames : std::vector<std::string> {
  DimensionNames() = default;
  DimensionNames(std::initializer_list<std::string> names) : vector(names) {}
  DimensionNames(std::vector<std::string> names) : vector(std::move(names)) {}
  DimensionNames(const char* words);  ///< separated by blanks
};

struct Variable;

/// A variable without its numbers.
struct Declaration {
  enum class Type { real, integer, flag, text };

  std::string name;
  DimensionNames dimensions;  ///< one per axis; each must be a dimension of the group
  std::string units;          ///< probability, nats, cosine, count, 1 for a pure ratio
  /// What it is, in words: the definition. `{word}` here, in `name`, `references` or `resampling`
  /// stands for what `with` gives.
  std::string long_name;
  std::string references = headscope_definition;  ///< source
  /// What intervals resample, in words: `documents resampled`; empty: there are none.
  std::string resampling = {};
  Type type = Type::real;
  /// For Type::flag: the meaning of 0, 1, ...; blanks become underscores, because CF files separate
  /// meanings by blanks.
  std::vector<std::string> flag_meanings = {};

  /// Whole numbers in units `count`.
  static Declaration count(std::string name, DimensionNames dimensions, std::string long_name,
                           std::string references = headscope_definition);
  /// Whole numbers that count nothing, such as a position; units 1.
  static Declaration integer(std::string name, DimensionNames dimensions, std::string long_name);
  static Declaration flag(std::string name, DimensionNames dimensions,
                          std::vector<std::string> meanings, std::string long_name);

  /// The declaration with each `{word}` replaced by a text of the run.
  /// @throws Error naming a variable without `{word}`.
  Declaration with(const std::string& word, const std::string& text) const;

  /// The variable with these numbers, estimates or texts, row-major. Resamples are kept if all
  /// estimates that have resamples have equally many, influences if no estimate has more than
  /// n_document_block. @throws ShapeError unless `shape` fits.
  Variable of(Array values) const;
  Variable of(const Shape& shape, const std::vector<Estimate>& estimates) const;
  Variable of(std::vector<std::string> text) const;
};

/// One dataset of a results group.
struct Variable : Declaration {
  /// Bounds of the 95 % interval of each value, shaped like the values; NaN where a value has none.
  struct Interval {
    Array low, high;
    /// Estimate::resamples, resample x the values' shape, and Estimate::influences, part x the
    /// values' shape, n_document_block parts. NaN where a value has none; may be empty.
    Array resamples = {}, influences = {};
  };

  Array values = {};                      ///< real, integer and flag; NaN where a real has no value
  std::optional<Interval> interval = {};  ///< of a real
  std::vector<std::string> text = {};     ///< for Type::text, row-major

  /// Value `i`, row-major, with its interval if it has one.
  Estimate estimate(std::size_t i) const;
  /// The same with its resamples and influences, where they are kept.
  Estimate kept_estimate(std::size_t i) const;
};

/// The variables of an analysis, declared once. Code that computes a variable refers to it by name.
class VariableTable {
 public:
  VariableTable(std::initializer_list<Declaration> declarations) : declarations_(declarations) {}
  /// @throws Error naming the variable if the table lacks it.
  const Declaration& operator[](const std::string& name) const;
  /// Null if there is none.
  const Declaration* find(const std::string& name) const;

 private:
  std::vector<Declaration> declarations_;
};

/// The labels along one axis: numbers or words.
struct Dimension {
  std::string name;
  std::vector<std::string> text;  ///< labels in words; empty when `values` is used
  std::vector<double> values;     ///< whole numbers or reals

  std::size_t size() const { return text.empty() ? values.size() : text.size(); }
  /// @param digits  significant ones of a number; 0: as many as it takes.
  std::string label(std::size_t i, int digits = 0) const;
  /// The place of the label in words; nothing if there is no such label.
  std::optional<std::size_t> place_of(const std::string& label) const;
  /// The same. @throws Error naming the dimension and the label if there is no such label.
  std::size_t index_of(const std::string& label) const;
  static Dimension count(std::string name, std::size_t n);  ///< 0 .. n-1
  static Dimension labels(std::string name, std::vector<std::string> labels);
  static Dimension numbers(std::string name, std::vector<double> numbers);
};

struct Claim {
  int number = 0;  ///< in the list of claims, from 1; parts of one claim share it
  std::string statement;
  Verdict verdict = Verdict::undecided;
  std::string effect_name;  ///< what the effect size measures, with units
  Estimate effect;
  std::string evidence;  ///< one or two plain sentences with this model's numbers
  std::string source;    ///< who says so, or whose finding it tests
  /// The effect is counted or computed without sampling error, so it needs no interval. If false,
  /// an effect without an interval has unknown uncertainty.
  bool exact = false;
  bool arithmetic = false;  ///< true of every such model by arithmetic; a report lists it last
};

/// The results of one analysis: an HDF5 group that xarray opens as a dataset.
struct ResultsGroup {
  std::string name;  ///< may be nested: `control/correlation`
  std::string title;
  std::string summary;  ///< what it shows on this model, plain sentences for the report
  std::map<std::string, Dimension> dimensions;
  std::vector<Variable> variables;
  std::vector<Claim> claims;

  /// Adds a dimension, or checks that it equals the existing one. @throws ShapeError
  void add_dimension(Dimension dimension);
  /// @throws ShapeError if a dimension is unknown, an extent differs (gives both), the variable's
  /// or a bound's name is taken, an integer is not whole, a flag has no meaning, or long_name,
  /// units or references are empty.
  void add(Variable variable);
  /// Adds a variable of numbers, estimates or text (row-major unless an array), or of one number.
  /// @throws ShapeError as above.
  void add(const Declaration& declaration, Array values);
  void add(const Declaration& declaration, std::vector<double> values);
  void add(const Declaration& declaration, const std::vector<Estimate>& estimates);
  void add(const Declaration& declaration, double value);
  void add(const Declaration& declaration, std::vector<std::string> text);

  /// Adds a variable with one value, or a vector of values, per item: a member of the item, or the
  /// result of a function of the item.
  template <typename Item, typename Of>
  void add(const Declaration& declaration, const std::vector<Item>& items, Of of) {
    using Value = std::remove_cvref_t<std::invoke_result_t<Of, const Item&>>;
    if constexpr (std::is_arithmetic_v<Value>) {
      std::vector<double> values;
      for (const Item& item : items) values.push_back(static_cast<double>(std::invoke(of, item)));
      add(declaration, std::move(values));
    } else if constexpr (std::is_same_v<Value, std::string> || std::is_same_v<Value, Estimate>) {
      std::vector<Value> values;
      for (const Item& item : items) values.push_back(std::invoke(of, item));
      add(declaration, std::move(values));
    } else {
      Value values;
      for (const Item& item : items) {
        const auto& of_item = std::invoke(of, item);
        values.insert(values.end(), of_item.begin(), of_item.end());
      }
      add(declaration, std::move(values));
    }
  }

  /// The extents of these dimensions. @throws ShapeError naming one that is unknown.
  Shape shape_of(const std::vector<std::string>& dimension_names) const;

  bool has(const std::string& variable) const { return find(variable) != nullptr; }
  /// Null if there is none.
  const Variable* find(const std::string& variable) const;
  /// @throws Error naming group and variable if there is none; so do those below.
  const Variable& variable(const std::string& variable) const;
  /// A variable's numbers. @throws Error also if it holds text.
  const Array& values(const std::string& variable) const;
  /// A variable's texts. @throws Error also if it holds numbers.
  const std::vector<std::string>& texts(const std::string& variable) const;
  /// The number of a variable without dimensions, or the first of one with some.
  double scalar(const std::string& variable) const;

  const Dimension& dimension(const std::string& dimension) const;
  /// A dimension's labels in words. @throws Error also if they are numbers.
  const std::vector<std::string>& labels(const std::string& dimension) const;
};

using AttributeValue = std::variant<std::string, std::int64_t, double>;

/// Everything a run found, as in `results.h5`.
struct Results {
  /// version, git_commit, command_line, options, seeds, model_path, model_sha256, corpus_sha256,
  /// blas, threads, date ...
  std::map<std::string, AttributeValue> attributes;
  std::vector<ResultsGroup> groups;

  /// An attribute as text, a number in full; empty if there is none.
  std::string text(const std::string& attribute) const;
  /// An attribute that is a whole number; nothing if there is none.
  std::optional<std::int64_t> integer(const std::string& attribute) const;

  bool has(const std::string& group) const;
  const ResultsGroup& group(const std::string& name) const;
  ResultsGroup& group(const std::string& name);
};

/// Writes an HDF5 file that xarray opens with h5netcdf and netCDF4: every axis carries a dimension
/// scale, coordinates are 1-D datasets named as their dimension, strings are variable-length UTF-8,
/// flags are uint8 with flag_values and flag_meanings, and each variable has long_name, units and
/// references. The bounds of an interval are the datasets `NAME_ci_low` and `NAME_ci_high`, which
/// the attribute `ancillary_variables` of NAME lists; `NAME_influences` (dimension `part`) and
/// `NAME_resamples` (dimension `resample`) hold what an Estimate keeps, float32. A group's title
/// and summary are its attributes; all claims are in a group `claims`. Numbers carry Fletcher32
/// checksums. The file ends with a line that has the SHA-256 of all bytes before it, text included.
/// Invalid UTF-8 in text is replaced. The file appears under its name only once complete.
/// @throws DataError if it cannot be written, Error if a group is called `claims`.
void write_results(const Results& results, const std::string& path);

/// Reads exactly what `write_results` wrote.
/// @throws DataError naming file and dataset if it is not a results file, is damaged, or was
/// written by a version with another layout.
Results read_results(const std::string& path);

/// Whether `read_results` knows the file's format; only the format is read.
bool is_results_file(const std::string& path);

/// Writes `{directory}/{group}.{variable}.csv` in long form: one row per element with a column per
/// dimension, then the value and, for a variable with an interval, its bounds `ci_low` and
/// `ci_high`. The slash of a nested group becomes a dot, flags are written as their meanings,
/// missing numbers as NaN. Claims, resamples, influences, variables by query and key, and
/// variables of more than a million elements have no table. A group whose only dimension is
/// `example` becomes one table `{group}.csv` with a column per variable. `headscope-tables.txt`
/// lists the tables.
void write_tables(const Results& results, const std::string& directory);

/// Writes the tables of attention patterns, which `write_tables` leaves out because they are large.
/// @throws DataError if one cannot be written.
void write_pattern_tables(const Results& results, const std::string& directory);

/// Removes tables listed in the folder's `headscope-tables.txt`, which write_tables wrote: those of
/// these groups and the groups nested in them, and `heads.csv`.
/// @throws DataError if one cannot be removed.
void remove_tables(const std::string& directory, const std::vector<std::string>& groups);

}  // namespace headscope
