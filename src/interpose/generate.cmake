# Writes what follows from functions.def and the prototypes of one MPI library's mpi.h:
#   FOLDER/interpose/calls.hpp   a name for each wrapped function, and its wrapper's declaration, calls::MPI_Send
#   FOLDER/entered.cpp    what a program calls: MPI_Send, which calls calls::MPI_Send, and times it where that is wanted
#   FOLDER/interpose/wrappers/TOPIC.hpp   the wrappers that call handlers of TOPIC.cpp, which includes them at its end
#   FOLDER/fortran.cpp    the Fortran entry points
#   cmake -DFLAVOR=openmpi|mpich -DPREPROCESSED=file -DFOLDER=folder -P generate.cmake
# PREPROCESSED is mpi/list.h after the preprocessor.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/../mpi/prototypes.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/fortran/entry.cmake)
strake_read_prototypes(${PREPROCESSED})

# Sets `result` to what records a call of that name that has returned MPI_SUCCESS (recorded_graph.hpp); to nothing where
# it says nothing.
function(strake_recorded result name parameters)
  set(record "")
  set(pair "")
  if("${parameters}," MATCHES "(int|MPI_Count)[ \n]+([a-z_]+)[ \n]*,[ \n]*MPI_Datatype[ \n]+([a-z_]+)[ \n]*,")
    set(pair "${CMAKE_MATCH_2}, ${CMAKE_MATCH_3}")
  endif()
  if(pair AND "${parameters}," MATCHES "int[ \n]+dest[ \n]*," AND NOT name MATCHES "Psend")
    set(record "sent(comm, dest, ${pair})")
    if(name MATCHES "_init")
      set(record "made_persistent(*request, comm, dest, ${pair})")
    endif()
  elseif(name MATCHES "_init" AND parameters MATCHES "MPI_Request[ \n]*\\*[ \n]*request")
    set(record "made_other(*request)")  # perhaps under the handle of a send that was freed
  elseif(name STREQUAL "MPI_Start")
    set(record "started(1, request)")
  elseif(name STREQUAL "MPI_Startall")
    set(record "started(count, array_of_requests)")
  elseif(name MATCHES "^MPI_(In|N)eighbor_|^MPI_(Ia|A)lltoall[vw]?(_c)?$" AND parameters MATCHES "(sendcounts?)[^a-z]")
    set(counts ${CMAKE_MATCH_1})
    string(REGEX MATCH "sendtypes?" type "${parameters}")
    set(to sent_to_all)
    if(name MATCHES "eighbor_")
      set(to sent_to_neighbours)
    endif()
    set(record "${to}(comm, sendbuf, ${counts}, ${type})")
  endif()
  set(${result} "${record}" PARENT_SCOPE)
endfunction()

set(entries "")
set(names "")
set(texts "")
set(declared "")
set(entered "")
foreach(name IN LISTS STRAKE_FUNCTIONS)
  set(topic ${STRAKE_TOPIC_${name}})
  set(parameters "${STRAKE_PARAMETERS_${name}}")
  if(topic STREQUAL called)
    continue()
  endif()
  # A parameter's name is the last word before a comma, but for the brackets of an array.
  string(REGEX REPLACE "\\[[^]]*\\]" "" bare "${parameters},")
  string(REGEX MATCHALL "[A-Za-z_0-9]+[ \n]*," arguments "${bare}")
  string(JOIN " " arguments ${arguments})
  string(REGEX REPLACE "[ \n]*,$" "" arguments "${arguments}")
  string(APPEND names "  ${name},\n")
  string(APPEND texts "      \"${name}\",\n")
  string(APPEND declared "int ${name}(${parameters});\n")
  # The time before MPI_Init has returned is none of the job's, and MPI_Finalize ends it.
  set(timed "")
  if(NOT name MATCHES "^MPI_(Init|Init_thread|Finalize|Session_init|Session_finalize)$")
    # What a scatter sends counts on its root only.
    set(moved "0, 0")
    if(NOT name MATCHES "_[Ii]?[Ss]catter" AND "${parameters}," MATCHES
        "(int|MPI_Count)[ \n]+([a-z_]+)[ \n]*,[ \n]*MPI_Datatype[ \n]+([a-z_]+)[ \n]*,")
      set(moved "${CMAKE_MATCH_2}, key_of(${CMAKE_MATCH_3})")
    endif()
    # Calls that return at once are timed now and then.
    set(timing Each)
    set(counted "")
    if(name MATCHES
       "^MPI_(I[brs]?send|Irecv|Imrecv|Start|Startall|Test|Testall|Testany|Testsome|Iprobe|Improbe|Request_get_status)(_c)?$")
      set(timing Sample)
      set(counted "    if (times::Counted counted(call); counted) return counted.end(calls::${name}(${arguments}));\n")
    endif()
    strake_recorded(record ${name} "${parameters}")
    if(record STREQUAL "")
      set(timed "  if (times::is_on()) [[unlikely]] {
    const times::Beginning call(Wrapped::${name}, __builtin_return_address(0), ${moved});
${counted}    times::Timed timed(call, times::Timing::${timing});
    return timed.end(calls::${name}(${arguments}));
  }\n")
    else()
      set(timed "  if (times::is_on()) [[unlikely]] {
    const void* const site = __builtin_return_address(0);
    const auto timed_call = [&] {
      const times::Beginning call(Wrapped::${name}, site, ${moved});
${counted}      times::Timed timed(call, times::Timing::${timing});
      return timed.end(calls::${name}(${arguments}));
    };
    const int code = timed_call();
    if (code == MPI_SUCCESS && recorded::is_on()) recorded::${record};
    return code;
  }\n")
    endif()
  endif()
  string(APPEND entered "STRAKE_MPI int ${name}(${parameters}) {\n${timed}  return calls::${name}(${arguments});\n}\n")
  if(NOT topic STREQUAL by_hand)
    list(APPEND topics ${topic})
    set(more "")
    if(NOT arguments STREQUAL "")
      set(more ", ${arguments}")
    endif()
    string(APPEND wrappers_${topic} "int calls::${name}(${parameters}) {
  return ${STRAKE_CALL_${name}}mpi::RealFunction{&mpi::RealMpi::${name}}${more});
}\n")
  endif()
  strake_fortran_entry(entry ${name} "${parameters}")
  string(APPEND entries "${entry}")
endforeach()

set(origin "// Written by generate.cmake for ${FLAVOR}.\n")
file(MAKE_DIRECTORY ${FOLDER}/interpose)
file(WRITE ${FOLDER}/interpose/calls.hpp "${origin}#pragma once

#include <mpi.h>

#include <cstdint>

namespace strake::interpose {

enum class Wrapped : std::uint16_t {
${names}  Count
};
[[nodiscard]] const char* name_of(Wrapped function) noexcept;

namespace calls {
${declared}}  // namespace calls
}  // namespace strake::interpose
")
file(WRITE ${FOLDER}/entered.cpp "${origin}#include \"interpose/boundary.hpp\"
#include \"interpose/recorded_graph.hpp\"
#include \"interpose/times.hpp\"
#include \"mpi/types.hpp\"

using namespace strake::interpose;
using strake::mpi::key_of;

const char* strake::interpose::name_of(Wrapped function) noexcept {
  constexpr const char* kNames[] = {
${texts}      \"\"};
  return kNames[static_cast<int>(function)];
}

${entered}")
list(REMOVE_DUPLICATES topics)
foreach(topic IN LISTS topics)
  file(WRITE ${FOLDER}/interpose/wrappers/${topic}.hpp "${origin}#pragma once

namespace strake::interpose {

${wrappers_${topic}}
}  // namespace strake::interpose
")
endforeach()
file(WRITE ${FOLDER}/fortran.cpp "${origin}#include \"interpose/fortran/special.hpp\"
#include \"interpose/times.hpp\"

#define STRAKE_ENTRY extern \"C\" __attribute__((visibility(\"default\"))) void

using strake::interpose::fortran::Entry;
using strake::interpose::times::FortranCall;

${entries}")
