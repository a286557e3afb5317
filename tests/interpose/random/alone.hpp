/// \file  The command that runs a random program by itself, for messages.
#pragma once

#include <cstdlib>
#include <string>

namespace random_program {

inline std::string alone(const std::string& program_and_arguments, int ranks) {
  std::string text = "mpirun -n " + std::to_string(ranks) + " env";
  for (const char* name :
       {"LD_PRELOAD", "STRAKE_METHOD", "STRAKE_SHARE", "STRAKE_SHARE_LIMIT", "STRAKE_SHARE_DIRECT",
        "STRAKE_SHARE_DEVICE", "STRAKE_GPU_AWARE", "STANDIN_OPEN", "TEST_MEMORY",
        "STRAKE_SHARED_HEAP", "STRAKE_HEAP_LEAST", "TEST_ALLOCATING_THREADS"}) {
    const char* const value = std::getenv(name);
    if (value != nullptr) text += " " + std::string(name) + "=" + value;
  }
  return text + " " + program_and_arguments;
}

}  // namespace random_program
