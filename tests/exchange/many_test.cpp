// Many exchanges: what one costs, and that nothing is left of it.
#include <dirent.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "strake/exchange.hpp"
#include "world.hpp"

namespace strake {
namespace {

constexpr std::int64_t kValues = 24;
constexpr std::int64_t kValueBytes = sizeof(double);

/// Each rank sends a column of its values to the next one.
ExchangePart ring() {
  ExchangePart part;
  const int array = part.array({}, 3 * kValues * kValueBytes);
  const auto column = [](std::int64_t begin) {
    return Layout::box(begin * kValueBytes, kValueBytes,
                       std::vector<Dim>{{kValues, 3 * kValueBytes}});
  };
  part.send((rank() + 1) % ranks(), 0, array, column(0));
  part.receive((rank() + ranks() - 1) % ranks(), 0, array, column(1));
  return part;
}

void check_round(Exchange& exchange, int round) {
  std::vector<double> values(3 * kValues, -1);
  for (std::int64_t i = 0; i < kValues; ++i)
    values[static_cast<std::size_t>(3 * i)] = 1e6 * rank() + 100. * round + static_cast<double>(i);
  std::byte* const base = reinterpret_cast<std::byte*>(values.data());
  exchange.start(std::span(&base, 1));
  exchange.wait();
  const int before = (rank() + ranks() - 1) % ranks();
  for (std::int64_t i = 0; i < kValues; ++i)
    ASSERT_EQ(values[static_cast<std::size_t>(3 * i + 1)],
              1e6 * before + 100. * round + static_cast<double>(i));
}

int open_descriptors() {
  int count = 0;
  DIR* const all = opendir("/proc/self/fd");
  while (readdir(all) != nullptr) ++count;
  closedir(all);
  return count;
}

/// The bytes of the heap that are in use.
std::int64_t heap_bytes() { return static_cast<std::int64_t>(mallinfo2().uordblks); }

/// The bytes of the heap that each of `count` exchanges takes, all alive.
std::int64_t heap_bytes_each(const ExchangePart& part, int count) {
  std::vector<Exchange> all;
  all.reserve(static_cast<std::size_t>(count));
  all.emplace_back(MPI_COMM_WORLD, part);
  const std::int64_t heap = heap_bytes();
  for (int i = 1; i < count; ++i) all.emplace_back(MPI_COMM_WORLD, part);
  return (heap_bytes() - heap) / (count - 1);
}

TEST(Many, cost_little_memory) {
  constexpr std::int64_t kBase = 1024;
  constexpr std::int64_t kPair = 512;  // with its two lists of pieces
  const std::int64_t empty = heap_bytes_each(ExchangePart(), 200);
  EXPECT_LE(empty, kBase);
  // Farewells of ranks of other nodes come when they come: what they take can't be measured so.
  if (ranks_per_node() < ranks()) return;
  // One more layout, at both ends, tells what layouts take.
  const ExchangePart one = ring();
  ExchangePart two = ring();
  for (const ExchangePart::Transfer& transfer : one.sends())
    two.send(transfer.peer, 1, 0, transfer.layout);
  for (const ExchangePart::Transfer& transfer : one.receives()) {
    const std::int64_t begin = 2 * kValueBytes - transfer.layout.offset();
    two.receive(transfer.peer, 1, 0,
                Layout::box(begin + transfer.layout.offset(), kValueBytes, transfer.layout.dims()));
  }
  const std::int64_t with_one = heap_bytes_each(one, 200);
  const std::int64_t layouts = heap_bytes_each(two, 200) - with_one;
  const int pairs = ranks() == 1 ? 0 : ranks() == 2 ? 1 : 2;
  std::printf("%lld bytes without pairs, %lld with %d, of which %lld are layouts\n",
              static_cast<long long>(empty), static_cast<long long>(with_one), pairs,
              static_cast<long long>(layouts));
  EXPECT_LE(with_one - layouts, kBase + pairs * kPair);
}

TEST(Many, thousands_live_at_a_time) {
  constexpr int kLive = 5000;
  const ExchangePart part = ring();
  std::vector<Exchange> all;
  all.reserve(kLive);
  for (int i = 0; i < 100; ++i) all.emplace_back(MPI_COMM_WORLD, part);
  const int descriptors = open_descriptors();
  while (all.size() < kLive) all.emplace_back(MPI_COMM_WORLD, part);
  constexpr int kSegments = 6;  // at most so many more
  EXPECT_LE(open_descriptors(), descriptors + kSegments);
  for (int i = 0; i < kLive; i += 97) check_round(all[static_cast<std::size_t>(i)], 0);
  // Each rank destroys them in an order of its own.
  std::mt19937 random(static_cast<unsigned>(rank()));
  std::ranges::shuffle(all, random);
  while (!all.empty()) all.pop_back();
  Exchange last(MPI_COMM_WORLD, part);
  check_round(last, 1);
}

TEST(Many, nothing_is_left_of_those_that_are_no_more) {
  const char* const wanted = std::getenv("TEST_EXCHANGES");
  const int count = wanted != nullptr ? std::atoi(wanted) : 600;
  const ExchangePart part = ring();
  std::int64_t heap = 0;
  int descriptors = 0;
  for (int i = 0; i < count; ++i) {
    Exchange exchange(MPI_COMM_WORLD, part);
    if (i % 16 == 0) check_round(exchange, i % 7);
    if (i != count / 2) continue;
    MPI_Barrier(MPI_COMM_WORLD);
    heap = heap_bytes();
    descriptors = open_descriptors();
  }
  // A few may not be closed by all ranks yet.
  constexpr std::int64_t kSome = 64 << 10;
  EXPECT_LE(heap_bytes(), heap + kSome);
  EXPECT_LE(open_descriptors(), descriptors);
}

}  // namespace
}  // namespace strake
