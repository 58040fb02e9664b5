#pragma once

#include <map>
#include <string>

#include "headscope/statistics.hpp"

namespace headscope {

/// What a statistics file holds: statistics by name, and short texts that say what they are of.
struct StatisticsFile {
  std::map<std::string, std::string> texts;
  std::map<std::string, Statistics> parts;
};

/// Writes an HDF5 file of which every byte that matters is checked (Fletcher32, and HDF5's own
/// checksums of what describes the data); the file appears only when whole. Sums are kept exactly.
/// Sealed sums and rows are left out.
/// @throws DataError if it cannot be written.
void save_statistics(const std::map<std::string, std::string>& texts,
                     const std::map<std::string, Statistics>& parts, const std::string& path);

/// @throws DataError naming file and dataset if it is not a statistics file, or is damaged.
StatisticsFile load_statistics(const std::string& path);

/// Removes the file if it is there, and what killed writers of it left.
/// @throws DataError if it cannot be removed.
void remove_statistics(const std::string& path);

/// The texts alone.
std::map<std::string, std::string> load_statistics_texts(const std::string& path);

}  // namespace headscope
