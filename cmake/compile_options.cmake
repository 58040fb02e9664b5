# Warnings and sanitizers for our own targets; never exported.
add_library(headscope_compile_options INTERFACE)
target_compile_options(headscope_compile_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wno-psabi
  $<$<BOOL:${HEADSCOPE_WARNINGS_AS_ERRORS}>:-Werror>
  # False positives of GCC 12 on std::string (GCC bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict;-Wno-stringop-overflow;-Wno-stringop-overread;-Wno-array-bounds>
  # Of GCC 13 and later, which take a reference into one argument for one to another, a temporary.
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,13>>:-Wno-dangling-reference>)
if(HEADSCOPE_SANITIZE)
  target_compile_options(headscope_compile_options INTERFACE
    -fsanitize=${HEADSCOPE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(headscope_compile_options INTERFACE -fsanitize=${HEADSCOPE_SANITIZE})
  target_compile_definitions(headscope_compile_options INTERFACE HEADSCOPE_SANITIZED)
endif()
