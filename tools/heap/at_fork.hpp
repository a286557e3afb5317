/// \file  fork() with a shared heap: the child gets a copy of it, as of all other memory.
#pragma once

namespace strake::heap {

/// Registers the handlers. False: there is no memory for them.
[[nodiscard]] bool watch_forks() noexcept;

}  // namespace strake::heap
