# Gives the target hwy::hwy: Highway's own package where it is complete, else from its header and library. Shared by
# the build and the installed package.
find_package(HWY QUIET CONFIG)
if(NOT TARGET hwy::hwy)
  find_path(HWY_INCLUDE_DIR hwy/highway.h)
  find_library(HWY_LIBRARY NAMES hwy)
  if(HWY_INCLUDE_DIR AND HWY_LIBRARY)
    add_library(hwy::hwy UNKNOWN IMPORTED)
    set_target_properties(hwy::hwy PROPERTIES IMPORTED_LOCATION ${HWY_LIBRARY}
      INTERFACE_INCLUDE_DIRECTORIES ${HWY_INCLUDE_DIR})
  endif()
endif()
