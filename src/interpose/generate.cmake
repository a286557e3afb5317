# Writes what follows from functions.def and the prototypes of one MPI library's mpi.h:
#   FOLDER/declared.def   STRAKE_FUNCTION(name) for each function of the list that mpi.h declares
#   FOLDER/passed.cpp     the wrappers of those that are the system's
#   FOLDER/fortran.cpp    the Fortran entry points
#   cmake -DFLAVOR=openmpi|mpich -DPREPROCESSED=file -DFOLDER=folder -P generate.cmake
# PREPROCESSED is list.h after the preprocessor.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/fortran/entry.cmake)

file(READ ${PREPROCESSED} text)
string(REGEX MATCHALL "[\n ]int[ \n]+MPI_[A-Za-z_0-9]+[ \n]*\\([^()]*\\)" prototypes "${text}")
foreach(prototype IN LISTS prototypes)
  string(REGEX MATCH "(MPI_[A-Za-z_0-9]+)[ \n]*\\((.*)\\)" matched "${prototype}")
  set(name ${CMAKE_MATCH_1})
  string(REGEX REPLACE "^[ \n]*void[ \n]*$" "" parameters_${name} "${CMAKE_MATCH_2}")
endforeach()

string(REGEX MATCHALL "@strake [A-Za-z]+ MPI_[A-Za-z_0-9]+" listed "${text}")
set(declared "")
set(passed "")
set(entries "")
foreach(line IN LISTS listed)
  string(REGEX MATCH "@strake ([A-Za-z]+) (.*)" matched "${line}")
  set(kind ${CMAKE_MATCH_1})
  foreach(name ${CMAKE_MATCH_2} ${CMAKE_MATCH_2}_c)
    if(NOT DEFINED parameters_${name})
      continue()
    endif()
    set(parameters "${parameters_${name}}")
    string(APPEND declared "STRAKE_FUNCTION(${name})\n")
    if(NOT kind STREQUAL own)
      # A parameter's name is the last word before a comma, but for the brackets of an array.
      string(REGEX REPLACE "\\[[^]]*\\]" "" bare "${parameters},")
      string(REGEX MATCHALL "[A-Za-z_0-9]+[ \n]*," arguments "${bare}")
      string(JOIN " " arguments "next().${name}," ${arguments})
      string(REGEX REPLACE ",$" "" arguments "${arguments}")
      string(APPEND passed "STRAKE_MPI int ${name}(${parameters}) { return pass<k${kind}>(${arguments}); }\n")
    endif()
    strake_fortran_entry(entry ${name} "${parameters}")
    string(APPEND entries "${entry}")
  endforeach()
endforeach()

set(origin "// Written by generate.cmake for ${FLAVOR}.\n")
file(WRITE ${FOLDER}/declared.def "${origin}${declared}")
file(WRITE ${FOLDER}/passed.cpp "${origin}#include \"interpose/passed.hpp\"

using namespace strake::interpose;

${passed}")
file(WRITE ${FOLDER}/fortran.cpp "${origin}#include \"interpose/fortran/special.hpp\"

#define STRAKE_ENTRY extern \"C\" __attribute__((visibility(\"default\"))) void

using strake::interpose::fortran::Entry;

${entries}")
