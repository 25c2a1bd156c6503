# Compiler settings that every target of the project shares, and the function that makes a library
# of a folder.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

# ccache, where it is there, makes a rebuild from nothing cheap.
find_program(PREQUEL_CCACHE ccache)
mark_as_advanced(PREQUEL_CCACHE)
if(PREQUEL_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${PREQUEL_CCACHE})
endif()

include(GNUInstallDirs)
set(PREQUEL_INSTALL_DATADIR ${CMAKE_INSTALL_DATADIR}/prequel)

option(PREQUEL_TESTS "Build the tests and benchmarks" ON)
option(PREQUEL_WERROR "Treat warnings as errors" OFF)
option(PREQUEL_UNITY "Compile the sources of a library as one" OFF)
option(PREQUEL_STATIC "Make programs that need nothing of the system, with data/ inside" OFF)
option(PREQUEL_FUZZ "Build the fuzzers (clang only)" OFF)
set(PREQUEL_SANITIZE "" CACHE STRING "Sanitizers, e.g. address,undefined or thread")

add_library(prequel_options INTERFACE)
target_compile_options(prequel_options INTERFACE
  $<BUILD_INTERFACE:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;-Wno-sign-conversion>
  $<BUILD_INTERFACE:$<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>>
  $<$<BOOL:${PREQUEL_WERROR}>:$<BUILD_INTERFACE:-Werror>>)
if(PREQUEL_UNITY)
  # Names of one source are seen by the others of its library alone.
  target_compile_options(prequel_options INTERFACE
    $<BUILD_INTERFACE:$<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>>)
endif()
# Where memory is plenty, g++ collects no garbage below 1.5 GB: that spares an eighth of its time.
cmake_host_system_information(RESULT memory_mib QUERY TOTAL_PHYSICAL_MEMORY)
if(memory_mib GREATER 7000)
  target_compile_options(prequel_options INTERFACE
    $<BUILD_INTERFACE:$<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=1500000>>)
endif()
# Contracted multiply-adds would make results depend on the machine.
target_compile_options(prequel_options INTERFACE $<BUILD_INTERFACE:-ffp-contract=off>)
if(PREQUEL_SANITIZE)
  # g++ 12 takes the sanitizers' own branches for reads of what was never written.
  target_compile_options(prequel_options INTERFACE -Wno-maybe-uninitialized)
  # The address sanitizer sees these, but for alignment; they would take a third of the compiler's time.
  target_compile_options(prequel_options INTERFACE
    -fsanitize=${PREQUEL_SANITIZE} -fno-sanitize=null,object-size,vptr,alignment,pointer-overflow
    -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(prequel_options INTERFACE -fsanitize=${PREQUEL_SANITIZE})
endif()

if(PREQUEL_FUZZ)
  target_compile_options(prequel_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

# prequel_library(NAME [LEVEL 1|g] SOURCES file... [LINK target...]): the static library of one folder.
# With PREQUEL_UNITY its sources are compiled as one, which takes a quarter of the time.
# LEVEL is how much a release is optimised where no loop matters much (1) or at all (g, half as long).
function(prequel_library name)
  cmake_parse_arguments(ARG "" "LEVEL" "SOURCES;LINK" ${ARGN})
  add_library(prequel_${name} STATIC ${ARG_SOURCES})
  if(ARG_LEVEL)
    if(EMSCRIPTEN)  # emcc knows numbers alone
      set(ARG_LEVEL 1)
    endif()
    target_compile_options(prequel_${name} PRIVATE $<$<CONFIG:Release>:-O${ARG_LEVEL}>)
  endif()
  if(PREQUEL_UNITY)
    set_target_properties(prequel_${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
  endif()
  add_library(prequel::${name} ALIAS prequel_${name})
  target_include_directories(prequel_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/prequel>)
  target_compile_features(prequel_${name} PUBLIC cxx_std_20)
  target_link_libraries(prequel_${name} PUBLIC ${ARG_LINK}
                                        PRIVATE $<BUILD_INTERFACE:prequel_options>)
  set_target_properties(prequel_${name} PROPERTIES EXPORT_NAME ${name})
  if(NOT PREQUEL_STATIC)
    install(TARGETS prequel_${name} EXPORT prequel-targets)
  endif()
endfunction()
