# Turns the report's style sheets and scripts into string constants, one for each file.
function(join_files result)
  set(joined "")
  foreach(name IN LISTS ARGN)
    set(file ${PROJECT_SOURCE_DIR}/src/report/page/${name})
    file(READ ${file} text)
    string(APPEND joined "R\"embedded(${text}\n)embedded\",\n")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  endforeach()
  set(${result} "${joined}" PARENT_SCOPE)
endfunction()
join_files(report_css report.css heads.css)
join_files(report_js dom.js tables.js head_data.js colours.js contents.js tabs.js head_map.js head_table.js head_reasons.js head_facts.js
  patterns.js head_view.js pattern_matrix.js pattern_view.js neuron_view.js head_panel.js model_view.js head_search.js graphs.js figure_zoom.js figures.js next_tokens.js head_links.js glossary.js)
configure_file(${PROJECT_SOURCE_DIR}/src/report/page/assets.cpp.in
  ${PROJECT_BINARY_DIR}/report_assets.cpp @ONLY)
target_sources(headscope PRIVATE ${PROJECT_BINARY_DIR}/report_assets.cpp)
