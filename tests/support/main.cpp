#include <gmock/gmock.h>

#include "restart.hpp"

int main(int argc, char** argv) {
  headscope::restart_with_best_settings(argv);
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
