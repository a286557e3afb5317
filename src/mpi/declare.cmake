# Writes OUTPUT, a STRAKE_FUNCTION(name) for each function of functions.def that mpi.h declares.
#   cmake -DPREPROCESSED=file -DOUTPUT=file -P declare.cmake
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/prototypes.cmake)
strake_read_prototypes(${PREPROCESSED})
set(declared "// Written by declare.cmake.\n")
foreach(name IN LISTS STRAKE_FUNCTIONS)
  string(APPEND declared "STRAKE_FUNCTION(${name})\n")
endforeach()
file(WRITE ${OUTPUT} "${declared}")
