#include "command_line.hpp"

int main(int argc, char** argv) {
  return headscope::run_command_line(std::vector<std::string>(argv + 1, argv + argc));
}
