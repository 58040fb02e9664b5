#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headscope/report.hpp"

namespace headscope {

class LongTable;

/// The heading of a report: what the results are about.
std::string report_title(const Results& results);

/// The content of both reports.
struct ReportContent {
  const Results& results;
  const std::vector<Presentation>& presentations;
  const std::vector<DrawnFigure>& figures;
  std::string title = report_title(results);  ///< the page's heading
  std::optional<HeadIndex> opened = {};       ///< the head whose panel is open from the start
  std::vector<Description> descriptions = describe(results, presentations);

  std::vector<const DrawnFigure*> figures_of(const std::string& group) const;
  /// Figures whose group is not in the results.
  std::vector<const DrawnFigure*> other_figures() const;
};

std::string html_report(const ReportContent& content);
std::string markdown_report(const ReportContent& content);

/// The report's first sentences, in the order of reading: warnings, what was watched, and the
/// headline of the descriptions. Without a headline, all findings.
std::vector<Finding> first_sentences(const ReportContent& content);

/// What a group's section says: its first sentence, then the rest.
struct SectionText {
  std::string found;
  std::vector<Finding> findings;        ///< empty without a headline: see first_sentences
  std::vector<std::string> paragraphs;  ///< of the summary stored with the results
};

SectionText section_text(const ReportContent& content, const ResultsGroup& group);

/// `Of 20 claims about heads put to the test, 6 hold …`; empty without claims.
std::string claims_line(const Results& results);

/// `claims_line`, and how many of the listed claims it does not count: `2 more were not tested, and
/// 4 are decided by arithmetic alone.` Empty without claims.
std::string claims_paragraph(const Results& results);

/// The first section: what this model's heads do in plain words, a map of all heads to choose from,
/// and the table of tasks. Empty if the results hold nothing by head and there are no findings.
std::string summary_section(const ReportContent& content);

/// List items for findings.
std::string findings_html(const std::vector<Finding>& findings);

/// The claims as lines that unfold their evidence. Empty if there are none.
std::string claims_section(const ReportContent& content);

/// The words of the field that the report uses, each with the id `term-…`, which the page's script
/// links where the word first stands.
std::string glossary_section();

/// What the figures show, as JSON that is safe inside a `script` element: for each figure by name
/// its title and source, where its panels lie in the SVG, and the numbers drawn in them. `made`
/// names the version, model and date to cite.
std::string figure_data_json(const ReportContent& content);

/// The id of a group's or a variable's place in the page.
std::string group_anchor(const std::string& group);
std::string variable_anchor(const std::string& group, const std::string& variable);

/// Whether a group describes an untrained control model.
bool is_control(const ResultsGroup& group);
std::string group_title(const ResultsGroup& group);

/// `holds`, `does not hold`, `undecided` or `not tested`.
std::string_view verdict_text(const Claim& claim);
/// `0.420 [0.405, 0.437]`, with as many decimals as give half the interval's width two significant
/// digits; without an interval at most `digits` significant digits; a dash where there is no
/// number.
/// @param shows_no_width  whether an interval without width is written, as `4 [4, 4]`.
std::string estimate_text(const Estimate& estimate, int digits, bool shows_no_width = false);
/// `0.42 [0.4, 0.44]`, `4 (exact)` or `0.42 (no interval)`; empty where there is no number.
std::string effect_text(const Claim& claim);
/// The number or text of a variable without dimensions, `0.42 [0.4, 0.44]` with an interval.
std::string scalar_text(const LongTable& table);
/// Name of a model's file without its folder, or a placeholder.
std::string model_name(const Results& results);
/// The text with a capital at its beginning, where that is a letter of ASCII.
std::string capitalised(std::string text);

}  // namespace headscope
