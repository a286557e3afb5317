// Lists of blocks on the CPU, byte by byte against Layout::for_each_block, for every instruction
// set that this machine runs.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "copy/cpu/compile.hpp"
#include "cpu_copy.hpp"
#include "expect_copies.hpp"
#include "random_layouts.hpp"
#include "strake/layout.hpp"

namespace strake {
namespace {

class CpuLists : public CpuCopy {};

TEST_P(CpuLists, value_lists) {
  for (int i = 0; i < 300; ++i) {
    const Layout layout = random_value_list(random_);
    const Layout dense = Layout::dense(layout.size_bytes(), pick(random_, -100, 100));
    expect_copies_all(dense, layout, options_, random_);
    expect_copies_all(layout, dense, options_, random_);
    if (HasFatalFailure()) return;
  }
}

TEST_P(CpuLists, runs_from_the_beginning_of_their_vectors) {
  for (int i = 0; i < 60; ++i) {
    const std::int64_t count = pick(random_, 30, 500);
    std::vector<std::int64_t> starts(static_cast<std::size_t>(count));
    for (std::size_t k = 0; k < starts.size(); ++k) starts[k] = 32 * static_cast<std::int64_t>(k);
    if (i % 3 != 0) std::shuffle(starts.begin(), starts.end(), random_);
    std::vector<std::int64_t> offsets, lengths;
    const auto add = [&](std::int64_t offset, std::int64_t units) {
      offsets.push_back(offset);
      lengths.push_back(4 * units);
    };
    for (const std::int64_t start : starts) {
      if (pick(random_, 0, 199) == 0) {  // two in one vector
        add(start, 1);
        add(start + 12, pick(random_, 1, 4));
      } else {
        add(start, pick(random_, 1, 7));
      }
    }
    const Layout layout = Layout::blocks(offsets, lengths);
    expect_copies_all(Layout::dense(layout.size_bytes(), 5), layout, options_, random_);
    expect_copies_all(layout, Layout::dense(layout.size_bytes(), 5), options_, random_);
    if (HasFatalFailure()) return;
  }
}

TEST_P(CpuLists, pages_between_blocks_are_not_read) {
  // Blocks up to the end of the first page and from the third on, as in two allocations.
  const std::int64_t page = sysconf(_SC_PAGESIZE);
  const auto bytes = static_cast<std::size_t>(3 * page);
  auto* const memory = static_cast<std::byte*>(
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  for (std::size_t i = 0; i < bytes; ++i) memory[i] = static_cast<std::byte>(random_());
  ASSERT_EQ(mprotect(memory + page, static_cast<std::size_t>(page), PROT_NONE), 0);
  for (const std::int64_t unit : {1, 4}) {
    std::vector<std::int64_t> offsets, lengths;
    std::int64_t before = page;
    std::int64_t after = 2 * page;
    for (int i = 0; i < 60; ++i) {
      lengths.insert(lengths.end(), 2, unit * pick(random_, 1, 6));
      before -= lengths.back();
      offsets.push_back(before);
      offsets.push_back(after);
      before -= unit * pick(random_, 1, 3);
      after += lengths.back() + unit * pick(random_, 1, 3);
    }
    const Layout layout = Layout::blocks(offsets, lengths);
    const Layout dense = Layout::dense(layout.size_bytes());
    std::vector<std::byte> packed(static_cast<std::size_t>(layout.size_bytes()));
    cpu::compile(dense, layout, options_)->run(packed.data(), memory);
    std::size_t at = 0;
    layout.for_each_block([&](std::int64_t offset, std::int64_t length) {
      EXPECT_EQ(std::memcmp(packed.data() + at, memory + offset, static_cast<std::size_t>(length)),
                0);
      at += static_cast<std::size_t>(length);
    });
    cpu::compile(layout, dense, options_)->run(memory, packed.data());
  }
  munmap(memory, bytes);
}

TEST_P(CpuLists, lists_of_pieces_of_one_length) {
  for (int i = 0; i < 300; ++i) {
    const std::int64_t unit =
        std::array{1, 3, 4, 8, 12, 16, 20, 24, 40, 64, 128}[static_cast<std::size_t>(i % 11)];
    const std::int64_t longest = pick(random_, 1, 6);
    std::vector<std::int64_t> offsets, lengths;
    std::int64_t at = pick(random_, -3000, 3000);
    for (std::int64_t k = pick(random_, 1, 60); k > 0; --k) {
      offsets.push_back(at);
      lengths.push_back(unit * pick(random_, 1, longest));
      at += lengths.back() + unit * pick(random_, 1, 5);
    }
    if (i % 2 == 0) std::reverse(offsets.begin(), offsets.end() - 1);
    const Layout layout = Layout::blocks(offsets, std::vector(lengths.size(), unit));
    const Layout cut = Layout::blocks(offsets, lengths);
    for (const Layout& list : {layout, cut}) {
      const Layout dense = Layout::dense(list.size_bytes(), pick(random_, -100, 100));
      expect_copies_all(dense, list, options_, random_);
      expect_copies_all(list, dense, options_, random_);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(CpuLists, lists_one_behind_the_other) {
  // As properties of the same particles: blocks of 24, of 12, of 4 and of 8 bytes, in one list.
  for (int i = 0; i < 10; ++i) {
    std::vector<std::int64_t> offsets, lengths;
    std::int64_t at = 0;
    for (const std::int64_t unit : {24, 12, 4, 8}) {
      for (std::int64_t k = pick(random_, 200, 400); k > 0; --k) {
        offsets.push_back(at);
        lengths.push_back(unit * pick(random_, 1, 2));
        at += lengths.back() + unit * pick(random_, 1, 4);
      }
    }
    const Layout layout = Layout::blocks(offsets, lengths);
    const Layout dense = Layout::dense(layout.size_bytes());
    expect_copies_all(dense, layout, options_, random_);
    expect_copies_all(layout, dense, options_, random_);
    if (HasFatalFailure()) return;
  }
}

TEST_P(CpuLists, lists_in_order_that_the_second_level_cache_does_not_hold) {
  // Every third place of 12 bytes on average, some of them adjacent.
  std::vector<std::int64_t> offsets;
  for (std::int64_t place = 0; place < 120'000; ++place) {
    if (pick(random_, 0, 2) == 0) offsets.push_back(12 * place);
  }
  const Layout layout = Layout::blocks(offsets, 12);
  const Layout dense = Layout::dense(layout.size_bytes(), 20);
  expect_copies_all(dense, layout, options_, random_);
  expect_copies_all(layout, dense, options_, random_);
}

TEST_P(CpuLists, lists_in_no_order_that_the_first_level_cache_does_not_hold) {
  for (const std::int64_t block : {4, 8, 12, 20, 40}) {
    std::vector<std::int64_t> offsets;
    for (int i = 0; i < 6000; ++i) offsets.push_back(3 * block * i);
    std::shuffle(offsets.begin(), offsets.end(), random_);
    const Layout layout = Layout::blocks(offsets, std::vector(offsets.size(), block));
    const Layout dense = Layout::dense(layout.size_bytes());
    expect_copies_all(dense, layout, options_, random_);
    expect_copies_all(layout, dense, options_, random_);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(EveryInstructionSet, CpuLists, every_kernels(), name_of_kernels);

}  // namespace
}  // namespace strake
