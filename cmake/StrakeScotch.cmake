# Looks for SCOTCH 7 as a static library that shared objects can hold. Sets STRAKE_SCOTCH_FOUND.
option(STRAKE_SCOTCH "Map graphs to nodes by SCOTCH, too, where its static library is found" ON)
if(STRAKE_SCOTCH)
  find_path(STRAKE_SCOTCH_INCLUDE_DIR scotch.h PATH_SUFFIXES scotch)
  find_library(STRAKE_SCOTCH_LIBRARY libscotch.a)
  mark_as_advanced(STRAKE_SCOTCH_INCLUDE_DIR STRAKE_SCOTCH_LIBRARY)
endif()
if(STRAKE_SCOTCH AND STRAKE_SCOTCH_INCLUDE_DIR AND STRAKE_SCOTCH_LIBRARY)
  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_FLAGS -fPIC)
  set(CMAKE_REQUIRED_INCLUDES ${STRAKE_SCOTCH_INCLUDE_DIR})
  set(CMAKE_REQUIRED_LIBRARIES ${STRAKE_SCOTCH_LIBRARY} Threads::Threads)
  set(CMAKE_REQUIRED_LINK_OPTIONS -shared LINKER:--no-undefined)
  check_cxx_source_compiles("
    #include <cstdio>
    #include <scotch.h>
    extern \"C\" {
    void SCOTCH_errorPrint(const char*, ...) {}
    void SCOTCH_errorPrintW(const char*, ...) {}
    }
    int map(SCOTCH_Context* context, SCOTCH_Graph* graph, SCOTCH_Arch* target, SCOTCH_Strat* strategy, SCOTCH_Num* parts) {
      SCOTCH_contextThreadSpawn(context, 1, nullptr);
      SCOTCH_stratGraphMapBuild(strategy, SCOTCH_STRATQUALITY, 2, 0.01);
      SCOTCH_archCmpltw(target, 2, parts);
      return SCOTCH_graphMap(graph, target, strategy, parts);
    }" STRAKE_SCOTCH_LINKS)
  foreach(variable FLAGS INCLUDES LIBRARIES LINK_OPTIONS)
    unset(CMAKE_REQUIRED_${variable})
  endforeach()
endif()
set(STRAKE_SCOTCH_FOUND FALSE)
if(STRAKE_SCOTCH AND STRAKE_SCOTCH_LINKS)
  set(STRAKE_SCOTCH_FOUND TRUE)
  message(STATUS "SCOTCH: ${STRAKE_SCOTCH_LIBRARY}")
elseif(STRAKE_SCOTCH AND STRAKE_SCOTCH_LIBRARY)
  message(STATUS "SCOTCH: ${STRAKE_SCOTCH_LIBRARY} is older than 7, or shared objects can't hold it; graphs are mapped by "
    "Strake's own guesses alone")
else()
  message(STATUS "SCOTCH: not found; graphs are mapped by Strake's own guesses alone")
endif()
