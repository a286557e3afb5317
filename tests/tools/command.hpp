/// \file  Runs commands and keeps what they print.
#pragma once

#include <string>
#include <vector>

namespace strake::tools_test {

struct Outcome {
  int status = 0;  ///< exit status, or 128 + the signal
  std::string out;
  std::string err;
};

using Words = std::vector<std::string>;

/// Runs it, with NAME=value words of `environment` added, in an environment without STRAKE_
/// settings or LD_PRELOAD.
Outcome run(const Words& command, const Words& environment = {});

/// `strake` with these arguments, from the prefix with the stand-ins.
Outcome strake(const Words& arguments, const Words& environment = {});

/// The words of several lists, one after the other.
Words join(std::initializer_list<Words> lists);

/// How many lines contain `text`.
int lines_with(const std::string& output, const std::string& text);

}  // namespace strake::tools_test
