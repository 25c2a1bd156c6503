# HTML reports need uPlot, which npm fetches once, and nothing else of Node. Without npm everything
# else builds, and `--report` says that this build has none.
option(PREQUEL_REPORTS "Build HTML reports where npm is there" ON)

set(PREQUEL_REPORT_MODULES "")
set(PREQUEL_REPORT_MISSING "it was configured without them (PREQUEL_REPORTS)")
if(PREQUEL_REPORTS)
  find_program(PREQUEL_NPM npm)
  mark_as_advanced(PREQUEL_NPM)
  set(folder ${PROJECT_BINARY_DIR}/report)
  set(PREQUEL_REPORT_MISSING "npm was not found when it was configured")
  if(PREQUEL_NPM)
    foreach(file package.json package-lock.json)
      configure_file(cli/report/${file} ${folder}/${file} COPYONLY)
    endforeach()
    if(${folder}/package-lock.json IS_NEWER_THAN ${folder}/node_modules/.package-lock.json)
      execute_process(
        COMMAND ${PREQUEL_NPM} ci --ignore-scripts --no-audit --no-fund --loglevel=error
          --prefer-offline --fetch-retries=1 --fetch-retry-mintimeout=1000
        WORKING_DIRECTORY ${folder} RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
    endif()
    set(PREQUEL_REPORT_MISSING "npm could not fetch uPlot when it was configured")
    if(EXISTS ${folder}/node_modules/uplot/dist/uPlot.iife.min.js)
      set(PREQUEL_REPORT_MODULES ${folder}/node_modules)
      set(PREQUEL_REPORT_MISSING "")
    endif()
  endif()
endif()
if(PREQUEL_REPORT_MISSING)
  message(STATUS "No HTML reports: ${PREQUEL_REPORT_MISSING}")
endif()

# prequel_report_page(OUTPUT): a source file with the report's page, styles and scripts inlined, or
# with an empty page.
function(prequel_report_page output)
  set(source ${PROJECT_SOURCE_DIR}/cli/report)
  set(dist ${PREQUEL_REPORT_MODULES}/uplot/dist)
  set(parts ${source}/page.html ${source}/page.css ${source}/page.js)
  if(PREQUEL_REPORT_MODULES)
    list(APPEND parts ${dist}/uPlot.min.css ${dist}/uPlot.iife.min.js)
  endif()
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DSOURCE=${source} -DDIST=${dist}
      "-DMISSING=${PREQUEL_REPORT_MISSING}" -P ${PROJECT_SOURCE_DIR}/cmake/EmbedReport.cmake
    DEPENDS ${parts} ${PROJECT_SOURCE_DIR}/cmake/EmbedReport.cmake VERBATIM)
endfunction()
