#include "exchange/transport/mixed.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "strake/copy.hpp"

namespace strake::exchange {
namespace {

const std::byte* at(const std::byte* base, std::int64_t offset) {
  // Addresses under MPI_BOTTOM are offsets from a null base.
  return reinterpret_cast<const std::byte*>(reinterpret_cast<std::uintptr_t>(base) +
                                            static_cast<std::uintptr_t>(offset));
}

void copy_group(MessageDirection direction, const std::vector<std::int64_t>& offsets,
                const std::vector<std::int64_t>& lengths, Place place, std::byte* typed,
                std::byte* packed, Place packed_place) {
  const Layout layout = Layout::blocks(offsets, lengths);
  const Layout dense = Layout::dense(layout.size_bytes());
  if (direction == MessageDirection::Send) {
    CopyPlan::compile(dense, packed_place, layout, place).run(packed, typed);
  } else {
    CopyPlan::compile(layout, place, dense, packed_place).run(typed, packed);
  }
}

}  // namespace

void copy_mixed(MessageDirection direction, const Layout& layout, std::byte* typed,
                std::byte* packed, ByteRange part) {
  part.end = std::min(part.end, layout.size_bytes());
  if (part.begin >= part.end) return;
  const Place packed_place = classify(packed, packed + (part.end - part.begin) - 1);
  std::vector<std::int64_t> offsets;
  std::vector<std::int64_t> lengths;
  Place place;
  std::int64_t position = 0;     // of the next block, in the packed bytes
  std::int64_t group_begin = 0;  // of the pending group, relative to the part
  std::int64_t group_bytes = 0;
  const auto flush = [&] {
    if (offsets.empty()) return;
    copy_group(direction, offsets, lengths, place, typed, packed + group_begin, packed_place);
    group_begin += group_bytes;
    group_bytes = 0;
    offsets.clear();
    lengths.clear();
  };
  layout.for_each_block([&](std::int64_t offset, std::int64_t length) {
    const std::int64_t begin = std::max(position, part.begin);
    const std::int64_t end = std::min(position + length, part.end);
    const std::int64_t skipped = begin - position;
    const std::int64_t last = end - 1 - position;
    position += length;
    if (begin >= end) return;
    const Place here = classify(at(typed, offset + skipped), at(typed, offset + last));
    if (!(here == place)) flush();
    place = here;
    offsets.push_back(offset + skipped);
    lengths.push_back(end - begin);
    group_bytes += end - begin;
  });
  flush();
}

bool one_place(const Layout& layout, const std::byte* base, Place& place) {
  place = classify(at(base, layout.offset()));
  // MPI allows displacements from one variable to another only as absolute addresses: anything else
  // is one allocation.
  if (base != nullptr) return true;
  bool same = true;
  layout.for_each_block([&](std::int64_t offset, std::int64_t length) {
    same = same && classify(at(base, offset)) == place &&
           classify(at(base, offset + length - 1)) == place;
  });
  return same;
}

}  // namespace strake::exchange
