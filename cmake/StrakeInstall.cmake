# What `cmake --install` puts where: the command in bin, headers and the libraries that programs link in the usual folders
# (component development), and in lib/strake all that the command or a library loads at run time (component runtime, with
# the command). They find it relative to their own path.
include(CMakePackageConfigHelpers)

file(GLOB strake_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/strake/*.hpp)
# Headers that include mpi.h belong to the libraries of the MPI flavors.
set(strake_mpi_headers ${strake_headers})
list(FILTER strake_mpi_headers INCLUDE REGEX "/(bricks|exchange|grid)\\.hpp$")
list(REMOVE_ITEM strake_headers ${strake_mpi_headers})
target_sources(strake PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/include FILES ${strake_headers})
# Target all_verify_interface_header_sets compiles each public header by itself.
set_target_properties(strake PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
set_target_properties(strake_compile PROPERTIES EXPORT_NAME compile)
# These need MPI, which a user of the library may not have.
install(FILES ${PROJECT_SOURCE_DIR}/include/strake/mpix.h ${PROJECT_SOURCE_DIR}/include/strake/mpix.f90
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/strake COMPONENT development)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${PROJECT_SOURCE_DIR}/third_party/chartjs/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME LICENSE.chartjs)

# The command and what it preloads are installed where they are built, in tools.
foreach(plugin strake_cuda strake_interpose_openmpi strake_interpose_mpich strake_interpose_mpich_renamed)
  if(TARGET ${plugin})
    install(TARGETS ${plugin} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/strake)
    strake_is_installed(runtime ${plugin})
  endif()
endforeach()

# A user's shared library that holds the static one must not export it: another of these would call it.
target_link_options(strake INTERFACE $<INSTALL_INTERFACE:LINKER:--exclude-libs,libstrake.a>)
install(TARGETS strake strake_compile EXPORT StrakeTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
strake_is_installed(development strake)
set(strake_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Strake)
install(EXPORT StrakeTargets NAMESPACE strake:: DESTINATION ${strake_package_dir} COMPONENT development)
# find_package() looks for a file of this name whether it is asked for Strake or for strake.
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/strake-config.cmake.in
  ${PROJECT_BINARY_DIR}/strake-config.cmake INSTALL_DESTINATION ${strake_package_dir})
foreach(flavor IN LISTS STRAKE_MPI_FLAVORS)
  set(target strake_library_${flavor})
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/include FILES ${strake_mpi_headers})
  set_target_properties(${target} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
  install(TARGETS ${target} EXPORT StrakeMpiTargets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
    FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  strake_is_installed(development ${target})
endforeach()
if(STRAKE_MPI_FLAVORS)
  install(EXPORT StrakeMpiTargets NAMESPACE strake:: DESTINATION ${strake_package_dir} COMPONENT development)
endif()
write_basic_package_version_file(${PROJECT_BINARY_DIR}/strake-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_SOURCE_DIR}/cmake/StrakeMpiTarget.cmake ${PROJECT_BINARY_DIR}/strake-config.cmake
  ${PROJECT_BINARY_DIR}/strake-config-version.cmake DESTINATION ${strake_package_dir} COMPONENT development)

cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_INCLUDEDIR BASE_DIRECTORY ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig
  OUTPUT_VARIABLE strake_pc_includedir)
set(strake_pc_includedir "\${pcfiledir}/${strake_pc_includedir}")
# strake_pkg_config(NAME DESCRIPTION LIBS)  installs NAME.pc
function(strake_pkg_config name description libs)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/strake.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
    COMPONENT development)
endfunction()
strake_pkg_config(strake "${PROJECT_DESCRIPTION}" "-lstrake -Wl,--exclude-libs,libstrake.a -pthread -ldl")
foreach(flavor IN LISTS STRAKE_MPI_FLAVORS)
  strake_pkg_config(strake-${flavor} "${PROJECT_DESCRIPTION}, for ${flavor} (compile with its mpicxx)" "-lstrake-${flavor}")
endforeach()
