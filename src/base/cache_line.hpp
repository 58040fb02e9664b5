#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace headscope {

constexpr std::size_t cache_line = 64;

/// Allocates memory that begins at a cache line. A row of an AMX tile fills one line; a row that
/// crosses two lines takes twice as long to load.
template <typename T>
struct CacheLineAllocator {
  using value_type = T;

  CacheLineAllocator() = default;
  template <typename Other>
  CacheLineAllocator(const CacheLineAllocator<Other>& /*other*/) {}

  T* allocate(std::size_t count) {
    return static_cast<T*>(::operator new (count * sizeof(T), std::align_val_t{cache_line}));
  }
  void deallocate(T* memory, std::size_t /*count*/) {
    ::operator delete (memory, std::align_val_t{cache_line});
  }
  /// Leaves new elements undefined: they are overwritten before they are read.
  template <typename Element>
  void construct(Element* element) {
    ::new (static_cast<void*>(element)) Element;
  }
  friend bool operator==(const CacheLineAllocator&, const CacheLineAllocator&) { return true; }
};

template <typename T>
using CacheLines = std::vector<T, CacheLineAllocator<T>>;

/// Makes room for at least `size` elements. If they do not fit, all contents become undefined.
template <typename T>
void grow(std::size_t size, CacheLines<T>& memory) {
  if (memory.size() >= size) return;
  memory = CacheLines<T>();  // not copied, and given back before more is taken
  memory = CacheLines<T>(size);
}

}  // namespace headscope
