#pragma once

#include <stdexcept>

namespace headscope {

/// The command line is not as it should be: exit status 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace headscope
