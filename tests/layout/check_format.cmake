# cmake -D CLANG_FORMAT=program -P check_format.cmake: fails on sources that it would change.
if(NOT CLANG_FORMAT)
  message(STATUS "clang-format-14 was not found: nothing checked")
  return()
endif()

cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH tests)
cmake_path(GET tests PARENT_PATH root)
foreach(folder hw models sim calibrate cli tests)
  file(GLOB_RECURSE found ${root}/${folder}/*.cpp ${root}/${folder}/*.hpp ${root}/${folder}/*.cu)
  list(APPEND sources ${found})
endforeach()
execute_process(COMMAND ${CLANG_FORMAT} --dry-run --Werror --style=file ${sources}
                COMMAND_ERROR_IS_FATAL ANY)
