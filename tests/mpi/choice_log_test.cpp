// STRAKE_LOG=info: each choice and its reason, once.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "exchange/choice/choice.hpp"
#include "mpi/elements.hpp"
#include "strake/layout.hpp"

namespace strake::exchange {
namespace {

// Before any setting is read.
[[maybe_unused]] const int g_settings = [] {
  setenv("STRAKE_LOG", "info", 1);
  return setenv("STRAKE_PROFILE", "none", 1);
}();

Layout columns(std::int64_t count) {
  const std::vector<Dim> dims = {{count, 64}};
  return Layout::box(0, 8, dims);
}

/// Log of the choices for messages of these columns, in one go.
std::string logged(std::int64_t count) {
  testing::internal::CaptureStderr();
  for (int message = 0; message < 3; ++message) {
    // Each round has a datatype of its own, as in a program that makes one for each message.
    const auto elements = std::make_shared<mpi::Elements>(columns(count));
    for (int again = 0; again < 3; ++again)
      static_cast<void>(choose(*elements, MessageDirection::Send, {}, false));
  }
  return testing::internal::GetCapturedStderr();
}

TEST(ChoiceLog, has_each_choice_once_with_its_reason) {
  EXPECT_EQ(
      logged(100),
      "strake info: blocking send of hvector(100,8,64,byte) from host memory: transport pack; the "
      "MPI library copies such short blocks more slowly, by a built-in rule, "
      "so the first exchanges try the MPI library's own copy, too\n");
  EXPECT_EQ(logged(100), "");
  EXPECT_EQ(logged(10),
            "strake info: blocking send of hvector(10,8,64,byte) from host memory: left to the MPI "
            "library; short messages don't pay for a temporary buffer, by a built-in rule, "
            "so the first exchanges try packing, too\n");
}

TEST(ChoiceLog, ends_after_a_thousand_lines) {
  std::int64_t lines = 0;
  for (std::int64_t count = 1000; count < 2100; ++count) {
    const std::string text = logged(count);
    lines += std::count(text.begin(), text.end(), '\n');
  }
  EXPECT_LE(lines, 1000);
  EXPECT_GE(lines, 900);
}

}  // namespace
}  // namespace strake::exchange
