/// \file  What becomes of an exchange whose call has thrown.
#pragma once

#include "strake/error.hpp"

namespace strake::exchange::planned {

/// Calls `move`. What it throws is thrown on; where that does not say that nothing was done, the
/// exchange can't go on: `fail` is called first.
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
