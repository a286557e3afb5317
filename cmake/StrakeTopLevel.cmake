# What only Strake's own build sets, and a project that contains Strake sets for itself.
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
find_program(STRAKE_CCACHE ccache)
if(STRAKE_CCACHE)
  # Without these sloppinesses ccache takes no file that starts from a precompiled header.
  foreach(language C CXX CUDA)
    set(CMAKE_${language}_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros ${STRAKE_CCACHE}
      CACHE STRING "Runs the compiler")
  endforeach()
endif()
