#include "exchange/transport/pairs/pair_schedule.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "copy/plan_impl.hpp"
#include "exchange/peers/backoff.hpp"
#include "exchange/transport/in_place.hpp"
#include "exchange/transport/queues.hpp"

namespace strake::exchange::planned {
namespace {

const CopyPlan& compiled(std::optional<CopyPlan>& plan, const Layout& to, const Layout& from) {
  if (!plan) plan = CopyPlan::compile(to, Place{}, from, Place{});
  return *plan;
}

Layout packed_form(const Layout& layout) { return Layout::dense(layout.size_bytes()); }

ByteRange part_of(const MatchedTransfer& transfer, ByteRange part) {
  return {part.begin, std::min(part.end, transfer.mine.size_bytes())};
}
bool is_whole(const MatchedTransfer& transfer, ByteRange part) {
  return part.begin == 0 && part.end >= transfer.mine.size_bytes();
}

}  // namespace

PairSchedule::PairSchedule(std::vector<MatchedTransfer> transfers, Place place, bool direct)
    : transfers_(std::move(transfers)), place_(place) {
  for (MatchedTransfer& transfer : transfers_) {
    transfer.packed_at = packed_bytes_;
    size_bytes_ += transfer.mine.size_bytes();
    packed_bytes_ += whole_lines(transfer.mine.size_bytes());
    transfer.mine_in_place = !on_device() && (direct || worth_reading_in_place(transfer.mine));
    transfer.theirs_in_place = direct || worth_reading_in_place(transfer.theirs);
    if (!transfer.mine_in_place) continue;
    const ByteRange touched = transfer.mine.bounds();
    const auto known = std::ranges::find(shown_, transfer.array, &Shown::array);
    if (known == shown_.end()) {
      shown_.push_back({transfer.array, touched});
    } else {
      known->touched = {std::min(known->touched.begin, touched.begin),
                        std::max(known->touched.end, touched.end)};
    }
  }
}

PairSchedule::Work& PairSchedule::work() {
  if (work_ == nullptr) {
    work_ = std::make_unique<Work>();
    work_->sources.resize(transfers_.size());
    if (on_device()) {
      work_->device_copies.resize(transfers_.size());
    } else {
      work_->plans.resize(transfers_.size());
    }
  }
  return *work_;
}

PairSchedule::~PairSchedule() {
  if (work_ == nullptr) return;
  try {
    for (const Running& running : work_->running)
      for (Backoff backoff; !running.done(); backoff.pause()) LaunchBatcher::get().launch();
  } catch (...) {
    work_->stage.leak();  // the device has failed
  }
}

std::int64_t PairSchedule::bytes_in_place() const noexcept {
  std::int64_t bytes = 0;
  for (const MatchedTransfer& transfer : transfers_)
    if (transfer.mine_in_place) bytes += transfer.mine.size_bytes();
  return bytes;
}

std::byte* PairSchedule::stage() {
  PoolBlock& stage = work().stage;
  if (stage.data() == nullptr) stage = PoolBlock(stage_place(), packed_bytes_);
  return stage.data();
}

void PairSchedule::begin(std::size_t i, PieceCopy& copy, const End& to, const End& from,
                         std::byte* target, const std::byte* source, ByteRange part) {
  Running running{i, part, nullptr, nullptr, {}};
  if (is_whole(transfers_[i], part)) {
    if (copy.whole == nullptr)
      copy.whole = compile_device_copy(to.layout, to.place, from.layout, from.place);
    running.launch = LaunchBatcher::get().add(place_.device, copy.whole, target, source);
  } else {
    if (!copy.parts) copy.parts = CopyPlan::compile(to.layout, to.place, from.layout, from.place);
    const BorrowedQueues queues(place_.device, QueueOrder::Own);
    running.queue = &queues.kernels();
    running.ticket = enqueue(*copy.parts, queues.kernels(), target, source, part);
  }
  work().running.push_back(std::move(running));
}

void PairSchedule::pack(Bases bases, std::byte* packed, bool all, Place there, const Slice& slice) {
  Work& work = this->work();
  for (std::size_t i = slice.first; i < std::min(slice.last, transfers_.size()); ++i) {
    const MatchedTransfer& transfer = transfers_[i];
    if (!all && transfer.mine_in_place) continue;
    const std::byte* const from = bases[static_cast<std::size_t>(transfer.array)];
    std::byte* const to = packed + transfer.packed_at;
    if (on_device()) {
      pack_on_device(i, to, from, there, slice.part);
    } else {
      compiled(work.plans[i].pack, packed_form(transfer.mine), transfer.mine)
          .run(to, from, slice.part);
    }
  }
}

void PairSchedule::pack_on_device(std::size_t i, std::byte* packed, const std::byte* from,
                                  Place there, ByteRange part) {
  const MatchedTransfer& transfer = transfers_[i];
  const bool reached = there.kind != MemoryKind::Host;
  begin(i, work().device_copies[i].pack,
        {packed_form(transfer.mine), reached ? there : stage_place()}, {transfer.mine, place_},
        reached ? packed : stage() + transfer.packed_at, from, part);
  if (!reached) work().staged.push_back({i, part, packed});
}

bool PairSchedule::unpack(Bases bases, const std::byte* packed, const Find& find,
                          std::span<const Combine> combine, Place there, const Slice& slice) {
  auto& sources = work().sources;
  const std::size_t last = std::min(slice.last, transfers_.size());
  for (std::size_t i = slice.first; i < last; ++i) {
    const bool in_place = find && transfers_[i].theirs_in_place;
    sources[i] =
        in_place ? find(transfers_[i].their_array, transfers_[i].theirs.bounds()) : nullptr;
    if (in_place && sources[i] == nullptr) return false;
  }
  for (std::size_t i = slice.first; i < last; ++i) {
    const MatchedTransfer& transfer = transfers_[i];
    const bool in_place = sources[i] != nullptr;
    const std::byte* const from = in_place ? sources[i] : packed + transfer.packed_at;
    std::byte* const to = bases[static_cast<std::size_t>(transfer.array)];
    const Combine* const how = combine.empty() ? nullptr : &combine_of(combine, transfer.array);
    if (how != nullptr && *how) {
      // A value may lie in two parts: all are combined with the last one.
      if (slice.part.end >= transfer.mine.size_bytes())
        combine_transfer(i, to, from, in_place, *how);
    } else if (on_device()) {
      unpack_on_device(i, to, from, there, slice.part);
    } else {
      unpack_transfer(i, to, from, in_place, slice.part);
    }
  }
  return true;
}

void PairSchedule::unpack_transfer(std::size_t i, std::byte* to, const std::byte* from, bool there,
                                   ByteRange part) {
  const MatchedTransfer& transfer = transfers_[i];
  Plans& plans = work().plans[i];
  there ? compiled(plans.pull, transfer.mine, transfer.theirs).run(to, from)
        : compiled(plans.unpack, transfer.mine, packed_form(transfer.mine)).run(to, from, part);
}

void PairSchedule::unpack_on_device(std::size_t i, std::byte* to, const std::byte* packed,
                                    Place there, ByteRange part) {
  const MatchedTransfer& transfer = transfers_[i];
  const bool reached = there.kind != MemoryKind::Host;
  if (!reached) {
    std::byte* const at = stage() + transfer.packed_at;
    const ByteRange here = part_of(transfer, part);
    std::memcpy(at + here.begin, packed + here.begin, static_cast<std::size_t>(here.size()));
    packed = at;
  }
  begin(i, work().device_copies[i].unpack, {transfer.mine, place_},
        {packed_form(transfer.mine), reached ? there : stage_place()}, to, packed, part);
}

void PairSchedule::combine_transfer(std::size_t i, std::byte* to, const std::byte* from, bool there,
                                    const Combine& how) {
  const MatchedTransfer& transfer = transfers_[i];
  if (there) {
    // A line more, to begin at one: values are aligned then.
    Work& work = this->work();
    work.scratch.resize(static_cast<std::size_t>(transfer.mine.size_bytes() + kLine));
    auto* const line = reinterpret_cast<std::byte*>(
        (reinterpret_cast<std::uintptr_t>(work.scratch.data()) + kLine - 1) / kLine * kLine);
    compiled(work.plans[i].pack_theirs, packed_form(transfer.theirs), transfer.theirs)
        .run(line, from);
    from = line;
  }
  combine_packed(transfer.mine, to, from, how);
}

bool PairSchedule::idle(const Slice& slice) {
  if (work_ == nullptr) return true;
  const auto is_meant = [&slice](const auto& one) {
    return slice.first <= one.transfer && one.transfer < slice.last &&
           one.part.begin < slice.part.end && slice.part.begin < one.part.end;
  };
  for (const Running& running : work_->running)
    if (is_meant(running) && !running.done()) return false;
  std::erase_if(work_->running, is_meant);
  for (const Staged& staged : work_->staged) {
    if (!is_meant(staged)) continue;
    const MatchedTransfer& transfer = transfers_[staged.transfer];
    const ByteRange here = part_of(transfer, staged.part);
    std::memcpy(staged.to + here.begin, work_->stage.data() + transfer.packed_at + here.begin,
                static_cast<std::size_t>(here.size()));
  }
  std::erase_if(work_->staged, is_meant);
  return true;
}

void combine_packed(const Layout& layout, std::byte* base, const std::byte* packed,
                    const Combine& combine) {
  layout.for_each_block([&](std::int64_t offset, std::int64_t bytes) {
    combine(base + offset, packed, bytes);
    packed += bytes;
  });
}

}  // namespace strake::exchange::planned
