#include "headscope/presentation.hpp"

#include <utility>

#include "headscope/error.hpp"
#include "headscope/results.hpp"

namespace headscope {

void Description::add(const std::string& about, const std::string& text,
                      std::vector<std::string> items) {
  if (!text.empty()) findings.push_back({about, text, std::move(items)});
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
