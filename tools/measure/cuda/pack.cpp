/// \file  Packing and unpacking by Strake's own device back end, call to return: between a layout
/// in device memory and dense device memory, or dense mapped host memory (one-shot).

#include "machine/pitch.hpp"
#include "measure/cuda/cases.hpp"
#include "measure/cuda/hold.hpp"
#include "measure/cuda/machine.hpp"
#include "measure/cuda/memory.hpp"
#include "measure/layouts.hpp"

namespace strake::measure::cuda {
namespace {

enum class Form { Box, Blocks, Indexed };

std::vector<std::int64_t> offsets_of(Form form, std::int64_t count, std::int64_t pitch) {
  return form == Form::Blocks ? uneven_offsets(count, pitch) : shuffled_offsets(count, pitch);
}

struct Packing {
  Form form;
  bool pack;
  bool one_shot;
  std::int64_t bytes;
  std::int64_t block;
  std::int64_t pitch;
};

/// Buffers, plan and queue of one packing.
struct Data {
  SharedBuffer dense;
  SharedBuffer spread;
  SharedBuffer offsets;  ///< on the device, for looking at the bytes
  Map map;
  std::unique_ptr<DevicePlan> plan;
  std::unique_ptr<Queue> queue;

  explicit Data(const Packing& p) {
    const std::int64_t count = p.bytes / p.block;
    Layout layout;
    if (p.form == Form::Box) {
      const Dim dim{count, p.pitch};
      layout = Layout::box(0, p.block, {&dim, 1});
      map = {p.block, p.pitch, nullptr};
    } else {
      const std::vector<std::int64_t> list = offsets_of(p.form, count, p.pitch);
      layout = Layout::blocks(list, p.block);
      offsets = make_buffer({Kind::Device}, count * 8);
      check(cudaMemcpy(offsets->data(), list.data(), list.size() * 8, cudaMemcpyDefault));
      map = {p.block, p.pitch, offsets->as<const std::int64_t>()};
    }
    const Where dense_where{p.one_shot ? Kind::Pinned : Kind::Device};
    dense = make_buffer(dense_where, p.bytes);
    spread = make_buffer({Kind::Device}, layout.bounds().end);
    (p.pack ? spread : dense)->fill(kSeed);
    (p.pack ? dense : spread)->fill(~kSeed);
    DeviceCopier& strake = strake_copier(0);
    const Place there{MemoryKind::Device, 0};
    const Place dense_place{p.one_shot ? MemoryKind::Pinned : MemoryKind::Device, 0};
    const Layout whole = Layout::dense(p.bytes);
    plan = p.pack ? strake.compile(whole, dense_place, layout, there)
                  : strake.compile(layout, there, whole, dense_place);
    queue = strake_backend(0).make_queue(0);
  }
  void verify(const Packing& p) const {
    if (p.pack) {
      dense->expect(p.bytes, {}, kSeed, map, "packing");
      dense->fill(~kSeed);
    } else {
      spread->expect(p.bytes, map, kSeed, {}, "unpacking");
      spread->fill(~kSeed);
    }
  }
};

std::unique_ptr<Instance> make_packing(const Packing& p) {
  const auto data = std::make_shared<Data>(p);
  std::byte* const to = (p.pack ? data->dense : data->spread)->data();
  const std::byte* const from = (p.pack ? data->spread : data->dense)->data();
  return wall_timed(
      0,
      [data, to, from] {
        data->queue->wait(data->plan->enqueue(*data->queue, to, from, ByteRange::all()));
      },
      [data, p] { data->verify(p); });
}

void add_point(Cases& cases, Form form, std::int64_t bytes, std::int64_t block, std::int64_t pitch,
               bool quick) {
  const std::string name = form == Form::Box      ? "/box"
                           : form == Form::Blocks ? "/blocks"
                                                  : "/indexed";
  for (const bool one_shot : {false, true}) {
    for (const bool pack : {true, false}) {
      const Packing packing{form, pack, one_shot, bytes, block, pitch};
      Case& added =
          add(cases,
              std::string(pack ? "pack/" : "unpack/") + (one_shot ? "one-shot" : "device") + name,
              bytes, [packing] { return make_packing(packing); });
      added.block = block;
      added.pitch = pitch;
      added.quick = quick;
      added.limit = one_shot ? host_link(0) : memory_rate(0) / 2;
    }
  }
}

}  // namespace

void add_pack(Cases& cases) {
  constexpr std::int64_t kBlocks[] = {1, 4, 8, 16, 64, 256, 1024, 4096};
  for (std::int64_t bytes = 64; bytes <= 64 * kMiB; bytes *= 4) {
    for (const std::int64_t block : kBlocks) {
      if (block >= bytes) continue;  // one block: a contiguous copy
      const bool quick = (bytes == kKiB || bytes == 64 * kKiB || bytes == 4 * kMiB) &&
                         (block == 8 || block == 256);
      add_point(cases, Form::Box, bytes, block,
                machine::device_pitch(machine::PitchClass::Near, block), quick);
    }
  }
  // Sparse boxes and lists move as much per block, so every other size and block tells as much, and
  // every fourth of a sparse list. A list of more than a million blocks is longer than its data.
  constexpr std::int64_t kMostBlocks = kMiB;
  for (std::int64_t bytes = 256; bytes <= 64 * kMiB; bytes *= 16) {
    for (const std::int64_t block : {4, 16, 64, 256, 1024, 4096}) {
      if (block >= bytes) continue;
      add_point(cases, Form::Box, bytes, block,
                machine::device_pitch(machine::PitchClass::Sparse, block), false);
      if (bytes / block > kMostBlocks) continue;
      for (const Form form : {Form::Blocks, Form::Indexed}) {
        const bool quick = (bytes == 4 * kKiB || bytes == kMiB) && (block == 16 || block == 256);
        add_point(cases, form, bytes, block,
                  machine::device_pitch(machine::PitchClass::Near, block), quick);
        if ((bytes != 4 * kKiB && bytes != kMiB) || (block != 4 && block != 64 && block != kKiB))
          continue;
        add_point(cases, form, bytes, block,
                  machine::device_pitch(machine::PitchClass::Sparse, block), false);
      }
    }
  }
}

}  // namespace strake::measure::cuda
