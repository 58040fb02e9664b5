#pragma once

#include <omp.h>

#include <memory>
#include <typeindex>
#include <unordered_map>
#include <vector>

namespace headscope {

/// Objects that computations reuse for the sake of their memory, found by their type: one that the
/// threads share, and one for each OpenMP thread.
class Scratch {
 public:
  /// Makes room for the threads of the parallel regions to come. Call it outside of them.
  void make_room() {
    const auto n_thread = static_cast<std::size_t>(omp_get_max_threads());
    if (threads_.size() < n_thread) threads_.resize(n_thread);
  }

  template <typename T>
  T& shared() {
    return of<T>(shared_);
  }
  /// The calling thread's.
  template <typename T>
  T& of_thread() {
    return of<T>(threads_.at(static_cast<std::size_t>(omp_get_thread_num())));
  }

 private:
  using Objects = std::unordered_map<std::type_index, std::shared_ptr<void>>;

  template <typename T>
  static T& of(Objects& objects) {
    std::shared_ptr<void>& object = objects[typeid(T)];
    if (!object) object = std::make_shared<T>();
    return *static_cast<T*>(object.get());
  }

  Objects shared_;
  std::vector<Objects> threads_;
};

}  // namespace headscope
