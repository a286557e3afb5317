/// \file  Layouts as words for another process.
#include "layout/encoding.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "random_layouts.hpp"
#include "strake/error.hpp"

namespace strake {
namespace {

TEST(Encoding, layouts_come_back_as_they_were) {
  Random random(4);
  for (int i = 0; i < 3000; ++i) {
    const Layout layout = random_layout(random);
    const Layout back = decode(encode(layout));
    ASSERT_EQ(back, layout) << layout.to_string();
    ASSERT_EQ(back.hash(), layout.hash());
    ASSERT_EQ(back.bounds(), layout.bounds());
    ASSERT_EQ(back.block_count(), layout.block_count());
  }
  EXPECT_EQ(decode(encode(Layout())), Layout());
}

TEST(Encoding, words_that_are_no_layout_are_refused) {
  EXPECT_THROW((void)decode({}), InvalidArgument);
  for (const std::vector<std::int64_t>& words : std::vector<std::vector<std::int64_t>>{
           {7, 0},
           {-1, 0},
           {0},
           {0, 0, 0},
           {1, 0, 0, 0},
           {1, 0, 8, -1},
           {1, 0, 8, 1, 0, 8},
           {1, 0, 8, 2, 5, 8},
           {1, INT64_MAX, 8, 0},
           {2, 0, 8, 1000},
           {2, 0, 0, 2, 0, 100, 0, 8},
           {2, 0, 0, 2, 0, 100, 0, 8, 8},
           {3, 0, 5, 8, 0, 0},
           {4, 0, 0},
           {4, 0, 2, 1, 0, 8, 0},
           {1, 0, 8, 3, std::int64_t{1} << 40, 1, std::int64_t{1} << 40, 2, 1, 3}})
    EXPECT_THROW((void)decode(words), InvalidArgument) << ::testing::PrintToString(words);
  std::vector<std::int64_t> deep;
  for (int i = 0; i < 100'000; ++i) deep.insert(deep.end(), {3, 0, 2, 1 << 20});
  EXPECT_THROW((void)decode(deep), InvalidArgument);
}

TEST(Encoding, words_written_at_random_do_no_harm) {
  Random random(5);
  int decoded = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::vector<std::int64_t> words = encode(random_layout(random));
    if (words.size() > 300) continue;
    for (std::int64_t changes = pick(random, 1, 3); changes > 0; --changes) {
      const auto at =
          static_cast<std::size_t>(pick(random, 0, static_cast<std::int64_t>(words.size()) - 1));
      constexpr std::int64_t kFar = std::int64_t{1} << 59;
      const std::int64_t values[] = {0,
                                     1,
                                     2,
                                     4,
                                     -1,
                                     kFar,
                                     -kFar,
                                     INT64_MAX,
                                     words[at] ^ 1,
                                     static_cast<std::int64_t>(random())};
      words[at] = values[pick(random, 0, std::ssize(values) - 1)];
    }
    try {
      const Layout layout = decode(words);
      ++decoded;
      EXPECT_GE(layout.size_bytes(), 0);
      EXPECT_LE(layout.bounds().begin, layout.bounds().end);
    } catch (const InvalidArgument&) {
      // Refused.
    }
  }
  EXPECT_GT(decoded, 1000);
}

}  // namespace
}  // namespace strake
