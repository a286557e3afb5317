# Programs that know nothing of Strake; without and with the interposer they must print the same.
#
# strake_interpose_test(NAME RANKS … [SOURCE file] [MORE files …] [ARGS …] [DEVICE] [STANDIN ranks …] [WORLD | ALONE | OWN])
# Takes NAME.cpp, or the given source, and the files that it needs, into the executable of all programs, and registers, for
# each MPI library and number of ranks N:
#   interpose.NAME.FLAVOR.npN.plain    the MPI library alone
#   interpose.NAME.FLAVOR.npN.strake   preloaded, methods chosen by Strake
#   interpose.NAME.FLAVOR.npN.pack     preloaded, every derived type takes Strake's own path, through MPI
#   interpose.NAME.FLAVOR.np2.shared   preloaded, by shared memory whatever can go so
#   interpose.NAME.FLAVOR.np2.heap     the same, and all blocks of malloc from 1 KiB on come from the shared heap
#   interpose.NAME.FLAVOR.np2.direct   the same from memory of MPI_Alloc_mem (with STANDIN or DEVICE)
# DEVICE adds .device, .one-shot and .staged: the program on device memory, whose output must be that of the
# plain run on the host (label device; skipped where there is no device). STANDIN ranks …, by default 2 with DEVICE,
# add .standin-METHOD: the same on a stand-in for a device (tests/standin), which is everywhere; and .standin-direct,
# where two ranks copy from each other's device memory whatever can go so.
#
# One test, interpose.together.FLAVOR.npN.VARIANT, runs the cases that need the same launch (ranks, preloaded library,
# environment), each on duplicates of MPI_COMM_WORLD and MPI_COMM_SELF; the tests above then take their results from it. Where
# ctest runs one of these without the launch, it launches its program by itself. WORLD: on MPI_COMM_WORLD and MPI_COMM_SELF
# themselves, for programs that provoke errors which MPI raises there. ALONE: always by itself, for programs that change or count
# what belongs to the process, or begin and end MPI in their own way. OWN: in an executable of its own, too.
set(STRAKE_INTERPOSE_SECONDS 70)  # below CTest's limit: run.sh then ends the ranks, not the launcher alone
set(STRAKE_INTERPOSE_OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/output)
set(STRAKE_INTERPOSE_SUPPORT ${CMAKE_CURRENT_SOURCE_DIR}/support)
set(STRAKE_INTERPOSE_PROGRAMS ${CMAKE_CURRENT_BINARY_DIR}/programs)
file(MAKE_DIRECTORY ${STRAKE_INTERPOSE_OUTPUT})

# What makes messages from malloc's memory go by offers, once the shared heap is preloaded.
set(STRAKE_INTERPOSE_HEAP STRAKE_SHARED_HEAP=1 STRAKE_HEAP_LEAST=1K STRAKE_SHARE_LIMIT=993 STRAKE_SHARE_DIRECT=993)

set(STRAKE_INTERPOSE_CUDART "")
if(NOT STRAKE_CUDA STREQUAL "OFF")
  find_package(CUDAToolkit QUIET)
  if(TARGET CUDA::cudart_static)
    set(STRAKE_INTERPOSE_CUDART CUDA::cudart_static)
  endif()
endif()

# strake_interpose_topic()   first in the CMakeLists.txt of a topic: interpose.TOPIC becomes a label of its tests.
function(strake_interpose_topic)
  cmake_language(DEFER CALL _strake_interpose_label)
endfunction()
function(_strake_interpose_label)
  cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME topic)
  get_property(tests DIRECTORY PROPERTY TESTS)
  list(FILTER tests INCLUDE REGEX "^interpose[.]")
  foreach(test IN LISTS tests)
    set_property(TEST ${test} APPEND PROPERTY LABELS interpose.${topic})
  endforeach()
endfunction()

# Where the buffers of programs lie: in each of these memories there is an executable of all programs.
set(STRAKE_INTERPOSE_MEMORIES host arena standin)
if(STRAKE_INTERPOSE_CUDART)
  list(APPEND STRAKE_INTERPOSE_MEMORIES device)
endif()
add_library(interpose_memory_host STATIC support/memory_host.cpp support/no_stream.cpp)
add_library(interpose_memory_standin STATIC support/memory_device.cpp support/memory_kinds_standin.cpp)
target_link_libraries(interpose_memory_standin PUBLIC strake_standin)
if(STRAKE_INTERPOSE_CUDART)
  add_library(interpose_memory_device STATIC support/memory_device.cpp support/memory_kinds_cuda.cpp)
  target_link_libraries(interpose_memory_device PUBLIC ${STRAKE_INTERPOSE_CUDART})
endif()
foreach(flavor IN LISTS STRAKE_MPI_FLAVORS)
  add_library(interpose_memory_arena_${flavor} STATIC support/memory_arena.cpp support/no_stream.cpp)
  target_link_libraries(interpose_memory_arena_${flavor} PUBLIC strake::mpi_${flavor})
endforeach()

# Every program is compiled with these options.
add_library(interpose_program INTERFACE)
target_include_directories(interpose_program INTERFACE ${CMAKE_CURRENT_SOURCE_DIR} ${STRAKE_INTERPOSE_SUPPORT}
  ${PROJECT_SOURCE_DIR}/include)
target_compile_options(interpose_program INTERFACE -Wall -Wextra -Wpedantic -Wshadow
  $<$<BOOL:${STRAKE_WARNINGS_AS_ERRORS}>:-Werror>)
target_link_libraries(interpose_program INTERFACE Threads::Threads ${CMAKE_DL_LIBS})

# strake_interpose_program(OUT NAME FLAVOR MEMORY)   the path of a program among all, its buffers in that memory.
function(strake_interpose_program out name flavor memory)
  set(${out} ${STRAKE_INTERPOSE_PROGRAMS}/${flavor}/${memory}/${name} PARENT_SCOPE)
endfunction()

# strake_interpose_own(TARGET FLAVOR MEMORY source…)   an executable of one program.
function(strake_interpose_own target flavor memory)
  add_executable(${target} ${ARGN})
  if(memory STREQUAL "arena")
    set(memory arena_${flavor})
  endif()
  target_link_libraries(${target} PRIVATE interpose_program interpose_memory_${memory} strake::mpi_${flavor})
endfunction()

# strake_interpose_preload(OUT FLAVOR [standin])   the interposer, or the one that takes the stand-in for a device.
function(strake_interpose_preload out flavor)
  if(ARGC GREATER 2)
    set(${out} ${STRAKE_STANDIN_FOLDER}/$<TARGET_FILE_NAME:strake_interpose_${flavor}> PARENT_SCOPE)
  else()
    set(${out} $<TARGET_FILE:strake_interpose_${flavor}> PARENT_SCOPE)
  endif()
endfunction()

# Registers one case: VARIANT is plain, or a preloaded one with extra ENVironment and LABELS. TOGETHER own or world: with
# others of the same launch, on these communicators.
function(strake_interpose_run name flavor ranks variant)
  cmake_parse_arguments(arg "" "TOGETHER" "ENV;LABELS;COMMAND" ${ARGN})
  set(stem interpose.${name}.${flavor}.np${ranks})
  strake_mpirun(launch ${flavor} ${ranks})
  set(expected -)
  if(NOT variant STREQUAL "plain")
    set(expected ${STRAKE_INTERPOSE_OUTPUT}/${stem}.plain.txt)
    strake_interpose_preload(preload ${flavor})
    if(flavor STREQUAL "mpich" AND ranks GREATER 2 AND TARGET yield_when_idle)
      string(APPEND preload :$<TARGET_FILE:yield_when_idle>)  # strake_many_ranks: `env` names all that is preloaded
    endif()
    if(variant STREQUAL "heap")
      string(APPEND preload :$<TARGET_FILE:strake_heap>)
    endif()
    # `env` sets this for the ranks only: the launcher is no MPI program. The built-in rules choose, whatever was measured here.
    list(APPEND launch env LD_PRELOAD=${preload} STRAKE_JOB=1 STRAKE_PROFILE=none TEST_PRELOADED=1 ${arg_ENV})
  endif()
  set(test ${stem}.${variant})
  # What many ranks do with one library, they do with the other, and so do the methods and the kinds of memory that no
  # MPI library sees: only with scripts/test --all.
  list(GET STRAKE_MPI_FLAVORS 0 first_flavor)
  if(NOT flavor STREQUAL first_flavor AND
      (ranks GREATER 2 OR variant MATCHES "^standin-(one-shot|staged|mapped|any)$"))
    list(APPEND arg_LABELS more)
  endif()
  set(shared_RESULT -)
  if(arg_TOGETHER)
    set(case ${arg_COMMAND})
    list(POP_FRONT case program)
    cmake_path(GET program PARENT_PATH folder)
    cmake_path(GET program FILENAME program)
    set(programs ${folder}/programs)
    if(--device IN_LIST case)
      list(REMOVE_ITEM case --device)
      list(APPEND programs --device)
    endif()
    strake_share_launch(shared ${test} ${arg_TOGETHER} ${STRAKE_INTERPOSE_OUTPUT} ${STRAKE_INTERPOSE_SECONDS} RANKS ${ranks}
      LABELS ${arg_LABELS} COMMAND ${launch} ${programs} CASE ${program} ${case})
  endif()
  add_test(NAME ${test} COMMAND ${PROJECT_SOURCE_DIR}/tests/support/run.sh ${STRAKE_INTERPOSE_SECONDS}
    ${STRAKE_INTERPOSE_OUTPUT}/${test}.txt ${expected} ${shared_RESULT} ${launch} ${arg_COMMAND})
  set_tests_properties(${test} PROPERTIES LABELS "interpose;${arg_LABELS}" PROCESSORS ${ranks}
    TIMEOUT 80 SKIP_RETURN_CODE 77)
  strake_many_ranks(${test} ${ranks})
  if(arg_TOGETHER)
    set_tests_properties(${test} PROPERTIES DEPENDS ${shared})
  endif()
  if(variant STREQUAL "plain")
    set_tests_properties(${test} PROPERTIES FIXTURES_SETUP ${stem})
  else()
    set_tests_properties(${test} PROPERTIES FIXTURES_REQUIRED ${stem})
  endif()
endfunction()

# strake_interpose_checked(TEST FLAVOR RANKS SCRIPT [STANDIN] [WITH arguments…] COMMAND … [ENV …] [TIMEOUT s])
# Test interpose.TEST: SCRIPT FILE arguments… runs the preloaded COMMAND, whose summary goes to FILE, and looks what it says.
function(strake_interpose_checked test flavor ranks script)
  cmake_parse_arguments(arg "STANDIN" "TIMEOUT" "WITH;ENV;COMMAND" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  set(kind "")
  if(arg_STANDIN)
    set(kind standin)
  endif()
  strake_mpirun(launch ${flavor} ${ranks})
  strake_interpose_preload(preload ${flavor} ${kind})
  set(file ${STRAKE_INTERPOSE_OUTPUT}/interpose.${test}.json)
  add_test(NAME interpose.${test} COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/${script} ${file} ${arg_WITH}
    ${launch} env LD_PRELOAD=${preload} STRAKE_JOB=1 STRAKE_PROFILE=none STRAKE_SUMMARY_JSON=${file} ${arg_ENV} ${arg_COMMAND})
  set_tests_properties(interpose.${test} PROPERTIES LABELS interpose PROCESSORS ${ranks} TIMEOUT ${arg_TIMEOUT}
    ENVIRONMENT "OMPI_MCA_osc=^ucx")  # as in run.sh
endfunction()

function(strake_interpose_test name)
  cmake_parse_arguments(arg "DEVICE;WORLD;ALONE;OWN" "SOURCE" "RANKS;ARGS;STANDIN;MORE" ${ARGN})
  if(arg_DEVICE AND NOT arg_STANDIN)
    set(arg_STANDIN 2)
  endif()
  if(NOT arg_SOURCE)
    set(arg_SOURCE ${name}.cpp)
  endif()
  cmake_path(GET arg_SOURCE STEM stem)
  set(together TOGETHER own)
  if(arg_WORLD)
    set(together TOGETHER world)
  endif()
  if(arg_ALONE OR arg_OWN)
    set(together "")
  endif()
  if(arg_OWN)
    set(memories host)
    if(arg_STANDIN)
      list(APPEND memories arena standin)
    endif()
  else()
    set_property(GLOBAL APPEND PROPERTY STRAKE_INTERPOSE_SOURCES ${CMAKE_CURRENT_SOURCE_DIR}/${arg_SOURCE})
    set_property(GLOBAL APPEND PROPERTY STRAKE_INTERPOSE_MORE ${arg_MORE})
  endif()
  foreach(flavor IN LISTS STRAKE_MPI_FLAVORS)
    foreach(memory IN LISTS STRAKE_INTERPOSE_MEMORIES)
      if(NOT arg_OWN)
        strake_interpose_program(in_${memory} ${stem} ${flavor} ${memory})
      elseif(memory IN_LIST memories)
        strake_interpose_own(interpose_${stem}_${flavor}_${memory} ${flavor} ${memory} ${arg_SOURCE})
        set(in_${memory} $<TARGET_FILE:interpose_${stem}_${flavor}_${memory}>)
      endif()
    endforeach()
    strake_interpose_preload(standin ${flavor} standin)
    foreach(ranks IN LISTS arg_RANKS)
      set(program COMMAND ${in_host} ${arg_ARGS})
      strake_interpose_run(${name} ${flavor} ${ranks} plain ${program} ${together})
      strake_interpose_run(${name} ${flavor} ${ranks} strake ${program} ${together})
      # What two ranks do by that path, others do alike: only with scripts/test --all.
      set(more "")
      if(2 IN_LIST arg_RANKS AND NOT ranks EQUAL 2)
        set(more LABELS more)
      endif()
      strake_interpose_run(${name} ${flavor} ${ranks} pack ${program} ${together}
        ENV STRAKE_METHOD=pack STRAKE_SHARE=0 ${more})
      if(ranks EQUAL 2)
        strake_interpose_run(${name} ${flavor} ${ranks} shared ${program} ${together} ENV STRAKE_SHARE_LIMIT=993)
        strake_interpose_run(${name} ${flavor} ${ranks} heap ${program} ${together} ENV ${STRAKE_INTERPOSE_HEAP})
      endif()
      # Open MPI fetches contiguous device memory past a receive's end (decision 0005).
      set(by_host "")
      if(name STREQUAL "truncation" AND flavor STREQUAL "openmpi")
        set(by_host STRAKE_GPU_AWARE=no)
      endif()
      if(arg_DEVICE AND STRAKE_INTERPOSE_CUDART)
        set(program COMMAND ${in_device} --device ${together} LABELS device)
        strake_interpose_run(${name} ${flavor} ${ranks} device ${program} ENV ${by_host})
        if(ranks EQUAL 2)
          strake_interpose_run(${name} ${flavor} 2 one-device ${program} ENV ${by_host} CUDA_VISIBLE_DEVICES=0)
        endif()
        foreach(method one-shot staged)
          strake_interpose_run(${name} ${flavor} ${ranks} ${method} ${program}
            ENV STRAKE_METHOD=${method} STRAKE_SHARE_DEVICE=0)
        endforeach()
      endif()
      # MPICH packs past the end of host memory, which the program knows of no device.
      if(ranks EQUAL 2 AND arg_STANDIN AND NOT "${name}.${flavor}" STREQUAL "errors.mpich")
        strake_interpose_run(${name} ${flavor} 2 direct COMMAND ${in_arena} --device ${together}
          ENV STRAKE_METHOD=pack STRAKE_SHARE_LIMIT=993 STRAKE_SHARE_DIRECT=993)
      endif()
      if(ranks IN_LIST arg_STANDIN)
        foreach(method one-shot staged device)
          set(env STRAKE_METHOD=${method} STRAKE_SHARE_DEVICE=0 LD_PRELOAD=${standin})
          if(method STREQUAL "device")
            if(by_host)
              continue()
            endif()
            list(APPEND env STRAKE_GPU_AWARE=yes STANDIN_OPEN=1)
          endif()
          strake_interpose_run(${name} ${flavor} ${ranks} standin-${method} COMMAND ${in_standin} --device ${together}
            ENV ${env})
        endforeach()
        if(ranks EQUAL 2)
          strake_interpose_run(${name} ${flavor} 2 standin-direct COMMAND ${in_standin} --device ${together}
            ENV STRAKE_SHARE_LIMIT=993 TEST_SHARED_DEVICE=1 LD_PRELOAD=${standin})
        endif()
      endif()
    endforeach()
  endforeach()
endfunction()

# Builds the executables of all programs. After all cases. The programs of a folder are one unit of compilation, each in a
# namespace of its own, or each is one where nothing is compiled as one (scripts/test --all).
function(strake_interpose_programs)
  get_property(sources GLOBAL PROPERTY STRAKE_INTERPOSE_SOURCES)
  get_property(more GLOBAL PROPERTY STRAKE_INTERPOSE_MORE)
  list(REMOVE_DUPLICATES sources)
  set(units "")
  foreach(source IN LISTS sources)
    cmake_path(GET source STEM program)
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(GET folder FILENAME unit)
    if(NOT CMAKE_UNITY_BUILD)
      set(unit ${program})
    endif()
    list(APPEND units ${unit})
    list(APPEND programs ${program})
    # A program's includes come first, out of its namespace.
    file(STRINGS ${source} includes REGEX "^#include ")
    list(APPEND includes_of_${unit} ${includes})
    string(APPEND programs_of_${unit} "
namespace program_${program} {
#include \"${source}\"
}  // namespace program_${program}
static const programs::Registered ${program}_registered(\"${program}\", program_${program}::main);
")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
  endforeach()
  list(REMOVE_DUPLICATES units)
  list(TRANSFORM units REPLACE "(.+)" "${STRAKE_INTERPOSE_PROGRAMS}/units/\\1.cpp" OUTPUT_VARIABLE files)
  foreach(unit file IN ZIP_LISTS units files)
    list(REMOVE_DUPLICATES includes_of_${unit})
    list(JOIN includes_of_${unit} "\n" includes)
    file(CONFIGURE OUTPUT ${file} CONTENT "${includes}\n#include \"programs.hpp\"\n${programs_of_${unit}}" @ONLY)
  endforeach()
  set_source_files_properties(${files} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  foreach(flavor IN LISTS STRAKE_MPI_FLAVORS)
    set(objects interpose_programs_${flavor}_objects)
    add_library(${objects} OBJECT ${files} ${more} support/programs.cpp)
    target_link_libraries(${objects} PRIVATE interpose_program strake::mpi_${flavor})
    foreach(memory IN LISTS STRAKE_INTERPOSE_MEMORIES)
      set(target interpose_programs_${flavor}_${memory})
      strake_interpose_own(${target} ${flavor} ${memory} $<TARGET_OBJECTS:${objects}>)
      set(folder ${STRAKE_INTERPOSE_PROGRAMS}/${flavor}/${memory})
      set_target_properties(${target} PROPERTIES OUTPUT_NAME programs RUNTIME_OUTPUT_DIRECTORY ${folder})
      file(MAKE_DIRECTORY ${folder})
      foreach(program IN LISTS programs)
        file(CREATE_LINK programs ${folder}/${program} SYMBOLIC)
      endforeach()
    endforeach()
  endforeach()
endfunction()

# strake_interpose_kinds(NAME FLAVOR)   the cases of a program with memory of several kinds, NAME.FLAVOR.np2:
#   standin-aware                   where the MPI library reaches a device's memory
#   {standin,device}-{mapped,any}   where memory is not of cudaMalloc
function(strake_interpose_kinds name flavor)
  strake_interpose_program(on_standin ${name} ${flavor} standin)
  strake_interpose_program(on_device ${name} ${flavor} device)
  strake_interpose_preload(preload ${flavor} standin)
  strake_interpose_run(${name} ${flavor} 2 standin-aware COMMAND ${on_standin} --device
    ENV STRAKE_SHARE_LIMIT=993 STRAKE_GPU_AWARE=yes STANDIN_OPEN=1 LD_PRELOAD=${preload})
  foreach(kind mapped any)
    set(must_share "")
    if(kind STREQUAL "mapped")
      set(must_share TEST_SHARED_DEVICE=1)
    endif()
    strake_interpose_run(${name} ${flavor} 2 standin-${kind} COMMAND ${on_standin} --device
      ENV STRAKE_SHARE_LIMIT=993 TEST_MEMORY=${kind} ${must_share} LD_PRELOAD=${preload})
    if(STRAKE_INTERPOSE_CUDART)
      strake_interpose_run(${name} ${flavor} 2 device-${kind} LABELS device COMMAND ${on_device} --device
        ENV TEST_MEMORY=${kind} TEST_MESSAGES=20000)
      set_tests_properties(interpose.${name}.${flavor}.np2.device-${kind} PROPERTIES RUN_SERIAL TRUE)
    endif()
  endforeach()
endfunction()
