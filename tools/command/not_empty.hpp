/// \file  A check of options that name a file.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace strake {

inline CLI::Validator not_empty() {
  return {
      [](const std::string& name) { return std::string(name.empty() ? "the name is empty" : ""); },
      ""};
}

}  // namespace strake
