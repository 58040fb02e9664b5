// Preloaded, ends the process where it asks for 512 MiB or more at once.
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <string_view>

extern "C" void* __libc_malloc(std::size_t size);
extern "C" void* __libc_calloc(std::size_t count, std::size_t size);
extern "C" void* __libc_realloc(void* bytes, std::size_t size);

namespace {
void check(std::size_t size) {
  if (size < std::size_t{512} << 20) return;
  constexpr std::string_view message = "asked for 512 MiB or more at once\n";
  [[maybe_unused]] const auto written = ::write(2, message.data(), message.size());
  std::abort();
}
}  // namespace

extern "C" void* malloc(std::size_t size) {
  check(size);
  return __libc_malloc(size);
}

extern "C" void* calloc(std::size_t count, std::size_t size) {
  check(size == 0 ? 0 : count > (std::size_t{1} << 40) / size ? ~std::size_t{0} : count * size);
  return __libc_calloc(count, size);
}

extern "C" void* realloc(void* bytes, std::size_t size) {
  check(size);
  return __libc_realloc(bytes, size);
}
