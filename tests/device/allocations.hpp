/// \file  Counts what the test's process allocates, the plug-in too, which has the program's
/// operator new.
#pragma once

namespace strake {

/// By operator new, so far.
[[nodiscard]] long allocations() noexcept;

}  // namespace strake
