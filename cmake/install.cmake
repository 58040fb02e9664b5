include(CMakePackageConfigHelpers)
set(headscope_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/headscope)

install(TARGETS headscope headscope_cli EXPORT headscope_targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
# The command line reads its default model and stories from here.
install(FILES data/default-model.h5 data/stories.conllu data/tasks.jsonl
  DESTINATION ${CMAKE_INSTALL_DATADIR}/headscope)
install(DIRECTORY include/headscope DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT headscope_targets NAMESPACE headscope:: DESTINATION ${headscope_package_dir})
configure_package_config_file(cmake/headscope-config.cmake.in
  ${PROJECT_BINARY_DIR}/headscope-config.cmake INSTALL_DESTINATION ${headscope_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/headscope-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/headscope-config.cmake
  ${PROJECT_BINARY_DIR}/headscope-config-version.cmake
  cmake/dependencies.cmake cmake/armadillo.cmake DESTINATION ${headscope_package_dir})
