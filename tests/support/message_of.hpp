#pragma once

#include <string>

#include "headscope/error.hpp"

namespace headscope::test {

/// Message of the `Expected` that `action` throws; `no error` if it throws nothing.
template <typename Expected = Error, typename Action>
std::string message_of(const Action& action) {
  try {
    action();
  } catch (const Expected& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace headscope::test
