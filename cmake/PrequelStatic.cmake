# Builds to be taken away (PREQUEL_STATIC): a static program, and a Python module that links nothing
# but glibc. fmt comes from its headers and yaml-cpp from its static library, as Debian has them;
# threads are the standard library's (hw/base/parallel.cpp).
find_path(FMT_INCLUDE_DIR fmt/format.h REQUIRED)
add_library(fmt::fmt INTERFACE IMPORTED)
target_include_directories(fmt::fmt INTERFACE ${FMT_INCLUDE_DIR})
target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY)

find_path(YAML_CPP_INCLUDE_DIR yaml-cpp/yaml.h REQUIRED)
find_library(YAML_CPP_STATIC_LIBRARY libyaml-cpp.a REQUIRED)
add_library(yaml-cpp STATIC IMPORTED)
set_target_properties(yaml-cpp PROPERTIES IMPORTED_LOCATION ${YAML_CPP_STATIC_LIBRARY}
                                          INTERFACE_INCLUDE_DIRECTORIES ${YAML_CPP_INCLUDE_DIR})
