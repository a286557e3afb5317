# Runs PROGRAM alone and with the interposer LIBRARY preloaded into its ranks, and with SETTINGS. Both must succeed with the same output, and
# the dynamic linker must have bound every function of functions.def that the program calls to the interposer: under its
# Fortran name, or where the MPI library's Fortran part calls the C function, under that.
cmake_minimum_required(VERSION 3.25)

function(run variable)
  execute_process(COMMAND ${LAUNCH} ${ARGN} ${PROGRAM} WORKING_DIRECTORY ${FOLDER}
    OUTPUT_VARIABLE output ERROR_VARIABLE errors RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${variable}: exit code ${result}\n${output}\n${errors}")
  endif()
  set(${variable} "${output}" PARENT_SCOPE)
endfunction()

set(log ${FOLDER}/${NAME}.bindings)
file(GLOB old ${log}.*)
if(old)
  file(REMOVE ${old})
endif()
run(alone)
run(interposed env ${SETTINGS} LD_PRELOAD=${LIBRARY} LD_DEBUG=bindings LD_DEBUG_OUTPUT=${log})
if(NOT alone STREQUAL interposed)
  message(FATAL_ERROR "the outputs differ\n--- alone\n${alone}\n--- interposed\n${interposed}")
endif()

# One file per process. Its lines: binding file CALLER [0] to LIBRARY [0]: normal symbol `NAME'
file(GLOB logs ${log}.*)
set(bound "")
foreach(file IN LISTS logs)
  file(STRINGS ${file} bindings REGEX "symbol `(mpi|MPI)_")
  foreach(line IN LISTS bindings)
    string(REGEX REPLACE "^.*binding file ([^ ]+) .* to ([^ ]+) .*`([^']+)'.*$" "\\1;\\2;\\3" parts "${line}")
    list(GET parts 0 caller)
    list(GET parts 1 callee)
    list(GET parts 2 symbol)
    if(callee STREQUAL LIBRARY AND (caller STREQUAL PROGRAM OR caller MATCHES "/libmpi[^/]*fort"))
      list(APPEND bound ${symbol})
    endif()
  endforeach()
  file(REMOVE ${file})
endforeach()

list(REMOVE_DUPLICATES bound)
file(READ ${SOURCE} source)
file(STRINGS ${FUNCTIONS} lines REGEX "^STRAKE_(FUNCTION|HANDLED|HOST_ONLY|MOVER|PASSED)")
set(seen 0)
foreach(line IN LISTS lines)
  string(REGEX MATCH "(MPI_[A-Za-z_0-9]+)\\)" matched "${line}")
  set(name ${CMAKE_MATCH_1})
  # Open MPI's own entries of these are met (fortran/entry.cmake).
  if(name MATCHES "^MPI_(Ialltoallw|Buffer_detach)$")
    continue()
  endif()
  # Some parts of the programs need a second rank.
  if(RANKS GREATER 1 AND source MATCHES "call ${name}\\(")
    string(TOLOWER ${name} lower)
    if(NOT (${lower}_ IN_LIST bound OR ${lower}_cptr_ IN_LIST bound OR ${lower}_f08_ IN_LIST bound OR
            ${name} IN_LIST bound))
      message(FATAL_ERROR "the program calls ${name}, and not the interposer's; bound: ${bound}")
    endif()
    math(EXPR seen "${seen} + 1")
  endif()
endforeach()
message("same output; ${seen} functions called, all of them the interposer's")
