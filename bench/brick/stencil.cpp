// Stencils of doubles on n^3 cells, as JSON lines: on bricks of 8^3, on arrays, by the plain loops
// that a program would have (tiled, compiled for this processor), and how long it takes to copy as
// many doubles. All are sampled by turns. Results are compared before a number is printed.
#include "strake/stencil.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "support/options.hpp"
#include "support/sampling.hpp"
#include "support/statistics.hpp"

namespace {

using strake::BrickView;
using Brick = strake::Shape<8, 8, 8>;

constexpr int kSide = 8;  // of a brick; also ghost cells on each side of the array

/// Zeroed doubles that begin at a page, as bricks do.
class Doubles {
 public:
  explicit Doubles(std::int64_t count)
      : first_(static_cast<double*>(std::aligned_alloc(4096, bytes(count)))) {
    std::fill_n(first_, count, 0.0);
  }
  ~Doubles() { std::free(first_); }
  Doubles(const Doubles&) = delete;
  Doubles& operator=(const Doubles&) = delete;
  [[nodiscard]] double* data() const { return first_; }

 private:
  static std::size_t bytes(std::int64_t count) {
    return static_cast<std::size_t>((count * 8 + 4095) / 4096 * 4096);
  }
  double* first_;
};

/// The cells of a problem, with ghost cells, as an array and as bricks in the order of their
/// coordinates.
class Problem {
 public:
  explicit Problem(std::int64_t n)
      : n_(n),
        pitch_(n + 2 * kSide),
        along_(pitch_ / kSide),
        all_(pitch_ * pitch_ * pitch_),
        from(all_),
        by_loop(all_),
        by_array(all_),
        bricks_from(all_),
        bricks_to(all_) {
    for (std::int64_t i = 0; i < all_; ++i)
      from.data()[i] = 0.001 * static_cast<double>(i * 7919 % 1009);
    for (std::int64_t z = 0; z < along_; ++z)
      for (std::int64_t y = 0; y < along_; ++y)
        for (std::int64_t x = 0; x < along_; ++x) add_adjacency(x, y, z);
    add_inner();
    for_each_cell([&](std::int64_t in_array, std::int64_t in_brick) {
      bricks_from.data()[in_brick] = from.data()[in_array];
    });
  }
  [[nodiscard]] std::int64_t n() const { return n_; }
  [[nodiscard]] std::int64_t pitch() const { return pitch_; }
  [[nodiscard]] std::int64_t plane() const { return pitch_ * pitch_; }
  [[nodiscard]] std::int64_t origin() const { return kSide * (plane() + pitch_ + 1); }
  [[nodiscard]] const std::vector<std::int32_t>& inner() const { return inner_; }
  [[nodiscard]] BrickView<double, Brick> view(const Doubles& bricks) const {
    return {bricks.data(), adjacency_.data()};
  }
  template <typename Visit>
  void for_each_cell(const Visit& visit) const {
    std::int64_t in_array = 0;
    for (std::int64_t k = 0; k < pitch_; ++k)
      for (std::int64_t j = 0; j < pitch_; ++j)
        for (std::int64_t i = 0; i < pitch_; ++i) {
          const std::int64_t brick = (k / kSide * along_ + j / kSide) * along_ + i / kSide;
          const std::int64_t cell = (k % kSide * kSide + j % kSide) * kSide + i % kSide;
          visit(in_array++, brick * Brick::cells + cell);
        }
  }

 private:
  void add_adjacency(std::int64_t x, std::int64_t y, std::int64_t z) {
    const auto inside = [&](std::int64_t at) { return at >= 0 && at < along_; };
    for (int code = 0; code < strake::neighbours<3>; ++code) {
      const std::int64_t i = x + code % 3 - 1, j = y + code / 3 % 3 - 1, k = z + code / 9 - 1;
      adjacency_.push_back(inside(i) && inside(j) && inside(k)
                               ? ((k * along_ + j) * along_ + i) * Brick::cells * 8
                               : strake::kNoBrick);
    }
  }
  /// In tiles along y, as a grid of bricks numbers its own.
  void add_inner() {
    const std::int64_t last = along_ - 1;
    const std::int64_t rows = std::max<std::int64_t>(1, 128 / (last - 1));
    for (std::int64_t tile = 1; tile < last; tile += rows)
      for (std::int64_t z = 1; z < last; ++z)
        for (std::int64_t y = tile; y < std::min(tile + rows, last); ++y)
          for (std::int64_t x = 1; x < last; ++x)
            inner_.push_back(static_cast<std::int32_t>((z * along_ + y) * along_ + x));
  }
  std::int64_t n_, pitch_, along_, all_;
  std::vector<std::int64_t> adjacency_;
  std::vector<std::int32_t> inner_;

 public:
  Doubles from, by_loop, by_array, bricks_from, bricks_to;
};

/// Rows of a tile along y; tiles are as long along z as the array: planes of them stay in the
/// caches.
constexpr std::int64_t kTileRows = 16;

/// Calls `row(first cell)` for each row, tile by tile.
template <typename Row>
void for_each_row(const Problem& problem, const Row& row) {
  for (std::int64_t tile = 0; tile < problem.n(); tile += kTileRows)
    for (std::int64_t k = 0; k < problem.n(); ++k)
      for (std::int64_t j = tile; j < std::min(tile + kTileRows, problem.n()); ++j)
        row(problem.origin() + k * problem.plane() + j * problem.pitch());
}

/// The plain loop over a row: all products of a cell in one expression, which the compiler makes
/// vectors of.
template <typename Stencil, std::size_t... Tap>
[[gnu::noinline]] void loop_row(const double* __restrict from, double* __restrict to,
                                const double* __restrict numbers, std::int64_t pitch,
                                std::int64_t plane, std::int64_t n, std::index_sequence<Tap...>) {
  constexpr auto& taps = Stencil::taps;
  const double factors[] = {numbers[taps[Tap].number]...};
  for (std::int64_t i = 0; i < n; ++i)
    to[i] = (... + (factors[Tap] * (from + taps[Tap].offset[0] + taps[Tap].offset[1] * pitch +
                                    taps[Tap].offset[2] * plane)[i]));
}
template <typename Stencil, typename Numbers>
void loop_over(const Problem& problem, const Numbers& numbers) {
  for_each_row(problem, [&](std::int64_t first) {
    loop_row<Stencil>(problem.from.data() + first, problem.by_loop.data() + first, numbers.data(),
                      problem.pitch(), problem.plane(), problem.n(),
                      std::make_index_sequence<Stencil::taps.size()>{});
  });
}

/// b = a over rows of arrays, as the stencils go.
void copy_rows(const Problem& problem) {
  for_each_row(problem, [&](std::int64_t first) {
    const double* __restrict from = problem.from.data() + first;
    double* __restrict to = problem.by_loop.data() + first;
    for (std::int64_t i = 0; i < problem.n(); ++i) to[i] = from[i];
  });
}
/// b = a over the bricks.
void copy_bricks(const Problem& problem) {
  for (const std::int32_t brick : problem.inner()) {
    const double* __restrict from = problem.bricks_from.data() + std::int64_t{brick} * Brick::cells;
    double* __restrict to = problem.bricks_to.data() + std::int64_t{brick} * Brick::cells;
    for (int i = 0; i < Brick::cells; ++i) to[i] = from[i];
  }
}

/// Whether bricks, arrays and the plain loop agree.
bool agree(const Problem& problem) {
  const std::int64_t end = problem.n() + kSide;
  std::int64_t wrong = 0;
  problem.for_each_cell([&](std::int64_t in_array, std::int64_t in_brick) {
    for (std::int64_t rest = in_array; rest > 0 || in_array == 0; rest /= problem.pitch()) {
      const std::int64_t at = rest % problem.pitch();
      if (at < kSide || at >= end) return;
    }
    const double plain = problem.by_loop.data()[in_array];
    const double tolerance = 1e-13 * (1 + std::abs(plain));
    if (std::abs(problem.by_array.data()[in_array] - plain) > tolerance ||
        std::abs(problem.bricks_to.data()[in_brick] - plain) > tolerance)
      ++wrong;
  });
  if (wrong > 0) fmt::print(stderr, "{} cells differ from the plain loop's\n", wrong);
  return wrong == 0;
}

template <typename Stencil, std::size_t Count>
bool measure(const char* name, const Stencil& stencil, const std::array<double, Count>& numbers,
             const Problem& problem, bool quick) {
  const std::int64_t n = problem.n();
  const auto copied = [&] { copy_rows(problem); };
  const auto copied_bricks = [&] { copy_bricks(problem); };
  const auto loop = [&] { loop_over<Stencil>(problem, numbers); };
  const auto array = [&] {
    stencil.apply({{0, 0, 0}, {n, n, n}}, problem.from.data() + problem.origin(),
                  problem.by_array.data() + problem.origin(), {problem.pitch(), problem.plane()});
  };
  const auto bricks = [&] {
    stencil.apply(problem.inner(), problem.view(problem.bricks_from),
                  problem.view(problem.bricks_to));
  };
  loop();
  array();
  bricks();
  if (!agree(problem)) return false;
  const bench::Rounds rounds{.count = quick ? 1 : n < 100 ? 301 : 21, .warm_ups = 1};
  const auto seconds = bench::time_by_turns(rounds, copied, copied_bricks, loop, array, bricks);
  const char* const ways[] = {"copy of rows", "copy of bricks", "plain loop", "array", "bricks"};
  for (std::size_t way = 0; way < seconds.size(); ++way) {
    const bench::Summary ns = bench::summarize(bench::scaled(seconds[way], 1e9));
    fmt::print(
        "{{\"bench\": \"stencil\", \"name\": \"{}\", \"n\": {}, \"what\": \"{}\", \"median_ns\": "
        "{:.0f}, \"p10_ns\": {:.0f}, \"p90_ns\": {:.0f}, \"samples\": {}, \"+Mcell/s\": {:.0f}}}\n",
        name, n, ways[way], ns.median, ns.p10, ns.p90, ns.count,
        1e3 * static_cast<double>(n * n * n) / ns.median);
  }
  std::fflush(stdout);
  return true;
}

bool measure_all(const bench::Options& options, std::int64_t n) {
  const Problem problem(n);
  bool right = true;
  const auto run = [&](const char* name, const auto& stencil, const auto& numbers) {
    if (options.selects(name))
      right = measure(name, stencil, numbers, problem, options.quick) && right;
  };
  using Numbers = std::array<double, 10>;
  constexpr Numbers kBox{0.3, 0.02, 0.01, 0.005, 0.004, 0.003, 0.002, 0.001, 0.0005, 0.0002};
  run("7-point star", strake::star<3, 1>(0.4, 0.1), std::array{0.4, 0.1});
  run("25-point star", strake::star<3, 4>(0.4, 0.1, 0.05, 0.02, 0.01),
      std::array{0.4, 0.1, 0.05, 0.02, 0.01});
  run("27-point box", strake::box<3, 1>(0.3, 0.02, 0.01, 0.005), kBox);
  run("125-point box", strake::box<3, 2>(kBox), kBox);
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Options options =
      bench::parse_options(argc, argv, "Stencils on bricks, on arrays, and by plain loops");
  if (options.list) {
    std::puts("7-point star\n25-point star\n27-point box\n125-point box");
    return 0;
  }
  bool right = true;
  for (const std::int64_t n :
       options.quick ? std::vector<std::int64_t>{32} : std::vector<std::int64_t>{64, 256})
    right = measure_all(options, n) && right;
  return right ? 0 : 1;
}
