#include <fmt/format.h>

#include <algorithm>

#include "copy/cpu/op.hpp"

namespace strake::cpu {

NestOp::NestOp(const NestKernels& kernels, const Nest& nest, std::int64_t to_offset,
               std::int64_t from_offset)
    : Op(bytes_of(nest)),
      packed_order_(nest),
      choice_(kernels.choose(nest)),
      to_offset_(to_offset),
      from_offset_(from_offset),
      kernels_(kernels) {
  nest_ = ordered(nest);
  run_ = choice_.run;
  std::int64_t bytes = nest.block;
  for (int k = 0; k < kNestLoops; ++k) {
    step_bytes_[k] = bytes;
    bytes *= nest.loops[k].count;
  }
}

Nest NestOp::ordered(const Nest& nest) const {
  Nest result = nest;
  for (int k = 0; k < kNestLoops; ++k) result.loops[k] = nest.loops[choice_.order[k]];
  return result;
}

void NestOp::run_part(std::byte* to, const std::byte* from, ByteRange part) const {
  run_level(kNestLoops - 1, to + to_offset_, from + from_offset_, part);
}

// The kernel moves whole steps of a loop. The two steps that the part cuts are split into steps of
// the next inner loop. So a part costs at most two divisions and two kernel calls for each loop,
// whatever its length.
void NestOp::run_level(int level, std::byte* to, const std::byte* from, ByteRange part) const {
  if (level < 0) {
    kernels_.copy(to + part.begin, from + part.begin, part.size());
    return;
  }
  const Loop& loop = packed_order_.loops[level];
  const std::int64_t step = step_bytes_[level];
  if (loop.count == 1) return run_level(level - 1, to, from, part);
  std::int64_t first = part.begin / step;
  const std::int64_t cut = part.begin - first * step;
  const auto to_at = [&](std::int64_t i) { return to + i * loop.to; };
  const auto from_at = [&](std::int64_t i) { return from + i * loop.from; };
  if (cut != 0) {
    const std::int64_t end = std::min(step, part.end - first * step);
    run_level(level - 1, to_at(first), from_at(first), {cut, end});
    ++first;
  }
  const std::int64_t last = part.end / step;
  if (last > first) {
    Nest middle = packed_order_;
    for (int k = level + 1; k < kNestLoops; ++k) middle.loops[k].count = 1;
    middle.loops[level].count = last - first;
    run_(ordered(middle), to_at(first), from_at(first));
  }
  if (last >= first && part.end > last * step) {
    run_level(level - 1, to_at(last), from_at(last), {0, part.end - last * step});
  }
}

std::string NestOp::description() const {
  return fmt::format("box {} B {}", packed_order_.block, choice_.name);
}

}  // namespace strake::cpu
