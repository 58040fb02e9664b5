// Preloaded, refuses aligned memory to every thread but the main one.
#include <malloc.h>
#include <unistd.h>

#include <cstddef>

extern "C" void* aligned_alloc(std::size_t alignment, std::size_t size) {
  return gettid() == getpid() ? memalign(alignment, size) : nullptr;
}
