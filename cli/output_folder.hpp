#pragma once

#include <string>

namespace headscope {

/// Checks, before any work, that nothing is in the way of what a run writes into the folder.
/// @throws DataError naming the file or folder that is.
void check_output_folder(const std::string& path);

/// @throws DataError if the folder holds the results of a run.
void refuse_replacement(const std::string& path);

/// Says on stderr that the results in the folder will be replaced, if there are any.
void announce_replacement(const std::string& path);

}  // namespace headscope
