#include <cmath>

#include "hdf5_samples.hpp"
#include "headscope/results.hpp"

namespace headscope::fuzz {
namespace {

bool same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

bool same(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](double x, double y) { return same(x, y); });
}

void check_results(const Results& results) {
  for (const ResultsGroup& group : results.groups) {
    for (const Variable& variable : group.variables) {
      Shape shape;
      for (const std::string& name : variable.dimensions) {
        shape.push_back(group.dimensions.at(name).size());
      }
      const bool text = variable.type == Variable::Type::text;
      require((text ? variable.text.size() : variable.values.size()) == element_count(shape),
              "a variable has the elements of its dimensions");
      if (variable.interval) {
        require(variable.interval->low.shape == shape && variable.interval->high.shape == shape,
                "an interval has the shape of its values");
      }
      if (variable.type != Variable::Type::flag) continue;
      for (const double value : variable.values.values) {
        require(value >= 0 && value < static_cast<double>(variable.flag_meanings.size()),
                "a flag has a meaning");
      }
    }
    for (const Claim& claim : group.claims) {
      require(claim.verdict == Verdict::holds || claim.verdict == Verdict::does_not_hold ||
                  claim.verdict == Verdict::undecided,
              "a verdict is one of three");
    }
  }
}

void check_same(const Results& a, const Results& b) {
  require(a.groups.size() == b.groups.size(), "written groups are read again");
  for (std::size_t g = 0; g < a.groups.size(); ++g) {
    const ResultsGroup &ours = a.groups[g], &theirs = b.groups[g];
    require(ours.name == theirs.name && ours.variables.size() == theirs.variables.size() &&
                ours.claims.size() == theirs.claims.size(),
            "a written group is read as it was");
    for (std::size_t v = 0; v < ours.variables.size(); ++v) {
      require(same(ours.variables[v].values.values, theirs.variables[v].values.values),
              "written numbers are read as they were");
    }
  }
}

}  // namespace

// A results file, changed object by object.
void test_input(Bytes bytes) {
  static const Hdf5Sample sample{results_image(), results_words()};
  static const OutputPath output;
  const bool write_too = bytes.below(8) == 1;
  const std::string& path = edited_file(sample, bytes);
  Results results;
  if (!read_or_refuse([&] { results = read_results(path); })) return;
  check_results(results);
  if (write_too && read_or_refuse([&] { write_results(results, output.path()); })) {
    check_same(results, read_results(output.path()));
  }
}

}  // namespace headscope::fuzz
