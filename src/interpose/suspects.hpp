/// \file  Slots of messages that receives were too short for (interpose/short_receives.hpp): which
/// may be theirs, and when they are free.
#pragma once

namespace strake::interpose {

/// At the end of a call of the application's: chooses suspects, and frees those that later messages
/// have overtaken. exchange::shared::g_unsettled says that there may be some.
void settle_truncated() noexcept;

}  // namespace strake::interpose
