#include "headscope/report.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/number_text.hpp"
#include "files/pending_file.hpp"
#include "report/report_pages.hpp"
#include "results/long_table.hpp"
#include "results/results_claims.hpp"

namespace headscope {

namespace fs = std::filesystem;

std::vector<const DrawnFigure*> ReportContent::figures_of(const std::string& group) const {
  std::vector<const DrawnFigure*> found;
  for (const DrawnFigure& drawn : figures) {
    if (drawn.figure.group == group) found.push_back(&drawn);
  }
  return found;
}

std::vector<const DrawnFigure*> ReportContent::other_figures() const {
  std::vector<const DrawnFigure*> found;
  for (const DrawnFigure& drawn : figures) {
    if (!results.has(drawn.figure.group)) found.push_back(&drawn);
  }
  return found;
}

bool is_control(const ResultsGroup& group) {
  return group.name.starts_with(control_prefix);
}

std::string group_title(const ResultsGroup& group) {
  const std::string title = group.title.empty() ? group.name : group.title;
  return is_control(group) ? title + ", in an untrained model" : title;
}

std::string_view verdict_text(const Claim& claim) {
  if (!is_tested(claim)) return "not tested";
  switch (claim.verdict) {
    case Verdict::holds:
      return "holds";
    case Verdict::does_not_hold:
      return "does not hold";
    case Verdict::undecided:
      return "undecided";
  }
  return "";
}

std::string estimate_text(const Estimate& estimate, int digits, bool shows_no_width) {
  if (std::isnan(estimate.value)) return "–";
  const bool has_no_width = estimate.low == estimate.high;  // as of a count no resample changes
  if (!estimate.has_interval() || (has_no_width && !shows_no_width)) {
    return number_text(estimate.value, digits);
  }
  constexpr int most_decimals = 6;
  const double half_width = (estimate.high - estimate.low) / 2;
  const int places =
      half_width > 0 ? std::max(0, 1 - static_cast<int>(std::floor(std::log10(half_width)))) : -1;
  const auto text = [&](double value) {
    const bool is_plain = places >= 0 && places <= most_decimals;
    return is_plain ? decimals(value, places) : number_text(value, digits);
  };
  return text(estimate.value) + " [" + text(estimate.low) + ", " + text(estimate.high) + "]";
}

std::string effect_text(const Claim& claim) {
  if (std::isnan(claim.effect.value)) return "";
  const std::string text = estimate_text(claim.effect, 4, true);
  if (claim.effect.has_interval()) return text;
  return text + (claim.exact ? " (exact)" : " (no interval)");
}

std::string scalar_text(const LongTable& table) {
  const std::vector<std::string> row = table.row(0, 5, "–");
  return row.size() == 3 ? row[0] + " [" + row[1] + ", " + row[2] + "]" : row[0];
}

std::string model_name(const Results& results) {
  const fs::path file = results.text("model_path");
  std::string name = file.filename().string();
  // On the hub every model's file has one of these names, and its folder tells models apart.
  for (const char* const usual :
       {"model.safetensors", "model.safetensors.index.json", "tf_model.h5"}) {
    const std::string folder = file.parent_path().filename().string();
    if (name == usual && !folder.empty() && folder != "." && folder != "..") name = folder;
  }
  return name.empty() ? "a model" : name;
}

std::string capitalised(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] += 'A' - 'a';
  return text;
}

std::string report_title(const Results& results) {
  const std::string title = results.text("title");
  if (!results.attributes.contains("model_path") && !title.empty()) return title;
  return "What the attention heads of " + model_name(results) + " do";
}

void remove_report(const std::string& directory) {
  for (const char* const name : {"report.html", "report.md"}) {
    remove_file((fs::path(directory) / name).string());
  }
}

void write_head_page(const Results& results, const std::vector<Presentation>& presentations,
                     const std::string& title, HeadIndex opened, const std::string& path) {
  const std::vector<DrawnFigure> no_figures;
  write_file(path, html_report({results, presentations, no_figures, title, opened}));
}

void write_report(const Results& results, const std::vector<Presentation>& presentations,
                  const std::vector<DrawnFigure>& figures, const std::string& directory,
                  const std::string& warning) {
  ReportContent content{results, presentations, figures};
  content.descriptions.emplace_back().warning = warning;
  PendingFile html((fs::path(directory) / "report.html").string());
  PendingFile markdown((fs::path(directory) / "report.md").string());
  html.append(html_report(content));
  markdown.append(markdown_report(content));
  html.publish();
  markdown.publish();
}

}  // namespace headscope
