#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "copy/cpu/op.hpp"

namespace strake::cpu {
namespace {

/// Both sides of a chunk of records stay in a 32 KiB L1 cache while each field in turn is moved.
constexpr std::int64_t kChunkBytes = 16 * 1024;

}  // namespace

RepeatOp::RepeatOp(OpPtr child, std::int64_t count, std::int64_t to_step, std::int64_t from_step)
    : Op(count * child->size_bytes()),
      child_(std::move(child)),
      count_(count),
      to_step_(to_step),
      from_step_(from_step) {}

void RepeatOp::run(std::byte* to, const std::byte* from) const {
  for (std::int64_t i = 0; i < count_; ++i) child_->run(to + i * to_step_, from + i * from_step_);
}

void RepeatOp::run_part(std::byte* to, const std::byte* from, ByteRange part) const {
  const std::int64_t step = child_->size_bytes();
  for (std::int64_t i = part.begin / step; i * step < part.end; ++i) {
    const ByteRange inside = {std::max<std::int64_t>(part.begin - i * step, 0),
                              std::min(part.end - i * step, step)};
    run_range(*child_, to + i * to_step_, from + i * from_step_, inside);
  }
}

std::string RepeatOp::description() const {
  return fmt::format("{} x ({})", count_, child_->description());
}

RecordsOp::RecordsOp(const NestKernels& kernels, OpPtr child, const std::vector<Move>& moves,
                     std::int64_t count, std::int64_t to_step, std::int64_t from_step)
    : Op(count * child->size_bytes()),
      child_(std::move(child)),
      count_(count),
      to_step_(to_step),
      from_step_(from_step) {
  const std::int64_t record = std::abs(to_step) + std::abs(from_step);
  constexpr std::int64_t kLeastChunk = 16;
  chunk_ = std::min(count, std::max(kChunkBytes / std::max<std::int64_t>(record, 1), kLeastChunk));
  steps_.reserve(moves.size());
  for (const Move& move : moves) {
    Nest nest = move.nest;
    nest.loops[0] = {chunk_, to_step, from_step};
    const NestChoice choice = kernels.choose(nest);
    Step step = {choice.run, move, 0};
    for (int k = 0; k < kNestLoops; ++k) {
      step.move.nest.loops[k] = nest.loops[choice.order[k]];
      if (choice.order[k] == 0) step.copies_loop = k;
    }
    steps_.push_back(step);
  }
}

void RecordsOp::run_copies(std::int64_t first, std::int64_t last, std::byte* to,
                           const std::byte* from) const {
  for (std::int64_t i = first; i < last; i += chunk_) {
    const std::int64_t copies = std::min(chunk_, last - i);
    for (const Step& step : steps_) {
      std::byte* t = to + i * to_step_ + step.move.to;
      const std::byte* f = from + i * from_step_ + step.move.from;
      if (copies == chunk_) {
        step.run(step.move.nest, t, f);
      } else {
        Nest nest = step.move.nest;
        nest.loops[step.copies_loop].count = copies;
        step.run(nest, t, f);
      }
    }
  }
}

void RecordsOp::run_part(std::byte* to, const std::byte* from, ByteRange part) const {
  const std::int64_t step = child_->size_bytes();
  const auto run_inside = [&](std::int64_t i, std::int64_t begin, std::int64_t end) {
    run_range(*child_, to + i * to_step_, from + i * from_step_, {begin, end});
  };
  std::int64_t first = part.begin / step;
  if (part.begin > first * step) {
    run_inside(first, part.begin - first * step, std::min(step, part.end - first * step));
    ++first;
  }
  const std::int64_t last = part.end / step;
  run_copies(first, last, to, from);
  if (last >= first && part.end > last * step) run_inside(last, 0, part.end - last * step);
}

std::string RecordsOp::description() const {
  return fmt::format("{} records of {} fields", count_, steps_.size());
}

SequenceOp::SequenceOp(std::vector<Member> members, std::int64_t size_bytes)
    : Op(size_bytes), members_(std::move(members)) {}

void SequenceOp::run(std::byte* to, const std::byte* from) const {
  for (const Member& member : members_) member.op->run(to + member.to, from + member.from);
}

void SequenceOp::run_part(std::byte* to, const std::byte* from, ByteRange part) const {
  auto member = std::upper_bound(
      members_.begin(), members_.end(), part.begin,
      [](std::int64_t position, const Member& m) { return position < m.position; });
  for (--member; member != members_.end() && member->position < part.end; ++member) {
    const ByteRange inside = {std::max<std::int64_t>(part.begin - member->position, 0),
                              std::min(part.end - member->position, member->op->size_bytes())};
    run_range(*member->op, to + member->to, from + member->from, inside);
  }
}

std::string SequenceOp::description() const {
  return fmt::format("{} parts, the first {}", members_.size(), members_.front().op->description());
}

}  // namespace strake::cpu
