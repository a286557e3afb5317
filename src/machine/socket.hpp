/// \file  The processor socket that a thread runs on.
#pragma once

namespace strake::machine {

/// The number of the socket that this thread runs on now, as the kernel counts them; negative: not
/// known. ~20 us.
[[nodiscard]] int current_socket() noexcept;

}  // namespace strake::machine
