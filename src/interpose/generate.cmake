# Writes what follows from functions.def and the prototypes of one MPI library's mpi.h:
#   FOLDER/passed.cpp     the wrappers of the functions that are passed on
#   FOLDER/fortran.cpp    the Fortran entry points
#   cmake -DFLAVOR=openmpi|mpich -DPREPROCESSED=file -DFOLDER=folder -P generate.cmake
# PREPROCESSED is mpi/list.h after the preprocessor.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/../mpi/prototypes.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/fortran/entry.cmake)
strake_read_prototypes(${PREPROCESSED})

set(passed "")
set(entries "")
foreach(name IN LISTS STRAKE_FUNCTIONS)
  set(kind ${STRAKE_KIND_${name}})
  set(parameters "${STRAKE_PARAMETERS_${name}}")
  if(kind STREQUAL called)
    continue()
  endif()
  if(NOT kind STREQUAL own)
    # A parameter's name is the last word before a comma, but for the brackets of an array.
    string(REGEX REPLACE "\\[[^]]*\\]" "" bare "${parameters},")
    string(REGEX MATCHALL "[A-Za-z_0-9]+[ \n]*," arguments "${bare}")
    string(JOIN " " arguments "real_mpi().${name}," ${arguments})
    string(REGEX REPLACE ",$" "" arguments "${arguments}")
    string(APPEND passed "STRAKE_MPI int ${name}(${parameters}) { return pass<k${kind}>(${arguments}); }\n")
  endif()
  strake_fortran_entry(entry ${name} "${parameters}")
  string(APPEND entries "${entry}")
endforeach()

set(origin "// Written by generate.cmake for ${FLAVOR}.\n")
file(WRITE ${FOLDER}/passed.cpp "${origin}#include \"interpose/passed.hpp\"

using namespace strake::interpose;

${passed}")
file(WRITE ${FOLDER}/fortran.cpp "${origin}#include \"interpose/fortran/special.hpp\"

#define STRAKE_ENTRY extern \"C\" __attribute__((visibility(\"default\"))) void

using strake::interpose::fortran::Entry;

${entries}")
