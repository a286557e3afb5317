/// \file  The choices that STRAKE_METHOD forces: one row for each value.
#pragma once

#include <optional>

#include "machine/transport.hpp"

namespace strake::exchange {

using machine::Transport;

/// A value of STRAKE_METHOD, and the choices that it forces. All others are as for auto.
struct Forced {
  Transport transport = Transport::Library;  ///< the value itself
  /// \{ Messages in host memory, and in device memory. Device and Library need a library that is
  /// GPU-aware there.
  std::optional<Transport> host_messages = {};
  std::optional<Transport> device_messages = {};
  /// \}
  /// Planned exchanges, between two devices of a node.
  std::optional<Transport> between_devices = {};
  bool packs_pairs = false;  ///< planned exchanges: no array is read in place
  bool reads_all = false;    ///< planned exchanges: short blocks are read in place, too

  [[nodiscard]] bool forces_messages() const noexcept {
    return host_messages.has_value() || device_messages.has_value();
  }
};

/// Returns the row of a transport; null: it can't be forced.
[[nodiscard]] const Forced* forced_by(Transport transport) noexcept;
/// Returns the row of the value in force; null: auto. ~10 ns.
[[nodiscard]] const Forced* forced() noexcept;

}  // namespace strake::exchange
