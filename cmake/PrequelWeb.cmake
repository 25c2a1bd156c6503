# The page's engine: hw, models, sim and what answers of cli/, compiled to WebAssembly by Debian's
# emscripten (preset `wasm`). It has one thread, and of libraries only those that are headers alone;
# a folder of links to just these, since /usr/include itself holds glibc's headers.
set(libraries ${PROJECT_BINARY_DIR}/libraries)
foreach(header boost CLI fmt nlohmann)
  find_path(place ${header} PATHS /usr/include /usr/local/include NO_CACHE REQUIRED
    NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)
  file(MAKE_DIRECTORY ${libraries})
  file(CREATE_LINK ${place}/${header} ${libraries}/${header} SYMBOLIC)
  unset(place)
endforeach()
include_directories(SYSTEM ${libraries})
foreach(target CLI11::CLI11 fmt::fmt nlohmann_json::nlohmann_json)
  add_library(${target} INTERFACE IMPORTED)
endforeach()
add_compile_definitions(FMT_HEADER_ONLY)

add_compile_options(-fexceptions "SHELL:-include ${PROJECT_SOURCE_DIR}/cli/web/libcxx13.hpp")
add_link_options(-fexceptions)
