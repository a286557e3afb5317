# Writes from functions.def
#   FOLDER/declared.def  a STRAKE_FUNCTION(name) for each function that mpi.h declares
#   FOLDER/movers.def    a STRAKE_MOVER(name) for each that moves data
#   cmake -DPREPROCESSED=file -DFOLDER=folder -P declare.cmake
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/prototypes.cmake)
strake_read_prototypes(${PREPROCESSED})
set(declared "// Written by declare.cmake.\n")
set(movers "${declared}")
foreach(name IN LISTS STRAKE_FUNCTIONS)
  string(APPEND declared "STRAKE_FUNCTION(${name})\n")
  if(STRAKE_CALL_${name} MATCHES "Function::${name},")
    string(APPEND movers "STRAKE_MOVER(${name})\n")
  endif()
endforeach()
file(WRITE ${FOLDER}/declared.def "${declared}")
file(WRITE ${FOLDER}/movers.def "${movers}")
