#include "headscope/version.hpp"

namespace headscope {

std::string version() {
  return HEADSCOPE_VERSION;
}

std::string git_commit() {
  return HEADSCOPE_GIT_COMMIT;
}

}  // namespace headscope
