#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

/// What an analysis adds to the report besides its variables: sentences for the summary, and which
/// variables the head panel shows and how. Variables are named as in their group. "By head" means
/// with the dimensions layer and head; a unit is layer * n_head + head.
namespace headscope {

/// One line of the summary.
struct Finding {
  std::size_t rank = 0;  ///< place among the lines of all groups, smallest first
  std::string about;     ///< `Syntax`
  std::string text;      ///< one or two plain sentences with this model's numbers

  bool operator==(const Finding&) const = default;
};

/// Variables by head whose values are listed together. Sections with the same title are merged.
struct ScoreSection {
  std::size_t rank = 0;
  std::string title;
  std::vector<std::string> variables;

  bool operator==(const ScoreSection&) const = default;
};

/// The heads nearest to a head by a variable of dimensions [label,] unit, unit: a list per label.
struct NearestHeads {
  std::size_t rank = 0;
  std::string title;  ///< of a list, after the label if there is one
  std::string variable;
  std::size_t most = 5;    ///< heads in a list
  bool smallest = false;   ///< list the smallest values, else the largest absolute values
  bool by_column = false;  ///< the panel's head is on the last axis, else the one before
  std::string chance;      ///< a variable by label, the value expected by chance; may be empty
  bool alike = false;      ///< near means alike: the panel offers the nearest for comparison

  bool operator==(const NearestHeads&) const = default;
};

/// The table rows where a head exceeds the row's baseline most.
struct BestRows {
  std::size_t rank = 0;
  std::string title;
  std::vector<std::string> headings;  ///< of the row's label, value, baseline and count
  std::string value;                  ///< a share, by row and head
  std::string baseline, count;        ///< by row
  std::string eligible;               ///< a flag by row; rows with 0 are left out

  bool operator==(const BestRows&) const = default;
};

/// A number that sums up a model, for comparisons of models of any shape.
struct Measure {
  std::string name;       ///< in a comparison: `loss`
  std::string variable;   ///< of no dimension or one
  std::string dimension;  ///< that dimension's name in a comparison; empty: the variable's own

  bool operator==(const Measure&) const = default;
};

/// A table in the summary with a row per label of a dimension.
struct OverviewTable {
  std::string title;
  std::string dimension;
  std::string pages;  ///< text by label: relative path of a page to link; may be empty
  /// By label, or by label and one more dimension, whose labels are columns.
  std::vector<std::string> variables;

  bool operator==(const OverviewTable&) const = default;
};

/// Why a head is of a type: variables by type and head (`rule`: by type), numbers or text; no value
/// or an empty text where a type has none.
struct TypeReasons {
  std::string rule;                        ///< in words
  std::string score, baseline, threshold;  ///< a head is of the type from the threshold on
  std::string about;                       ///< what the score is about: `nsubj, dependent to head`

  bool operator==(const TypeReasons&) const = default;
};

/// Another weighting of the attention that `ReportPart::pattern` holds: of dimensions layer, head,
/// query, key; or layer, query, key for one that all heads of a layer share.
struct PatternWeighting {
  std::string title;
  std::string variable;

  bool operator==(const PatternWeighting&) const = default;
};

struct ReportPart {
  /// Why the results may mean nothing: a sentence shown before the others and by the program. May
  /// be empty.
  std::string warning;
  std::vector<Finding> findings;
  /// Parts of the summary's first line, about the model; may be empty.
  std::string model_size;  ///< `124.4 million parameters`
  std::string model_loss;  ///< `its loss is 3.2 nats per token`

  std::vector<ScoreSection> scores;
  std::vector<NearestHeads> nearest;
  std::vector<BestRows> tables;
  std::vector<Measure> measures;
  OverviewTable overview;  ///< without variables: none

  std::string types;         ///< a flag by type and head: which types a head is of
  std::string primary_type;  ///< a flag by head: the type shown on head maps

  TypeReasons reasons;
  /// Whether the group holds examples of what heads do, by example: `layer`, `head`, `type`,
  /// `about` and `text`; `query_start`, `query_end`, `target_…`, `attended_…`, which characters of
  /// the text attend, should be attended to, and are most (-1: none of them); `attended`, the word;
  /// `found`.
  bool examples = false;

  std::string pattern;  ///< one document's attention: layer, head, query, key
  std::vector<PatternWeighting> pattern_weightings;
  std::string token_labels;  ///< text or whole numbers by token of that document

  bool operator==(const ReportPart&) const = default;

  /// As a results file holds it: JSON, UTF-8.
  std::string text() const;
  /// Reads what `text` wrote; missing fields stay empty. Nothing for any other text.
  static std::optional<ReportPart> parse(const std::string& text);
};

}  // namespace headscope
