# Packages. `cpack` in the build folder makes an archive of what `cmake --install` installs, and where there is
# dpkg-shlibdeps a package for this distribution; target package_source makes an archive of the last commit's files.
set(CPACK_GENERATOR TGZ)
find_program(STRAKE_SHLIBDEPS dpkg-shlibdeps)
mark_as_advanced(STRAKE_SHLIBDEPS)
if(STRAKE_SHLIBDEPS)
  list(APPEND CPACK_GENERATOR DEB)
endif()
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGE_VENDOR Strake)
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_FILE_NAME strake-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_STRIP_FILES ON)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "The Strake authors <strake@localhost>")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "Put `strake run --` before mpirun: an unchanged MPI program sends its halos,
faces and columns packed by vector instructions or GPU kernels.")
# An interposer is loaded into programs that have its MPI library already. A user needs one of the two, or his own.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "openmpi-bin | mpich")
set(CPACK_SOURCE_GENERATOR TGZ)
set(CPACK_SOURCE_PACKAGE_FILE_NAME strake-${PROJECT_VERSION})
set(CPACK_SOURCE_INSTALLED_DIRECTORIES "${PROJECT_BINARY_DIR}/sources;/")
configure_file(${PROJECT_SOURCE_DIR}/cmake/strake-cpack.cmake.in ${PROJECT_BINARY_DIR}/strake-cpack.cmake @ONLY)
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_BINARY_DIR}/strake-cpack.cmake)
include(CPack)
