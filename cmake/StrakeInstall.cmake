# What `cmake --install` puts where: the command in bin, headers and the static library in the usual folders, and in
# lib/strake all that the command or the library loads at run time. Both find it relative to their own path.
include(CMakePackageConfigHelpers)

file(GLOB strake_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/strake/*.hpp)
target_sources(strake PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/include FILES ${strake_headers})
# Target all_verify_interface_header_sets compiles each public header by itself.
set_target_properties(strake PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
set_target_properties(strake_compile PROPERTIES EXPORT_NAME compile)
# These need MPI, which a user of the library may not have.
install(FILES ${PROJECT_SOURCE_DIR}/include/strake/mpix.h ${PROJECT_SOURCE_DIR}/include/strake/mpix.f90
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/strake)

# The command and what it preloads are installed where they are built, in tools.
foreach(plugin strake_cuda strake_interpose_openmpi strake_interpose_mpich strake_interpose_mpich_renamed)
  if(TARGET ${plugin})
    install(TARGETS ${plugin} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/strake)
  endif()
endforeach()

install(TARGETS strake strake_compile EXPORT StrakeTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
set(strake_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Strake)
install(EXPORT StrakeTargets NAMESPACE strake:: DESTINATION ${strake_package_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/StrakeConfig.cmake.in
  ${PROJECT_BINARY_DIR}/StrakeConfig.cmake INSTALL_DESTINATION ${strake_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/StrakeConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/StrakeConfig.cmake ${PROJECT_BINARY_DIR}/StrakeConfigVersion.cmake
  DESTINATION ${strake_package_dir})

cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_INCLUDEDIR BASE_DIRECTORY ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig
  OUTPUT_VARIABLE strake_pc_includedir)
set(strake_pc_includedir "\${pcfiledir}/${strake_pc_includedir}")
configure_file(${PROJECT_SOURCE_DIR}/cmake/strake.pc.in ${PROJECT_BINARY_DIR}/strake.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/strake.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
