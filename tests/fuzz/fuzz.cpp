#include "fuzz.hpp"

#include <fcntl.h>
#include <hdf5.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "base/utf8.hpp"

// A long quarantine would find little, because HDF5 keeps freed blocks itself. Giving memory back
// to the system would take most of the time, recording allocation stacks a tenth. For the stacks of
// a finding, set ASAN_OPTIONS=malloc_context_size=30.
extern "C" const char* __asan_default_options() {
  return "quarantine_size_mb=1:allocator_release_to_os_interval_ms=-1:malloc_context_size=0:"
         "max_malloc_fill_size=0:allocator_may_return_null=1:detect_stack_use_after_return=0";
}

// Each open file needs a cache of half a megabyte, more than HDF5 keeps for reuse by default.
extern "C" int LLVMFuzzerInitialize(int* /*n_argument*/, char*** /*arguments*/) {
  return H5set_free_list_limits(1 << 24, 1 << 23, 1 << 24, 1 << 23, 1 << 24, 1 << 23) < 0 ? 1 : 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  headscope::fuzz::test_input({data, size});
  return 0;
}

// HDF5 leaks memory when it refuses a file.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libhdf5";
}

namespace headscope::fuzz {

void require(bool holds, std::string_view claim) {
  if (holds) return;
  std::fprintf(stderr, "claim does not hold: %.*s\n", static_cast<int>(claim.size()), claim.data());
  std::abort();
}

void check_message(std::string_view message) {
  require(!message.empty(), "an error says something");
  require(message.find('\n') == std::string_view::npos, "an error is one line");
  require(message.find('\x1b') == std::string_view::npos, "an error holds no terminal commands");
  require(utf8::valid_prefix(message) == message.size(), "an error is UTF-8");
}

std::uint8_t Bytes::next() {
  if (rest_.empty()) return 0;
  const std::uint8_t byte = rest_.front();
  rest_ = rest_.subspan(1);
  return byte;
}

std::uint16_t Bytes::next_pair() {
  const unsigned low = next();
  return static_cast<std::uint16_t>(low | static_cast<unsigned>(next()) << 8);
}

std::size_t Bytes::below(std::size_t n) {
  if (n < 2) return 0;
  return (n <= 256 ? next() : next_pair()) % n;
}

std::string Bytes::text(std::size_t most) {
  const std::size_t length = std::min(below(most + 1), rest_.size());
  const std::string bytes(rest_.begin(), rest_.begin() + static_cast<std::ptrdiff_t>(length));
  rest_ = rest_.subspan(length);
  return bytes;
}

std::string_view Bytes::rest() const {
  return {reinterpret_cast<const char*>(rest_.data()), rest_.size()};
}

const std::string& file_with(std::string_view content) {
  static const int descriptor = ::memfd_create("headscope_fuzz", MFD_CLOEXEC);
  static const std::string path = "/proc/self/fd/" + std::to_string(descriptor);
  const bool filled =
      ::ftruncate(descriptor, 0) == 0 && ::pwrite(descriptor, content.data(), content.size(), 0) ==
                                             static_cast<ssize_t>(content.size());
  require(filled, "a file in memory can be filled");
  return path;
}

OutputPath::OutputPath() : path_("/dev/shm/headscope_fuzz_" + std::to_string(::getpid())) {}

OutputPath::~OutputPath() {
  ::unlink(path_.c_str());
}

std::string with_lf(std::string_view text) {
  std::string lines(text);
  if (lines.find('\n') == std::string::npos) std::replace(lines.begin(), lines.end(), '\r', '\n');
  return lines;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace headscope::fuzz
