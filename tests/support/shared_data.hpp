#pragma once

#include <string>

namespace headscope::test {

/// Folder of real data, which a clone of the project does not have.
inline const std::string shared_data = HEADSCOPE_PROJECT_DIR "/../shared/data";

}  // namespace headscope::test
