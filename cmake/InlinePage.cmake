# Writes PAGE as one file (OUTPUT): a line that is `@FILE@` between tags stands for that file of one of
# the FOLDERS, which are separated by `|`. An OUTPUT in C++ holds the report's page, which is empty
# where MISSING says why there is none.
set(page "")
if(NOT MISSING)
  file(READ ${PAGE} page)
  string(REPLACE "|" ";" FOLDERS "${FOLDERS}")
  string(REGEX MATCHALL ">@[A-Za-z0-9._-]+@<" markers "${page}")
  foreach(marker ${markers})
    string(REGEX REPLACE ">@(.*)@<" "\\1" name "${marker}")
    unset(file CACHE)
    find_file(file ${name} PATHS ${FOLDERS} NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)
    if(file)
      file(READ ${file} content)
      string(REPLACE "${marker}" ">${content}<" page "${page}")
    endif()
  endforeach()
endif()
if(OUTPUT MATCHES "[.]cpp$")
  set(page "#include \"cli/report/report_page.hpp\"

namespace prequel {

const char* const kReportPage = R\"page(${page})page\";
const char* const kReportMissing = \"${MISSING}\";

}  // namespace prequel
")
endif()
file(WRITE ${OUTPUT} "${page}")
