# The report's style sheet and script are kept as files of their own and become string constants here.
file(READ ${PROJECT_SOURCE_DIR}/src/report/report.css report_css)
file(READ ${PROJECT_SOURCE_DIR}/src/report/report.js report_js)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/src/report/report.css ${PROJECT_SOURCE_DIR}/src/report/report.js)
configure_file(${PROJECT_SOURCE_DIR}/src/report/assets.cpp.in
  ${PROJECT_BINARY_DIR}/report_assets.cpp @ONLY)
target_sources(headscope PRIVATE ${PROJECT_BINARY_DIR}/report_assets.cpp)
