#include "copy/cuda/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <mutex>
#include <utility>

#include "copy/cuda/lines.hpp"
#include "device/cuda/stream.hpp"
#include "strake/error.hpp"

namespace strake::cuda {
namespace {

// Box kernels index words with 31 bits (copy/index.h).
constexpr std::int64_t kBoxLimit = std::int64_t{1} << 31;
// Between two parts of device memory, a kernel that raises its own signal is sooner up to here than
// a copy with a separate write; to and from host memory the engines are sooner at any size (6 us
// against 8.5 us at 1 KiB, H200).
constexpr std::int64_t kRunKernelBytes = std::int64_t{64} << 10;
// Rows between host and device: from these lengths on an engine moves them 4 to 8 % faster than
// loads and stores (H200).
constexpr std::int64_t kEngineRowBytes = 512;
// Narrower words than 4 bytes are moved 8 at a time, shifted into place: no word then holds more
// than two blocks.
constexpr int kNarrowWordLog2 = 2;
constexpr std::int64_t kShiftedShortest = std::int64_t{1} << kShiftedWordLog2;
// [bytes] Wherever they begin, these hold a whole word.
constexpr std::int64_t kShiftedLeastRun = 2 * kShiftedShortest;
// Every multiprocessor runs this many threads: less work than that is spread as thin as it goes.
constexpr std::int64_t kThreadsPerMultiprocessor = 2048;

int address_log2(const std::byte* base, std::int64_t offset) {
  const auto address = reinterpret_cast<std::uintptr_t>(base) + static_cast<std::uintptr_t>(offset);
  return widest_word_log2(address);
}

std::int64_t round_up(std::int64_t value, int log2) {
  const std::int64_t mask = (std::int64_t{1} << log2) - 1;
  return (value + mask) & ~mask;
}

ByteRange within(ByteRange part, std::int64_t size_bytes) {
  return {std::max<std::int64_t>(part.begin, 0), std::min(part.end, size_bytes)};
}

bool fits_box(const Layout& layout) {
  const auto dims = layout.dims();
  if (layout.kind() != Layout::Kind::Box || dims.size() > STRAKE_BOX_DIMS) return false;
  if (layout.block_bytes() >= kBoxLimit) return false;
  return std::all_of(dims.begin(), dims.end(),
                     [](const Dim& dim) { return dim.count < kBoxLimit; });
}

/// The base address such that packed byte `position` of a dense run is at `chunk`.
std::byte* dense_base(std::byte* chunk, std::int64_t position) {
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(chunk) -
                                      static_cast<std::uintptr_t>(position));
}

Unroll unroll_for(const LaunchTarget& target, std::int64_t words) {
  return {words <= target.multiprocessors * kThreadsPerMultiprocessor ? 1 : 4};
}

Signal next_signal(const LaunchTarget& target, std::int64_t words, Unroll unroll) {
  if (target.queue == nullptr) return {};
  constexpr std::int64_t kThreadsPerBlock = 256;
  return target.queue->next_signal(words / (kThreadsPerBlock * unroll.words_per_thread) + 1);
}

template <typename Value>
std::int64_t bytes_of(const std::vector<Value>& table) {
  return static_cast<std::int64_t>(table.size() * sizeof(Value));
}

template <typename First, typename Second>
std::vector<std::byte> joined(const std::vector<First>& first, const std::vector<Second>& second) {
  const auto a = std::as_bytes(std::span(first));
  const auto b = std::as_bytes(std::span(second));
  std::vector<std::byte> image(a.begin(), a.end());
  image.insert(image.end(), b.begin(), b.end());
  return image;
}

}  // namespace

DeviceTables::DeviceTables(const BlockSource& blocks, int device, const Tables& to_tables,
                           const Tables& from_tables)
    : image_(blocks, device, to_tables.image_bytes() + from_tables.image_bytes()) {
  const std::int64_t from_at = to_tables.image_bytes();
  std::vector<std::byte> image(static_cast<std::size_t>(from_at + from_tables.image_bytes()));
  to = {to_tables.root(), to_tables.pack_image(image.data(), image_.address())};
  from = {from_tables.root(),
          from_tables.pack_image(image.data() + from_at, image_.address() + from_at)};
  image_.upload(image);
}

DeviceRanked::DeviceRanked(const BlockSource& blocks, int device, const RankedTable& table)
    : image_(blocks, device, bytes_of(table.ranks) + bytes_of(table.deltas)) {
  view = {reinterpret_cast<const Rank*>(image_.address()),
          reinterpret_cast<const std::int32_t*>(image_.address() + bytes_of(table.ranks)),
          table.word_log2};
  image_.upload(joined(table.ranks, table.deltas));
}

DeviceGather::DeviceGather(const BlockSource& blocks, int device, const GatherTable& table)
    : image_(blocks, device, bytes_of(table.blocks) + bytes_of(table.ranks)) {
  view = {reinterpret_cast<const Rank*>(image_.address() + bytes_of(table.blocks)),
          reinterpret_cast<const GatherBlock*>(image_.address())};
  image_.upload(joined(table.blocks, table.ranks));
}

DeviceScatter::DeviceScatter(const BlockSource& source, int device, ScatterTable table)
    : blocks(std::move(table.blocks)),
      image_(source, device, bytes_of(blocks) + bytes_of(table.ranks)) {
  view = {reinterpret_cast<const Rank*>(image_.address() + bytes_of(blocks)),
          reinterpret_cast<const ScatterBlock*>(image_.address())};
  image_.upload(joined(blocks, table.ranks));
}

void CudaPlan::choose_form(const Layout& strided) {
  const Tables& strided_tables = to_.dense() ? from_ : to_;
  if (to_.dense() && from_.dense()) {
    form_ = Form::Run;
  } else if (!to_.dense() && !from_.dense()) {
    form_ = Form::Tree;
  } else if (fits_box(strided)) {
    form_ = Form::Box;
    dims_ = static_cast<int>(strided.dims().size());
    prepare_boxes(strided_tables);
  } else if (strided.kind() != Layout::Kind::Blocks) {
    form_ = Form::Tree;
  } else if (strided.block_positions().empty()) {
    form_ = Form::Blocks;
  } else if (const auto table = RankedTable::make(strided, strided_tables.word_log2())) {
    form_ = Form::Ranked;
    ranked_ = std::make_unique<DeviceRanked>(blocks_, device_, *table);
  } else {
    form_ = Form::Tree;
  }
  if (form_ == Form::Blocks || form_ == Form::Ranked) strided_ = strided;
}

void CudaPlan::try_pair(const CopyBatch::Copy& copy, const std::array<Place, 2>& places) {
  try {
    auto pair = std::make_unique<CudaBatch>(blocks_, device_, places, std::span(&copy, 1));
    if (!pair->has_trees()) pair_ = std::move(pair);
  } catch (const OutOfMemory&) {
    // By the tree, then.
    (void)cudaGetLastError();
  }
}

void CudaPlan::choose_engine(const Layout& strided, bool across, CopyVariant variant) {
  const EngineCopy engine = EngineCopy::plan(strided);
  const bool rows =
      engine.form() == EngineCopy::Form::Rows || engine.form() == EngineCopy::Form::Planes;
  const bool faster = engine.form() == EngineCopy::Form::Linear
                          ? across || size_bytes() > kRunKernelBytes
                          : rows && across && strided.block_bytes() >= kEngineRowBytes;
  if (variant == CopyVariant::Engine || (variant == CopyVariant::Auto && faster)) engine_ = engine;
}

CudaPlan::CudaPlan(const BlockSource& blocks, int device, const Layout& to, Place to_place,
                   const Layout& from, Place from_place, CopyVariant variant)
    : blocks_(blocks), device_(device), to_(to), from_(from) {
  if (to.size_bytes() != from.size_bytes()) {
    throw InvalidArgument(fmt::format("a copy of {} bytes to a layout of {} bytes",
                                      from.size_bytes(), to.size_bytes()));
  }
  stage_to_ = to_place.kind == MemoryKind::Host;
  stage_from_ = from_place.kind == MemoryKind::Host;
  to_device_memory_ = to_place.kind == MemoryKind::Device;
  if (staged()) {
    const Layout dense = Layout::dense(size_bytes());
    const Place pinned{MemoryKind::Pinned, device};
    device_half_ = stage_to_ ? std::make_unique<CudaPlan>(blocks, device, dense, pinned, from,
                                                          from_place, CopyVariant::Kernel)
                             : std::make_unique<CudaPlan>(blocks, device, to, to_place, dense,
                                                          pinned, CopyVariant::Kernel);
    return;
  }

  task_ = to_.dense() ? Task::Pack : Task::Unpack;
  // A dense side needs no alignment of its size: ragged ends are moved apart.
  word_log2_ = std::min(to_.dense() ? kMaxWordLog2 : to_.word_log2(),
                        from_.dense() ? kMaxWordLog2 : from_.word_log2());
  const Layout& strided = to_.dense() ? from : to;
  choose_form(strided);
  if (!to_.dense() && !from_.dense()) {
    try_pair({to, 0, from, 1}, {to_place, from_place});
  } else {
    choose_engine(strided, to_place.in_host_memory() || from_place.in_host_memory(), variant);
  }
  const bool reads_tables =
      form_ == Form::Blocks || form_ == Form::Tree || size_bytes() >= kBoxLimit;
  if (reads_tables) tables_ = std::make_unique<DeviceTables>(blocks, device, to_, from_);
  // Plans of wider words need the tables of shifted words only where a base address is not aligned.
  if (word_log2_ < kNarrowWordLog2 && size_bytes() >= kShiftedLeastRun) (void)make_shifted();
  // Loads the kernels that a run between aligned addresses launches.
  if (size_bytes() == 0) return;
  const DeviceScope scope(device);
  (void)launch(loading_target(device), nullptr, nullptr, 0, size_bytes());
}

void CudaPlan::prepare_boxes(const Tables& strided) {
  const strake_node& root = strided.root();
  for (int log2 = 0; log2 <= word_log2_; ++log2) {
    strake_box32& box = boxes_[static_cast<std::size_t>(log2)];
    box.block = strake_make_div32(static_cast<strake_u32>(root.unit.divisor >> log2));
    for (int i = 0; i < STRAKE_BOX_DIMS; ++i) {
      const bool used = i < root.count;
      const strake_level level =
          used ? strided.view().levels[root.first + i] : strake_level{strake_make_div64(1), 0};
      box.stride_bytes[i] = level.stride_bytes;
      if (i < STRAKE_BOX_DIMS - 1) {
        // The outermost dim's index is what is left: with a divisor past any index nothing goes on
        // to unused dims.
        const bool last = i + 1 >= root.count;
        box.count[i] = strake_make_div32(last ? static_cast<strake_u32>(kBoxLimit)
                                              : static_cast<strake_u32>(level.count.divisor));
      }
    }
  }
}

std::string CudaPlan::description() const {
  if (staged()) return device_half_->description() + ", staged through pinned memory";
  if (engine_.form() != EngineCopy::Form::None)
    return fmt::format("cuda engine {}", engine_.name());
  const Tables& list = task_ == Task::Pack ? from_ : to_;
  const bool listed = form_ == Form::Blocks || form_ == Form::Ranked;
  if (listed && word_log2_ < kNarrowWordLog2 && list.shortest_block() >= kShiftedShortest) {
    return fmt::format("cuda shifted {}B words", 1 << kShiftedWordLog2);
  }
  const char* form = "run";
  if (form_ == Form::Box) form = "box";
  if (form_ == Form::Blocks) form = "blocks";
  if (form_ == Form::Ranked) form = "ranked";
  if (form_ == Form::Tree) form = "tree";
  if (pair_ != nullptr) form = "pair";
  return fmt::format("cuda {} {}B words", form, 1 << word_log2_);
}

int CudaPlan::word_log2(const std::byte* to, const std::byte* from) const noexcept {
  return std::min(
      {word_log2_, address_log2(to, to_.root().offset), address_log2(from, from_.root().offset)});
}

Ticket CudaPlan::enqueue(Queue& queue, std::byte* to, const std::byte* from, ByteRange part) const {
  auto& cuda_queue = static_cast<CudaQueue&>(queue);
  part = within(part, size_bytes());
  if (part.begin >= part.end) return {};
  const DeviceScope scope(device_);
  if (stage_to_) return run_to_pageable(cuda_queue, to, from, part);
  if (stage_from_) return run_from_pageable(cuda_queue, to, from, part);
  return cuda_queue.finish(start(cuda_queue.target(), to, from, part));
}

void CudaPlan::enqueue_untracked(Queue& queue, std::byte* to, const std::byte* from,
                                 ByteRange part) const {
  if (staged()) {
    (void)enqueue(queue, to, from, part);
    return;
  }
  part = within(part, size_bytes());
  if (part.begin >= part.end) return;
  const DeviceScope scope(device_);
  (void)start(static_cast<CudaQueue&>(queue).target().untracked(), to, from, part);
}

void CudaPlan::enqueue(DeviceStream& stream, std::byte* to, const std::byte* from,
                       ByteRange part) const {
  part = within(part, size_bytes());
  if (part.begin >= part.end) return;
  const DeviceScope scope(device_);
  (void)start(static_cast<CudaStream&>(stream).target(), to, from, part);
}

Signal CudaPlan::start(const LaunchTarget& target, std::byte* to, const std::byte* from,
                       ByteRange part) const {
  if (pair_ != nullptr && part == ByteRange{0, size_bytes()}) {
    const std::array bases = {to, const_cast<std::byte*>(from)};
    return pair_->launch(target, bases);
  }
  if (!engine_.takes(part.begin, part.end)) return launch(target, to, from, part.begin, part.end);
  const bool pack = task_ == Task::Pack;
  auto* const source = const_cast<std::byte*>(from);
  engine_.enqueue(pack, pack ? to + to_.root().offset : source + from_.root().offset,
                  pack ? source : to, part.begin, part.end, pack ? from_ : to_, target.stream);
  return {};
}

Signal CudaPlan::launch(const LaunchTarget& target, std::byte* to, const std::byte* from,
                        std::int64_t begin, std::int64_t end) const {
  const int log2 = word_log2(to, from);
  const std::int64_t body = std::min(round_up(begin, log2), end);
  const std::int64_t body_end = std::max(body, end & ~((std::int64_t{1} << log2) - 1));
  // On a stream of the user's tables are not made at run time.
  const bool may_shift = log2 < kNarrowWordLog2 && end - begin >= kShiftedLeastRun;
  if (may_shift &&
      (shifted_.load(std::memory_order_acquire) || (target.queue != nullptr && make_shifted()))) {
    return launch_shifted(target, to, from, begin, end);
  }
  // Only the last one signals.
  const auto target_until = [&](std::int64_t last) {
    return last == end ? target : target.untracked();
  };
  if (begin < body) {
    const Signal signal = launch_words(target_until(body), to, from, begin, body, 0);
    if (body == end) return signal;
  }
  if (body < body_end) {
    const Signal signal = launch_words(target_until(body_end), to, from, body, body_end, log2);
    if (body_end == end) return signal;
  }
  return launch_words(target, to, from, body_end, end, 0);
}

Signal CudaPlan::launch_words(const LaunchTarget& target, std::byte* to, const std::byte* from,
                              std::int64_t begin, std::int64_t end, int word_log2) const {
  const std::int64_t words = (end - begin) >> word_log2;
  const bool box = form_ == Form::Box && (end >> word_log2) < kBoxLimit;
  const Unroll unroll = box ? Unroll{1} : unroll_for(target, words);
  const Signal signal = next_signal(target, words, unroll);
  const bool pack = task_ == Task::Pack;
  auto* const source = const_cast<std::byte*>(from);
  std::byte* const dense = pack ? to + to_.root().offset : source + from_.root().offset;
  std::byte* const strided = pack ? source + from_.root().offset : to + to_.root().offset;

  if (box) {
    check(launch_box({boxes_[static_cast<std::size_t>(word_log2)], dims_, word_log2, task_, dense,
                      strided, static_cast<std::uint32_t>(begin >> word_log2),
                      static_cast<std::uint32_t>(words), prefetches(to)},
                     signal, target));
  } else if (form_ == Form::Ranked) {
    check(
        launch_ranked({ranked_->view, word_log2, task_, dense, strided, begin, end, prefetches(to)},
                      unroll, signal, target));
  } else if (form_ == Form::Blocks) {
    check(launch_blocks({pack ? tables_->from : tables_->to, word_log2, task_, dense,
                         pack ? source : to, begin, end},
                        unroll, signal, target));
  } else {
    const bool bare = form_ == Form::Run;
    check(launch_tree(
        {bare ? Side{to_.root(), {}} : tables_->to, bare ? Side{from_.root(), {}} : tables_->from,
         word_log2, to, from, begin, end},
        unroll, signal, target));
  }
  return signal;
}

bool CudaPlan::make_shifted() const {
  const bool pack = task_ == Task::Pack;
  const Tables& list = pack ? from_ : to_;
  const bool listed = form_ == Form::Blocks || form_ == Form::Ranked;
  if (!listed || list.shortest_block() < kShiftedShortest) return false;
  std::call_once(shifted_made_, [&] {
    try {
      if (pack) {
        const auto table = GatherTable::make(strided_);
        if (table) gather_ = std::make_unique<DeviceGather>(blocks_, device_, *table);
      } else {
        auto table = ScatterTable::make(strided_);
        if (table) scatter_ = std::make_unique<DeviceScatter>(blocks_, device_, std::move(*table));
      }
    } catch (const OutOfMemory&) {
      // No memory for the table: single bytes, then.
      (void)cudaGetLastError();
    }
    shifted_.store(gather_ != nullptr || scatter_ != nullptr, std::memory_order_release);
  });
  return shifted_.load(std::memory_order_acquire);
}

Signal CudaPlan::launch_shifted(const LaunchTarget& target, std::byte* to, const std::byte* from,
                                std::int64_t begin, std::int64_t end) const {
  to += to_.root().offset;
  from += from_.root().offset;
  if (gather_ != nullptr) {
    const std::int64_t words = ((end - begin) >> kShiftedWordLog2) + 2;
    const Unroll unroll = unroll_for(target, words);
    const Signal signal = next_signal(target, words, unroll);
    check(launch_gather({gather_->view, to, from, begin, end}, unroll, signal, target));
    return signal;
  }
  const auto& blocks = scatter_->blocks;
  const std::uint32_t first = blocks[static_cast<std::size_t>(to_.block_at(begin))].first_word;
  const std::uint32_t last = blocks[static_cast<std::size_t>(to_.block_at(end - 1)) + 1].first_word;
  const Unroll unroll = unroll_for(target, last - first);
  const Signal signal = next_signal(target, last - first, unroll);
  check(launch_scatter({scatter_->view, from, to, begin, end, first, last, prefetches(to)}, unroll,
                       signal, target));
  return signal;
}

bool CudaPlan::prefetches(const std::byte* to) const noexcept {
  if (task_ == Task::Pack || !to_device_memory_) return false;
  if (form_ != Form::Box) return fetches_list_lines(size_bytes(), to_.listed_blocks());
  const strake_node& root = to_.root();
  bool whole_sectors = true;
  for (int i = 0; i < root.count; ++i) {
    if (to_.view().levels[root.first + i].stride_bytes % kSectorBytes != 0) whole_sectors = false;
  }
  return fetches_box_lines(
      static_cast<std::int64_t>(root.unit.divisor), whole_sectors,
      reinterpret_cast<std::uintptr_t>(to) + static_cast<std::uintptr_t>(root.offset));
}

Ticket CudaPlan::run_from_pageable(CudaQueue& queue, std::byte* to, const std::byte* from,
                                   ByteRange part) const {
  Ticket ticket;
  int slot = 0;
  for (std::int64_t begin = part.begin; begin < part.end;) {
    // Packed byte p lies at an address that is as aligned as p: full words for the kernel.
    const std::int64_t skew = begin & ((1 << kMaxWordLog2) - 1);
    const std::int64_t end = std::min(part.end, begin - skew + CudaQueue::kStagingBytes);
    std::byte* const base = dense_base(queue.staging(slot) + skew, begin);
    from_.for_each_run(begin, end, [&](std::int64_t p, std::int64_t offset, std::int64_t length) {
      std::memcpy(base + p, from + offset, static_cast<std::size_t>(length));
    });
    ticket = device_half_->enqueue(queue, to, base, {begin, end});
    queue.staging_used(slot, ticket);
    slot ^= 1;
    begin = end;
  }
  return ticket;
}

Ticket CudaPlan::run_to_pageable(CudaQueue& queue, std::byte* to, const std::byte* from,
                                 ByteRange part) const {
  struct Chunk {
    ByteRange range;
    std::byte* base = nullptr;
    Ticket ticket;
  };
  const auto scatter = [&](const Chunk& chunk) {
    if (chunk.base == nullptr) return;
    queue.wait(chunk.ticket);
    to_.for_each_run(chunk.range.begin, chunk.range.end,
                     [&](std::int64_t p, std::int64_t offset, std::int64_t length) {
                       std::memcpy(to + offset, chunk.base + p, static_cast<std::size_t>(length));
                     });
  };
  Chunk previous;
  int slot = 0;
  for (std::int64_t begin = part.begin; begin < part.end;) {
    const std::int64_t skew = begin & ((1 << kMaxWordLog2) - 1);
    Chunk chunk;
    chunk.range = {begin, std::min(part.end, begin - skew + CudaQueue::kStagingBytes)};
    chunk.base = dense_base(queue.staging(slot) + skew, begin);
    chunk.ticket = device_half_->enqueue(queue, chunk.base, from, chunk.range);
    queue.staging_used(slot, chunk.ticket);
    scatter(previous);
    previous = chunk;
    slot ^= 1;
    begin = chunk.range.end;
  }
  scatter(previous);
  return {};
}

}  // namespace strake::cuda
