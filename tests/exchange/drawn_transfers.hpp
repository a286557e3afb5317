#pragma once

// Random transfers between ranks. All ranks draw the same numbers, so each knows what every other
// sends.
#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "strake/exchange.hpp"
#include "world.hpp"

namespace strake {

using Value = std::int32_t;
inline constexpr std::int64_t kValue = sizeof(Value);
inline constexpr int kSendArrays = 2;
inline constexpr int kArrays = 4;  // those behind the first two are received into

class Draw {
 public:
  explicit Draw(unsigned seed) : engine_(seed) {}
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(high - low + 1));
  }

 private:
  std::mt19937_64 engine_;
};

/// `count` values, no two of them in one place, from `begin` on; `end` becomes what is behind them.
/// [values]
inline Layout random_shape(Draw& draw, std::int64_t count, std::int64_t begin, std::int64_t& end) {
  const std::int64_t gap = draw.between(1, 9);
  switch (draw.between(0, 4)) {
    case 0:
      end = begin + count;
      return Layout::dense(count * kValue, begin * kValue);
    case 1: {
      const Dim dims[] = {{count, gap * kValue}};
      end = begin + count * gap;
      return Layout::box(begin * kValue, kValue, dims);
    }
    case 2: {
      const Dim dims[] = {{count, -gap * kValue}};
      end = begin + count * gap;
      return Layout::box((end - 1) * kValue, kValue, dims);
    }
    case 3: {  // rows
      std::int64_t row = draw.between(1, 40);
      while (count % row != 0) --row;
      const Dim dims[] = {{count / row, (row + gap) * kValue}};
      end = begin + count / row * (row + gap);
      return Layout::box(begin * kValue, row * kValue, dims);
    }
    default: {
      std::vector<std::int64_t> places(static_cast<std::size_t>(count));
      for (std::int64_t i = 0; i < count; ++i)
        places[static_cast<std::size_t>(i)] = (begin + i * gap) * kValue;
      for (std::size_t i = places.size(); i > 1; --i)
        std::swap(
            places[i - 1],
            places[static_cast<std::size_t>(draw.between(0, static_cast<std::int64_t>(i) - 1))]);
      end = begin + count * gap;
      return Layout::blocks(places, kValue);
    }
  }
}

struct Wanted {
  int from = 0, to = 0, tag = 0;
  int out_array = 0, in_array = 0;
  Layout out, in;
};

/// The values of a layout in packed order. [values]
inline std::vector<std::int64_t> places_of(const Layout& layout) {
  std::vector<std::int64_t> places;
  layout.for_each_block([&](std::int64_t offset, std::int64_t bytes) {
    for (std::int64_t at = offset; at < offset + bytes; at += kValue) places.push_back(at / kValue);
  });
  return places;
}

struct Drawn {
  std::vector<Wanted> transfers;
  std::vector<std::vector<std::int64_t>> lengths;  // by rank and array [values]
};

inline Drawn draw_transfers(unsigned seed) {
  Draw draw(seed);
  Drawn drawn;
  drawn.lengths.assign(static_cast<std::size_t>(ranks()),
                       std::vector<std::int64_t>(kArrays, 20'000));
  const std::int64_t transfers = draw.between(1, 6 * ranks());
  std::vector<std::vector<std::int64_t>> used(static_cast<std::size_t>(ranks()),
                                              std::vector<std::int64_t>(kArrays, 0));
  for (std::int64_t i = 0; i < transfers; ++i) {
    Wanted wanted;
    wanted.from = static_cast<int>(draw.between(0, ranks() - 1));
    wanted.to = static_cast<int>(draw.between(0, ranks() - 1));
    wanted.tag = static_cast<int>(draw.between(0, 2));
    wanted.out_array = static_cast<int>(draw.between(0, kSendArrays - 1));
    wanted.in_array = static_cast<int>(draw.between(kSendArrays, kArrays - 1));
    const std::int64_t count = draw.between(0, 3) == 0 ? draw.between(1, 8) : draw.between(1, 3000);
    std::int64_t end = 0;
    wanted.out = random_shape(draw, count, draw.between(0, 5000), end);
    auto& out_length = drawn.lengths[static_cast<std::size_t>(wanted.from)]
                                    [static_cast<std::size_t>(wanted.out_array)];
    out_length = std::max(out_length, end);
    auto& begin =
        used[static_cast<std::size_t>(wanted.to)][static_cast<std::size_t>(wanted.in_array)];
    wanted.in = random_shape(draw, count, begin, end);
    begin = end + draw.between(0, 5);
    auto& in_length = drawn.lengths[static_cast<std::size_t>(wanted.to)]
                                   [static_cast<std::size_t>(wanted.in_array)];
    in_length = std::max(in_length, begin);
    drawn.transfers.push_back(std::move(wanted));
  }
  return drawn;
}

inline Value value_of(int of_rank, int array, std::int64_t place, int round) {
  std::uint64_t x =
      static_cast<std::uint64_t>(place) * 0x9E3779B97F4A7C15U +
      static_cast<std::uint64_t>(of_rank * 1000 + array * 100 + round) * 0xD1B54A32D192ED03U;
  x ^= x >> 31;
  return static_cast<Value>(x % 100'000);
}

inline ExchangePart part_of(const Drawn& drawn) {
  ExchangePart part;
  for (const std::int64_t length : drawn.lengths[static_cast<std::size_t>(rank())])
    part.array({}, length * kValue);
  for (const Wanted& wanted : drawn.transfers) {
    if (wanted.from == rank()) part.send(wanted.to, wanted.tag, wanted.out_array, wanted.out);
    if (wanted.to == rank()) part.receive(wanted.from, wanted.tag, wanted.in_array, wanted.in);
  }
  return part;
}

}  // namespace strake
