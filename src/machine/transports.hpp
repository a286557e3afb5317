/// \file  The table of transports, as far as neither MPI nor devices are needed: one row for each,
/// with its names, and the model's view of it. exchange/transport/table.hpp adds how it is carried
/// out.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "machine/path.hpp"
#include "machine/transport.hpp"
#include "machine/usage.hpp"

namespace strake::machine {

/// The facts of a transport that need neither MPI nor a device.
struct TransportFacts {
  Transport transport = Transport::Library;
  const char* name = "";      ///< "one-shot": in settings, summaries, reports and plans
  const char* alias = "";     ///< an older value of STRAKE_METHOD; empty: none
  const char* describe = "";  ///< for people: "packed in host memory"
  /// Whether the transport can carry bytes over such a path at all.
  bool (*possible)(const Path& path) noexcept = nullptr;
  /// Predicts which resources the bytes of a planned exchange use on their way, if the transport
  /// is possible. Null: the model knows no times of it.
  Usage (*predict)(const ExchangeParts& parts, const Path& path, const Shape& shape) = nullptr;
};

/// All rows, in the order of the enumeration, without those that were added.
[[nodiscard]] std::span<const TransportFacts> transports() noexcept;
/// Adds a row, for the rest of the process, and returns its transport. Not thread-safe.
Transport add_transport(TransportFacts facts);
[[nodiscard]] const TransportFacts& facts_of(Transport transport) noexcept;
/// "self", "direct", …
[[nodiscard]] const char* name_of(Transport transport) noexcept;
/// The transport of that name, or alias; nothing: there is none.
[[nodiscard]] std::optional<Transport> transport_named(std::string_view name) noexcept;
/// Whether a transport can carry bytes over such a path at all. None can where an end is in managed
/// memory, which planned exchanges do not take.
[[nodiscard]] bool is_possible(Transport transport, const Path& path) noexcept;

}  // namespace strake::machine
