# Sets HEADSCOPE_GIT_COMMIT; CMake configures again after each commit.
set(HEADSCOPE_GIT_COMMIT "")
find_package(Git QUIET)
if(Git_FOUND)
  # git refuses a checkout of another owner, such as one mounted into a container, unless it is named safe.
  set(git ${GIT_EXECUTABLE} -c safe.directory=${PROJECT_SOURCE_DIR})
  execute_process(COMMAND ${git} rev-parse HEAD
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE HEADSCOPE_GIT_COMMIT
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND ${git} rev-parse --git-path logs/HEAD
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE git_log
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  cmake_path(ABSOLUTE_PATH git_log BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
  if(EXISTS ${git_log})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${git_log})
  endif()
endif()
if(NOT HEADSCOPE_GIT_COMMIT AND EXISTS ${PROJECT_SOURCE_DIR}/.git)
  message(WARNING "git names no commit of ${PROJECT_SOURCE_DIR}: results will not record one")
endif()
set_source_files_properties(src/base/version.cpp PROPERTIES COMPILE_DEFINITIONS
  "HEADSCOPE_VERSION=\"${PROJECT_VERSION}\";HEADSCOPE_GIT_COMMIT=\"${HEADSCOPE_GIT_COMMIT}\"")
