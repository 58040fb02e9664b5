#include "headscope/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "headscope/error.hpp"
#include "headscope/model.hpp"
#include "report/html_text.hpp"
#include "report/inline_svg.hpp"
#include "report/script_json.hpp"
#include "support/message_of.hpp"
#include "support/random_weights.hpp"
#include "support/results_sample.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_directory.hpp"

namespace headscope {
namespace {

using testing::HasSubstr;
using testing::Not;

Figure small_figure() {
  Heatmap map;
  map.panels = {{"", Array({2, 2}, {0, 1, 2, 3})}};
  return {"small", "pruning", "Small", "What it shows.", "Source 2020", map};
}

TEST(InlineSvg, KeepsIdsApart) {
  const std::string svg =
      "<?xml version=\"1.0\"?><!-- c --><svg viewBox=\"0 0 48 30\"><title>t</title><g id='a'/>"
      "<use xlink:href='#a' fill=\"url(#a)\"/><text>id='a' href=\"#a\"</text></svg>\n";
  EXPECT_EQ(inline_svg(svg, "p-", "A \"b\""),
            "<svg role=\"img\" aria-label=\"A &quot;b&quot;\" width=\"64.8\" "
            "viewBox=\"0 0 48 30\"><g id='p-a'/><use xlink:href='#p-a' fill=\"url(#p-a)\"/>"
            "<text>id='a' href=\"#a\"</text></svg>");
}

TEST(InlineSvg, MakesGreysVariables) {
  const std::string svg = inline_svg(
      "<svg><path stroke='black' fill=\"#ffffff\"/><g fill='rgb( 34,34, 34)' "
      "color=\"rgb(1,2,3)\"/><g fill=\"rgb(247, 247, 247)\"/></svg>",
      "p-", "");
  EXPECT_THAT(svg, HasSubstr("stroke='var(--grey-0)' fill=\"var(--grey-255)\""));
  EXPECT_THAT(svg, HasSubstr("fill='var(--grey-34)' color=\"rgb(1,2,3)\""));
  EXPECT_THAT(svg, HasSubstr("fill=\"rgb(247, 247, 247)\"")) << "the middle of a scale";
  EXPECT_EQ(grey_rules("var(--grey-0) var(--grey-51)"),
            ":root {\n  --grey-0: color-mix(in srgb, var(--figure-ink) 100%, "
            "var(--figure-paper));\n  --grey-51: color-mix(in srgb, var(--figure-ink) 80%, "
            "var(--figure-paper));\n}\n");
  EXPECT_EQ(grey_rules("plain"), "");
}

TEST(ProseHtml, SetsCodePercentAndMinus) {
  EXPECT_EQ(prose_html("`z <- 0` by 9.2 %: -0.5 [-1, 2], 1e-07, well-known 3-4"),
            "<code>z &lt;- 0</code> by 9.2\u00a0%: −0.5 [−1, 2], 1e−07, well-known 3-4");
}

TEST(InlineSvg, RefusesWhatIsActive) {
  for (const std::string inside :
       {"<script>x</script>", "<g onload='x'/>", "<a xlink:href='#b'/>",
        "<image xlink:href='https://example.org/a.png'/>", "<foreignObject/>", "<g"}) {
    EXPECT_EQ(inline_svg("<svg>" + inside + "</svg>", "p-", ""), "") << inside;
  }
  EXPECT_EQ(inline_svg("no picture", "p-", ""), "");
  EXPECT_NE(inline_svg("<svg><text>on click = &lt;script</text></svg>", "p-", ""), "");
}

TEST(Report, NeedsEveryFigure) {
  const test::TemporaryDirectory folder;
  EXPECT_THAT(test::message_of<DataError>([&] {
                write_report(test::results_sample(), test::sample_presentations(),
                             {{small_figure(), "", {}, {}, {}}}, folder.file(""));
              }),
              HasSubstr("small.svg: expected an SVG without scripts or links"));
  EXPECT_TRUE(folder.files().empty()) << "no half-written report";
}

TEST(Report, HasFigureDefinitionSourceAndProvenance) {
  const test::TemporaryDirectory folder;
  const DrawnFigure drawn = write_figure(small_figure(), folder.file("figures"), {"svg"});
  write_report(test::results_sample(), test::sample_presentations(), {drawn}, folder.file(""));
  EXPECT_THAT(folder.files(), testing::ElementsAre("figures", "report.html", "report.md"));
  const std::string html = test::read_file(folder.file("report.html"));
  for (const char* const part :
       {"<h2>Pruning heads</h2>", "What it shows.", "Source 2020", "Definition of loss_increase",
        "Michel et al. 2019", "tiny &lt;b&gt;.h5", "20240229", "0.40 [0.30, 0.50]",
        "2359296 (exact)", "0.25 (no interval)", "not_measured"}) {
    EXPECT_THAT(html, HasSubstr(part));
  }
  EXPECT_THAT(html, Not(HasSubstr("<td class=\"number\">nan")));
  const std::string markdown = test::read_file(folder.file("report.md"));
  for (const char* const part :
       {"![Small](figures/small.svg)", "| 9a | Many heads can be pruned | holds |",
        "share of heads: 0.40 \\[0.30, 0.50\\]", "parameters: 2359296 (exact)",
        "cosine: 0.25 (no interval)", "Because. Source: Michel et al. 2019. |",
        "parks the most.\n  - L0H1: 40 %.\n  - Text: ",
        "Removing L1H2 costs most.\n\nSecond paragraph with"}) {
    EXPECT_THAT(markdown, HasSubstr(part));
  }
  // What is true by arithmetic stands last.
  const auto at = [&](const char* row) { return markdown.find(row); };
  EXPECT_LT(at("| 6 |"), at("| 9a |"));
  EXPECT_LT(at("| 9a |"), at("| 9b |"));
  EXPECT_LT(at("| 9b |"), at("| 2 |"));
}

TEST(Report, TellsRemovedHeadsFromHeadsWithoutAType) {
  Results results = test::results_sample();
  results.attributes["pruned_heads"] = std::string("L1H0,L1H2");
  const test::TemporaryDirectory folder;
  write_report(results, test::sample_presentations(), {}, folder.file(""));
  EXPECT_THAT(test::read_file(folder.file("report.md")),
              HasSubstr("| L0 | – | positional | – |\n| L1 | removed | – | removed |\n"));
}

TEST(Report, HasNumbersTooSmallForAllDigitsOfFloat64) {
  EXPECT_EQ(json_number(1.2345e-310, 2).dump(), "1.2e-310");
  Results results = test::results_sample();
  const auto pruning = std::ranges::find(results.groups, "pruning", &ResultsGroup::name);
  const auto saving = std::ranges::find(pruning->variables, "saving", &Variable::name);
  saving->values.values.front() = 1.2345e-310;
  const test::TemporaryDirectory folder;
  const DrawnFigure drawn = write_figure(small_figure(), folder.file("figures"), {"svg"});
  write_report(results, test::sample_presentations(), {drawn}, folder.file(""));
  EXPECT_THAT(test::read_file(folder.file("report.html")), HasSubstr("[0.0,1.2345e-310]"));
}

TEST(Report, OfResultsThatLackAVariableNamesItAndHasTheOtherGroupsFigures) {
  const test::TemporaryDirectory folder;
  const std::string model = folder.file("model.h5"), out = folder.file("out");
  save_model(random_model(test::tiny_config(), 1), model);
  const test::Finished run =
      test::run_headscope_without_gnuplot({"run", "--model", model, "--output", out});
  ASSERT_EQ(run.exit_status, 0) << run.err;
  Results results = read_results(out + "/results.h5");
  std::erase_if(results.group("circuits").variables,
                [](const Variable& variable) { return variable.name == "ov_copying"; });
  write_results(results, out + "/results.h5");

  const test::Finished report = test::run_headscope({"report", out, "--figures", "svg"});
  EXPECT_EQ(report.exit_status, 0) << report.err;
  const std::string lacking = "results circuits: expected a variable ov_copying, found none";
  EXPECT_EQ(report.err, "headscope: warning: no figures of circuits: " + lacking + "\n");
  const std::string page = test::read_file(out + "/report.html");
  EXPECT_THAT(page, HasSubstr("No figures of circuits: " + lacking));
  EXPECT_THAT(page, HasSubstr("These results lack what this version says of circuits: " + lacking));
  EXPECT_THAT(page, HasSubstr("data-figure=\"parameter_counts\""));
  EXPECT_THAT(page, Not(HasSubstr("data-figure=\"elhage2021_copying\"")));
}

TEST(Report, AFigureOfNoGroupIsNotLost) {
  const test::TemporaryDirectory folder;
  Figure figure = small_figure();
  figure.group = "elsewhere";
  const DrawnFigure drawn = write_figure(figure, folder.file("figures"), {"svg"});
  write_report(test::results_sample(), test::sample_presentations(), {drawn}, folder.file(""));
  EXPECT_THAT(test::read_file(folder.file("report.html")), HasSubstr("Further figures"));
  EXPECT_THAT(test::read_file(folder.file("report.md")), HasSubstr("figures/small.svg"));
}

}  // namespace
}  // namespace headscope
