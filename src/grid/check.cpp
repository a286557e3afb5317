#include "grid/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "strake/error.hpp"

namespace strake {
namespace {

/// A word of poison, from its highest bit on: a sign, which programs may change; twelve bits that
/// make one word a quiet NaN as a float, and two of them one as a double; a mark of four bits; ten
/// of the field's number, and five of the direction's.
constexpr std::uint32_t kMark = 0x7FFD'0000;
constexpr std::uint32_t kMarkBits = 0x7FFF'8000;
constexpr std::uint32_t kSign = 0x8000'0000;
constexpr int kDirectionBits = 5;
constexpr std::uint32_t kFields = 1024;
constexpr std::int64_t kWord = sizeof(std::uint32_t);

/// Bytes of an element that are searched for poison as one: 8 or 4, the most that divides a number,
/// or the element if it holds no numbers or short ones. 0: none are searched.
std::int64_t unit_of(const FieldHandle::Data& field) noexcept {
  const std::int64_t number = field.type.name == nullptr ? 0 : field.bytes / field.type.components;
  const std::int64_t whole = number >= kWord ? number : field.bytes;
  return whole % (2 * kWord) == 0 ? 2 * kWord : whole % kWord == 0 ? kWord : 0;
}

std::string text_of(const Index3& at) { return fmt::format("({}, {}, {})", at[0], at[1], at[2]); }

/// Returns the element that holds this byte of a buffer, or would hold it if rows went on.
Index3 coordinates_of(const FieldHandle::Data::Part& field, std::int64_t offset) noexcept {
  constexpr std::int64_t kBefore = 2;  // a fence has fewer planes before the first one
  const std::int64_t from = offset - field.first + kBefore * field.stride_z;
  const std::int64_t z = from / field.stride_z - kBefore;
  const std::int64_t y = from % field.stride_z / field.stride_y;
  const std::int64_t x = from % field.stride_z % field.stride_y / field.bytes;
  return {x + field.stored.lower[0], y + field.stored.lower[1], z + field.stored.lower[2]};
}

/// `bytes` bytes of poison that name a field and a direction.
std::vector<std::byte> poison_of(std::uint32_t field, std::uint32_t direction, std::int64_t bytes) {
  const std::uint32_t word = kMark | field << kDirectionBits | direction;
  std::vector<std::byte> poison(static_cast<std::size_t>(bytes));
  for (std::size_t i = 0; i < poison.size(); i += sizeof(word))
    std::memcpy(&poison[i], &word, std::min(sizeof(word), poison.size() - i));
  return poison;
}

/// Where the byte is that is number `position` in packed order.
std::int64_t offset_at(const Layout& layout, std::int64_t position) {
  std::int64_t found = 0;
  layout.for_each_block([&](std::int64_t offset, std::int64_t length) {
    if (position >= 0 && position < length) found = offset + position;
    position -= length;
  });
  return found;
}

}  // namespace

Grid::Impl::Check::Cells Grid::Impl::Check::cells_of(const Wanted& wanted,
                                                     const ExchangePart::Transfer& transfer,
                                                     const std::vector<std::byte*>& bases) const {
  const auto array = static_cast<std::size_t>(transfer.array);
  const auto number = static_cast<std::size_t>(wanted.fields[array / grid_.places.size()]);
  return {grid_.fields[number].get(), array % grid_.places.size(), bases[array], transfer, {}, {}};
}

std::vector<std::byte> Grid::Impl::Check::read(std::size_t subgrid, const Layout& layout,
                                               const std::byte* base) const {
  std::vector<std::byte> values(static_cast<std::size_t>(layout.size_bytes()));
  CopyPlan::compile(Layout::dense(layout.size_bytes()), Place{}, layout, grid_.places[subgrid])
      .run(values.data(), base);
  return values;
}

void Grid::Impl::Check::write(const Cells& there, const std::vector<std::byte>& values) const {
  CopyPlan::compile(there.transfer.layout, grid_.places[there.subgrid],
                    Layout::dense(there.transfer.layout.size_bytes()), Place{})
      .run(there.base, values.data());
}

void Grid::Impl::Check::fence(const Data& field) {
  const std::size_t number = grid_.fields.size();
  if (number >= kFields) return;
  for (std::size_t i = 0; i < field.parts.size(); ++i) {
    const Data::Part& part = field.parts[i];
    const Layout layout = part.fence();
    const std::int64_t bytes = layout.size_bytes();
    if (bytes == 0) continue;
    const std::vector<std::byte> poison =
        poison_of(static_cast<std::uint32_t>(number), Direction{}.number(), bytes);
    const Layout packed = Layout::dense(bytes);
    const CopyPlan fill = CopyPlan::compile(layout, grid_.places[i], packed, Place{});
    for (const std::size_t which : {0U, 1U})
      if (part.buffer(which) != nullptr) fill.run(part.buffer(which), poison.data());
    fences_.insert_or_assign(
        &part,
        Fence{layout, CopyPlan::compile(packed, Place{}, layout, grid_.places[i]), poison, poison});
  }
}

void Grid::Impl::Check::refuse(const std::string& what) const {
  grid_.give_up();
  throw Error(fmt::format("STRAKE_CHECK, rank {}: {}", grid_.rank, what));
}

void Grid::Impl::Check::before_start(const Wanted& wanted, const Exchange& exchange,
                                     std::span<Stream> after) {
  for (const Stream& stream : after) stream.synchronize();
  look();
  const ExchangePart part = grid_.part_of(wanted);
  const std::vector<std::byte*> bases = grid_.bases(wanted);
  Begun& begun = begun_[&exchange];
  begun = {};
  for (const ExchangePart::Transfer& out : part.sends()) {
    Cells& sent = begun.sent.emplace_back(cells_of(wanted, out, bases));
    sent.values = read(sent.subgrid, out.layout, sent.base);
  }
  for (const ExchangePart::Transfer& in : part.receives()) {
    Cells coming = cells_of(wanted, in, bases);
    const auto number = static_cast<std::uint32_t>(
        wanted.fields[static_cast<std::size_t>(in.array) / grid_.places.size()]);
    if (number >= kFields) continue;
    const std::uint32_t direction = static_cast<std::uint32_t>(in.tag % kDirectionNumbers);
    coming.poison = poison_of(number, direction, in.layout.size_bytes());
    write(coming, coming.poison);
    begun.coming.push_back(std::move(coming));
  }
}

void Grid::Impl::Check::hide() {
  for (auto& [exchange, begun] : begun_) {
    for (Cells& in : begun.coming) {
      // A device may be about to write there.
      if (!in.values.empty() || !grid_.places[in.subgrid].in_host_memory()) continue;
      std::vector<std::byte> now = read(in.subgrid, in.transfer.layout, in.base);
      if (now == in.poison) continue;
      in.values = std::move(now);
      write(in, in.poison);
    }
  }
}

void Grid::Impl::Check::show(const Exchange& exchange, int peer) {
  const auto known = begun_.find(&exchange);
  if (known == begun_.end()) return;
  std::erase_if(known->second.coming, [&](const Cells& in) {
    if (in.transfer.peer != peer) return false;
    if (!in.values.empty()) write(in, in.values);
    return true;
  });
}

void Grid::Impl::Check::end(const Exchange& exchange) {
  const auto known = begun_.find(&exchange);
  if (known == begun_.end()) return;
  const Begun begun = std::move(known->second);
  begun_.erase(known);
  for (const Cells& in : begun.coming)
    if (!in.values.empty()) write(in, in.values);
  for (const Cells& out : begun.sent) {
    const std::vector<std::byte> now = read(out.subgrid, out.transfer.layout, out.base);
    const auto [was, is] = std::ranges::mismatch(out.values, now);
    if (is == now.end()) continue;
    look();  // an early read says more
    const Index3 at = coordinates_of(out.field->parts[out.subgrid],
                                     offset_at(out.transfer.layout, is - now.begin()));
    // The tag has the direction in which the receiver sees this rank.
    const Direction there = -Direction::of_number(out.transfer.tag % kDirectionNumbers);
    refuse(
        fmt::format("field '{}', cell {}: changed between exchange() and the end of wait(), "
                    "while it was sent to rank {} in direction {}",
                    out.field->name, text_of(at), out.transfer.peer, grid::name_of(there)));
  }
}

std::optional<Grid::Impl::Check::Origin> Grid::Impl::Check::origin_of(const std::byte* word,
                                                                      std::int64_t bytes) const {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  std::memcpy(&first, word, sizeof(first));
  std::memcpy(&last, word + bytes - kWord, sizeof(last));
  first &= ~kSign;
  if (first != (last & ~kSign) || (first & kMarkBits) != kMark) return std::nullopt;
  const std::size_t number = (first & ~kMarkBits) >> kDirectionBits;
  const std::uint32_t direction = first & ((1U << kDirectionBits) - 1);
  if (number >= grid_.fields.size() || direction >= kDirectionNumbers) return std::nullopt;
  return Origin{grid_.fields[number].get(), Direction::of_number(static_cast<int>(direction))};
}

/// Whether the stencil of the origin's field reaches from `at` to a ghost cell in the origin's
/// direction. No stencil reaches a fence.
bool Grid::Impl::Check::may_reach(const Origin& origin, const Box& owned, const Index3& at) const {
  if (origin.direction == Direction{}) return false;
  const grid::Depths depths = grid::depths_of(origin.field->radius, grid_.axes);
  const int deepest = std::max(std::ranges::max(depths.below), std::ranges::max(depths.above));
  return border(owned, origin.direction, deepest).contains(at[0], at[1], at[2]);
}

void Grid::Impl::Check::look(const Data& field, std::size_t subgrid, bool next) const {
  const Data::Part& part = field.parts[subgrid];
  const std::int64_t unit = unit_of(field);
  if (unit == 0 || part.owned.empty()) return;
  // A whole number may have any 32 bits by chance. A NaN with this payload is no chance.
  const bool by_chance = unit == kWord && (field.type.name == nullptr ||
                                           std::string_view(field.type.name) != "Float32");
  const std::vector<std::byte> values = read(subgrid, part.layout_of(part.owned),
                                             part.buffer(next ? 1 - field.current : field.current));
  std::optional<Origin> first;
  Index3 where{};
  std::int64_t cells = 0;
  const std::byte* element = values.data();
  for_each_cell(part.owned, [&](std::int64_t i, std::int64_t j, std::int64_t k) {
    const Index3 at{i, j, k};
    std::optional<Origin> found;
    for (std::int64_t byte = 0; byte < field.bytes && !found; byte += unit) {
      found = origin_of(element + byte, unit);
      if (found && by_chance && !may_reach(*found, part.owned, at)) found.reset();
    }
    element += field.bytes;
    if (!found) return;
    if (cells++ > 0) return;
    first = found;
    where = at;
  });
  if (!first) return;
  if (first->direction == Direction{})
    refuse(fmt::format(
        "field '{}', cell {}{}: computed from beside the cells that field '{}' stores ({} "
        "such cells of '{}')",
        field.name, text_of(where), next ? " of the next values" : "", first->field->name, cells,
        field.name));
  refuse(fmt::format(
      "field '{}', cell {}{}: computed from a ghost cell of field '{}' in direction {} that "
      "was read before it had come, so before wait() returned ({} such cells of '{}')",
      field.name, text_of(where), next ? " of the next values" : "", first->field->name,
      grid::name_of(first->direction), cells, field.name));
}

void Grid::Impl::Check::look_at_fence(const Data& field, std::size_t subgrid, bool next) {
  const Data::Part& part = field.parts[subgrid];
  const auto known = fences_.find(&part);
  if (known == fences_.end()) return;
  Fence& fence = known->second;
  fence.read.run(fence.now.data(), part.buffer(next ? 1 - field.current : field.current));
  if (fence.now == fence.poison) return;
  const auto changed = std::ranges::mismatch(fence.poison, fence.now).in2;
  const std::int64_t offset = offset_at(fence.layout, changed - fence.now.begin());
  refuse(fmt::format("field '{}'{}: written near cell {}, beside the cells {} that it stores",
                     field.name, next ? ", next values" : "", text_of(coordinates_of(part, offset)),
                     grid::bounds_of(part.stored)));
}

void Grid::Impl::Check::swap() {
  look();
  begun_.clear();  // of what has ended, and the program never asked
}

void Grid::Impl::Check::look() {
  for (const auto& field : grid_.fields)
    for (std::size_t subgrid = 0; subgrid < field->parts.size(); ++subgrid)
      for (const bool next : {false, true})
        if (!next || field->options.next) {
          look_at_fence(*field, subgrid, next);
          look(*field, subgrid, next);
        }
}

}  // namespace strake
