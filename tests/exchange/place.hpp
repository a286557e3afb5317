/// \file  Where the arrays of these tests are: on devices, which ranks share round robin, with
/// TEST_PLACE=device. For one source of a program.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "../interpose/support/memory.hpp"
#include "strake/place.hpp"
#include "world.hpp"

namespace strake {

class OnDevice : public testing::Environment {
 public:
  void SetUp() override {
    const char* const wanted = std::getenv("TEST_PLACE");
    if (wanted == nullptr || std::string(wanted) != "device") return;
    if (!test_memory::use_device(rank())) GTEST_SKIP() << "no device";
  }
};
[[maybe_unused]] static testing::Environment* const g_on_device =
    testing::AddGlobalTestEnvironment(new OnDevice);

inline Place place() {
  return test_memory::on_device() ? Place{MemoryKind::Device, test_memory::device()} : Place{};
}

/// How bytes go from one device to another one of the node: as is forced, or as a profile says that
/// is used (TEST_METHOD, tests/exchange/make_profile.cpp).
inline std::string device_transport() {
  for (const char* name : {"STRAKE_METHOD", "TEST_METHOD"})
    if (const char* const transport = std::getenv(name))
      return std::string(transport) == "device" ? "put" : transport;
  return std::getenv("STANDIN_NO_SHARING") == nullptr ? "put" : "one-shot";
}

/// Whether all that a plan tells of goes by put.
inline bool is_devices_alone(const std::string& plan) {
  for (const char* by_cpu : {"direct:", "shared:", "staged:", "message each way"})
    if (plan.find(by_cpu) != std::string::npos) return false;
  return true;
}
/// Whether the CPU has no part in it, which a capture needs: it tells engines what to copy. (Where
/// they are not forced, kernels take over.)
inline bool can_be_captured(const std::string& plan) {
  return is_devices_alone(plan) && !is_forced("engine");
}

}  // namespace strake
