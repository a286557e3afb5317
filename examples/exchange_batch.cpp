// Two halves of a periodic grid exchange their ghost cells: all copies of both in one batch, run on
// two pairs of buffers that take turns. No MPI; on a GPU the same program gives other places and a
// stream of the device.
#include <cstddef>
#include <cstdio>
#include <strake/copy.hpp>
#include <strake/layout.hpp>
#include <strake/stream.hpp>
#include <utility>
#include <vector>

namespace {

constexpr std::int64_t kWide = 32;                 // cells of a half in x, without ghosts
constexpr std::int64_t kHigh = 16;                 // in y
constexpr std::int64_t kGhost = 2;                 // on both sides in x
constexpr std::int64_t kRow = kWide + 2 * kGhost;  // cells of a row with them
constexpr std::int64_t kCell = sizeof(double);

/// kGhost columns from `x` on.
strake::Layout columns(std::int64_t x) {
  const strake::Dim rows[] = {{kHigh, kRow * kCell}};
  return strake::Layout::box(x * kCell, kGhost * kCell, rows);
}

double value(std::int64_t half, std::int64_t x, std::int64_t y, int step) {
  return static_cast<double>((half * kWide + x) * 1000 + y + step * 100'000);
}

}  // namespace

int main() {
  // Slots 0 and 1: the left and the right half.
  const strake::Place host;
  const strake::CopyBatch::Slot slots[] = {{host, kRow * kHigh * kCell},
                                           {host, kRow * kHigh * kCell}};
  const strake::CopyBatch::Copy copies[] = {
      {columns(0), 0, columns(kWide), 1},  // left ghosts of the left from the right's last
      {columns(kWide + kGhost), 0, columns(kGhost), 1},  // its right ghosts from the right's first
      {columns(0), 1, columns(kWide), 0},
      {columns(kWide + kGhost), 1, columns(kGhost), 0}};
  const auto batch = strake::CopyBatch::compile(slots, copies);

  std::vector<double> left(kRow * kHigh), right(kRow * kHigh), next_left(left), next_right(right);
  strake::Stream stream;  // the CPU's
  for (int step = 0; step < 4; ++step) {
    for (std::int64_t y = 0; y < kHigh; ++y) {
      for (std::int64_t x = 0; x < kWide; ++x) {
        const auto at = static_cast<std::size_t>(y * kRow + kGhost + x);
        left[at] = value(0, x, y, step);
        right[at] = value(1, x, y, step);
      }
    }
    std::byte* const bases[] = {reinterpret_cast<std::byte*>(left.data()),
                                reinterpret_cast<std::byte*>(right.data())};
    batch.enqueue(stream, bases);
    stream.synchronize();
    for (std::int64_t y = 0; y < kHigh; ++y) {
      for (std::int64_t x = 0; x < kGhost; ++x) {
        const double found = left[static_cast<std::size_t>(y * kRow + x)];
        const double wanted = value(1, kWide - kGhost + x, y, step);
        if (found != wanted) {
          std::printf("ghost %td of row %td is %.0f instead of %.0f\n", x, y, found, wanted);
          return 1;
        }
      }
    }
    std::swap(left, next_left);
    std::swap(right, next_right);
  }
  std::printf("%s: right\n", batch.description().c_str());
  return 0;
}
