# Packages. `cpack` in the build folder makes an archive of what `cmake --install` installs, and where there is
# dpkg-shlibdeps a package for this distribution; target dist makes the archive of the sources of the last commit.
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
set(CPACK_SOURCE_GENERATOR "")

set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "The Strake authors <strake@localhost>")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "Put `strake run --` before mpirun: an unchanged MPI program sends its halos,
faces and columns faster.")
# An interposer is loaded into programs that have its MPI library already. A user needs one of the two, or his own.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "openmpi-bin | mpich")
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_BINARY_DIR}/strake-cpack.cmake)
file(WRITE ${CPACK_PROJECT_CONFIG_FILE} "# The program that CPack asks for the dependencies of the .deb.
set(SHLIBDEPS_EXECUTABLE ${PROJECT_SOURCE_DIR}/packaging/debian/shlibdeps)\n")
include(CPack)

find_package(Git QUIET)
if(GIT_FOUND AND EXISTS ${PROJECT_SOURCE_DIR}/.git)
  add_custom_target(dist
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CPACK_PACKAGE_DIRECTORY}
    COMMAND ${GIT_EXECUTABLE} -C ${PROJECT_SOURCE_DIR} archive --prefix=strake-${PROJECT_VERSION}/
      -o ${CPACK_PACKAGE_DIRECTORY}/strake-${PROJECT_VERSION}.tar.gz HEAD
    COMMENT "packages/strake-${PROJECT_VERSION}.tar.gz" VERBATIM)
endif()
