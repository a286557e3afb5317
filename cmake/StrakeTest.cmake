# Builds every unit test: what a sanitizer build needs.
add_custom_target(strake_unit_tests)

# strake_add_shards(NAME COUNT COMMAND…)  registers a GoogleTest binary COUNT times, as NAME.1 to NAME.COUNT, each of which
# runs a share of its cases: a long binary would keep the other cores waiting. The names are in STRAKE_SHARDS.
function(strake_add_shards name count)
  set(names "")
  foreach(shard RANGE 1 ${count})
    math(EXPR index "${shard} - 1")
    add_test(NAME ${name}.${shard} COMMAND ${CMAKE_COMMAND} -E env GTEST_TOTAL_SHARDS=${count}
      GTEST_SHARD_INDEX=${index} ${ARGN})
    list(APPEND names ${name}.${shard})
  endforeach()
  set(STRAKE_SHARDS ${names} PARENT_SCOPE)
endfunction()

# strake_unit_test(NAME [SHARDS n] sources…)   a GoogleTest binary of the core, label unit
function(strake_unit_test name)
  cmake_parse_arguments(arg "" "SHARDS" "" ${ARGN})
  add_executable(${name}_test ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name}_test PRIVATE strake GTest::gtest GTest::gtest_main)
  strake_precompile_tests(${name}_test)
  add_dependencies(strake_unit_tests ${name}_test)
  if(arg_SHARDS)
    strake_add_shards(unit.${name} ${arg_SHARDS} $<TARGET_FILE:${name}_test>)
  else()
    set(STRAKE_SHARDS unit.${name})
    add_test(NAME unit.${name} COMMAND ${name}_test)
  endif()
  set_tests_properties(${STRAKE_SHARDS} PROPERTIES LABELS unit TIMEOUT 300)
endfunction()

# The command that starts ranks of a flavor, as a list in `out`.
function(strake_mpirun out flavor ranks)
  set(${out} ${STRAKE_MPI_${flavor}_MPIRUN} ${STRAKE_MPI_${flavor}_MPIRUN_FLAGS} -n ${ranks} PARENT_SCOPE)
endfunction()

# strake_mpi_test(NAME SOURCES … RANKS … [TIMEOUT s])
# One binary per MPI library, linked to the library's objects for that MPI; tests mpi.NAME.FLAVOR.npN, label mpi.
function(strake_mpi_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;RANKS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  foreach(flavor IN LISTS STRAKE_MPI_FLAVORS)
    set(target ${name}_${flavor}_test)
    add_executable(${target} ${arg_SOURCES} ${PROJECT_SOURCE_DIR}/tests/support/mpi_main.cpp)
    target_link_libraries(${target} PRIVATE strake_mpi_${flavor} GTest::gtest)
    strake_precompile_tests(${target})
    foreach(ranks IN LISTS arg_RANKS)
      strake_mpirun(launch ${flavor} ${ranks})
      set(test mpi.${name}.${flavor}.np${ranks})
      add_test(NAME ${test} COMMAND ${launch} $<TARGET_FILE:${target}>)
      set_tests_properties(${test} PROPERTIES LABELS mpi PROCESSORS ${ranks} TIMEOUT ${arg_TIMEOUT})
    endforeach()
  endforeach()
endfunction()
