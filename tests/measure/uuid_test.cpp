#include "measure/cuda/uuid.hpp"

#include <gtest/gtest.h>

#include <array>

namespace strake::measure::cuda {
namespace {

TEST(Uuid, is_five_groups_of_lower_case_digits) {
  std::array<char, 16> bytes{};
  EXPECT_EQ(uuid_text(bytes), "GPU-00000000-0000-0000-0000-000000000000");
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(0xfe - 0x11 * i);
  EXPECT_EQ(uuid_text(bytes), "GPU-feeddccb-baa9-9887-7665-5443322110ff");
}

}  // namespace
}  // namespace strake::measure::cuda
