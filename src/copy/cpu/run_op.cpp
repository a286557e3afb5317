#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "copy/cpu/op.hpp"

namespace strake::cpu {
namespace {

constexpr std::int64_t kMarked = 64;

static_assert(kRunReach == kPrefetchedBytes);

UnitRun run_of(std::int64_t offset, std::int64_t bytes) {
  const std::int64_t units = bytes / kUnitBytes;
  return static_cast<UnitRun>(offset / kUnitBytes << kRunOffsetBit |
                              ((1 << units) - 1) << kRunMaskBit | (units - 1));
}
std::int64_t offset_of(UnitRun run) { return std::int64_t{run >> kRunOffsetBit} * kUnitBytes; }
std::int64_t bytes_of(UnitRun run) { return std::int64_t{run % kWindowUnits + 1} * kUnitBytes; }

}  // namespace

std::unique_ptr<const RunsOp> RunsOp::make(PackRunsFn pack, const Layout& blocks,
                                           std::int64_t most) {
  const std::int64_t lowest = blocks.bounds().begin;
  if (blocks.bounds().size() > kPrefetchedBytes) return nullptr;
  std::vector<UnitRun> runs;
  bool fits = true;
  blocks.for_each_block([&](std::int64_t offset, std::int64_t bytes) {
    offset -= lowest;
    fits &= offset % kUnitBytes == 0 && bytes % kUnitBytes == 0 && std::ssize(runs) <= most;
    if (!fits) return;
    for (const std::int64_t end = offset + bytes; offset < end; offset += kWindowBytes) {
      runs.push_back(run_of(offset, std::min(end - offset, kWindowBytes)));
    }
  });
  if (!fits || std::ssize(runs) > most) return nullptr;
  return std::make_unique<RunsOp>(pack, std::move(runs), blocks);
}

RunsOp::RunsOp(PackRunsFn pack, std::vector<UnitRun> runs, const Layout& blocks)
    : Op(blocks.size_bytes()),
      runs_(std::move(runs)),
      strided_offset_(blocks.bounds().begin),
      pack_(pack) {
  std::int64_t position = 0;
  for (std::int64_t i = 0; i < count(); ++i) {
    if (i % kMarked == 0) marks_.push_back(position);
    position += bytes_of(runs_[static_cast<std::size_t>(i)]);
  }
}

std::int64_t RunsOp::count() const noexcept { return std::ssize(runs_); }

void RunsOp::run(std::byte* to, const std::byte* from) const {
  pack_(runs_.data(), count(), to, from + strided_offset_);
}

RunsOp::Found RunsOp::find(std::int64_t byte) const {
  const auto mark = std::upper_bound(marks_.begin(), marks_.end(), byte) - 1;
  Found found = {(mark - marks_.begin()) * kMarked, *mark};
  while (found.run < count() && found.position + bytes_of(at(found.run)) <= byte) {
    found.position += bytes_of(at(found.run++));
  }
  return found;
}

void RunsOp::run_part(std::byte* to, const std::byte* from, ByteRange part) const {
  from += strided_offset_;
  const auto move = [&](const Found& found, std::int64_t begin, std::int64_t end) {
    const std::byte* some = from + offset_of(at(found.run)) + begin - found.position;
    std::copy(some, some + (end - begin), to + begin);
  };
  Found first = find(part.begin);
  const Found last = find(part.end);  // the run that the end cuts, or one past all
  if (first.run == last.run) return move(first, part.begin, part.end);
  if (part.begin > first.position) {
    const std::int64_t end = first.position + bytes_of(at(first.run));
    move(first, part.begin, end);
    first = {first.run + 1, end};
  }
  pack_(runs_.data() + first.run, last.run - first.run, to + first.position, from);
  if (part.end > last.position) move(last, last.position, part.end);
}

std::string RunsOp::description() const {
  return fmt::format("{} runs of up to {} B", count(), kWindowBytes);
}

}  // namespace strake::cpu
