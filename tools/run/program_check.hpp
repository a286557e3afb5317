/// \file  What can be known of a job before it starts: whether its programs use an MPI library that
/// an interposer is here for.
#pragma once

#include <optional>
#include <string>

#include "launcher.hpp"
#include "mpi_library.hpp"

namespace strake::run {

/// Where `program` lies, found as a shell would; nothing where it is not there or not executable.
[[nodiscard]] std::optional<std::string> find_program(const std::string& program);

/// The MPI library that a program is linked to; None where it is linked to none, and only its run
/// can tell whether it loads one, or starts a program that uses MPI. \throws InvalidArgument  it
/// holds MPI statically, or its library is not known (`forced`: --mpi's, or None).
[[nodiscard]] preload::MpiLibrary check_program(const std::string& path,
                                                preload::MpiLibrary forced);

/// Whether a program runs without the dynamic loader, so that nothing comes into it.
[[nodiscard]] bool is_static(const std::string& path);

/// Where this command's libraries lie: libstrake-preload.so and the interposers.
/// \throws InvalidArgument  they are not beside it, or in a place that LD_PRELOAD can't name.
[[nodiscard]] std::string library_folder();

/// \throws InvalidArgument  there is no interposer for it in `folder`.
void check_interposer(const std::string& folder, preload::MpiLibrary library);

}  // namespace strake::run
