/// \file  Checks before a job starts: whether its programs use an MPI library that Strake has an
/// interposer for.
#pragma once

#include <optional>
#include <string>

#include "launcher.hpp"
#include "mpi_library.hpp"
#include "strake/error.hpp"

namespace strake::run {

/// The path of `program`, found as by a shell; nothing if it does not exist or is not executable.
[[nodiscard]] std::optional<std::string> find_program(const std::string& program);

/// A file that is there, but may not be executed.
struct NotExecutable : InvalidArgument {
  using InvalidArgument::InvalidArgument;
  static constexpr int kStatus = 126;  ///< as a shell's
};
/// As find_program(). \throws NotExecutable; InvalidArgument  it is not found.
[[nodiscard]] std::string required_program(const std::string& program);

/// The MPI library that a program is linked to. None if it is linked to none: it may still load one
/// when it runs, or start a program that uses MPI.
/// \throws InvalidArgument  it is linked statically to MPI, or its library is not known (`forced`:
/// --mpi's, or None).
[[nodiscard]] preload::MpiLibrary check_program(const std::string& path,
                                                preload::MpiLibrary forced);

/// Whether a program runs without the dynamic loader, so that nothing can be loaded into it.
[[nodiscard]] bool is_static(const std::string& path);

/// Whether a program was built with the address sanitizer, which ends it where another object is
/// loaded before: not if ASAN_OPTIONS, here or set on the command line, allows that.
[[nodiscard]] bool insists_on_first(const std::string& path, const Arguments& command);
/// Problem and remedy of such a program, for people.
inline constexpr const char* kFirstProblem =
    "was built with the address sanitizer, which ends a program that Strake is loaded into first";
inline constexpr const char* kFirstRemedy = "export ASAN_OPTIONS=verify_asan_link_order=0";

/// Where this command's libraries lie: libstrake-preload.so and the interposers.
/// \throws InvalidArgument  they are not beside it, or in a place that LD_PRELOAD can't name.
[[nodiscard]] std::string library_folder();

/// \throws InvalidArgument  there is no interposer for it in `folder`.
void check_interposer(const std::string& folder, preload::MpiLibrary library);
/// \throws InvalidArgument  `folder` has no shared heap.
void check_heap(const std::string& folder);

}  // namespace strake::run
