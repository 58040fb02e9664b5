#pragma once

#include <string>

namespace headscope {

/// The PNG with its resolution beside its header, so that it has its size in print: a `pHYs` chunk
/// (PNG specification, section 11.3.4.3). Anything that is no PNG is returned as it is.
/// @param dots_per_inch  of both axes.
std::string with_resolution(const std::string& png, double dots_per_inch);

}  // namespace headscope
