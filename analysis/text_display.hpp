#pragma once

#include <string>

namespace headscope {

/// Text fit for a results file: valid UTF-8 as it is, each byte that is not part of any as `\xNN`,
/// control characters likewise.
std::string readable_text(const std::string& bytes);

}  // namespace headscope
