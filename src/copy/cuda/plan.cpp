#include "copy/cuda/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <vector>

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
constexpr std::int64_t kEngineBytes = std::int64_t{4} << 20;
// A block of a list is moved by 8 or 32 lanes of a warp, each in one or two steps; far longer ones
// are left to kernels that spread the words evenly.
constexpr std::int64_t kGroupMeanBytes = 256;
constexpr std::int64_t kGroupLongestBytes = 4096;
// Every multiprocessor runs this many threads: less work than that is spread as thin as it goes.
constexpr std::int64_t kThreadsPerMultiprocessor = 2048;

int address_log2(const std::byte* base, std::int64_t offset) {
  const auto address = reinterpret_cast<std::uintptr_t>(base) + static_cast<std::uintptr_t>(offset);
  return address == 0 ? kMaxWordLog2 : std::min(kMaxWordLog2, std::countr_zero(address));
}

std::int64_t round_up(std::int64_t value, int log2) {
  const std::int64_t mask = (std::int64_t{1} << log2) - 1;
  return (value + mask) & ~mask;
}

bool fits_box(const Layout& layout) {
  const auto dims = layout.dims();
  if (layout.kind() != Layout::Kind::Box || dims.size() > STRAKE_BOX_DIMS) return false;
  if (layout.block_bytes() >= kBoxLimit) return false;
  return std::all_of(dims.begin(), dims.end(),
                     [](const Dim& dim) { return dim.count < kBoxLimit; });
}

bool host_memory(Place place) {
  return place.kind == MemoryKind::Host || place.kind == MemoryKind::Pinned;
}

/// The base address such that packed byte `position` of a dense run is at `chunk`.
std::byte* dense_base(std::byte* chunk, std::int64_t position) {
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(chunk) -
                                      static_cast<std::uintptr_t>(position));
}

}  // namespace

DeviceTables::DeviceTables(int device, const Tables& to_tables, const Tables& from_tables)
    : device_(device) {
  const DeviceScope scope(device);
  const std::int64_t sides = round_up(2 * std::int64_t{sizeof(Side)}, kMaxWordLog2);
  const std::int64_t bytes = sides + to_tables.image_bytes() + from_tables.image_bytes();
  check(cudaMalloc(&memory_, static_cast<std::size_t>(bytes)));
  auto* const address = static_cast<std::byte*>(memory_);
  std::vector<std::byte> image(static_cast<std::size_t>(bytes));
  const std::int64_t from_at = sides + to_tables.image_bytes();
  to = {to_tables.root(), to_tables.pack_image(image.data() + sides, address + sides)};
  from = {from_tables.root(), from_tables.pack_image(image.data() + from_at, address + from_at)};
  std::memcpy(image.data(), &to, sizeof(Side));
  std::memcpy(image.data() + sizeof(Side), &from, sizeof(Side));
  device_to = reinterpret_cast<const Side*>(address);
  device_from = device_to + 1;
  cudaStream_t stream = nullptr;
  cudaError_t code = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  if (code == cudaSuccess) {
    code = cudaMemcpyAsync(memory_, image.data(), image.size(), cudaMemcpyHostToDevice, stream);
    if (code == cudaSuccess) code = cudaStreamSynchronize(stream);
    (void)cudaStreamDestroy(stream);
  }
  if (code != cudaSuccess) (void)cudaFree(memory_);
  check(code);
}

DeviceTables::~DeviceTables() {
  try {
    const DeviceScope scope(device_);
    (void)cudaFree(memory_);
    (void)cudaGetLastError();
  } catch (const Error&) {
    (void)cudaGetLastError();
  }
}

CudaPlan::CudaPlan(int device, const Layout& to, Place to_place, const Layout& from,
                   Place from_place, CopyVariant variant)
    : device_(device), to_(to), from_(from) {
  if (to.size_bytes() != from.size_bytes()) {
    throw InvalidArgument(fmt::format("a copy of {} bytes to a layout of {} bytes",
                                      from.size_bytes(), to.size_bytes()));
  }
  stage_to_ = to_place.kind == MemoryKind::Host;
  stage_from_ = from_place.kind == MemoryKind::Host;
  if (staged()) {
    const Layout dense = Layout::dense(size_bytes());
    const Place pinned{MemoryKind::Pinned, device};
    device_half_ = stage_to_ ? std::make_unique<CudaPlan>(device, dense, pinned, from, from_place,
                                                          CopyVariant::Kernel)
                             : std::make_unique<CudaPlan>(device, to, to_place, dense, pinned,
                                                          CopyVariant::Kernel);
    return;
  }

  const bool to_dense = to_.dense();
  const bool from_dense = from_.dense();
  direction_ = to_dense ? Direction::Pack : Direction::Unpack;
  const Layout& strided = to_dense ? from : to;
  const Tables& strided_tables = to_dense ? from_ : to_;
  // A dense side needs no alignment of its size: ragged ends are moved apart.
  word_log2_ = std::min(to_dense ? kMaxWordLog2 : to_.word_log2(),
                        from_dense ? kMaxWordLog2 : from_.word_log2());
  if (to_dense && from_dense) {
    form_ = Form::Run;
  } else if (!to_dense && !from_dense) {
    form_ = Form::Tree;
  } else if (fits_box(strided)) {
    form_ = Form::Box;
    dims_ = static_cast<int>(strided.dims().size());
    prepare_boxes(strided_tables);
  } else {
    form_ = strided.kind() == Layout::Kind::Blocks ? Form::Blocks : Form::Tree;
  }

  if (to_dense || from_dense) {
    const EngineCopy engine = EngineCopy::plan(strided);
    const bool across = host_memory(to_place) || host_memory(from_place);
    const bool rows =
        engine.form() == EngineCopy::Form::Rows || engine.form() == EngineCopy::Form::Planes;
    const bool faster = engine.form() == EngineCopy::Form::Linear
                            ? size_bytes() > kRunKernelBytes
                            : rows && across && strided.block_bytes() >= kEngineRowBytes;
    if (variant == CopyVariant::Engine || (variant == CopyVariant::Auto && faster))
      engine_ = engine;
  }
  const bool reads_tables =
      form_ == Form::Blocks || form_ == Form::Tree || size_bytes() >= kBoxLimit;
  if (reads_tables) (void)tables();
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
  const char* form = "run";
  if (form_ == Form::Box) form = "box";
  if (form_ == Form::Blocks) form = "blocks";
  if (form_ == Form::Tree) form = "tree";
  return fmt::format("cuda {} {}B words", form, 1 << word_log2_);
}

const DeviceTables& CudaPlan::tables() const {
  std::call_once(uploaded_, [&] { tables_ = std::make_unique<DeviceTables>(device_, to_, from_); });
  return *tables_;
}

int CudaPlan::word_log2(const std::byte* to, const std::byte* from) const noexcept {
  return std::min(
      {word_log2_, address_log2(to, to_.root().offset), address_log2(from, from_.root().offset)});
}

Ticket CudaPlan::enqueue(Queue& queue, std::byte* to, const std::byte* from, ByteRange part) const {
  auto& cuda_queue = static_cast<CudaQueue&>(queue);
  part = {std::max<std::int64_t>(part.begin, 0), std::min(part.end, size_bytes())};
  if (part.begin >= part.end) return {};
  const DeviceScope scope(device_);
  if (stage_to_) return run_to_pageable(cuda_queue, to, from, part);
  if (stage_from_) return run_from_pageable(cuda_queue, to, from, part);
  return cuda_queue.finish(start(cuda_queue, to, from, part, true));
}

void CudaPlan::enqueue_untracked(Queue& queue, std::byte* to, const std::byte* from,
                                 ByteRange part) const {
  if (staged()) {
    (void)enqueue(queue, to, from, part);
    return;
  }
  part = {std::max<std::int64_t>(part.begin, 0), std::min(part.end, size_bytes())};
  if (part.begin >= part.end) return;
  const DeviceScope scope(device_);
  (void)start(static_cast<CudaQueue&>(queue), to, from, part, false);
}

Signal CudaPlan::start(CudaQueue& queue, std::byte* to, const std::byte* from, ByteRange part,
                       bool tracked) const {
  if (!engine_.takes(part.begin, part.end)) {
    return launch(queue, to, from, part.begin, part.end, tracked);
  }
  const bool pack = direction_ == Direction::Pack;
  auto* const source = const_cast<std::byte*>(from);
  engine_.enqueue(pack, pack ? to + to_.root().offset : source + from_.root().offset,
                  pack ? source : to, part.begin, part.end, pack ? from_ : to_, queue.stream());
  return {};
}

Signal CudaPlan::launch(CudaQueue& queue, std::byte* to, const std::byte* from, std::int64_t begin,
                        std::int64_t end, bool tracked) const {
  const int log2 = word_log2(to, from);
  const std::int64_t body = std::min(round_up(begin, log2), end);
  const std::int64_t body_end = std::max(body, end & ~((std::int64_t{1} << log2) - 1));
  if (in_groups(log2)) {
    const bool ragged = begin < body || body_end < end;
    return launch_in_groups(queue, to, from, begin, end, ragged ? 0 : log2, tracked);
  }
  if (begin < body) {
    const Signal signal = launch_words(queue, to, from, begin, body, 0, tracked && body == end);
    if (body == end) return signal;
  }
  if (body < body_end) {
    const Signal signal =
        launch_words(queue, to, from, body, body_end, log2, tracked && body_end == end);
    if (body_end == end) return signal;
  }
  return launch_words(queue, to, from, body_end, end, 0, tracked);
}

Signal CudaPlan::launch_words(CudaQueue& queue, std::byte* to, const std::byte* from,
                              std::int64_t begin, std::int64_t end, int word_log2,
                              bool tracked) const {
  constexpr std::int64_t kThreadsPerBlock = 256;
  const std::int64_t words = (end - begin) >> word_log2;
  const bool box = form_ == Form::Box && (end >> word_log2) < kBoxLimit;
  const bool few = words <= queue.multiprocessors() * kThreadsPerMultiprocessor;
  const Shape shape{few || box ? 1 : 4};
  const Signal signal =
      tracked ? queue.next_signal(words / (kThreadsPerBlock * shape.words_per_thread) + 1)
              : Signal{};
  const bool pack = direction_ == Direction::Pack;
  auto* const source = const_cast<std::byte*>(from);
  std::byte* const dense = pack ? to + to_.root().offset : source + from_.root().offset;
  const cudaStream_t stream = queue.stream();

  if (box) {
    check(launch_box(
        {boxes_[static_cast<std::size_t>(word_log2)], dims_, word_log2, direction_, dense,
         pack ? source + from_.root().offset : to + to_.root().offset,
         static_cast<std::uint32_t>(begin >> word_log2), static_cast<std::uint32_t>(words)},
        signal, stream));
  } else if (form_ == Form::Blocks) {
    check(launch_blocks({pack ? tables().from : tables().to, word_log2, direction_, dense,
                         pack ? source : to, begin, end},
                        shape, signal, stream));
  } else {
    const bool bare = form_ == Form::Run;
    check(launch_tree(
        {bare ? Side{to_.root(), {}} : tables().to, bare ? Side{from_.root(), {}} : tables().from,
         word_log2, to, from, begin, end},
        shape, signal, stream));
  }
  return signal;
}

bool CudaPlan::in_groups(int word_log2) const noexcept {
  const Tables& list = direction_ == Direction::Pack ? from_ : to_;
  if (form_ != Form::Blocks || list.longest_block() > kGroupLongestBytes) return false;
  // With words of less than 4 bytes groups are 2 to 4 times as fast. With wider ones they pack own
  // lengths up to 30 % faster; unpacking is no faster, and 25 % slower with words of 4 bytes, whose
  // blocks then take several stores (H200).
  if (word_log2 < 2) return list.longest_block() >= 8;
  return list.root().kind == STRAKE_LISTED && direction_ == Direction::Pack;
}

Signal CudaPlan::launch_in_groups(CudaQueue& queue, std::byte* to, const std::byte* from,
                                  std::int64_t begin, std::int64_t end, int word_log2,
                                  bool tracked) const {
  const bool pack = direction_ == Direction::Pack;
  const Tables& list = pack ? from_ : to_;
  auto* const source = const_cast<std::byte*>(from);
  GroupsLaunch launch;
  launch.blocks = {pack ? tables().from : tables().to,
                   word_log2,
                   direction_,
                   pack ? to + to_.root().offset : source + from_.root().offset,
                   pack ? source : to,
                   begin,
                   end};
  launch.first_block = list.block_at(begin);
  launch.end_block = list.block_at(end - 1) + 1;
  launch.lanes = size_bytes() / list.listed_blocks() <= kGroupMeanBytes ? 8 : 32;
  constexpr int kThreadsPerBlock = 256;
  const std::int64_t blocks = launch.end_block - launch.first_block;
  const std::int64_t per_launch_block = kThreadsPerBlock / launch.lanes * kBlocksPerGroup;
  const Signal signal = tracked ? queue.next_signal(blocks / per_launch_block + 1) : Signal{};
  check(launch_groups(launch, signal, queue.stream()));
  return signal;
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
