// Ranges of shared memory at one address.
#include "memory/sharing/shared_view.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "memory/sharing/shared_memory.hpp"
#include "strake/error.hpp"

namespace strake::sharing {
namespace {

TEST(SharedView, ranges_lie_one_after_the_other) {
  const std::int64_t page = page_bytes();
  const SharedMemory memory = SharedMemory::make(8 * page);
  for (int i = 0; i < 8; ++i)
    std::memset(memory.data() + i * page, i + 1, static_cast<std::size_t>(page));
  const std::vector<SharedView::Range> ranges = {{5 * page, page}, {0, 2 * page}, {5 * page, page}};
  SharedView view(memory.descriptor(), ranges);
  ASSERT_EQ(view.bytes(), 4 * page);
  const std::vector<int> expected = {6, 1, 2, 6};
  for (int i = 0; i < 4; ++i)
    for (const std::int64_t at : {std::int64_t{0}, page - 1})
      EXPECT_EQ(static_cast<int>(view.data()[i * page + at]),
                expected[static_cast<std::size_t>(i)]);
  // One memory, at three addresses.
  memory.data()[5 * page] = std::byte{42};
  EXPECT_EQ(static_cast<int>(view.data()[0]), 42);
  view.data()[3 * page] = std::byte{43};
  EXPECT_EQ(static_cast<int>(memory.data()[5 * page]), 43);
  SharedView moved = std::move(view);
  EXPECT_EQ(static_cast<int>(moved.data()[0]), 43);
}

TEST(SharedView, begins_at_one_of_its_pages) {
  constexpr std::int64_t kPage = 2 << 20;
  const SharedMemory memory = SharedMemory::make_in_pages(3 * kPage, kPage);
  const std::vector<SharedView::Range> ranges = {{2 * kPage, kPage}, {0, kPage}};
  const std::int64_t before = mappings().now;
  {
    const SharedView view(memory.descriptor(), ranges, kPage);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(view.data()) % kPage, 0U);
    memory.data()[3 * kPage - 1] = std::byte{42};
    memory.data()[0] = std::byte{43};
    EXPECT_EQ(static_cast<int>(view.data()[kPage - 1]), 42);
    EXPECT_EQ(static_cast<int>(view.data()[kPage]), 43);
  }
  EXPECT_LE(mappings().now, before);
  const std::vector<SharedView::Range> part = {{0, kPage / 2}};
  EXPECT_THROW(SharedView(memory.descriptor(), part, kPage), InvalidArgument);
}

TEST(SharedView, parts_of_pages_are_refused) {
  const SharedMemory memory = SharedMemory::make(8 * page_bytes());
  const std::vector<SharedView::Range> ranges = {{1, page_bytes()}};
  EXPECT_THROW(SharedView(memory.descriptor(), ranges), InvalidArgument);
  const std::vector<SharedView::Range> none = {};
  EXPECT_EQ(SharedView(memory.descriptor(), none).bytes(), 0);
}

TEST(SharedView, what_the_kernel_refuses_is_an_error) {
  const std::vector<SharedView::Range> ranges = {{0, page_bytes()}};
  const std::int64_t before = mappings().now;
  for (int i = 0; i < 20; ++i) EXPECT_THROW(SharedView(-1, ranges), OutOfMemory);
  EXPECT_LE(mappings().now, before + 4);  // nothing is left of them
}

TEST(SharedView, too_many_mappings_are_refused_before) {
  EXPECT_GT(mappings().now, 0);
  EXPECT_NO_THROW(require_mappings(100, {.now = 10, .most = 0}));  // not known
  EXPECT_NO_THROW(require_mappings(80, {.now = 10, .most = 100}));
  try {
    require_mappings(81, {.now = 10, .most = 100});
    FAIL();
  } catch (const Unsupported& error) {
    EXPECT_STREQ(error.what(),
                 "views that take 81 mappings: this process has 10 of at most 100 "
                 "(vm.max_map_count), of which a tenth is left to others");
  }
}

}  // namespace
}  // namespace strake::sharing
