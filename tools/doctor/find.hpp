/// \file  Finds the facts of facts.hpp, by looking and by trying.
#pragma once

#include <string>
#include <vector>

#include "facts.hpp"
#include "run/launcher.hpp"

namespace strake::doctor {

/// Tries what it can with processes of its own: ~5 ms.
[[nodiscard]] Machine find_machine();
/// In a process of its own, since a driver may fail in any way: ~1 s with GPUs, else ~1 ms.
[[nodiscard]] Gpus find_gpus();
[[nodiscard]] ProfileFacts find_profile();
[[nodiscard]] Environment find_environment();
/// Starts the launcher of `command` once, with a probe in the place of its programs, and a second
/// time if `gpus`. `folder` is where Strake's libraries lie.
[[nodiscard]] Job find_job(const run::Arguments& command, const std::string& folder, bool gpus);

}  // namespace strake::doctor
