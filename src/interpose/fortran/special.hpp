/// \file  Entries of the functions whose arguments need more than their types say: lists of
/// requests, indices, which count from 1 in Fortran, lists of datatypes, character strings, and the
/// two that start MPI, which take other arguments.
#pragma once

#include <mpi.h>

#include <algorithm>

#include "interpose/fortran/entry.hpp"
#include "interpose/fortran/strings.hpp"

namespace strake::interpose::fortran {

[[nodiscard]] inline int integer(const void* fortran) {
  return *static_cast<const MPI_Fint*>(fortran);
}

/// A list's length; 0 where the caller gave a negative one, which the C wrapper gets and rejects.
[[nodiscard]] inline int length(const void* fortran) { return std::max(0, integer(fortran)); }

/// Fortran's index of a list's first element, which is C's 0.
inline constexpr int kFirstIndex = mpi::quirks::kF08IndicesBeginAtZero ? 0 : 1;

/// C's index as Fortran's. MPI_UNDEFINED has the same value in both.
inline void report_index(int code, int index, void* fortran) {
  if (index != MPI_UNDEFINED) {
    *static_cast<MPI_Fint*>(fortran) = index + kFirstIndex;
  } else if (code == MPI_SUCCESS) {
    *static_cast<MPI_Fint*>(fortran) = MPI_UNDEFINED;
  }
}

template <>
struct Entry<&MPI_Init> {
  static void call(MPI_Fint* ierror) { report(MPI_Init(nullptr, nullptr), ierror); }
};

template <>
struct Entry<&MPI_Init_thread> {
  static void call(void* required, void* provided, MPI_Fint* ierror) {
    report(MPI_Init_thread(nullptr, nullptr, integer(required), static_cast<int*>(provided)),
           ierror);
  }
};

template <>
struct Entry<&MPI_Startall> {
  static void call(void* count, void* requests, MPI_Fint* ierror) {
    report(MPI_Startall(integer(count), Handles<MPI_Request>(requests, length(count)).data()),
           ierror);
  }
};

template <>
struct Entry<&MPI_Waitall> {
  static void call(void* count, void* requests, void* statuses, MPI_Fint* ierror) {
    report(MPI_Waitall(integer(count), Handles<MPI_Request>(requests, length(count)).data(),
                       Statuses(statuses, length(count)).data()),
           ierror);
  }
};

template <>
struct Entry<&MPI_Testall> {
  static void call(void* count, void* requests, void* flag, void* statuses, MPI_Fint* ierror) {
    report(MPI_Testall(integer(count), Handles<MPI_Request>(requests, length(count)).data(),
                       static_cast<int*>(flag), Statuses(statuses, length(count)).data()),
           ierror);
  }
};

template <>
struct Entry<&MPI_Waitany> {
  static void call(void* count, void* requests, void* index, void* status, MPI_Fint* ierror) {
    int at = MPI_UNDEFINED;
    const int code =
        MPI_Waitany(integer(count), Handles<MPI_Request>(requests, length(count)).data(), &at,
                    Statuses(status, 1).data());
    report_index(code, at, index);
    report(code, ierror);
  }
};

template <>
struct Entry<&MPI_Testany> {
  static void call(void* count, void* requests, void* index, void* flag, void* status,
                   MPI_Fint* ierror) {
    int at = MPI_UNDEFINED;
    const int code =
        MPI_Testany(integer(count), Handles<MPI_Request>(requests, length(count)).data(), &at,
                    static_cast<int*>(flag), Statuses(status, 1).data());
    report_index(code, at, index);
    report(code, ierror);
  }
};

/// MPI_Waitsome and MPI_Testsome.
template <int (*function)(int, MPI_Request*, int*, int*, MPI_Status*)>
struct SomeEntry {
  static void call(void* count, void* requests, void* outcount, void* indices, void* statuses,
                   MPI_Fint* ierror) {
    int done = MPI_UNDEFINED;
    auto* const positions = static_cast<MPI_Fint*>(indices);
    const int code = function(integer(count), Handles<MPI_Request>(requests, length(count)).data(),
                              &done, positions, Statuses(statuses, length(count)).data());
    if (done != MPI_UNDEFINED) {
      std::for_each(positions, positions + done,
                    [](MPI_Fint& position) { position += kFirstIndex; });
    }
    if (done != MPI_UNDEFINED || code == MPI_SUCCESS) {
      *static_cast<MPI_Fint*>(outcount) = done;
    }
    report(code, ierror);
  }
};
template <>
struct Entry<&MPI_Waitsome> : SomeEntry<&MPI_Waitsome> {};
template <>
struct Entry<&MPI_Testsome> : SomeEntry<&MPI_Testsome> {};

/// How many ranks a rank sends to and receives from in a collective with one datatype for each.
struct Degrees {
  int out;
  int in;
};
[[nodiscard]] Degrees alltoall_degrees(MPI_Comm comm);
[[nodiscard]] Degrees neighbor_degrees(MPI_Comm comm);

/// MPI_Alltoallw and MPI_Neighbor_alltoallw, which differ in how many types there are and in the
/// kind of displacements.
template <auto function, class Displacement, Degrees (*degrees)(MPI_Comm)>
struct AlltoallwEntry {
  static void call(void* send, void* send_counts, void* send_displacements, void* send_types,
                   void* receive, void* receive_counts, void* receive_displacements,
                   void* receive_types, void* comm, MPI_Fint* ierror) {
    const auto c_comm = to_c<MPI_Comm>(integer(comm));
    const Degrees count = degrees(c_comm);
    // With MPI_IN_PLACE the argument for the send types need not be a list.
    const bool in_place = buffer(send) == MPI_IN_PLACE;
    HandleList<MPI_Datatype> from(send_types, in_place ? 0 : count.out);
    HandleList<MPI_Datatype> to(receive_types, count.in);
    report(function(buffer(send), static_cast<const int*>(send_counts),
                    static_cast<const Displacement*>(send_displacements), from.data(),
                    buffer(receive), static_cast<const int*>(receive_counts),
                    static_cast<const Displacement*>(receive_displacements), to.data(), c_comm),
           ierror);
  }
};
template <>
struct Entry<&MPI_Alltoallw> : AlltoallwEntry<&MPI_Alltoallw, int, alltoall_degrees> {};
template <>
struct Entry<&MPI_Neighbor_alltoallw>
    : AlltoallwEntry<&MPI_Neighbor_alltoallw, MPI_Aint, neighbor_degrees> {};

template <>
struct Entry<&MPI_Type_get_contents> {
  static void call(void* type, void* max_ints, void* max_addresses, void* max_types, void* ints,
                   void* addresses, void* types, MPI_Fint* ierror) {
    report(MPI_Type_get_contents(to_c<MPI_Datatype>(integer(type)), integer(max_ints),
                                 integer(max_addresses), integer(max_types),
                                 static_cast<int*>(ints), static_cast<MPI_Aint*>(addresses),
                                 Handles<MPI_Datatype>(types, length(max_types)).data()),
           ierror);
  }
};

template <>
struct Entry<&MPI_File_open> {
  static void call(void* comm, void* name, void* amode, void* info, void* file, MPI_Fint* ierror,
                   std::size_t name_length) {
    // Not a Handles: MPICH ends the program when the variable doesn't hold a handle yet.
    MPI_File opened = MPI_FILE_NULL;
    const int code = MPI_File_open(to_c<MPI_Comm>(integer(comm)), text(name, name_length).c_str(),
                                   integer(amode), to_c<MPI_Info>(integer(info)), &opened);
    if (code == MPI_SUCCESS) {
      *static_cast<MPI_Fint*>(file) = to_fortran(opened);
    }
    report(code, ierror);
  }
};

template <>
struct Entry<&MPI_Comm_spawn> {
  static void call(void* command, void* arguments, void* most, void* info, void* root, void* comm,
                   void* spawned, void* errcodes, MPI_Fint* ierror, std::size_t command_length,
                   std::size_t argument_length);
};

template <>
struct Entry<&MPI_Comm_spawn_multiple> {
  static void call(void* count, void* commands, void* arguments, void* most, void* infos,
                   void* root, void* comm, void* spawned, void* errcodes, MPI_Fint* ierror,
                   std::size_t command_length, std::size_t argument_length);
};

}  // namespace strake::interpose::fortran
