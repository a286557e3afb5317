# Builds every unit test: what a sanitizer build needs.
add_custom_target(strake_unit_tests)

# strake_unit_test(NAME sources…)           a GoogleTest binary of the core, label unit
function(strake_unit_test name)
  add_executable(${name}_test ${ARGN})
  target_link_libraries(${name}_test PRIVATE strake GTest::gtest GTest::gtest_main)
  strake_precompile_tests(${name}_test)
  add_dependencies(strake_unit_tests ${name}_test)
  add_test(NAME unit.${name} COMMAND ${name}_test)
  set_tests_properties(unit.${name} PROPERTIES LABELS unit TIMEOUT 300)
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
