/// \file  Error codes of the MPI library, and errors that Strake raises as the library would.
#pragma once

#include <mpi.h>

namespace strake::interpose {

/// Calls the error handler of `comm` as the MPI library would, and returns the code if it returns.
int raise(MPI_Comm comm, int code);

/// In a catch block: turns an exception of Strake into an error on `comm`. An exception that the
/// application's error handler threw goes on to the application.
int caught(MPI_Comm comm);

/// The class of an error code.
[[nodiscard]] int class_of(int code);
/// Whether a call's error is no request's: nothing was completed.
[[nodiscard]] bool refused(int code);
/// Whether a call says that the statuses of its requests tell what is wrong.
[[nodiscard]] bool in_status(int code);

}  // namespace strake::interpose
