#include "headscope/presentation.hpp"

#include <utility>

#include "base/text.hpp"
#include "headscope/error.hpp"
#include "headscope/results.hpp"

namespace headscope {
namespace {

std::string shown(const std::vector<std::string>& dimensions) {
  return dimensions.empty() ? "none" : joined(dimensions, ", ");
}

}  // namespace

void Description::add(const std::string& about, const std::string& text,
                      std::vector<std::string> items) {
  if (!text.empty()) findings.push_back({about, text, std::move(items)});
}

void check_dimensions(const Results& results, const std::string& path,
                      const std::vector<Presentation>& presentations) {
  for (const Presentation& presentation : presentations) {
    if (presentation.variables == nullptr || !results.has(presentation.group)) continue;
    for (const Variable& variable : results.group(presentation.group).variables) {
      const Declaration* const declared = presentation.variables->find(variable.name);
      if (declared == nullptr || declared->dimensions == variable.dimensions) continue;
      throw DataError(path, presentation.group + "/" + variable.name,
                      "expected the dimensions " + shown(declared->dimensions) + ", got " +
                          shown(variable.dimensions));
    }
  }
}

std::vector<Description> describe(const Results& results,
                                  const std::vector<Presentation>& presentations) {
  std::vector<Description> descriptions;
  for (const Presentation& presentation : presentations) {
    if (!presentation.describe || !results.has(presentation.group)) continue;
    Description& description = descriptions.emplace_back();
    try {
      description = presentation.describe(results);
    } catch (const Error& error) {
      description.warning = "These results lack what this version says of " + presentation.group +
                            ": " + error.what();
    }
    description.group = presentation.group;
  }
  return descriptions;
}

}  // namespace headscope
