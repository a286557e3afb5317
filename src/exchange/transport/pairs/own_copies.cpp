#include "exchange/transport/pairs/own_copies.hpp"

#include <algorithm>
#include <utility>

namespace strake::exchange::planned {

OwnCopies::OwnCopies(std::vector<MatchedTransfer> transfers)
    : transfers_(std::move(transfers)), plans_(transfers_.size()), packs_(transfers_.size()) {}

void OwnCopies::run(Bases bases, bool reverse, std::span<const Combine> combine) {
  for (std::size_t i = 0; i < transfers_.size(); ++i) {
    const MatchedTransfer& transfer = transfers_[i];
    std::byte* const sent = bases[static_cast<std::size_t>(transfer.array)];
    std::byte* const received = bases[static_cast<std::size_t>(transfer.their_array)];
    if (reverse) {
      copy_back(i, sent, received, combine_of(combine, transfer.array));
    } else {
      if (!plans_[i])
        plans_[i] = CopyPlan::compile(transfer.theirs, Place{}, transfer.mine, Place{});
      plans_[i]->run(received, sent);
    }
  }
}

void OwnCopies::copy_back(std::size_t i, std::byte* sent, const std::byte* received,
                          const Combine& how) {
  const MatchedTransfer& transfer = transfers_[i];
  const std::int64_t bytes = transfer.theirs.size_bytes();
  scratch_.resize(static_cast<std::size_t>(bytes));  // aligned for any value by its allocator
  if (!packs_[i])
    packs_[i] = CopyPlan::compile(Layout::dense(bytes), Place{}, transfer.theirs, Place{});
  packs_[i]->run(scratch_.data(), received);
  const auto replace = [](std::byte* there, const std::byte* came, std::int64_t length) {
    std::copy(came, came + length, there);
  };
  combine_packed(transfer.mine, sent, scratch_.data(), how ? how : replace);
}

}  // namespace strake::exchange::planned
