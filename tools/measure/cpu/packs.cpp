// Strake's own packing and unpacking on the CPU: blocks at a constant pitch, the same in a random
// order, blocks at uneven distances, and transposes.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "../host.hpp"
#include "cpu_cases.hpp"
#include "machine/pitch.hpp"
#include "measure/layouts.hpp"
#include "strake/copy.hpp"

namespace strake::measure {
namespace {

using machine::PitchClass;

// The widest span of a case: far blocks of a byte would otherwise take 128 GiB.
constexpr std::int64_t kWidest = 1056 * kMiB;  // 64 MiB in blocks of 16 bytes every 264
// The longest list: 8 MiB of offsets, past every cache that a list shares with its data.
constexpr std::int64_t kMostListed = kMiB;

enum class Form { Box, Blocks, Indexed, Transpose };
constexpr const char* kFormNames[] = {"box", "blocks", "indexed", "transpose"};

struct Shape {
  std::int64_t bytes = 0;
  std::int64_t block = 0;
  std::int64_t pitch = 0;
  Form form = Form::Box;
  bool unpack = false;
  [[nodiscard]] std::int64_t span() const {
    if (form == Form::Transpose) return bytes;
    // Uneven distances are half a pitch longer at most.
    return bytes / block * (form == Form::Blocks ? pitch + pitch / 2 : pitch);
  }
};

Layout layout_of(const Shape& shape) {
  const std::int64_t count = shape.bytes / shape.block;
  switch (shape.form) {
    case Form::Blocks:
      return Layout::blocks(uneven_offsets(count, shape.pitch), shape.block);
    case Form::Indexed:
      return Layout::blocks(shuffled_offsets(count, shape.pitch), shape.block);
    case Form::Transpose:
      return transposed(shape.bytes, shape.block, shape.pitch);
    case Form::Box:
      break;
  }
  const Dim dim{count, shape.pitch};
  return Layout::box(0, shape.block, {&dim, 1});
}

/// Byte i of the packed bytes.
std::byte packed_byte(std::int64_t i) { return static_cast<std::byte>(i % 251); }

/// Memory that the cases use one after the other: it grows, so its pages are touched once.
class Arena {
 public:
  /// At least so many bytes, at the start of a page. The one before is given back.
  [[nodiscard]] std::byte* at_least(std::size_t bytes) {
    constexpr std::size_t kLeast = std::size_t{1} << 20;  // so that small cases do not make it grow
    if (memory_ == nullptr || memory_->size() < bytes) {
      memory_.reset();  // first: both may not fit
      memory_ = std::make_unique<HostMemory>(std::max(bytes, kLeast));
    }
    return memory_->data();
  }

 private:
  std::unique_ptr<HostMemory> memory_;
};

class Pack final : public Instance {
 public:
  Pack(const Shape& shape, Arena& dense, Arena& strided)
      : shape_(shape),
        layout_(layout_of(shape)),
        dense_(dense.at_least(static_cast<std::size_t>(shape.bytes))),
        strided_(strided.at_least(static_cast<std::size_t>(shape.span()))) {
    const Layout packed = Layout::dense(shape.bytes);
    plan_ = shape.unpack ? CopyPlan::compile(layout_, {}, packed, {})
                         : CopyPlan::compile(packed, {}, layout_, {});
    // The source has the pattern; all bytes of the target have another value.
    constexpr int kOther = 0xEE;
    if (shape.unpack) {
      for (std::int64_t i = 0; i < shape.bytes; ++i) dense_[i] = packed_byte(i);
      each_byte([](std::byte& byte, std::int64_t) { byte = static_cast<std::byte>(kOther); });
    } else {
      std::memset(dense_, kOther, static_cast<std::size_t>(shape.bytes));
      each_byte([](std::byte& byte, std::int64_t i) { byte = packed_byte(i); });
    }
  }

  double run(std::int64_t iterations) override {
    return time_calls(iterations, [this] {
      if (shape_.unpack) {
        plan_.run(strided_, dense_);
      } else {
        plan_.run(dense_, strided_);
      }
      asm volatile("" ::"g"(dense_), "g"(strided_) : "memory");  // every run counts
    });
  }

  void verify() override {
    const auto expect = [](std::byte byte, std::int64_t i) {
      if (byte == packed_byte(i)) return;
      throw WrongData(fmt::format("packed byte {} is {}, not {}", i, static_cast<int>(byte),
                                  static_cast<int>(packed_byte(i))));
    };
    if (shape_.unpack) {
      each_byte([&](std::byte& byte, std::int64_t i) { expect(byte, i); });
    } else {
      for (std::int64_t i = 0; i < shape_.bytes; ++i) expect(dense_[i], i);
    }
  }

 private:
  /// Calls visit(strided byte, packed position).
  template <typename Visit>
  void each_byte(Visit visit) {
    std::int64_t position = 0;
    layout_.for_each_block([&](std::int64_t offset, std::int64_t length) {
      for (std::int64_t i = 0; i < length; ++i) visit(strided_[offset + i], position++);
    });
  }

  Shape shape_;
  Layout layout_;
  std::byte* dense_;
  std::byte* strided_;
  CopyPlan plan_;
};

}  // namespace

void add_cpu_packs(Cases& cases, std::int64_t memory) {
  constexpr std::array<std::int64_t, 8> kBlocks = {1, 4, 8, 16, 64, 256, 1024, 4096};
  // Shared by all cases, and given back with the last of them.
  const auto dense = std::make_shared<Arena>();
  const auto strided = std::make_shared<Arena>();
  const auto put = [&](const Shape& shape, bool read_by_model) {
    Case& added = add(cases,
                      fmt::format("{}/cpu/{}", shape.unpack ? "unpack" : "pack",
                                  kFormNames[static_cast<int>(shape.form)]),
                      shape.bytes, [=] { return std::make_unique<Pack>(shape, *dense, *strided); });
    added.block = shape.block;
    added.pitch = shape.pitch;
    added.quick = among({kKiB, 64 * kKiB, 4 * kMiB}, shape.bytes) &&
                  among({4, 64, kKiB}, shape.block) && read_by_model;
  };
  for (const Form form : {Form::Box, Form::Indexed, Form::Blocks}) {
    for (const bool unpack : {false, true}) {
      // One pitch after the other, so that a run that is cut short has whole curves.
      for (const PitchClass pitch :
           {PitchClass::Near, PitchClass::Sparse, PitchClass::Far, PitchClass::Aligned}) {
        const bool aligned = pitch == PitchClass::Aligned;
        if (aligned && form != Form::Box) continue;
        const bool read_by_model =
            form == Form::Box || (form == Form::Indexed && pitch == PitchClass::Near);
        // In order, the lists cost as boxes do but for their offsets: every other size and block.
        const int step = form == Form::Blocks || aligned ? 2 : 1;
        for (std::int64_t bytes = 64; bytes <= 64 * kMiB; bytes <<= 2 * step) {
          for (std::size_t b = 0; b < kBlocks.size(); b += step) {
            const std::int64_t block = kBlocks[b];
            const Shape shape{bytes, block, machine::host_pitch(pitch, block), form, unpack};
            if (bytes % block != 0 || shape.pitch == 0) continue;
            if (form != Form::Box && bytes / block > kMostListed) continue;
            if (shape.span() > kWidest || shape.span() + bytes > memory) continue;
            put(shape, read_by_model);
          }
        }
      }
    }
  }
  for (std::int64_t bytes = 16 * kKiB; bytes <= 16 * kMiB && 2 * bytes <= memory; bytes *= 4) {
    for (const std::int64_t block : {1, 4, 8, 16, 64}) {
      for (const bool unpack : {false, true}) {
        put({bytes, block, machine::kTransposeRow, Form::Transpose, unpack}, true);
      }
    }
  }
}

}  // namespace strake::measure
