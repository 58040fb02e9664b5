#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <vector>

/// How a report presents a group of results, computed whenever a report is made: sentences, and
/// which variables the head panel shows and how. Variables are named as in their group; one that a
/// group lacks is left out. "By head" means with the dimensions layer and head.
namespace headscope {

struct Results;
struct ResultsGroup;
class VariableTable;

/// One line of the summary.
struct Finding {
  std::string about;                    ///< `Syntax`
  std::string text;                     ///< one or two plain sentences with this model's numbers
  std::vector<std::string> items = {};  ///< a list below them, a sentence an item
};

/// A table in the summary with a row per label of a dimension.
struct OverviewTable {
  std::string title;
  std::string dimension;
  std::string pages;  ///< text by label: relative path of a page to link; may be empty
  /// By label, or by label and one more dimension, whose labels are columns.
  std::vector<std::string> variables;
};

/// The sentences at the top of the report, at most 25 words each; empty where a group has nothing
/// to say. If several groups have a sentence, the last group's is shown.
struct Headline {
  std::string attend_by;  ///< what heads attend by
  std::string matter;     ///< which heads matter
  std::string explained;  ///< what explains the effects of heads
  std::string look_next;  ///< which heads to look at next
};

/// A table of the report whose rows are tasks. Tables of several descriptions are joined by task.
struct TaskTable {
  std::vector<std::string> headings;  ///< of the columns after the task's name
  struct Row {
    std::string task;
    std::vector<std::string> cells;  ///< one a heading
  };
  std::vector<Row> rows;
};

/// What a group's numbers say in words.
struct Description {
  std::string group;  ///< set by `describe`
  /// Why the results may mean nothing: a sentence that the report shows first and the program
  /// prints. May be empty.
  std::string warning;
  Headline headline;
  /// What the group's section says first, one sentence; empty: its first finding or summary.
  std::string found;
  std::vector<Finding> findings;
  TaskTable tasks;
  /// Parts of the summary's first line, about the model; may be empty.
  std::string model_size;  ///< `124.4 million parameters`
  std::string model_loss;  ///< `its loss is 3.2 nats per token`
  OverviewTable overview;  ///< without variables: none

  /// Adds a finding, unless `text` is empty.
  void add(const std::string& about, const std::string& text, std::vector<std::string> items = {});
};

/// Variables by head whose values are listed together. Sections with the same title are merged.
struct ScoreSection {
  std::string title;
  std::vector<std::string> variables;
  std::string prefix{};  ///< that all names of variables begin with, and labels leave out
};

/// The heads nearest to a head by a variable whose last two dimensions are heads. With a dimension
/// before these, there is one list per label.
struct NearestHeads {
  std::string title;  ///< of a list, after the label if there is one
  std::string variable;
  std::size_t most = 5;    ///< heads in a list
  bool smallest = false;   ///< list the smallest values, else the largest absolute values
  bool by_column = false;  ///< the panel's head is on the last axis, else on the one before
  std::string chance{};    ///< a variable by label, the value expected by chance; may be empty
  bool alike = false;      ///< near means alike: the panel offers the nearest for comparison
};

/// By label, the edges into a head's ports and the edges out of the head.
struct EdgeLists {
  std::string title, caption;
  std::string effect;    ///< by label, node (`L0H4`, `MLP0`) and port (`L3H3.k`, `MLP3`)
  std::string q;         ///< by the same
  double level = 0;      ///< edges with q below it are listed, largest absolute effect first
  std::string eligible;  ///< a flag by label; labels with 0 are left out
  std::size_t most = 8;  ///< edges in a list
};

/// The table rows where a head exceeds the row's baseline most.
struct BestRows {
  std::string title;
  std::vector<std::string> headings;  ///< of the row's label, value, baseline and count
  std::string value;                  ///< a share, by row and head
  std::string baseline, count;        ///< by row
  std::string eligible;               ///< a flag by row; rows with 0 are left out
};

/// A number that sums up a model, for comparisons of models of any shape.
struct Measure {
  std::string name;         ///< in a comparison: `loss`
  std::string variable;     ///< of no dimension or one
  std::string dimension{};  ///< the dimension's name in a comparison; empty: as in the group
  bool is_share_of_heads = false;
};

/// Why a head is of a type: variables by type and head (`rule` and `sentence`: by type), numbers or
/// text; no value or an empty text where a type has none.
struct TypeReasons {
  std::string rule;                        ///< in words
  std::string sentence;                    ///< what a head of the type does
  std::string score, baseline, threshold;  ///< a head is of the type from the threshold on
  std::string about;                       ///< what the score is about: `nsubj, dependent to head`
  std::vector<std::string> notes = {};     ///< further sentences
  /// A flag by type and head, 1 where the label does not explain what the head does.
  std::string unexplained = {};
};

/// What the head panel says first about a head.
struct HeadSummary {
  std::string text;          ///< a text by head; empty where there is nothing to say
  std::string places_title;  ///< of places in the corpus that are shown with it
  std::string places;        ///< texts by head and example
  /// head x example x 4: [begin, end) of the query and of the key in the text, in characters; -1 if
  /// not in the text.
  std::string marks;
};

struct Presentation {
  std::string group;
  /// Called where the results have the group; none: the group has no sentences.
  std::function<Description(const Results&)> describe = {};
  std::vector<ScoreSection> scores = {};
  std::vector<NearestHeads> nearest = {};
  std::vector<EdgeLists> edges = {};
  std::vector<BestRows> tables = {};
  std::vector<Measure> measures = {};
  TypeReasons reasons = {};
  std::vector<HeadSummary> summaries = {};
  /// Variables by head that are no scores: what scores are judged by (nulls, controls, p-values and
  /// errors) and places in texts. The menu of scores, the search and comparisons' sentences leave
  /// them out.
  std::set<std::string> auxiliary = {};
  /// What the report calls a label or a flag's meaning, where the words depend on the corpus. If
  /// empty, the label itself.
  std::function<std::string(const ResultsGroup&, const std::string& label)> label_words = {};
  const VariableTable* variables = nullptr;  ///< of the group; null: not declared
};

/// @param path  of the results' file, for errors.
/// @throws DataError naming a variable whose dimensions are not those that its analysis declares,
/// on which sentences and figures rely.
void check_dimensions(const Results& results, const std::string& path,
                      const std::vector<Presentation>& presentations);

/// The descriptions of the groups that the results have, in the order of the presentations. Where
/// results of another version lack a variable, the group's description is a warning that names it.
std::vector<Description> describe(const Results& results,
                                  const std::vector<Presentation>& presentations);

}  // namespace headscope
