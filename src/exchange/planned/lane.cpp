#include "exchange/planned/lane.hpp"

#include <algorithm>

#include "exchange/in_place.hpp"

namespace strake::exchange::planned {
namespace {

constexpr std::int64_t kLine = 64;

const CopyPlan& compiled(std::optional<CopyPlan>& plan, const Layout& to, const Layout& from) {
  if (!plan) plan = CopyPlan::compile(to, Place{}, from, Place{});
  return *plan;
}

Layout packed_form(const Layout& layout) { return Layout::dense(layout.size_bytes()); }

}  // namespace

Lane::Lane(std::vector<Piece> pieces) : pieces_(std::move(pieces)), plans_(pieces_.size()) {
  for (const Piece& piece : pieces_) {
    packed_at_.push_back(packed_bytes_);
    size_bytes_ += piece.mine.size_bytes();
    packed_bytes_ += (piece.mine.size_bytes() + kLine - 1) / kLine * kLine;
    mine_in_place_.push_back(worth_reading_in_place(piece.mine));
    theirs_in_place_.push_back(worth_reading_in_place(piece.theirs));
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

std::int64_t Lane::bytes_in_place() const noexcept {
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < pieces_.size(); ++i)
    if (mine_in_place_[i]) bytes += pieces_[i].mine.size_bytes();
  return bytes;
}

void Lane::pack(Bases bases, std::byte* packed, bool all) {
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (!all && in_place_for_giver(i)) continue;
    const Piece& piece = pieces_[i];
    compiled(plans_[i].pack, packed_form(piece.mine), piece.mine)
        .run(packed + packed_at_[i], bases[static_cast<std::size_t>(piece.array)]);
  }
}

void Lane::take_piece(std::size_t i, Bases bases, const std::byte* from, bool there) {
  const Piece& piece = pieces_[i];
  const CopyPlan& plan = there ? compiled(plans_[i].pull, piece.mine, piece.theirs)
                               : compiled(plans_[i].unpack, piece.mine, packed_form(piece.mine));
  plan.run(bases[static_cast<std::size_t>(piece.array)], from);
}

void Lane::combine_piece(std::size_t i, Bases bases, const std::byte* from, bool there,
                         std::span<const Combine> combine) {
  const Piece& piece = pieces_[i];
  const Combine& how = combine_of(combine, piece.array);
  if (!how) return take_piece(i, bases, from, there);
  if (there) {
    // A line more, to begin at one: values are aligned then.
    scratch_.resize(static_cast<std::size_t>(piece.mine.size_bytes() + kLine));
    auto* const line = reinterpret_cast<std::byte*>(
        (reinterpret_cast<std::uintptr_t>(scratch_.data()) + kLine - 1) / kLine * kLine);
    compiled(plans_[i].pack_theirs, packed_form(piece.theirs), piece.theirs).run(line, from);
    from = line;
  }
  combine_packed(piece.mine, bases[static_cast<std::size_t>(piece.array)], from, how);
}

void combine_packed(const Layout& layout, std::byte* base, const std::byte* packed,
                    const Combine& combine) {
  layout.for_each_block([&](std::int64_t offset, std::int64_t bytes) {
    combine(base + offset, packed, bytes);
    packed += bytes;
  });
}

}  // namespace strake::exchange::planned
