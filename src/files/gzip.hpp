#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace headscope {

/// Whether the first bytes are those of gzip; false if the file cannot be read.
bool is_gzip(const std::string& path);

/// Calls `take` with the decompressed bytes of a gzip file, block by block.
/// @throws DataError if the file cannot be opened, is damaged or cut short, or if other bytes than
/// gzip members and zeros follow the first member.
/// Source: RFC 1952.
void read_gzip(const std::string& path, const std::function<void(std::string_view)>& take);

}  // namespace headscope
