# Runs PROGRAM alone and with the interposer LIBRARY preloaded into its ranks. Both must succeed with the same output, and
# the interposer must have counted every function of functions.def that the program calls.
cmake_minimum_required(VERSION 3.25)

function(run variable)
  execute_process(COMMAND ${LAUNCH} ${ARGN} ${PROGRAM} WORKING_DIRECTORY ${FOLDER}
    OUTPUT_VARIABLE output ERROR_VARIABLE errors RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${variable}: exit code ${result}\n${output}\n${errors}")
  endif()
  set(${variable} "${output}" PARENT_SCOPE)
endfunction()

set(summary ${FOLDER}/${NAME}.json)
file(REMOVE ${summary})
run(alone)
run(interposed env LD_PRELOAD=${LIBRARY} STRAKE_SUMMARY_JSON=${summary})
if(NOT alone STREQUAL interposed)
  message(FATAL_ERROR "the outputs differ\n--- alone\n${alone}\n--- interposed\n${interposed}")
endif()

file(READ ${summary} json)
file(READ ${SOURCE} source)
file(STRINGS ${FUNCTIONS}/functions.def wrapped REGEX "^STRAKE_FUNCTION\\(")
file(STRINGS ${FUNCTIONS}/blocking.def blocking REGEX "^STRAKE_FUNCTION\\(")
set(seen 0)
foreach(line IN LISTS wrapped blocking)
  string(REGEX REPLACE "^STRAKE_FUNCTION\\((.*)\\).*" "\\1" name "${line}")
  # Some parts of the programs need a second rank.
  if(RANKS GREATER 1 AND source MATCHES "call ${name}\\(")
    string(JSON calls ERROR_VARIABLE problem GET "${json}" functions ${name} calls)
    if(problem OR NOT calls GREATER 0)
      message(FATAL_ERROR "the program calls ${name}, the interposer saw nothing of it\n${json}")
    endif()
    math(EXPR seen "${seen} + 1")
  endif()
endforeach()
message("same output; ${seen} functions called and seen")
