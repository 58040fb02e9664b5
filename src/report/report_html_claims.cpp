#include "base/text.hpp"
#include "report/html_text.hpp"
#include "report/report_pages.hpp"
#include "results/results_claims.hpp"

namespace headscope {
namespace {

std::string badge(const Claim& claim) {
  const std::string_view kind = !is_tested(claim)                         ? "open\">– "
                                : claim.verdict == Verdict::holds         ? "holds\">✓ "
                                : claim.verdict == Verdict::does_not_hold ? "fails\">✗ "
                                                                          : "open\">? ";
  return "<span class=\"badge " + std::string(kind) + std::string(verdict_text(claim)) + "</span>";
}

std::string claim_html(const PlacedClaim& placed) {
  const Claim& claim = *placed.claim;
  const std::string effect = effect_text(claim);
  std::string html = "<details class=\"claim\"><summary>" + badge(claim) +
                     " <span class=\"claim-number\">" + placed.label + "</span> " +
                     prose_html(claim.statement) + "</summary>\n<p>" + prose_html(claim.evidence) +
                     "</p>\n<p>";
  if (!effect.empty()) {
    html += prose_html(claim.effect_name) + ": <strong>" + prose_html(effect) + "</strong>. ";
  }
  if (!claim.source.empty()) html += "Source: " + html_text(claim.source) + ". ";
  return html + "From <a href=\"#" + group_anchor(placed.group->name) + "\">" +
         html_text(placed.group->name) + "</a>.</p>\n</details>\n";
}

}  // namespace

std::string claims_section(const ReportContent& content) {
  const auto claims = claims_by_group(content.results.groups);
  if (claims.empty()) return "";
  std::string measured, arithmetic;
  for (const PlacedClaim& placed : claims) {
    (placed.claim->arithmetic ? arithmetic : measured) += claim_html(placed);
  }
  if (!arithmetic.empty()) {
    arithmetic = "<h3>Decided by arithmetic alone</h3>\n" + arithmetic;
  }
  return "<section id=\"claims\">\n<h2>Claims</h2>\n<p>" +
         prose_html(claims_paragraph(content.results)) +
         " Open a claim for its evidence. Intervals are 95\u00a0%. An exact effect has no sampling "
         "error; one with no interval has an error that was not measured.</p>\n" +
         measured + arithmetic + "</section>\n";
}

}  // namespace headscope
