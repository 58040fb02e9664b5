include(CMakePackageConfigHelpers)
if(SKBUILD)
  # A Python wheel: all below the package's folder, where the program finds its data.
  set(CMAKE_INSTALL_BINDIR bin)
  set(CMAKE_INSTALL_DATADIR share)
  set(CMAKE_INSTALL_MANDIR share/man)
endif()
set(headscope_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/headscope)

# Component program: the command line, with the default model and stories. Component development: the library.
install(TARGETS headscope_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
install(FILES data/default-model.h5 data/stories.conllu data/tasks.jsonl
  DESTINATION ${CMAKE_INSTALL_DATADIR}/headscope COMPONENT program)
install(FILES LICENSE README.md CHANGELOG.md CITATION.cff
  DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/headscope COMPONENT program)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/headscope RENAME copyright COMPONENT program)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libheadscope-dev RENAME copyright COMPONENT development)

install(TARGETS headscope EXPORT headscope_targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(DIRECTORY include/headscope DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
install(EXPORT headscope_targets NAMESPACE headscope:: DESTINATION ${headscope_package_dir} COMPONENT development)
configure_package_config_file(cmake/headscope-config.cmake.in
  ${PROJECT_BINARY_DIR}/headscope-config.cmake INSTALL_DESTINATION ${headscope_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/headscope-config-version.cmake
  COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/headscope-config.cmake
  ${PROJECT_BINARY_DIR}/headscope-config-version.cmake
  cmake/dependencies.cmake cmake/armadillo.cmake DESTINATION ${headscope_package_dir} COMPONENT development)

# `cpack --config BUILD/CPackConfig.cmake` makes the Debian packages, with CPackSourceConfig.cmake the source archive.
if(PROJECT_IS_TOP_LEVEL)
  set(CPACK_VERBATIM_VARIABLES ON)
  set(CPACK_PACKAGE_CONTACT "The Headscope authors")
  set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
  set(CPACK_GENERATOR DEB)
  set(CPACK_COMPONENTS_ALL program development)
  set(CPACK_DEB_COMPONENT_INSTALL ON)
  set(CPACK_STRIP_FILES ON)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PACKAGE_SECTION science)
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME headscope)
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS gnuplot-nox)
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libheadscope-dev)
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "g++, pkg-config, libarmadillo-dev, libopenblas-dev, libhdf5-dev, \
libboost-program-options-dev, nlohmann-json3-dev, libpcre2-dev, libutf8proc-dev, libssl-dev, zlib1g-dev")
  set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "What the attention heads of a language model do")
  set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "Library of Headscope, for find_package(headscope)")
  set(CPACK_SOURCE_GENERATOR TGZ)
  set(CPACK_SOURCE_PACKAGE_FILE_NAME headscope-${PROJECT_VERSION})
  set(CPACK_SOURCE_IGNORE_FILES "/\\.git(/|$)" "/build[^/]*/" "/out/" "__pycache__" "\\.pyc$" "\\.ipynb_checkpoints")
  include(CPack)
endif()
