/// \file  The machine's resources that a transfer of a planned exchange uses, and how long it keeps
/// each of them busy.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "machine/costs.hpp"
#include "machine/path.hpp"
#include "machine/transport.hpp"

namespace strake::machine {

/// Resources that transfers share. The work of a rank and its GPU before the bytes leave is counted
/// apart from that after other bytes have come.
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
  NodeMemory,  ///< host memory through which ranks of a node pass bytes
  NodeOut,     ///< the network, with all that the ranks of a node send
  NodeIn,
};
inline constexpr int kResources = 14;
/// "a rank's thread, sending", …
[[nodiscard]] const char* name_of(Resource resource) noexcept;

enum class Side : std::uint8_t { From, To };

/// One resource, busy with one transfer. [s]
struct Use {
  Resource resource = Resource::RankSending;
  Side side = Side::From;  ///< the end whose rank, GPU or node it is
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

/// \{ Predict the resources that the bytes of one transfer use by each transport, which must be
/// possible on the path.
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
