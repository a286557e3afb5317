# Writes the Fortran entry points of one MPI library: one extern "C" function per function of functions.def that the
# library's mpi.h declares, with the number of arguments that it declares, and its other names as aliases.
#   cmake -DFLAVOR=openmpi|mpich -DPREPROCESSED=file -DOUTPUT=file -P generate.cmake
# PREPROCESSED is list.h after the preprocessor.
#
# Names. Open MPI's bindings call PMPI functions in every dialect, so every name that a compiled program may refer to is
# exported: the four manglings of mpif.h and `use mpi`, those of the variants with a TYPE(C_PTR) argument, and mpi_f08's.
# MPICH's come by the C functions in mpif.h and `use mpi`, and in mpi_f08 where a choice buffer is passed (by descriptor,
# mpi_send_f08ts_); its other mpi_f08 procedures call PMPI functions, and are exported.
cmake_minimum_required(VERSION 3.25)

file(READ ${PREPROCESSED} text)
string(REGEX MATCHALL "@strake_wrapped MPI_[A-Za-z_0-9]+" wrapped "${text}")
# A window's memory is a TYPE(C_PTR) to mpi_f08, though C declares it like a buffer.
set(pointer_results MPI_Win_allocate MPI_Win_allocate_shared)
# In Fortran these take no argc and argv.
set(arity_MPI_Init 0)
set(arity_MPI_Init_thread 2)

set(entries "")
foreach(name IN LISTS wrapped)
  string(REPLACE "@strake_wrapped " "" name ${name})
  if(NOT text MATCHES "[\n ]int[ \n]+${name}[ \n]*\\(([^()]*)\\)")
    continue()
  endif()
  set(parameters "${CMAKE_MATCH_1}")
  if(FLAVOR STREQUAL mpich AND parameters MATCHES "void *\\*" AND NOT name IN_LIST pointer_results)
    continue()
  endif()
  if(DEFINED arity_${name})
    set(arity ${arity_${name}})
    set(lengths 0)
  else()
    string(REGEX REPLACE "[^,]" "" commas "${parameters}")
    string(LENGTH "${commas}," arity)
    if(parameters MATCHES "^[ \n]*(void)?[ \n]*$")
      set(arity 0)
    endif()
    string(REGEX MATCHALL "char " characters "${parameters}")
    list(LENGTH characters lengths)
  endif()
  # Addresses, then ierror, then the lengths of character arguments by value.
  set(declared "MPI_Fint* ierror")
  set(passed "ierror")
  while(arity GREATER 0)
    string(PREPEND declared "void* a${arity}, ")
    string(PREPEND passed "a${arity}, ")
    math(EXPR arity "${arity} - 1")
  endwhile()
  while(lengths GREATER 0)
    string(APPEND declared ", std::size_t n${lengths}")
    string(APPEND passed ", n${lengths}")
    math(EXPR lengths "${lengths} - 1")
  endwhile()
  string(TOLOWER ${name} lower)
  string(TOUPPER ${name} upper)
  if(FLAVOR STREQUAL mpich)
    # mpi_f08's generic name stands for the large-count procedure too.
    if(lower MATCHES "^(.*)_c$")
      set(symbol ${CMAKE_MATCH_1}_f08_large_)
    else()
      set(symbol ${lower}_f08_)
    endif()
    set(aliases "")
  else()
    set(symbol ${lower}_)
    set(aliases ${lower} ${lower}__ ${upper} ${lower}_f08_)
    if(name IN_LIST pointer_results)
      list(APPEND aliases ${lower}_cptr ${lower}_cptr_ ${lower}_cptr__ ${upper}_CPTR)
    endif()
  endif()
  string(APPEND entries "STRAKE_ENTRY ${symbol}(${declared}) { Entry<&${name}>::call(${passed}); }\n")
  foreach(alias IN LISTS aliases)
    string(APPEND entries "STRAKE_ENTRY ${alias}(${declared}) __attribute__((alias(\"${symbol}\")));\n")
  endforeach()
endforeach()

file(WRITE ${OUTPUT} "// Written by generate.cmake for ${FLAVOR}.
#include \"interpose/fortran/special.hpp\"

#define STRAKE_ENTRY extern \"C\" __attribute__((visibility(\"default\"))) void

using strake::interpose::fortran::Entry;

${entries}")
