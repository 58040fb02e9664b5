# The manual page and the completions for bash, zsh and fish, printed by the program from its own commands and options.
set(headscope_man ${PROJECT_BINARY_DIR}/headscope.1)
set(headscope_completions)
add_custom_command(OUTPUT ${headscope_man} COMMAND headscope_cli help --man > ${headscope_man} DEPENDS headscope_cli VERBATIM)
foreach(shell bash zsh fish)
  add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/headscope.${shell}
    COMMAND headscope_cli help --${shell}-completion > ${PROJECT_BINARY_DIR}/headscope.${shell}
    DEPENDS headscope_cli VERBATIM)
  list(APPEND headscope_completions ${PROJECT_BINARY_DIR}/headscope.${shell})
endforeach()
add_custom_target(headscope_manual ALL DEPENDS ${headscope_man} ${headscope_completions})
install(FILES ${headscope_man} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
install(FILES ${PROJECT_BINARY_DIR}/headscope.bash RENAME headscope
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT program)
install(FILES ${PROJECT_BINARY_DIR}/headscope.zsh RENAME _headscope
  DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT program)
install(FILES ${PROJECT_BINARY_DIR}/headscope.fish
  DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT program)
