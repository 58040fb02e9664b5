#include "output_folder.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>

#include "headscope/error.hpp"
#include "headscope/utf8.hpp"
#include "terminal.hpp"

namespace headscope {
namespace {

namespace fs = std::filesystem;

DataError cannot_write(const fs::path& path, const std::string& reason) {
  return DataError(path.string(), "", "cannot be written: " + reason);
}

bool holds_results(const std::string& path) {
  std::error_code ignored;
  return fs::exists(fs::path(path) / "results.h5", ignored);
}

}  // namespace

void check_output_folder(const std::string& path) {
  std::error_code ignored;
  for (const char* name : {"results.h5", "report.html", "report.md"}) {
    const fs::path file = fs::path(path) / name;
    const fs::file_status status = fs::status(file, ignored);
    if (fs::is_directory(status)) throw cannot_write(file, "it is a folder");
    if (fs::exists(status) && !fs::is_regular_file(status)) {
      throw cannot_write(file, "it is not a file");
    }
  }
  for (const char* name : {"", "tables", "figures", "shards"}) {
    const fs::path folder = *name == '\0' ? fs::path(path) : fs::path(path) / name;
    const fs::file_status status = fs::status(folder, ignored);
    if (!fs::exists(status)) continue;
    if (!fs::is_directory(status)) throw cannot_write(folder, "it is not a folder");
    if (::access(folder.c_str(), W_OK) != 0) {
      throw cannot_write(folder, std::strerror(errno));
    }
  }
}

void refuse_replacement(const std::string& path) {
  if (!holds_results(path)) return;
  throw DataError(path, "",
                  "holds the results of a finished run; --force replaces them, or choose another "
                  "folder");
}

void announce_replacement(const std::string& path) {
  if (!holds_results(path)) return;
  std::cerr << Terminal::error().note("the results in " + one_line(path) + " will be replaced");
}

}  // namespace headscope
