#include "exchange/planned/own_copies.hpp"

#include <algorithm>
#include <utility>

#include "exchange/backoff.hpp"

namespace strake::exchange::planned {

OwnCopies::OwnCopies(std::vector<Piece> pieces, Place place)
    : pieces_(std::move(pieces)),
      place_(place),
      plans_(pieces_.size()),
      packs_(pieces_.size()),
      copies_(pieces_.size()),
      copies_back_(pieces_.size()) {}

OwnCopies::~OwnCopies() {
  try {
    for (const auto& launch : running_)
      for (Backoff backoff; !launch->done(); backoff.pause()) Together::get().launch();
  } catch (...) {
    // The device has failed.
  }
}

std::int64_t OwnCopies::size_bytes() const noexcept {
  std::int64_t bytes = 0;
  for (const Piece& piece : pieces_) bytes += piece.mine.size_bytes();
  return bytes;
}

void OwnCopies::begin(Bases bases, bool reverse, std::span<const Combine> combine) {
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const Piece& piece = pieces_[i];
    std::byte* const sent = bases[static_cast<std::size_t>(piece.array)];
    std::byte* const received = bases[static_cast<std::size_t>(piece.their_array)];
    if (place_.kind == MemoryKind::Device) {
      DeviceCopy& copy = (reverse ? copies_back_ : copies_)[i];
      if (copy == nullptr)
        copy = reverse ? compile_device_copy(piece.mine, place_, piece.theirs, place_)
                       : compile_device_copy(piece.theirs, place_, piece.mine, place_);
      auto launch = reverse ? Together::get().add(place_.device, copy, sent, received)
                            : Together::get().add(place_.device, copy, received, sent);
      if (running_.empty() || running_.back() != launch) running_.push_back(std::move(launch));
    } else if (reverse) {
      copy_back(i, sent, received, combine_of(combine, piece.array));
    } else {
      if (!plans_[i]) plans_[i] = CopyPlan::compile(piece.theirs, Place{}, piece.mine, Place{});
      plans_[i]->run(received, sent);
    }
  }
}

void OwnCopies::copy_back(std::size_t i, std::byte* sent, const std::byte* received,
                          const Combine& how) {
  const Piece& piece = pieces_[i];
  const std::int64_t bytes = piece.theirs.size_bytes();
  scratch_.resize(static_cast<std::size_t>(bytes));  // aligned for any value by its allocator
  if (!packs_[i])
    packs_[i] = CopyPlan::compile(Layout::dense(bytes), Place{}, piece.theirs, Place{});
  packs_[i]->run(scratch_.data(), received);
  const auto replace = [](std::byte* there, const std::byte* came, std::int64_t length) {
    std::copy(came, came + length, there);
  };
  combine_packed(piece.mine, sent, scratch_.data(), how ? how : replace);
}

bool OwnCopies::idle() {
  for (const auto& launch : running_)
    if (!launch->done()) return false;
  running_.clear();
  return true;
}

}  // namespace strake::exchange::planned
