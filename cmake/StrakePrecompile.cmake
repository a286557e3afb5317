# strake_precompile(TARGETS…)         C++ files of these libraries start from cmake/precompiled.hpp as the compiler has
#                                     once read it, which saves 0.6 s a file
# strake_precompile_quickly(TARGETS…) the same for code of which nothing is timed: -O1 saves a third of the time that it
#                                     takes to compile
# strake_precompile_tests(TARGETS…)   the same for executables that use GoogleTest
# One target of each kind holds the precompiled header for all: the compiler takes it only with the options that it was
# made with, and code of executables is made with others than code of libraries.
set(empty ${PROJECT_BINARY_DIR}/CMakeFiles/precompiled.cpp)
if(NOT EXISTS ${empty})
  file(WRITE ${empty} "int main() { return 0; }\n")
endif()

add_library(strake_precompiled STATIC EXCLUDE_FROM_ALL ${empty})
target_link_libraries(strake_precompiled PRIVATE strake_compile strake_fmt)
target_precompile_headers(strake_precompiled PRIVATE ${PROJECT_SOURCE_DIR}/cmake/precompiled.hpp)
function(strake_precompile)
  foreach(target IN LISTS ARGN)
    target_precompile_headers(${target} REUSE_FROM strake_precompiled)
  endforeach()
endfunction()

set(strake_quickly $<$<CONFIG:Release>:-O1>)
add_library(strake_precompiled_quickly STATIC EXCLUDE_FROM_ALL ${empty})
target_link_libraries(strake_precompiled_quickly PRIVATE strake_compile strake_fmt)
target_compile_options(strake_precompiled_quickly PRIVATE ${strake_quickly})
target_precompile_headers(strake_precompiled_quickly PRIVATE ${PROJECT_SOURCE_DIR}/cmake/precompiled.hpp)
function(strake_precompile_quickly)
  foreach(target IN LISTS ARGN)
    target_compile_options(${target} PRIVATE ${strake_quickly})
    target_precompile_headers(${target} REUSE_FROM strake_precompiled_quickly)
  endforeach()
endfunction()

if(STRAKE_BUILD_TESTS)
  add_executable(strake_precompiled_tests EXCLUDE_FROM_ALL ${empty})
  target_link_libraries(strake_precompiled_tests PRIVATE strake_compile strake_fmt GTest::gtest)
  target_precompile_headers(strake_precompiled_tests PRIVATE ${PROJECT_SOURCE_DIR}/cmake/precompiled.hpp
    <gtest/gtest.h>)
  function(strake_precompile_tests)
    foreach(target IN LISTS ARGN)
      target_precompile_headers(${target} REUSE_FROM strake_precompiled_tests)
    endforeach()
  endfunction()
endif()
