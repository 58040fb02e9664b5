#include <gmock/gmock.h>

#include "headscope/kernel.hpp"

int main(int argc, char** argv) {
  headscope::blas::restart_with_best_settings(argv);
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
