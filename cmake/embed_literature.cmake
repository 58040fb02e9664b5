# Turns the published roles of heads into a string constant.
file(READ ${PROJECT_SOURCE_DIR}/data/literature/gpt2.json gpt2_literature)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/data/literature/gpt2.json)
configure_file(${PROJECT_SOURCE_DIR}/src/results/literature_data.cpp.in ${PROJECT_BINARY_DIR}/literature_data.cpp @ONLY)
target_sources(headscope PRIVATE ${PROJECT_BINARY_DIR}/literature_data.cpp)
