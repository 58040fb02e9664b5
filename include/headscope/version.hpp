#pragma once

#include <string>

namespace headscope {

/// `0.1.0`
std::string version();

/// Git commit the library was built from; empty when built outside a checkout.
std::string git_commit();

}  // namespace headscope
