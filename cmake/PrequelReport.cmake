# HTML reports and the page need uPlot, which npm fetches once, and nothing else of Node. Without npm
# everything else builds, and `--report` says that this build has none.
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

# prequel_inline_page(OUTPUT FOLDER [FILE...]): FOLDER/page.html as one file, with styles and scripts
# of that folder, of cli/drawing, uPlot and these other files inlined.
function(prequel_inline_page output folder)
  set(folders ${folder} ${PROJECT_SOURCE_DIR}/cli/drawing ${PREQUEL_REPORT_MODULES}/uplot/dist)
  foreach(file ${ARGN})
    get_filename_component(place ${file} DIRECTORY)
    list(APPEND folders ${place})
  endforeach()
  list(JOIN folders "|" folders)
  file(GLOB parts CONFIGURE_DEPENDS ${folder}/page.* ${PROJECT_SOURCE_DIR}/cli/drawing/*)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DPAGE=${folder}/page.html "-DFOLDERS=${folders}"
      "-DMISSING=${PREQUEL_REPORT_MISSING}" -P ${PROJECT_SOURCE_DIR}/cmake/InlinePage.cmake
    DEPENDS ${parts} ${ARGN} ${PROJECT_SOURCE_DIR}/cmake/InlinePage.cmake VERBATIM)
endfunction()
