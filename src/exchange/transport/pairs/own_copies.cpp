#include "exchange/transport/pairs/own_copies.hpp"

#include <algorithm>
#include <utility>

namespace strake::exchange::planned {

OwnCopies::OwnCopies(std::vector<Piece> pieces)
    : pieces_(std::move(pieces)), plans_(pieces_.size()), packs_(pieces_.size()) {}

void OwnCopies::run(Bases bases, bool reverse, std::span<const Combine> combine) {
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const Piece& piece = pieces_[i];
    std::byte* const sent = bases[static_cast<std::size_t>(piece.array)];
    std::byte* const received = bases[static_cast<std::size_t>(piece.their_array)];
    if (reverse) {
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

}  // namespace strake::exchange::planned
