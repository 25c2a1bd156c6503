# Inlines styles and scripts into the report's page and writes it as a C++ source (OUTPUT). An
# empty page where MISSING says why there is none.
set(page "")
if(NOT MISSING)
  file(READ ${SOURCE}/page.html page)
  foreach(part "UPLOT_STYLE|${DIST}/uPlot.min.css" "STYLE|${SOURCE}/page.css"
               "UPLOT|${DIST}/uPlot.iife.min.js" "SCRIPT|${SOURCE}/page.js")
    string(REPLACE "|" ";" part "${part}")
    list(GET part 0 marker)
    list(GET part 1 file)
    file(READ ${file} content)
    string(REPLACE "@${marker}@" "${content}" page "${page}")
  endforeach()
endif()
file(WRITE ${OUTPUT} "#include \"cli/report_page.hpp\"

namespace prequel {

const char* const kReportPage = R\"page(${page})page\";
const char* const kReportMissing = \"${MISSING}\";

}  // namespace prequel
")
