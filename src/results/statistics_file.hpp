#pragma once

#include <map>
#include <string>

#include "headscope/statistics.hpp"

namespace headscope {

/// Contents of a statistics file: statistics by name, and short texts that identify the run.
struct StatisticsFile {
  std::map<std::string, std::string> texts;
  std::map<std::string, Statistics> parts;
};

/// Writes an HDF5 file with checksums over data (Fletcher32) and metadata; the file appears only
/// once complete. Sums are stored exactly. What is sealed is left out.
/// @throws DataError if it cannot be written.
void save_statistics(const std::map<std::string, std::string>& texts,
                     const std::map<std::string, Statistics>& parts, const std::string& path);

/// @throws DataError naming file and dataset if it is not a statistics file, or is damaged.
StatisticsFile load_statistics(const std::string& path);

/// Reads only the texts.
std::map<std::string, std::string> load_statistics_texts(const std::string& path);

}  // namespace headscope
