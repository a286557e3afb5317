#include "exchange/transport/pairs/pair_schedule.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "exchange/peers/backoff.hpp"
#include "exchange/transport/in_place.hpp"

namespace strake::exchange::planned {
namespace {

const CopyPlan& compiled(std::optional<CopyPlan>& plan, const Layout& to, const Layout& from) {
  if (!plan) plan = CopyPlan::compile(to, Place{}, from, Place{});
  return *plan;
}

Layout packed_form(const Layout& layout) { return Layout::dense(layout.size_bytes()); }

}  // namespace

PairSchedule::PairSchedule(std::vector<Piece> pieces, Place place, bool direct)
    : pieces_(std::move(pieces)), place_(place) {
  for (Piece& piece : pieces_) {
    piece.packed_at = packed_bytes_;
    size_bytes_ += piece.mine.size_bytes();
    packed_bytes_ += (piece.mine.size_bytes() + kLine - 1) / kLine * kLine;
    piece.mine_in_place = !on_device() && (direct || worth_reading_in_place(piece.mine));
    piece.theirs_in_place = direct || worth_reading_in_place(piece.theirs);
    if (!piece.mine_in_place) continue;
    const ByteRange touched = piece.mine.bounds();
    const auto known = std::ranges::find(shown_, piece.array, &Shown::array);
    if (known == shown_.end()) {
      shown_.push_back({piece.array, touched});
    } else {
      known->touched = {std::min(known->touched.begin, touched.begin),
                        std::max(known->touched.end, touched.end)};
    }
  }
}

PairSchedule::Work& PairSchedule::work() {
  if (work_ == nullptr) {
    work_ = std::make_unique<Work>();
    work_->sources.resize(pieces_.size());
    if (on_device()) {
      work_->device_copies.resize(pieces_.size());
    } else {
      work_->plans.resize(pieces_.size());
    }
  }
  return *work_;
}

PairSchedule::~PairSchedule() {
  if (work_ == nullptr || work_->running.empty()) return;
  try {
    for (const auto& launch : work_->running)
      for (Backoff backoff; !launch->done(); backoff.pause()) LaunchBatcher::get().launch();
  } catch (...) {
    work_->stage.leak();  // the device has failed
  }
}

std::int64_t PairSchedule::bytes_in_place() const noexcept {
  std::int64_t bytes = 0;
  for (const Piece& piece : pieces_)
    if (piece.mine_in_place) bytes += piece.mine.size_bytes();
  return bytes;
}

std::byte* PairSchedule::stage() {
  PoolBlock& stage = work().stage;
  if (stage.data() == nullptr) stage = PoolBlock(stage_place(), packed_bytes_);
  return stage.data();
}

void PairSchedule::add(DeviceCopy& copy, const Layout& to, Place to_place, const Layout& from,
                       Place from_place, std::byte* target, const std::byte* source) {
  if (copy == nullptr) copy = compile_device_copy(to, to_place, from, from_place);
  auto launch = LaunchBatcher::get().add(place_.device, copy, target, source);
  auto& running = work().running;
  if (running.empty() || running.back() != launch) running.push_back(std::move(launch));
}

void PairSchedule::pack(Bases bases, std::byte* packed, bool all, Place there) {
  Work& work = this->work();
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const Piece& piece = pieces_[i];
    if (!all && piece.mine_in_place) continue;
    std::byte* const from = bases[static_cast<std::size_t>(piece.array)];
    if (on_device()) {
      const bool reached = there.kind != MemoryKind::Host;
      std::byte* const to = (reached ? packed : stage()) + piece.packed_at;
      add(work.device_copies[i].pack, packed_form(piece.mine), reached ? there : stage_place(),
          piece.mine, place_, to, from);
      if (!reached)
        work.staged.push_back({packed + piece.packed_at, piece.packed_at, piece.mine.size_bytes()});
    } else {
      compiled(work.plans[i].pack, packed_form(piece.mine), piece.mine)
          .run(packed + piece.packed_at, from);
    }
  }
}

bool PairSchedule::unpack(Bases bases, const std::byte* packed, const Find& find,
                          std::span<const Combine> combine, Place there) {
  auto& sources = work().sources;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const bool in_place = find && pieces_[i].theirs_in_place;
    sources[i] = in_place ? find(pieces_[i].their_array, pieces_[i].theirs.bounds()) : nullptr;
    if (in_place && sources[i] == nullptr) return false;
  }
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const bool in_place = sources[i] != nullptr;
    const std::byte* const from = in_place ? sources[i] : packed + pieces_[i].packed_at;
    std::byte* const to = bases[static_cast<std::size_t>(pieces_[i].array)];
    const Combine* const how = combine.empty() ? nullptr : &combine_of(combine, pieces_[i].array);
    if (how != nullptr && *how) {
      combine_piece(i, to, from, in_place, *how);
    } else if (on_device()) {
      unpack_piece_on_device(i, to, from, there);
    } else {
      unpack_piece(i, to, from, in_place);
    }
  }
  return true;
}

void PairSchedule::unpack_piece(std::size_t i, std::byte* to, const std::byte* from, bool there) {
  const Piece& piece = pieces_[i];
  Plans& plans = work().plans[i];
  there ? compiled(plans.pull, piece.mine, piece.theirs).run(to, from)
        : compiled(plans.unpack, piece.mine, packed_form(piece.mine)).run(to, from);
}

void PairSchedule::unpack_piece_on_device(std::size_t i, std::byte* to, const std::byte* from,
                                          Place there) {
  const Piece& piece = pieces_[i];
  const bool reached = there.kind != MemoryKind::Host;
  if (!reached) {
    std::byte* const at = stage() + piece.packed_at;
    std::memcpy(at, from, static_cast<std::size_t>(piece.mine.size_bytes()));
    from = at;
  }
  add(work().device_copies[i].unpack, piece.mine, place_, packed_form(piece.mine),
      reached ? there : stage_place(), to, from);
}

void PairSchedule::combine_piece(std::size_t i, std::byte* to, const std::byte* from, bool there,
                                 const Combine& how) {
  const Piece& piece = pieces_[i];
  if (there) {
    // A line more, to begin at one: values are aligned then.
    Work& work = this->work();
    work.scratch.resize(static_cast<std::size_t>(piece.mine.size_bytes() + kLine));
    auto* const line = reinterpret_cast<std::byte*>(
        (reinterpret_cast<std::uintptr_t>(work.scratch.data()) + kLine - 1) / kLine * kLine);
    compiled(work.plans[i].pack_theirs, packed_form(piece.theirs), piece.theirs).run(line, from);
    from = line;
  }
  combine_packed(piece.mine, to, from, how);
}

bool PairSchedule::idle() {
  if (work_ == nullptr) return true;
  for (const auto& launch : work_->running)
    if (!launch->done()) return false;
  work_->running.clear();
  for (const Staged& staged : work_->staged)
    std::memcpy(staged.to, work_->stage.data() + staged.at, static_cast<std::size_t>(staged.bytes));
  work_->staged.clear();
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
