// How the interposer and Strake's libraries in the program meet (decision 14).
#include "exchange/progress/in_flight.hpp"
#include "interpose/inside.hpp"

using strake::exchange::CoreLink;
using strake::exchange::g_in_flight;

extern "C" __attribute__((visibility("default"))) const CoreLink* strake_core_meet_1(
    const CoreLink* theirs) {
  const CoreLink* const own = g_in_flight.link();
  const bool meets = !strake::interpose::g_disabled && theirs != own;  // it plans exchanges, too
  return meets && g_in_flight.add_core(theirs) ? own : nullptr;
}
