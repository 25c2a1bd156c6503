# prequel_git_describe(RESULT): the commit that is built, as `git describe` names it; empty outside
# of a repository. A new commit configures anew.
function(prequel_git_describe result)
  find_package(Git QUIET)
  set(${result} "" PARENT_SCOPE)
  if(NOT GIT_FOUND)
    return()
  endif()
  set(git ${GIT_EXECUTABLE} -C ${PROJECT_SOURCE_DIR})
  execute_process(COMMAND ${git} describe --always --tags
    OUTPUT_VARIABLE description OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND ${git} rev-parse --path-format=absolute --git-path logs/HEAD
    OUTPUT_VARIABLE log OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(EXISTS "${log}")
    set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${log})
  endif()
  set(${result} "${description}" PARENT_SCOPE)
endfunction()
