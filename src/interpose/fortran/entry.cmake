# The Fortran entry point of one function: an extern "C" function with the number of arguments that mpi.h declares, and its
# other names as aliases.
#
# Names. Open MPI's bindings call PMPI functions in every dialect, so every name that a compiled program refers to is
# exported: the manglings of mpif.h and `use mpi` that end with one or two underscores, those of the variants with a
# TYPE(C_PTR) argument, and mpi_f08's. Not mpi_send and MPI_SEND: C libraries have functions of such names (Rmpi).
# MPICH's bindings call the C functions MPI_* in mpif.h and `use mpi`, and in mpi_f08 where a choice buffer is passed (by
# descriptor, mpi_send_f08ts_). Its other mpi_f08 procedures call PMPI functions, and are exported.

# In Fortran these take no argc and argv.
set(arity_MPI_Init 0)
set(arity_MPI_Init_thread 2)

# Sets `result` to the definitions, or to nothing where calls are left to the library's own binding.
function(strake_fortran_entry result name parameters)
  set(${result} "" PARENT_SCOPE)
  # A TYPE(C_PTR) to mpi_f08, though C declares it like a buffer.
  string(REGEX MATCH "^MPI_(Alloc_mem|Win_allocate(_shared)?|Buffer_detach|(Comm|Session)_detach_buffer)(_c)?$" pointer_result
    ${name})
  if(FLAVOR STREQUAL mpich AND parameters MATCHES "void *\\*" AND NOT pointer_result)
    return()
  endif()
  # A list of handles that must last until the operation is complete: a copy in C's handles could not be freed in time.
  if(parameters MATCHES "const MPI_Datatype [a-z_]+\\[\\].*MPI_Request")
    return()
  endif()
  # The library's binding converts the arrays of these.
  if(name MATCHES "^MPI_Request_get_status_(all|any|some)$")
    return()
  endif()
  # mpif.h does not return the buffer's address, mpi_f08 does.
  if(FLAVOR STREQUAL openmpi AND name MATCHES "^MPI_(Buffer_detach|(Comm|Session)_detach_buffer)$")
    return()
  endif()
  if(DEFINED arity_${name})
    set(arity ${arity_${name}})
    set(lengths 0)
  else()
    string(REGEX REPLACE "[^,]" "" commas "${parameters}")
    string(LENGTH "${commas}," arity)
    if(parameters STREQUAL "")
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
  if(FLAVOR STREQUAL mpich)
    # mpi_f08's generic name stands for the large-count procedure too, but where the arguments would not tell them apart.
    if(lower MATCHES "^(.*)_c$")
      set(symbol ${CMAKE_MATCH_1}_f08_large_)
      set(aliases ${lower}_f08_)
    else()
      set(symbol ${lower}_f08_)
      set(aliases "")
    endif()
  else()
    set(symbol ${lower}_)
    set(aliases ${lower}__ ${lower}_f08_)
    if(pointer_result)
      list(APPEND aliases ${lower}_cptr_ ${lower}_cptr__)
    endif()
  endif()
  set(entry "STRAKE_ENTRY ${symbol}(${declared}) {
  const FortranCall here(__builtin_return_address(0));
  Entry<&${name}>::call(${passed});
}\n")
  foreach(alias IN LISTS aliases)
    string(APPEND entry "STRAKE_ENTRY ${alias}(${declared}) __attribute__((alias(\"${symbol}\")));\n")
  endforeach()
  set(${result} "${entry}" PARENT_SCOPE)
endfunction()
