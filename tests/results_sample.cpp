#include "results_sample.hpp"

#include <limits>

#include "headscope/random.hpp"

namespace headscope::test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

Variable real(const std::string& name, const std::vector<std::string>& dimensions, Shape shape,
              std::uint64_t stream) {
  Variable variable;
  variable.name = name;
  variable.dimensions = dimensions;
  variable.values = Array(std::move(shape));
  for (std::size_t i = 0; i < variable.values.size(); ++i) {
    variable.values.values[i] = CounterRandom(6, stream).uniform(i) - 0.3;
  }
  variable.long_name = "Definition of " + name;
  variable.units = "nats";
  variable.references = "Michel et al. 2019";
  return variable;
}

ResultsGroup pruning() {
  ResultsGroup group;
  group.name = "pruning";
  group.title = "Pruning heads";
  group.summary = "Removing L1H2 costs most.\nSecond paragraph with " + hostile;
  group.add_dimension(Dimension::labels("method", {"zero", "mean"}));
  group.add_dimension(Dimension::count("layer", 2));
  group.add_dimension(Dimension::count("head", 3));
  group.add_dimension(Dimension::labels("type", {"none", "positional", "größer"}));
  group.add_dimension(Dimension::numbers("fraction", {0, 0.1, 0.25, 1}));
  const std::vector<std::string> axes{"method", "layer", "head"};
  Variable increase = real("loss_increase", axes, {2, 2, 3}, 1);
  increase.values(0, 1, 2) = 2.5;
  increase.values(1, 0, 0) = nan;
  group.add(increase);
  for (const char* const end : {"_ci_low", "_ci_high"}) {
    Variable variable = increase;
    variable.name += end;
    for (double& value : variable.values.values)
      value += end == std::string("_ci_low") ? -0.1 : 0.1;
    group.add(variable);
  }
  group.add(real("loss_baseline", {}, {}, 2));
  group.add(real("curve", {"fraction"}, {4}, 3));

  Variable count = real("documents", {"layer"}, {2}, 0);
  count.type = Variable::Type::integer;
  count.values.values = {9007199254740991.0, -3};
  count.units = "count";
  group.add(count);

  Variable primary = real("primary", {"layer", "head"}, {2, 3}, 0);
  primary.type = Variable::Type::flag;
  primary.values.values = {0, 1, 2, 2, 1, 0};
  primary.flag_meanings = {"none", "positional", "not_measured"};
  primary.units = "1";
  group.add(primary);

  Variable words = real("example", {"type"}, {3}, 0);
  words.type = Variable::Type::text;
  words.values = {};
  words.text = {"", "line one\nline two, \"quoted\"", hostile};
  words.units = "1";
  group.add(words);

  group.claims = {
      {9, "Many heads can be pruned", Verdict::holds, "share of heads", 0.4, 0.3, 0.5, "Because."},
      {9, hostile, Verdict::undecided, "", nan, nan, nan, hostile},
      {2, "Exact", Verdict::does_not_hold, "parameters", 2359296, nan, nan, "4d² = 2,359,296."}};
  return group;
}

ResultsGroup nested() {
  ResultsGroup group;
  group.name = "control/pruning";
  group.title = "Pruning an untrained model";
  group.add_dimension(Dimension::count("unit_i", 30));
  group.add_dimension(Dimension::count("unit_j", 30));
  group.add(real("cosine_all", {"unit_i", "unit_j"}, {30, 30}, 8));
  return group;
}

}  // namespace

Results results_sample() {
  Results results;
  results.attributes = {{"version", std::string("0.1.0")},
                        {"command_line", "headscope run --output " + hostile},
                        {"model_path", std::string("models/tiny <b>.h5")},
                        {"seed", std::int64_t{20240229}},
                        {"threshold", 0.1},
                        {"date", std::string("2024-02-29T12:00:00Z")}};
  results.groups = {pruning(), nested()};
  return results;
}

}  // namespace headscope::test
