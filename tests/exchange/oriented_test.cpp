// Neighbours whose axes are others, or run the other way: a receiver's layout lists its cells in
// the order in which the sender has them.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "strake/box.hpp"
#include "strake/exchange.hpp"
#include "world.hpp"

namespace strake {
namespace {

using Cell = Index3;
constexpr std::int64_t kMargin = 2;  // on each side of the cells that are moved

/// A box of cells within an array that has more of them on each side, x contiguous.
struct Cells {
  Cell cells;
  std::int64_t bytes;  ///< of a cell
  [[nodiscard]] std::int64_t stride(std::size_t axis) const {
    std::int64_t distance = bytes;
    for (std::size_t a = 0; a < axis; ++a) distance *= cells[a] + 2 * kMargin;
    return distance;
  }
  [[nodiscard]] std::int64_t offset(const Cell& at) const {
    std::int64_t offset = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) offset += (at[axis] + kMargin) * stride(axis);
    return offset;
  }
  [[nodiscard]] std::int64_t size() const { return stride(3); }
};

/// Along axis `to[a]` of the receiver runs the sender's axis a, perhaps the other way.
struct Orientation {
  std::array<std::size_t, 3> to;
  std::array<bool, 3> reversed;
  [[nodiscard]] Cell lengths(const Cell& sender) const {
    Cell made{};
    for (std::size_t a = 0; a < 3; ++a) made[to[a]] = sender[a];
    return made;
  }
  /// Where a cell of the sender's is at the receiver.
  [[nodiscard]] Cell image(const Cell& at, const Cell& lengths_of_sender) const {
    Cell made{};
    for (std::size_t a = 0; a < 3; ++a)
      made[to[a]] = reversed[a] ? lengths_of_sender[a] - 1 - at[a] : at[a];
    return made;
  }
};

std::vector<Orientation> orientations() {
  std::vector<Orientation> all;
  for (std::size_t x = 0; x < 3; ++x)
    for (std::size_t y = 0; y < 3; ++y)
      for (int reversed = 0; reversed < 8 && x != y; ++reversed)
        all.push_back(
            {{x, y, 3 - x - y}, {(reversed & 1) != 0, (reversed & 2) != 0, (reversed & 4) != 0}});
  return all;
}

/// The sender's cells in its own order: x innermost.
Layout plain(const Cells& box) {
  const Dim dims[] = {{box.cells[2], box.stride(2)}, {box.cells[1], box.stride(1)}};
  return Layout::box(box.offset({0, 0, 0}), box.cells[0] * box.bytes, dims);
}

/// The receiver's cells in the sender's order.
Layout oriented(const Cells& sender, const Cells& receiver, const Orientation& how) {
  std::vector<Dim> dims;
  for (std::size_t a = 3; a-- > 0;) {
    const std::int64_t stride = receiver.stride(how.to[a]);
    dims.push_back({sender.cells[a], how.reversed[a] ? -stride : stride});
  }
  return Layout::box(receiver.offset(how.image({0, 0, 0}, sender.cells)), sender.bytes, dims);
}

std::byte value_of(int of_rank, std::int64_t offset, int round) {
  return static_cast<std::byte>((offset * 7 + offset / 251 + of_rank * 31 + round * 101) % 256);
}

/// Each rank sends one box to the next, which has it in all 48 orientations.
void run(const Cell& cells, std::int64_t bytes) {
  const Cells sender{cells, bytes};
  const std::vector<Orientation> all = orientations();
  ASSERT_EQ(all.size(), 48U);
  const int next = (rank() + 1) % ranks(), before = (rank() + ranks() - 1) % ranks();
  ExchangePart part;
  std::vector<SharedArray> arrays;
  std::vector<std::byte*> addresses;
  const auto add = [&](const Cells& box) {
    arrays.emplace_back(box.size());
    addresses.push_back(arrays.back().data());
    return part.array({}, box.size());
  };
  const int out = add(sender);
  std::vector<Cells> receivers;
  for (std::size_t i = 0; i < all.size(); ++i) {
    receivers.push_back({all[i].lengths(cells), bytes});
    part.send(next, static_cast<int>(i), out, plain(sender));
    part.receive(before, static_cast<int>(i), add(receivers[i]),
                 oriented(sender, receivers[i], all[i]));
  }
  Exchange exchange(MPI_COMM_WORLD, part);
  for (int round = 0; round < 2; ++round) {
    for (std::int64_t i = 0; i < sender.size(); ++i) addresses[0][i] = value_of(rank(), i, round);
    exchange.start(addresses);
    exchange.wait();
    for (std::size_t i = 0; i < all.size(); ++i) {
      std::vector<std::byte> expected(static_cast<std::size_t>(receivers[i].size()));
      for (std::int64_t z = 0; z < cells[2]; ++z)
        for (std::int64_t y = 0; y < cells[1]; ++y)
          for (std::int64_t x = 0; x < cells[0]; ++x)
            for (std::int64_t byte = 0; byte < bytes; ++byte) {
              const std::int64_t to = receivers[i].offset(all[i].image({x, y, z}, cells)) + byte;
              expected[static_cast<std::size_t>(to)] =
                  value_of(before, sender.offset({x, y, z}) + byte, round);
            }
      ASSERT_EQ(std::memcmp(expected.data(), addresses[i + 1], expected.size()), 0)
          << "orientation " << i << ", round " << round;
    }
  }
}

TEST(OrientedExchange, short_blocks) {
  run({5, 4, 3}, 4);
  run({3, 1, 7}, 24);
  run({4, 6, 2}, 3);
}

/// Arrays that others read in place, with rows that stay rows in some orientations.
TEST(OrientedExchange, large_arrays) { run({128, 12, 9}, 8); }

/// The example of docs/how-to/grid.md: 4 x 3 cells go to 3 x 4, x to y, and y to x, reversed.
TEST(OrientedExchange, example) {
  constexpr std::int64_t kDouble = sizeof(double), row = 3 * kDouble;
  const std::array<double, 12> sent = {0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23};
  std::array<double, 12> received{};
  const int next = (rank() + 1) % ranks(), peer = (rank() + ranks() - 1) % ranks();
  ExchangePart part;
  part.send(next, 0, part.array(), Layout::dense(12 * kDouble));
  const int array = part.array();
  const Dim dims[] = {{3, -kDouble}, {4, row}};  // the sender's y, then its x
  part.receive(peer, 0, array, Layout::box(2 * kDouble, kDouble, dims));
  Exchange exchange(MPI_COMM_WORLD, part);
  std::array<double, 12> out = sent;
  std::byte* const addresses[] = {reinterpret_cast<std::byte*>(out.data()),
                                  reinterpret_cast<std::byte*>(received.data())};
  exchange.start(addresses);
  exchange.wait();
  const std::array<double, 12> expected = {20, 10, 0, 21, 11, 1, 22, 12, 2, 23, 13, 3};
  EXPECT_EQ(received, expected);
}

}  // namespace
}  // namespace strake
