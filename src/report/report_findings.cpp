#include <algorithm>
#include <cmath>
#include <ranges>

#include "base/fields.hpp"
#include "base/number_text.hpp"
#include "base/text.hpp"
#include "headscope/report.hpp"
#include "report/head_variables.hpp"
#include "report/report_pages.hpp"
#include "results/results_claims.hpp"

namespace headscope {
namespace {

constexpr const char *warning_about = "Warning", *model_about = "Model";

// `before` and the field of the first description that has it; empty if none does.
std::string said_of_model(const std::vector<Description>& descriptions,
                          std::string Description::*what, const std::string& before) {
  for (const Description& entry : descriptions) {
    if (!(entry.*what).empty()) return before + entry.*what;
  }
  return "";
}

// `, of which 9 are removed`; empty where the model has all heads.
std::string removed_text(const Results& results, const HeadShape& shape) {
  const auto n_removed = std::ranges::count(removed_heads(results, shape), true);
  if (n_removed == 0) return "";
  return ", of which " + std::to_string(n_removed) + (n_removed == 1 ? " is" : " are") + " removed";
}

std::string model_line(const Results& results, const std::vector<Description>& descriptions,
                       const HeadShape& shape) {
  const std::string removed = removed_text(results, shape);
  std::string text =
      model_name(results) + " has " + count_text(shape.n_layer, "layer") + " of " +
      count_text(shape.n_head, "head") + removed +
      said_of_model(descriptions, &Description::model_size, removed.empty() ? " and " : ", and ") +
      ".";
  const std::int64_t n_token = results.integer("n_token").value_or(-1),
                     n_document = results.integer("n_document").value_or(-1);
  if (n_token >= 0 && n_document >= 0) {
    text += " It read " + grouped(static_cast<std::uint64_t>(n_token)) + " tokens in " +
            count_text(static_cast<std::size_t>(n_document), "document") +
            said_of_model(descriptions, &Description::model_loss, "; ") + ".";
    const std::string first = results.text("first_token");
    if (!first.empty()) text += " Documents begin with " + first + ".";
  }
  return text;
}

bool has_headline(const std::vector<Description>& descriptions) {
  return std::ranges::any_of(descriptions, [](const Description& description) {
    const Headline& headline = description.headline;
    return !(headline.attend_by + headline.matter + headline.explained).empty();
  });
}

std::string last_headline(const std::vector<Description>& descriptions,
                          std::string Headline::*sentence) {
  for (const Description& description : descriptions | std::views::reverse) {
    if (!(description.headline.*sentence).empty()) return description.headline.*sentence;
  }
  return "";
}

}  // namespace

std::string claims_line(const Results& results) {
  std::size_t n_claim = 0, n_hold = 0, n_fail = 0;
  for (const ResultsGroup& group : results.groups) {
    for (const Claim& claim : group.claims) {
      if (claim.arithmetic || !is_tested(claim)) continue;
      ++n_claim;
      n_hold += claim.verdict == Verdict::holds;
      n_fail += claim.verdict == Verdict::does_not_hold;
    }
  }
  if (n_claim == 0) return "";
  return "Of " + count_text(n_claim, "claim") + " about heads put to the test, " +
         std::to_string(n_hold) + (n_hold == 1 ? " holds" : " hold") + " for this model, " +
         std::to_string(n_fail) + (n_fail == 1 ? " does" : " do") + " not, and " +
         std::to_string(n_claim - n_hold - n_fail) + " cannot be decided.";
}

std::string claims_paragraph(const Results& results) {
  std::size_t n_untested = 0, n_arithmetic = 0;
  for (const ResultsGroup& group : results.groups) {
    for (const Claim& claim : group.claims) {
      n_arithmetic += claim.arithmetic;
      n_untested += !claim.arithmetic && !is_tested(claim);
    }
  }
  std::string text = claims_line(results);
  std::vector<std::string> uncounted;
  const auto add = [&](std::size_t n, const std::string& one_is, const std::string& several_are) {
    if (n == 0) return;
    const bool is_first = text.empty() && uncounted.empty();
    uncounted.push_back(count_text(n, is_first ? "claim" : "more claim") +
                        (n == 1 ? one_is : several_are));
  };
  add(n_untested, " was not tested", " were not tested");
  add(n_arithmetic, " is decided by arithmetic alone", " are decided by arithmetic alone");
  if (!uncounted.empty()) text += (text.empty() ? "" : " ") + joined(uncounted, "; ") + ".";
  return text;
}

std::vector<Finding> first_sentences(const ReportContent& content) {
  const std::vector<Description>& descriptions = content.descriptions;
  std::vector<Finding> all = findings(content.results, descriptions);
  if (!has_headline(descriptions)) return all;
  std::erase_if(all, [](const Finding& finding) {
    return finding.about != warning_about && finding.about != model_about;
  });
  const auto add = [&](const char* about, std::string Headline::*sentence) {
    const std::string text = last_headline(descriptions, sentence);
    if (!text.empty()) all.push_back({.about = about, .text = text});
  };
  add("Attention", &Headline::attend_by);
  add("Effect", &Headline::matter);
  add("Explained", &Headline::explained);
  add("Next", &Headline::look_next);
  return all;
}

SectionText section_text(const ReportContent& content, const ResultsGroup& group) {
  SectionText text;
  for (const std::string_view line : fields::split(group.summary, '\n')) {
    if (!line.empty()) text.paragraphs.emplace_back(line);
  }
  const auto description = std::ranges::find(content.descriptions, group.name, &Description::group);
  if (has_headline(content.descriptions) && description != content.descriptions.end()) {
    text.found = description->found;
    text.findings = description->findings;
    if (text.found.empty() && !text.findings.empty()) {
      text.found = text.findings.front().text;
      text.findings.erase(text.findings.begin());
    }
  }
  std::erase_if(text.paragraphs, [&](const std::string& paragraph) {
    return paragraph == text.found || std::ranges::any_of(text.findings, [&](const Finding& entry) {
             return entry.text == paragraph || std::ranges::count(entry.items, paragraph) > 0;
           });
  });
  if (text.found.empty() && !text.paragraphs.empty()) {
    text.found = text.paragraphs.front();
    text.paragraphs.erase(text.paragraphs.begin());
  }
  return text;
}

std::vector<Finding> findings(const Results& results,
                              const std::vector<Description>& descriptions) {
  std::vector<Finding> lines;
  const auto add = [&](const char* about, const std::string& text) {
    if (!text.empty()) lines.push_back({.about = about, .text = text});
  };
  const std::optional<HeadShape> shape = head_shape(results);
  // On a terminal a warning follows the program's name in lower case.
  add(warning_about, capitalised(results.text("corpus_warning")));
  add(warning_about, capitalised(results.text("tasks_warning")));
  for (const Description& entry : descriptions) add(warning_about, capitalised(entry.warning));
  if (shape && results.attributes.contains("model_path")) {
    add(model_about, model_line(results, descriptions, *shape));
  }
  for (const Description& entry : descriptions) {
    lines.insert(lines.end(), entry.findings.begin(), entry.findings.end());
  }
  add("Claims", claims_line(results));
  return lines;
}

}  // namespace headscope
