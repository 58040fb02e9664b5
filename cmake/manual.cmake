# The manual page and the completion for bash, printed by the program from its own commands and options.
set(headscope_man ${PROJECT_BINARY_DIR}/headscope.1)
set(headscope_completion ${PROJECT_BINARY_DIR}/headscope.bash)
add_custom_command(OUTPUT ${headscope_man} ${headscope_completion}
  COMMAND headscope_cli help --man > ${headscope_man}
  COMMAND headscope_cli help --bash-completion > ${headscope_completion}
  DEPENDS headscope_cli VERBATIM)
add_custom_target(headscope_manual ALL DEPENDS ${headscope_man} ${headscope_completion})
install(FILES ${headscope_man} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
install(FILES ${headscope_completion} RENAME headscope
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT program)
