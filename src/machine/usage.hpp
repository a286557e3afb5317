/// \file  What a transfer of a planned exchange uses on its way: how long it keeps each of the
/// machine's resources busy.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "machine/costs.hpp"
#include "machine/path.hpp"
#include "machine/transport.hpp"

namespace strake::machine {

/// What transfers share. What a rank and its GPU do before the bytes leave is counted apart from
/// what they do once other bytes have come.
enum class Resource : std::uint8_t {
  RankSending,  ///< a rank's thread: launches, messages, packing in host memory
  RankReceiving,
  GpuSending,  ///< a GPU's memory: packing, and copies from layout to layout
  GpuReceiving,
  PeerPair,  ///< from one GPU to one other
  PeerOut,   ///< from one GPU to all others
  PeerIn,
  HostOut,  ///< from one GPU to host memory
  HostIn,
  MessageOut,  ///< the messages of one rank
  MessageIn,
  NodeMemory,  ///< what ranks of a node pass to each other through host memory
  NodeOut,     ///< what the ranks of a node send to others
  NodeIn,
};
inline constexpr int kResources = 14;
/// "a rank's thread, sending", …
[[nodiscard]] const char* name_of(Resource resource) noexcept;

enum class Side : std::uint8_t { From, To };

/// One resource, busy with one transfer. [s]
struct Use {
  Resource resource = Resource::RankSending;
  Side side = Side::From;  ///< of which end's rank, GPU or node
  int step = 0;            ///< steps follow each other; what one step uses is busy at once
  double bytes = 0;        ///< for its bytes
  double message = 0;      ///< once for all transfers between two ranks by one transport
  double launch = 0;       ///< for all that a rank launches at once, of which the longest counts
};

struct Usage {
  Transport transport = Transport::Self;
  std::vector<Use> uses;  ///< in the order of their steps; each resource once in a step
  std::string lacking;    ///< the part that the profile lacks; empty: none
};

/// \{ What the bytes of one transfer use by each transport, which must be possible on the path.
/// ~1 us. \throws InvalidArgument  as Costs
[[nodiscard]] Usage predict_self(const ExchangeParts& parts, const Path& path, const Shape& shape);
[[nodiscard]] Usage predict_direct(const ExchangeParts& parts, const Path& path,
                                   const Shape& shape);
[[nodiscard]] Usage predict_shared(const ExchangeParts& parts, const Path& path,
                                   const Shape& shape);
[[nodiscard]] Usage predict_put(const ExchangeParts& parts, const Path& path, const Shape& shape);
[[nodiscard]] Usage predict_engine(const ExchangeParts& parts, const Path& path,
                                   const Shape& shape);
[[nodiscard]] Usage predict_one_shot(const ExchangeParts& parts, const Path& path,
                                     const Shape& shape);
[[nodiscard]] Usage predict_staged(const ExchangeParts& parts, const Path& path,
                                   const Shape& shape);
[[nodiscard]] Usage predict_device(const ExchangeParts& parts, const Path& path,
                                   const Shape& shape);
[[nodiscard]] Usage predict_pack(const ExchangeParts& parts, const Path& path, const Shape& shape);
/// \}

}  // namespace strake::machine
