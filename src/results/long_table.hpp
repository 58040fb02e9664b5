#pragma once

#include <string>
#include <vector>

#include "headscope/results.hpp"

namespace headscope {

/// A variable as rows: one per element, a column per dimension, then the value and, where it has
/// an interval, the bounds. Refers to the group, which must outlive it.
class LongTable {
 public:
  struct Column {
    std::string name;
    bool number = true;
  };

  LongTable(const ResultsGroup& group, const Variable& variable);

  const ResultsGroup& group() const { return *group_; }
  const Variable& variable() const { return *variable_; }
  const std::vector<Column>& columns() const { return columns_; }
  std::size_t n_row() const { return n_row_; }

  /// One text per column; numbers with `digits` significant digits, or exact when 0; a missing
  /// number is `missing`.
  std::vector<std::string> row(std::size_t index, int digits, const std::string& missing) const;

  /// The indices of at most `most` rows: all in order if they fit, else those of largest |value|.
  std::vector<std::size_t> leading_rows(std::size_t most) const;

 private:
  const ResultsGroup* group_;
  const Variable* variable_;
  std::vector<const Dimension*> dimensions_;
  std::vector<Column> columns_;
  Shape shape_;
  std::size_t n_row_ = 1;
};

/// A variable with more elements has no CSV: it would be many times larger than the results file.
inline constexpr std::size_t most_csv_rows = 1'000'000;

/// A line of a CSV file (RFC 4180). Cells are made printable, and those that a spreadsheet would
/// run as a formula begin with an apostrophe.
std::string csv_row(const std::vector<std::string>& cells);

/// The table with a row per head.
inline constexpr const char* head_table_name = "heads.csv";

/// Whether the variable is the attention on one document, or another weighting of it: its last
/// dimensions are query and key.
bool is_pattern(const Variable& variable);

/// Whether all variables of the group are columns of one table: their one dimension is `example`.
bool is_one_table(const ResultsGroup& group);

/// `pruning.loss_increase.csv`; the slash of a nested group becomes a dot. Of a group that is one
/// table: `classification.examples.csv`.
std::string table_file_name(const LongTable& table);

/// Whether write_tables writes it: it is no pattern and not too large.
bool has_table(const LongTable& table);

}  // namespace headscope
