// Preloaded, counts the bytes of the heap in use.
#include <malloc.h>

#include <atomic>
#include <cerrno>
#include <cstddef>

extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* bytes, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
void __libc_free(void* bytes);
}

namespace {

std::atomic<std::size_t> in_use{0}, most_in_use{0};

void* taken(void* bytes) {
  const std::size_t now = in_use += malloc_usable_size(bytes);
  std::size_t most = most_in_use;
  while (most < now && !most_in_use.compare_exchange_weak(most, now)) {
  }
  return bytes;
}

void given_back(void* bytes) {
  in_use -= malloc_usable_size(bytes);
}

}  // namespace

extern "C" {

/// Bytes in use now, from which most_allocated() counts again.
std::size_t start_counting_allocations() {
  most_in_use = in_use.load();
  return in_use;
}

/// The most bytes in use since start_counting_allocations().
std::size_t most_allocated() {
  return most_in_use;
}

void* malloc(std::size_t size) {
  return taken(__libc_malloc(size));
}

void* calloc(std::size_t count, std::size_t size) {
  return taken(__libc_calloc(count, size));
}

void* realloc(void* bytes, std::size_t size) {
  given_back(bytes);
  return taken(__libc_realloc(bytes, size));
}

void* memalign(std::size_t alignment, std::size_t size) {
  return taken(__libc_memalign(alignment, size));
}

void* aligned_alloc(std::size_t alignment, std::size_t size) {
  return taken(__libc_memalign(alignment, size));
}

int posix_memalign(void** bytes, std::size_t alignment, std::size_t size) {
  *bytes = taken(__libc_memalign(alignment, size));
  return *bytes == nullptr ? ENOMEM : 0;
}

void free(void* bytes) {
  given_back(bytes);
  __libc_free(bytes);
}
}
