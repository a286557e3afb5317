/// \file  Fate of the calls of an MPI function, by the interposer's own list of functions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace strake::explain {

struct FunctionFate {
  std::string name;
  std::string host;    ///< what becomes of a call whose buffers lie in host memory
  std::string device;  ///< and of one with a buffer in a device's memory; empty: as of the other
};

/// Nothing: `name` is none of an MPI function. Large-count forms (MPI_Send_c) count.
[[nodiscard]] std::optional<FunctionFate> fate_of(const std::string& name);

[[nodiscard]] nlohmann::ordered_json to_json(const FunctionFate& fate);
[[nodiscard]] std::string to_text(const FunctionFate& fate);

}  // namespace strake::explain
