/// \file  Facts that the files of a job's programs tell about its MPI library.
#pragma once

#include <string>

#include "facts.hpp"
#include "preload/mpi_library.hpp"
#include "run/job_check.hpp"

namespace strake::doctor {

/// Facts of the program of one segment of `command`. If its own file uses no MPI, a later word
/// counts that is a program which does (env, numactl and others start it). `folder` has the
/// interposers.
[[nodiscard]] ProgramFacts describe_program(const run::Arguments& command,
                                            const run::JobProgram& program,
                                            const std::string& folder, preload::MpiLibrary forced);

}  // namespace strake::doctor
