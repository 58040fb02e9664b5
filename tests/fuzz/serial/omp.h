#pragma once

// OpenMP's functions for a build without its runtime: one thread.
inline int omp_in_parallel() {
  return 0;
}
inline int omp_get_num_procs() {
  return 1;
}
inline int omp_get_num_places() {
  return 0;
}
inline int omp_get_place_num_procs(int) {
  return 0;
}
inline void omp_get_place_proc_ids(int, int*) {}
inline int omp_get_thread_limit() {
  return 1;
}
inline int omp_get_max_threads() {
  return 1;
}
inline int omp_get_thread_num() {
  return 0;
}
inline void omp_set_dynamic(int) {}
inline void omp_set_num_threads(int) {}
