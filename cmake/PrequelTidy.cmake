# Target `tidy`: clang-tidy 14 over every source of the project, with the checks of .clang-tidy.
find_program(PREQUEL_CLANG_TIDY run-clang-tidy-14)
mark_as_advanced(PREQUEL_CLANG_TIDY)
if(PREQUEL_CLANG_TIDY)
  add_custom_target(tidy
    COMMAND ${PREQUEL_CLANG_TIDY} -quiet -p ${PROJECT_BINARY_DIR}
      "^${PROJECT_SOURCE_DIR}/(hw|models|sim|calibrate|cli|tests)/.*[.]cpp$"
    USES_TERMINAL VERBATIM)
endif()
