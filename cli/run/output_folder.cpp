#include "run/output_folder.hpp"

#include <filesystem>

#include "headscope/error.hpp"

namespace headscope {

void make_folder(const std::string& path) {
  std::error_code failure;
  std::filesystem::create_directories(path, failure);
  if (failure) throw DataError(path, "", "cannot be made: " + failure.message());
}

}  // namespace headscope
