# Part of strake-config.cmake: the target strake::mpi for the MPI library that find_package(MPI) gives the project. Where
# there is none for it, Strake_mpi_FOUND is false, and Strake_NOT_FOUND_MESSAGE says why.

# Sets `out` to the MPI library that the project's mpi.h belongs to: openmpi, mpich, other; or none if no program that
# includes it compiles, with the compiler's message in `out`_OUTPUT.
function(_strake_find_flavor out)
  set(folder ${CMAKE_BINARY_DIR}/CMakeFiles/strake_mpi_probe)
  set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
  set(${out} none PARENT_SCOPE)
  foreach(flavor openmpi mpich other)
    set(condition_openmpi "defined(OMPI_MAJOR_VERSION)")
    set(condition_mpich "defined(MPICH_VERSION)")
    set(condition_other 1)
    file(WRITE ${folder}/${flavor}.cpp "#include <mpi.h>\n#if !${condition_${flavor}}\n#error\n#endif\n")
    try_compile(compiles ${folder}/${flavor} SOURCES ${folder}/${flavor}.cpp LINK_LIBRARIES MPI::MPI_CXX
      OUTPUT_VARIABLE output)
    if(compiles)
      set(${out} ${flavor} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  set(${out}_OUTPUT "${output}" PARENT_SCOPE)
endfunction()

# Sets `out` to the installed libraries, for people.
function(_strake_list_installed out)
  set(names "")
  foreach(flavor openmpi mpich)
    if(TARGET strake::${flavor})
      list(APPEND names libstrake-${flavor}.so)
    endif()
  endforeach()
  list(JOIN names ", " text)
  if(NOT names)
    set(text "no library for MPI")
  endif()
  set(${out} "Installed is ${text}." PARENT_SCOPE)
endfunction()

include(${CMAKE_CURRENT_LIST_DIR}/StrakeMpiTargets.cmake OPTIONAL)
if(NOT TARGET MPI::MPI_CXX)
  find_package(MPI QUIET COMPONENTS CXX)
endif()
_strake_list_installed(_strake_installed)
set(${CMAKE_FIND_PACKAGE_NAME}_mpi_FOUND FALSE)
if(TARGET strake::mpi)
  set(${CMAKE_FIND_PACKAGE_NAME}_mpi_FOUND TRUE)
elseif(NOT TARGET MPI::MPI_CXX)
  set(${CMAKE_FIND_PACKAGE_NAME}_NOT_FOUND_MESSAGE
    "strake::mpi: find_package(MPI COMPONENTS CXX) found no MPI library. ${_strake_installed}")
else()
  _strake_find_flavor(_strake_flavor)
  list(JOIN MPI_CXX_INCLUDE_DIRS ", " _strake_header)
  if(NOT _strake_header)
    set(_strake_header "that of ${CMAKE_CXX_COMPILER}")
  endif()
  if(_strake_flavor STREQUAL "none")
    set(${CMAKE_FIND_PACKAGE_NAME}_NOT_FOUND_MESSAGE
      "strake::mpi: no program that includes mpi.h (${_strake_header}) compiles:\n${_strake_flavor_OUTPUT}")
  elseif(NOT TARGET strake::${_strake_flavor})
    string(REPLACE "other" "neither Open MPI nor MPICH" _strake_flavor "${_strake_flavor}")
    set(${CMAKE_FIND_PACKAGE_NAME}_NOT_FOUND_MESSAGE
      "strake::mpi: the project's MPI library is ${_strake_flavor} (mpi.h: ${_strake_header}). ${_strake_installed}")
  else()
    # It has the core. A program whose parts need strake::strake too shall get no second one: where the shared library
    # comes before everything else, in whatever order parts are linked, the static one is not taken from.
    add_library(strake::mpi INTERFACE IMPORTED)
    set_target_properties(strake::mpi PROPERTIES
      INTERFACE_LINK_LIBRARIES "strake::${_strake_flavor};MPI::MPI_CXX"
      INTERFACE_LINK_OPTIONS
        "LINKER:--push-state,--no-as-needed,$<TARGET_FILE:strake::${_strake_flavor}>,--pop-state")
    set(${CMAKE_FIND_PACKAGE_NAME}_mpi_FOUND TRUE)
  endif()
endif()
