/// \file  Agreement of the ranks of a collective call: on errors that only some of them can see,
/// and on values that all of them have to give alike. Either all ranks throw, or none.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <span>
#include <string>

#include "strake/error.hpp"

namespace strake::mpi {

/// Throws the exception of that kind. Local.
/// \throws InvalidArgument, Unsupported, OutOfMemory, Error
[[noreturn]] void throw_fault(const std::string& fault, ErrorCode kind);

/// Throws on all ranks of `comm` if any of them has a `fault` (a text that is not empty): the fault
/// of the lowest such rank. Collective; costs one allreduce of an integer if there is no fault.
/// \throws InvalidArgument, Unsupported, OutOfMemory, Error; MpiError
void agree(MPI_Comm comm, const std::string& fault, ErrorCode kind = ErrorCode::InvalidArgument);

/// A value that all ranks have to give alike, as messages name it: {"the extent along x", "24"}.
struct Given {
  std::string what;
  std::string value;
};

/// Compares the lists that the ranks of `comm` give, which may be of different lengths. Collective;
/// costs one allreduce of 32 bytes if all are alike.
/// \throws InvalidArgument  on all ranks: a list differs from that of rank 0. The message names the
/// first value that differs, two ranks and both values: "the extent along x is 32 on rank 1 and 24
/// on rank 0". MpiError
void require_alike(MPI_Comm comm, std::span<const Given> given);

/// Call it before anything else is done with a communicator that a program has passed in. Local.
/// \param user  for the message: "a grid"
/// \throws InvalidArgument  it is MPI_COMM_NULL, or an intercommunicator; MpiError  it is none
void require_intracommunicator(MPI_Comm comm, const char* user);

}  // namespace strake::mpi
