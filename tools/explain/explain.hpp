/// \file  `strake explain`: how Strake decodes and moves a datatype, and how fast that is here.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "expression/datatype.hpp"
#include "message.hpp"
#include "strake/memory.hpp"

namespace strake::explain {

/// A question about `count` elements of a datatype.
struct Question {
  std::int64_t count = 1;
  std::optional<MemoryKind> from;  ///< host if only `to` is given
  std::optional<MemoryKind> to;
  bool remote = false;  ///< how a message to another rank would travel, too
};

/// One way of moving the bytes: packing (layout to dense) or unpacking, between two memories.
struct CopyChoice {
  const char* operation;  ///< "pack", "unpack"
  MemoryKind from;
  MemoryKind to;
  std::string description;  ///< the kernel or copy chosen, or why there is none
  bool available = false;
  std::optional<double> measured_us;  ///< median of a few runs
};

struct Explanation {
  std::string expression;
  std::int64_t count = 1;
  expression::Datatype type;
  Layout layout;  ///< of `count` of it
  std::vector<CopyChoice> copies;
  std::optional<Messages> messages;  ///< where they were asked for
  machine::ProfileState profile;
  std::string verdict;    ///< as verdict_of()
  bool one_pair = false;  ///< only the copies of one pair of memories were asked for
};

/// Compiles a plan for the pair of memories named, or for each pair of host and device, and runs
/// those between host memories (~0.3 s each, up to ~1 s for large ones).
/// \throws expression::SyntaxError, InvalidArgument
[[nodiscard]] Explanation explain(const std::string& expression, const Question& question);

[[nodiscard]] nlohmann::ordered_json to_json(const Explanation& explanation);
[[nodiscard]] std::string to_text(const Explanation& explanation);

}  // namespace strake::explain
