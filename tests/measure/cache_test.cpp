/// \file  A flushed line is slower to read than one that was just read.
#include "measure/cache.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <numeric>
#include <random>
#include <vector>

#include "strake/error.hpp"

namespace strake::measure {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kLines = 2048;  // 128 KiB: within the second-level cache of every CPU

struct alignas(kLine) Link {
  Link* next = nullptr;
};

/// Lines that point to each other in a random order, which no prefetcher foresees.
std::vector<Link> chain() {
  std::vector<Link> links(kLines);
  std::vector<std::size_t> order(kLines);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(1));
  for (std::size_t i = 0; i < kLines; ++i) {
    links[order[i]].next = &links[order[(i + 1) % kLines]];
  }
  return links;
}

/// Seconds of one walk along the chain.
double walk(const Link* first) {
  const auto begin = std::chrono::steady_clock::now();
  const Link* at = first;
  for (std::size_t i = 0; i < kLines; ++i) at = at->next;
  asm volatile("" ::"r"(at) : "memory");
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

TEST(Cache, reading_a_flushed_line_takes_several_times_longer) {
  if (!can_flush_cache()) GTEST_SKIP() << "this CPU can't flush lines";
  const std::vector<Link> links = chain();
  double cached = 1;
  double flushed = 1;
  walk(links.data());
  for (int i = 0; i < 20; ++i) {
    cached = std::min(cached, walk(links.data()));
    flush_cache(links.data(), kLines * sizeof(Link));
    flushed = std::min(flushed, walk(links.data()));
    walk(links.data());
  }
  RecordProperty("cached_ns", std::to_string(cached / kLines * 1e9));
  RecordProperty("flushed_ns", std::to_string(flushed / kLines * 1e9));
  EXPECT_GT(flushed, 4 * cached) << "ns a line, cached " << cached / kLines * 1e9 << ", flushed "
                                 << flushed / kLines * 1e9;
}

TEST(Cache, flushing_reaches_the_lines_at_both_ends) {
  if (!can_flush_cache()) GTEST_SKIP() << "this CPU can't flush lines";
  // The first and last byte of a line are enough to flush it.
  const std::vector<Link> links = chain();
  const auto* const bytes = reinterpret_cast<const std::byte*>(links.data());
  double whole = 1;
  double ends = 1;
  for (int i = 0; i < 20; ++i) {
    flush_cache(bytes, kLines * kLine);
    whole = std::min(whole, walk(links.data()));
    flush_cache(bytes + kLine - 1, (kLines - 2) * kLine + 2);
    ends = std::min(ends, walk(links.data()));
  }
  EXPECT_GT(ends, 0.7 * whole);
}

TEST(Cache, flushing_keeps_the_data) {
  if (!can_flush_cache()) GTEST_SKIP() << "this CPU can't flush lines";
  std::vector<int> data(1000);
  std::iota(data.begin(), data.end(), 0);
  flush_cache(data.data(), data.size() * sizeof(int));
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(data[static_cast<std::size_t>(i)], i);
}

}  // namespace
}  // namespace strake::measure
