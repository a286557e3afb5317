# cmake -DLIBRARY=… -DNM=… -P check_scotch.cmake
# A library exports no symbol of the SCOTCH that is linked to it, which an application's own SCOTCH would meet.
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND ${NM} -D --defined-only ${LIBRARY} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
if(NOT symbols MATCHES " [A-Z] ")
  message(FATAL_ERROR "no symbols of ${LIBRARY} were found")
endif()
string(REGEX MATCHALL "[^ \n]*[Ss][Cc][Oo][Tt][Cc][Hh][^ \n]*" found "${symbols}")
if(found)
  list(JOIN found "\n" found)
  message(FATAL_ERROR "exported by ${LIBRARY}:\n${found}")
endif()
