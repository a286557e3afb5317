// How the interposer and Strake's libraries in the program meet (decision 14).
#include "exchange/progress/in_flight.hpp"
#include "interpose/inside.hpp"

using strake::exchange::CoreLink;
using strake::exchange::g_in_flight;

extern "C" __attribute__((visibility("default"))) const CoreLink* strake_core_meet_1(
    const CoreLink* theirs) {
  return !strake::interpose::g_disabled && g_in_flight.add_core(theirs) ? g_in_flight.link()
                                                                        : nullptr;
}
