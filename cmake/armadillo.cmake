# Header-only Armadillo with OpenBLAS linked directly, without Armadillo's wrapper library.
# Installed with the package config, which includes it to define the same target for consumers.
find_package(PkgConfig REQUIRED)
pkg_check_modules(openblas REQUIRED IMPORTED_TARGET openblas)
find_path(ARMADILLO_INCLUDE_DIR armadillo REQUIRED)
if(NOT TARGET headscope_armadillo)
  add_library(headscope_armadillo INTERFACE IMPORTED)
  target_include_directories(headscope_armadillo SYSTEM INTERFACE ${ARMADILLO_INCLUDE_DIR})
  target_link_libraries(headscope_armadillo INTERFACE PkgConfig::openblas)
endif()
