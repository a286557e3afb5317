/// \file  The commands that lead on from a comparison.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>

#include "job/report.hpp"
#include "launcher.hpp"

namespace strake::run {

/// Returns the line that helps a Python program; empty: its ranks' letters show no need of one.
/// mpi4py asks for MPI_THREAD_MULTIPLE unless it is told otherwise, and such ranks share no memory.
[[nodiscard]] std::string python_advice(const Arguments& command,
                                        const std::set<job::Letter>& letters);

/// Lines to read and to paste. `launcher`: the word of `command` that starts ranks, or empty;
/// `summary`: of a run under Strake, or null; `shared_heap`: the job takes less time with it.
[[nodiscard]] std::string next_steps(const Arguments& command, const std::string& launcher,
                                     const nlohmann::json& summary, bool shared_heap = false);

/// A command line that a shell splits into these words.
[[nodiscard]] std::string shell_line(const Arguments& words);

}  // namespace strake::run
