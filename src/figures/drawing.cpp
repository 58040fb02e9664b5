#include "figures/drawing.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>

#include "figures/gnuplot.hpp"

namespace headscope {
namespace {

bool is_installed() {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::filesystem::path program = std::filesystem::path(folder) / "gnuplot";
    std::error_code none;
    if (std::filesystem::is_regular_file(program, none) && ::access(program.c_str(), X_OK) == 0) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::string why_no_figures() {
  if (!is_installed()) return "gnuplot is not installed";
  const std::string complaint = gnuplot_complaint();
  return complaint.empty() ? "" : "gnuplot does not start (" + complaint + ")";
}

}  // namespace headscope
