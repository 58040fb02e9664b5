#include "default_data.hpp"

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "headscope/error.hpp"

namespace headscope {

namespace fs = std::filesystem;

std::string default_data_path(const std::string& name) {
  std::vector<fs::path> places;
  if (const char* set = std::getenv("HEADSCOPE_DATA"); set != nullptr && *set != '\0') {
    places.emplace_back(set);
  } else {
    std::error_code ignored;
    const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
    if (!program.empty()) places.push_back(program.parent_path() / "../share/headscope");
    places.emplace_back(HEADSCOPE_SOURCE_DATA);
  }
  std::string looked;
  for (const fs::path& place : places) {
    if (fs::exists(place / name)) return (place / name).lexically_normal().string();
    looked += (looked.empty() ? "" : ", ") + place.lexically_normal().string();
  }
  throw DataError(name, "", "expected the default data below one of: " + looked + "; found none");
}

}  // namespace headscope
