#include "device/batch_cases.hpp"

#include <cstdlib>
#include <cstring>
#include <set>
#include <utility>

#include "strake/box.hpp"

namespace bench {
namespace {

using strake::CopyBatch;
using strake::Direction;
using strake::Layout;

constexpr std::int64_t kReadLine = 64;
constexpr std::int64_t kWriteSector = 32;
constexpr int kUnwritten = 0x5a;

std::vector<Direction> directions(Regions regions) {
  std::vector<Direction> chosen;
  for (const Direction d : strake::kDirections) {
    const bool face = d.order() == 1;
    const bool wanted = regions == Regions::All      ? true
                        : regions == Regions::XFaces ? face && d.x != 0
                                                     : face && d.x == 0;
    if (wanted) chosen.push_back(d);
  }
  return chosen;
}

enum class Cells { Interior, Ghost };

/// The cells next to the neighbour: the grid's own, or those that it keeps of the neighbour's.
Layout region(const BlockShape& grid, Direction direction, Cells cells) {
  return strake::layout_of(cells == Cells::Ghost ? grid.ghosts(direction) : grid.sent(direction),
                           strake::CellArray::of({{}, grid.sizes()}, sizeof(double)));
}

std::vector<Layout> all_regions(const BlockShape& grid, Regions regions, Cells cells) {
  std::vector<Layout> layouts;
  for (const Direction direction : directions(regions))
    layouts.push_back(region(grid, direction, cells));
  return layouts;
}

/// Bytes of whole lines that regions of all fields touch.
std::int64_t line_bytes(const BlockShape& grid, Regions regions, Cells cells, std::int64_t line) {
  const Layout together = Layout::sequence(all_regions(grid, regions, cells));
  return grid.quantities * traffic_of_layout(together, line).lines * line;
}

void add_slot(BatchCase& batch, const Memory& memory, const Memory& other, std::int64_t bytes) {
  batch.slots.push_back({memory.place(), bytes});
  batch.bases[0].push_back(memory.data());
  batch.bases[1].push_back(other.data());
}

std::vector<std::byte> packed(const Layout& layout, const std::byte* base) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(layout.size_bytes()));
  std::byte* to = bytes.data();
  layout.for_each_block([&](std::int64_t offset, std::int64_t length) {
    std::memcpy(to, base + offset, static_cast<std::size_t>(length));
    to += length;
  });
  return bytes;
}

void wipe(const Layout& layout, std::byte* base) {
  layout.for_each_block([&](std::int64_t offset, std::int64_t length) {
    std::memset(base + offset, kUnwritten, static_cast<std::size_t>(length));
  });
}

bool all_unwritten(const std::byte* data, std::int64_t bytes) {
  return bytes == 0 || (data[0] == std::byte{kUnwritten} &&
                        std::memcmp(data, data + 1, static_cast<std::size_t>(bytes - 1)) == 0);
}

}  // namespace

const char* name_of(Regions regions) {
  return regions == Regions::All ? "all" : regions == Regions::XFaces ? "x_faces" : "yz_faces";
}

GridMemory make_memory(const BlockShape& grid, int device) {
  GridMemory memory;
  for (int quantity = 0; quantity < grid.quantities; ++quantity) {
    memory.push_back(std::make_unique<Memory>(strake::MemoryKind::Device, grid.bytes(), device));
    memory.back()->fill(static_cast<unsigned>(31 + quantity));
  }
  return memory;
}

std::int64_t BatchCase::payload_bytes() const {
  std::int64_t bytes = 0;
  for (const CopyBatch::Copy& copy : copies) bytes += copy.to.size_bytes();
  return bytes;
}

std::int64_t halo_bytes(const BlockShape& grid, Regions regions) {
  std::int64_t bytes = 0;
  for (const Layout& layout : all_regions(grid, regions, Cells::Interior))
    bytes += layout.size_bytes();
  return grid.quantities * bytes;
}

BatchCase halo_to_dense(const BlockShape& grid, Regions regions, const GridMemory& a,
                        const GridMemory& b, const Memory& dense_a, const Memory& dense_b) {
  BatchCase batch;
  for (std::size_t i = 0; i < a.size(); ++i) add_slot(batch, *a[i], *b[i], grid.bytes());
  const std::int64_t bytes = halo_bytes(grid, regions);
  add_slot(batch, dense_a, dense_b, bytes);
  std::int64_t at = 0;
  for (int quantity = 0; quantity < grid.quantities; ++quantity) {
    for (const Layout& from : all_regions(grid, regions, Cells::Interior)) {
      batch.copies.push_back(
          {Layout::dense(from.size_bytes(), at), grid.quantities, from, quantity});
      at += from.size_bytes();
    }
  }
  batch.crossing_bytes = line_bytes(grid, regions, Cells::Interior, kReadLine) + bytes;
  return batch;
}

BatchCase halo_to_halo(const BlockShape& grid, Regions regions, const GridMemory& a,
                       const GridMemory& b) {
  BatchCase batch;
  const bool one_device = a[0]->place() == b[0]->place();
  for (std::size_t i = 0; i < a.size(); ++i)
    add_slot(batch, *a[i], one_device ? *b[i] : *a[i], grid.bytes());
  for (std::size_t i = 0; i < b.size(); ++i)
    add_slot(batch, *b[i], one_device ? *a[i] : *b[i], grid.bytes());
  for (int quantity = 0; quantity < grid.quantities; ++quantity) {
    for (const Direction to : directions(regions)) {
      batch.copies.push_back({region(grid, -to, Cells::Ghost), grid.quantities + quantity,
                              region(grid, to, Cells::Interior), quantity});
    }
  }
  batch.crossing_bytes = line_bytes(grid, regions, Cells::Interior, kReadLine) +
                         line_bytes(grid, regions, Cells::Ghost, kWriteSector);
  return batch;
}

Variant batch_variant(const std::string& name, strake::Stream& stream, const BatchCase& batch,
                      int calls) {
  const auto compiled = std::make_shared<const CopyBatch>(
      CopyBatch::compile(batch.slots, batch.copies, stream.device()));
  return {name,
          stream.native(),
          stream.device(),
          calls,
          true,
          [compiled, &stream, bases = batch.bases](int i) {
            compiled->enqueue(stream, bases[static_cast<std::size_t>(i % 2)]);
          },
          compiled->description()};
}

Checker::Checker(std::int64_t slot_bytes)
    : to_(strake::MemoryKind::Pinned, slot_bytes), from_(strake::MemoryKind::Pinned, slot_bytes) {}

void Checker::check_answer(const BatchCase& batch, const Variant& variant) const {
  const auto fetch = [&](const Memory& host, std::int32_t slot) {
    const auto i = static_cast<std::size_t>(slot);
    const std::int64_t bytes = batch.slots[i].size_bytes;
    require(bytes <= host.size(), "a slot is larger than the checker was made for");
    check(cudaMemcpy(host.data(), batch.bases[0][i], static_cast<std::size_t>(bytes),
                     cudaMemcpyDefault));
    return bytes;
  };
  std::set<std::int32_t> targets;
  for (const CopyBatch::Copy& copy : batch.copies) targets.insert(copy.to_slot);
  for (const std::int32_t target : targets) {
    const auto i = static_cast<std::size_t>(target);
    check(cudaSetDevice(batch.slots[i].place.device));
    check(cudaMemset(batch.bases[0][i], kUnwritten,
                     static_cast<std::size_t>(batch.slots[i].size_bytes)));
  }
  for (const CopyBatch::Slot& slot : batch.slots) {
    check(cudaSetDevice(slot.place.device));
    check(cudaDeviceSynchronize());
  }
  check(cudaSetDevice(variant.device));
  variant.enqueue(0);
  check(cudaStreamSynchronize(variant.stream));
  check(cudaSetDevice(0));
  for (const std::int32_t target : targets) {
    const std::int64_t bytes = fetch(to_, target);
    std::int32_t source = -1;
    for (const CopyBatch::Copy& copy : batch.copies) {
      if (copy.to_slot != target) continue;
      if (copy.from_slot != source) (void)fetch(from_, copy.from_slot);
      source = copy.from_slot;
      require(packed(copy.to, to_.data()) == packed(copy.from, from_.data()),
              "a batch copied wrong bytes");
      wipe(copy.to, to_.data());
    }
    require(all_unwritten(to_.data(), bytes), "a batch wrote bytes outside of its targets");
  }
}

}  // namespace bench
