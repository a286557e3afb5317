# Cases that share a launch. An executable of many programs runs several of them, one after another, between one MPI_Init and
# one MPI_Finalize (tests/support/together.hpp). A test ROOM.together.… launches it; the test of each case takes its result from
# there (tests/support/run.sh), or launches its case by itself where ctest runs it without that launch.

# strake_share_launch(OUT TEST COMMUNICATORS FOLDER SECONDS RANKS n [LABELS …] COMMAND … CASE …)
# Cases of the same room, COMMAND and LABELS share a launch: `COMMAND… --together LIST …` on so many RANKS. The line of TEST in
# LIST is `TEST COMMUNICATORS CASE…`, as together.hpp reads it; a case has SECONDS. Sets OUT to the name of the test that launches
# them, which TEST depends on, and OUT_RESULT to what run.sh takes as CASE: a path in FOLDER.
function(strake_share_launch out test communicators folder seconds)
  cmake_parse_arguments(arg "" "RANKS" "LABELS;COMMAND;CASE" ${ARGN})
  string(REGEX REPLACE "^([a-z_]+)[.][^.]+[.](.+)$" "\\1.together.\\2" first ${test})
  string(REGEX REPLACE "[.].*" "" room ${test})
  # What scripts/test leaves out must not run with what it takes.
  string(MD5 key "${room} ${arg_COMMAND} ${arg_LABELS}")
  get_property(group GLOBAL PROPERTY STRAKE_TOGETHER_OF_${key})
  if(NOT group)
    set(group ${first})
    get_property(groups GLOBAL PROPERTY STRAKE_TOGETHER_${room})
    set(number 1)
    while(group IN_LIST groups)
      math(EXPR number "${number} + 1")
      set(group ${first}.${number})
    endwhile()
    set_property(GLOBAL APPEND PROPERTY STRAKE_TOGETHER_${room} ${group})
    set_property(GLOBAL PROPERTY STRAKE_TOGETHER_OF_${key} ${group})
    set_property(GLOBAL PROPERTY ${group}.command ${seconds} ${arg_RANKS} ${folder}/${group} ${folder}/${group}.list
      ${arg_COMMAND})
    set_property(GLOBAL PROPERTY ${group}.list ${folder}/${group}.list)
    set_property(GLOBAL PROPERTY ${group}.labels ${room} ${arg_LABELS})
    set_property(GLOBAL PROPERTY ${group}.ranks ${arg_RANKS})
  endif()
  list(JOIN arg_CASE " " words)
  set_property(GLOBAL APPEND PROPERTY ${group}.cases "${test} ${communicators} ${words}")
  set(${out} ${group} PARENT_SCOPE)
  set(${out}_RESULT ${folder}/${group}/${test} PARENT_SCOPE)
endfunction()

# strake_shared_launches(ROOM)   registers the launches of a room's cases. After all of them. A case that is the only one of its
# launch is launched by its own test.
function(strake_shared_launches room)
  get_property(groups GLOBAL PROPERTY STRAKE_TOGETHER_${room})
  foreach(group IN LISTS groups)
    foreach(property cases list command labels ranks)
      get_property(${property} GLOBAL PROPERTY ${group}.${property})
    endforeach()
    list(LENGTH cases count)
    if(count LESS 2)
      continue()
    endif()
    string(REPLACE ";" "\n" lines "${cases}\n")
    file(WRITE ${list} "${lines}")
    add_test(NAME ${group} COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/support/together.py ${command})
    set_tests_properties(${group} PROPERTIES LABELS "${labels}" PROCESSORS ${ranks} TIMEOUT 900 SKIP_RETURN_CODE 77)
    strake_many_ranks(${group} ${ranks})
  endforeach()
endfunction()
