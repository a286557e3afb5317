// Where the elements of a field lie in memory.
#include "grid/impl.hpp"

namespace strake {
namespace {

constexpr std::int64_t kLine = 64;
constexpr std::int64_t kPage = 4096;

/// Returns where buffer `number` of a grid begins in its page. [bytes] If all began at the same
/// place, each cell would be at the same place in a page in all of them, and CPUs tell addresses
/// apart by these bits: a load waits for a store to that place of another buffer (32^3 doubles: 6 %
/// of a stencil's time), and both share a set of the first cache. Bit reversal (0, 2048, 1024, ...)
/// keeps the buffers of few fields far apart.
std::int64_t start_in_page(std::size_t number) noexcept {
  std::int64_t start = 0;
  for (std::int64_t part = kPage / 2; part >= kLine; part /= 2, number /= 2)
    if (number % 2 != 0) start += part;
  return start;
}

}  // namespace

// In a device's memory, and with fences, the first owned element of each row begins at a line of
// the cache, if elements fit into lines. The ghost cells behind a row and those before the next one
// have a line in common, if they fit: what fills both writes that line once. In host memory rows
// are whole vectors of 16 bytes only: whole lines make rows of 34 doubles 18 % longer, and those of
// 98 doubles 6 %, and a loop that waits for memory takes as much longer. The first element of the
// interior begins a vector: loops store there. (32^3 doubles: 3 %.)
FieldHandle::Data::Part::Part(std::int64_t element_bytes, const Box& its,
                              const grid::Depths& ghosts, Place place, bool fenced)
    : bytes(element_bytes), owned(its) {
  if (!owned.empty()) stored = grown(owned, ghosts.below, ghosts.above);
  constexpr std::int64_t kVector = 16;
  const bool in_vectors = place.in_host_memory() && !fenced;
  const std::int64_t unit = in_vectors ? kVector : kLine;
  const std::int64_t step = unit % bytes == 0 ? unit : bytes;
  const auto whole = [&](std::int64_t length) { return (length + step - 1) / step * step; };
  const std::int64_t before = (owned.lower[0] - stored.lower[0]) * bytes;
  const std::int64_t to_aligned = in_vectors ? 2 * before : before;
  first = whole(to_aligned) - to_aligned;
  stride_y = whole(stored.extent(0) * bytes) + (fenced ? step : 0);
  stride_z = stride_y * (stored.extent(1) + (fenced ? 1 : 0));
  if (fenced) first += stride_z;
  if (!stored.empty()) size = first + stride_z * (stored.extent(2) + (fenced ? 1 : 0));
}

FieldHandle::Data::Part::Part(std::int64_t element_bytes, const Box& its,
                              const grid::Depths& ghosts, std::int64_t row, std::int64_t plane)
    : bytes(element_bytes), owned(its) {
  if (owned.empty()) return;
  stored = grown(owned, ghosts.below, ghosts.above);
  stride_y = row != 0 ? row : stored.extent(0) * bytes;
  stride_z = plane != 0 ? plane : stored.extent(1) * stride_y;
  size = offset_of({stored.upper[0] - 1, stored.upper[1] - 1, stored.upper[2] - 1}) + bytes;
}

void FieldHandle::Data::Part::allocate(Place place, std::size_t number, bool with_next,
                                       bool alone) {
  if (size_bytes() == 0) return;
  for (std::size_t which = 0; which < (with_next ? 2U : 1U); ++which) {
    const std::int64_t start = place.in_host_memory() ? start_in_page(2 * number + which) : 0;
    const std::int64_t needed = start + size_bytes();
    if (alone && place.in_host_memory() && needed >= grid::HugePages::kShortest) {
      own_[which] = grid::HugePages(needed);
      begins_[which] = own_[which].data() + start;
    } else {
      shared_[which] = SharedArray(needed, place);
      begins_[which] = shared_[which].data() + start;
    }
  }
}

Layout FieldHandle::Data::Part::fence() const {
  if (stored.empty()) return {};
  const std::int64_t row = stored.extent(0) * bytes;
  const std::int64_t rows = stored.extent(1) * stride_y;
  const Dim planes{stored.extent(2), stride_z};
  const Dim dims[] = {planes, {stored.extent(1), stride_y}};
  const Layout parts[] = {Layout::dense(first), Layout::box(first + row, stride_y - row, dims),
                          Layout::box(first + rows, stride_z - rows, std::span(&planes, 1)),
                          Layout::dense(stride_z, first + stride_z * stored.extent(2))};
  return Layout::sequence(parts);
}

Layout FieldHandle::Data::Part::layout_of(const Box& cells) const {
  return strake::layout_of(cells, {bytes, stride_y, stride_z, offset_of({})});
}

}  // namespace strake
