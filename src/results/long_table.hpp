#pragma once

#include <optional>
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

  const Variable& variable() const { return *variable_; }
  const std::vector<Column>& columns() const { return columns_; }
  std::size_t n_row() const { return n_row_; }

  /// One text per column; numbers with `digits` significant digits, or exact when 0; a missing
  /// number is `missing`.
  std::vector<std::string> row(std::size_t index, int digits, const std::string& missing) const;

  /// The indices of at most `most` rows: all in order if they fit, else those of largest |value|.
  std::vector<std::size_t> leading_rows(std::size_t most) const;

 private:
  const Variable* variable_;
  std::vector<const Dimension*> dimensions_;
  std::vector<Column> columns_;
  std::size_t n_row_ = 1;
};

/// A variable with more elements (attention patterns) has no CSV: it would be many times larger
/// than the results file.
inline constexpr std::size_t most_csv_rows = 1'000'000;

/// `pruning.loss_increase.csv`; the slash of a nested group becomes a dot.
std::string table_file_name(const std::string& group, const std::string& variable);

}  // namespace headscope
