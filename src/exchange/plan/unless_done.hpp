/// \file  The end of an exchange whose call has thrown after it had begun something.
#pragma once

#include "strake/error.hpp"

namespace strake::exchange::planned {

/// Calls `move`, and lets its exceptions pass. InvalidArgument and Unsupported say that nothing was
/// done. After any other exception the exchange can't go on: `fail` is called first.
template <typename Move, typename Fail>
void unless_done(const Move& move, const Fail& fail) {
  try {
    move();
  } catch (const InvalidArgument&) {
    throw;
  } catch (const Unsupported&) {
    throw;
  } catch (...) {
    fail();
    throw;
  }
}

}  // namespace strake::exchange::planned
