#include "device/cuda/block.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <utility>

namespace strake::cuda {
namespace {

constexpr Place kPinned{MemoryKind::Pinned, 0};

/// The blocks that a core's pool has lent.
template <int core>
struct Core {
  static inline int lent = 0;
  static inline std::array<std::byte, 64> memory{};
  static BlockSource source() {
    return {[](Place, std::int64_t) -> void* {
              ++lent;
              return memory.data();
            },
            [](Place, void* block) noexcept {
              if (block == memory.data()) --lent;
            }};
  }
};

TEST(Block, goes_back_to_the_core_it_came_from) {
  Block first(Core<1>::source(), kPinned, 8);
  {
    Block second(Core<2>::source(), kPinned, 8);
    EXPECT_EQ(Core<1>::lent, 1);
    EXPECT_EQ(Core<2>::lent, 1);
    std::swap(first, second);
  }
  EXPECT_EQ(Core<1>::lent, 0);
  EXPECT_EQ(Core<2>::lent, 1);
  first = Block();
  EXPECT_EQ(Core<2>::lent, 0);
}

}  // namespace
}  // namespace strake::cuda
