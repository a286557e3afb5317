#include "function.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "settings/settings.hpp"

namespace strake::explain {
namespace {

/// A function of the interposer's list. The topic is the file of its wrapper in src/interpose, or
/// says that the call is passed on; the handler is then the kind of function.
struct Listed {
  std::string_view name;
  std::string_view topic;
  std::string_view handler;
};

constexpr std::array kListed = {
#define STRAKE_FUNCTION(name) Listed{#name, "own", ""},
#define STRAKE_HANDLED(topic, handler, name) Listed{#name, #topic, #handler},
#define STRAKE_MOVER(topic, handler, name) Listed{#name, #topic, #handler},
#define STRAKE_PASSED(kind, name) Listed{#name, "passed", #kind},
#define STRAKE_HOST_ONLY(kind, name) Listed{#name, "host only", #kind},
#define STRAKE_CALLED(name) Listed{#name, "called", ""},
#include "mpi/functions.def"
#undef STRAKE_FUNCTION
#undef STRAKE_HANDLED
#undef STRAKE_MOVER
#undef STRAKE_PASSED
#undef STRAKE_HOST_ONLY
#undef STRAKE_CALLED
};

constexpr const char* kPairs =
    "a message for each pair of ranks, strided to strided and by shared memory within a node, or "
    "the MPI library's own call, as trials of its function and communicator find to be faster. "
    "Passed on where ranks have not agreed: with MPI_THREAD_MULTIPLE, on communicators of "
    "MPI_Comm_idup, on intercommunicators, in spawned jobs";
constexpr const char* kMessage =
    "its message goes as Strake chooses by datatype, size and memory: strake explain --remote TYPE "
    "shows the choice";
constexpr const char* kMirrors =
    "where the MPI library is not GPU-aware, buffers are copied to host memory before the call and "
    "back after it; else the call is passed on";
constexpr const char* kRefused =
    "where the MPI library is not GPU-aware, the call fails with MPI_ERR_BUFFER and a sentence; "
    "else it is passed on";

FunctionFate told(const Listed& listed) {
  FunctionFate fate{std::string(listed.name), "passed on", ""};
  const auto is = [&](std::string_view topic) { return listed.topic == topic; };
  if (is("pairwise") && settings::text(settings::Id::collectives) != "0") {
    fate.host = kPairs;
  } else if (is("pairwise")) {
    fate.host = "passed on, as STRAKE_COLLECTIVES=0 says";
    fate.device = kMirrors;
  } else if (is("collectives")) {
    fate.device = kMirrors;
  } else if (is("host only")) {
    fate.device = kRefused;
  } else if (is("blocking_p2p") || is("persistent") ||
             (is("nonblocking_p2p") && !listed.handler.starts_with("isendrecv"))) {
    fate.host = kMessage;
  } else if (is("nonblocking_p2p")) {
    fate.host = "passed on: a send and a receive with one request";
  } else if (is("pack")) {
    fate.host = "Strake packs and unpacks where it is faster than the MPI library";
  } else if (is("own") || is("completion")) {
    fate.host = "passed on, and what Strake has of its own in it is done beside it";
  }
  return fate;
}

}  // namespace

std::optional<FunctionFate> fate_of(const std::string& name) {
  std::string_view plain = name;
  if (plain.ends_with("_c")) plain.remove_suffix(2);
  const auto found = std::ranges::find_if(
      kListed, [&](const Listed& one) { return one.name == name || one.name == plain; });
  if (found == kListed.end()) return std::nullopt;
  FunctionFate fate = told(*found);
  fate.name = name;
  return fate;
}

nlohmann::ordered_json to_json(const FunctionFate& fate) {
  return {{"function", fate.name},
          {"host", fate.host},
          {"device", fate.device.empty() ? fate.host : fate.device}};
}

std::string to_text(const FunctionFate& fate) {
  std::string text = fmt::format("{}\n", fate.name);
  if (fate.device.empty()) return text + fmt::format("  {}\n", fate.host);
  return text + fmt::format("  buffers in host memory: {}\n  buffers in GPU memory: {}\n",
                            fate.host, fate.device);
}

}  // namespace strake::explain
