#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

/// What an analysis brings to the report beside its variables: sentences for the summary, and
/// which of its variables the panel of a head shows, and how. Variables are named as in their
/// group. `by head` means by the dimensions layer and head; a unit is layer * n_head + head.
namespace headscope {

/// One line of the summary.
struct Finding {
  std::size_t rank = 0;  ///< place among the lines of all groups, smallest first
  std::string about;     ///< `Syntax`
  std::string text;      ///< one or two plain sentences with this model's numbers

  bool operator==(const Finding&) const = default;
};

/// Variables by head whose values are listed together. Sections of one title are joined.
struct ScoreSection {
  std::size_t rank = 0;
  std::string title;
  std::vector<std::string> variables;

  bool operator==(const ScoreSection&) const = default;
};

/// The heads nearest to a head by a variable of dimensions [label,] unit, unit: a list per label.
struct NearestHeads {
  std::size_t rank = 0;
  std::string title;  ///< of a list; the label, where there is one, stands before it
  std::string variable;
  std::size_t most = 5;    ///< heads in a list
  bool smallest = false;   ///< those of smallest value; else those of largest absolute value
  bool by_column = false;  ///< the panel's head is the last axis; else the one before
  std::string chance;      ///< a variable by label: the value expected by chance; may be empty

  bool operator==(const NearestHeads&) const = default;
};

/// The rows of a table in which a head is furthest above the row's baseline.
struct BestRows {
  std::size_t rank = 0;
  std::string title;
  std::vector<std::string> headings;  ///< of the row's label, value, baseline and count
  std::string value;                  ///< a share, by row and head
  std::string baseline, count;        ///< by row
  std::string eligible;               ///< a flag by row; rows of 0 are left out

  bool operator==(const BestRows&) const = default;
};

struct ReportPart {
  std::vector<Finding> findings;
  /// For the summary's first line, which is about the model; empty where there is nothing to say.
  std::string model_size;  ///< `124.4 million parameters`
  std::string model_loss;  ///< `its loss is 3.2 nats per token`

  std::vector<ScoreSection> scores;
  std::vector<NearestHeads> nearest;
  std::vector<BestRows> tables;

  std::string types;         ///< a flag by type and head: which types a head is of
  std::string primary_type;  ///< a flag by head: the one type that stands for it on maps of heads

  std::string pattern;       ///< one document's attention: layer, head, query, key
  std::string token_labels;  ///< text or whole numbers by token of that document

  bool operator==(const ReportPart&) const = default;

  /// As a results file holds it: JSON, UTF-8.
  std::string text() const;
  /// Reads what `text` wrote; what is left out is empty. Nothing for any other text.
  static std::optional<ReportPart> parse(const std::string& text);
};

}  // namespace headscope
