# prequel_built_in_files(TARGET FOLDER): puts the JSON and CSV files of a folder inside what TARGET
# is linked into, for hw/base/built_in_files.hpp.
function(prequel_built_in_files target folder)
  file(GLOB_RECURSE files RELATIVE ${folder} CONFIGURE_DEPENDS ${folder}/*.json ${folder}/*.csv)
  # As text compares: byte by byte, which the look-up relies on.
  list(SORT files COMPARE STRING CASE SENSITIVE)
  set(content "")
  set(declared "")
  set(table "")
  set(number 0)
  foreach(file IN LISTS files)
    string(APPEND content "asm(\".section .rodata\\n\"\n"
      "    \"prequel_file_${number}_begin: .incbin \\\"${folder}/${file}\\\"\\n\"\n"
      "    \"prequel_file_${number}_end:\\n\"\n    \".byte 0\\n.previous\\n\");\n")
    string(APPEND declared "extern \"C\" const char prequel_file_${number}_begin[];\n"
                           "extern \"C\" const char prequel_file_${number}_end[];\n")
    string(APPEND table
      "      {\"/${file}\", prequel_file_${number}_begin, prequel_file_${number}_end},\n")
    list(APPEND depends ${folder}/${file})
    math(EXPR number "${number} + 1")
  endforeach()
  set(source ${CMAKE_CURRENT_BINARY_DIR}/built_in_files_data.cpp)
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT "#include <span>\n#include <string_view>\n
${content}
${declared}
namespace prequel {
struct BuiltInFile {
  std::string_view path;
  const char* begin;
  const char* end;
};
std::span<const BuiltInFile> built_in_files();
std::span<const BuiltInFile> built_in_files() {
  static constexpr BuiltInFile kFiles[] = {
${table}  };
  return kFiles;
}
}  // namespace prequel
")
  set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS "${depends}"
                              SKIP_UNITY_BUILD_INCLUSION ON)
  target_sources(${target} PRIVATE ${source})
  target_compile_definitions(${target} PRIVATE PREQUEL_BUILT_IN_FILES)
endfunction()
