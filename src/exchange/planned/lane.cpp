#include "exchange/planned/lane.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "exchange/backoff.hpp"
#include "exchange/in_place.hpp"

namespace strake::exchange::planned {
namespace {

const CopyPlan& compiled(std::optional<CopyPlan>& plan, const Layout& to, const Layout& from) {
  if (!plan) plan = CopyPlan::compile(to, Place{}, from, Place{});
  return *plan;
}

Layout packed_form(const Layout& layout) { return Layout::dense(layout.size_bytes()); }

}  // namespace

Lane::Lane(std::vector<Piece> pieces, Place place, bool direct)
    : pieces_(std::move(pieces)), place_(place), sources_(pieces_.size()) {
  if (on_device()) {
    device_copies_.resize(pieces_.size());
  } else {
    plans_.resize(pieces_.size());
  }
  for (const Piece& piece : pieces_) {
    packed_at_.push_back(packed_bytes_);
    size_bytes_ += piece.mine.size_bytes();
    packed_bytes_ += (piece.mine.size_bytes() + kLine - 1) / kLine * kLine;
    mine_in_place_.push_back(!on_device() && (direct || worth_reading_in_place(piece.mine)));
    theirs_in_place_.push_back(direct || worth_reading_in_place(piece.theirs));
    if (!mine_in_place_.back()) continue;
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

Lane::~Lane() {
  if (running_.empty()) return;
  try {
    for (const auto& launch : running_)
      for (Backoff backoff; !launch->done(); backoff.pause()) Together::get().launch();
  } catch (...) {
    stage_.leak();  // the device has failed
  }
}

std::int64_t Lane::bytes_in_place() const noexcept {
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < pieces_.size(); ++i)
    if (mine_in_place_[i]) bytes += pieces_[i].mine.size_bytes();
  return bytes;
}

std::byte* Lane::stage() {
  if (stage_.data() == nullptr)
    stage_ = PoolBlock({MemoryKind::Pinned, place_.device}, packed_bytes_);
  return stage_.data();
}

void Lane::add(DeviceCopy& copy, const Layout& to, Place to_place, const Layout& from,
               Place from_place, std::byte* target, const std::byte* source) {
  if (copy == nullptr) copy = compile_device_copy(to, to_place, from, from_place);
  auto launch = Together::get().add(place_.device, copy, target, source);
  if (running_.empty() || running_.back() != launch) running_.push_back(std::move(launch));
}

void Lane::pack(Bases bases, std::byte* packed, bool all) {
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (!all && mine_in_place_[i]) continue;
    const Piece& piece = pieces_[i];
    std::byte* const from = bases[static_cast<std::size_t>(piece.array)];
    if (on_device()) {
      std::byte* const to = stage() + packed_at_[i];
      add(device_copies_[i].pack, packed_form(piece.mine), stage_.place(), piece.mine, place_, to,
          from);
      staged_.push_back({packed + packed_at_[i], packed_at_[i], piece.mine.size_bytes()});
    } else {
      compiled(plans_[i].pack, packed_form(piece.mine), piece.mine)
          .run(packed + packed_at_[i], from);
    }
  }
}

bool Lane::take(Bases bases, const std::byte* packed, const Find& find,
                std::span<const Combine> combine) {
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const bool there = find && theirs_in_place_[i];
    sources_[i] = there ? find(pieces_[i].their_array, pieces_[i].theirs.bounds()) : nullptr;
    if (there && sources_[i] == nullptr) return false;
  }
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const bool there = sources_[i] != nullptr;
    const std::byte* const from = there ? sources_[i] : packed + packed_at_[i];
    std::byte* const to = bases[static_cast<std::size_t>(pieces_[i].array)];
    const Combine* const how = combine.empty() ? nullptr : &combine_of(combine, pieces_[i].array);
    if (how != nullptr && *how) {
      combine_piece(i, to, from, there, *how);
    } else {
      take_piece(i, to, from, there);
    }
  }
  return true;
}

void Lane::take_piece(std::size_t i, std::byte* to, const std::byte* from, bool there) {
  const Piece& piece = pieces_[i];
  if (!on_device()) {
    Plans& plans = plans_[i];
    return there ? compiled(plans.pull, piece.mine, piece.theirs).run(to, from)
                 : compiled(plans.unpack, piece.mine, packed_form(piece.mine)).run(to, from);
  }
  std::byte* const at = stage() + packed_at_[i];
  std::memcpy(at, from, static_cast<std::size_t>(piece.mine.size_bytes()));
  add(device_copies_[i].unpack, piece.mine, place_, packed_form(piece.mine), stage_.place(), to,
      at);
}

void Lane::combine_piece(std::size_t i, std::byte* to, const std::byte* from, bool there,
                         const Combine& how) {
  const Piece& piece = pieces_[i];
  if (there) {
    // A line more, to begin at one: values are aligned then.
    scratch_.resize(static_cast<std::size_t>(piece.mine.size_bytes() + kLine));
    auto* const line = reinterpret_cast<std::byte*>(
        (reinterpret_cast<std::uintptr_t>(scratch_.data()) + kLine - 1) / kLine * kLine);
    compiled(plans_[i].pack_theirs, packed_form(piece.theirs), piece.theirs).run(line, from);
    from = line;
  }
  combine_packed(piece.mine, to, from, how);
}

bool Lane::idle() {
  for (const auto& launch : running_)
    if (!launch->done()) return false;
  running_.clear();
  for (const Staged& staged : staged_)
    std::memcpy(staged.to, stage_.data() + staged.at, static_cast<std::size_t>(staged.bytes));
  staged_.clear();
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
