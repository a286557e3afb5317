#include "random_side.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace random_collectives {
namespace {

/// Wild elements do not overlap each other up to so many.
constexpr std::size_t kWildElements = 5;

}  // namespace

Side::Side(const Call& call, Shapes& shapes, Draw& draw, Memory memory, const Piece& unit,
           std::vector<Part> parts, bool has_displacements)
    : call_(call), parts_(std::move(parts)), blocks_(parts_.size()) {
  Draw common(mix({call.id, 13}));
  Draw& of_type = is_described_alike(call.function) ? common : draw;
  const auto build = [&](const Piece& piece, bool may_be_wild, int& elements) {
    const Shape shape = draw_shape(of_type, piece, may_be_wild);
    elements = shape.count;
    std::shared_ptr<BuiltType> made = shapes.build(shape);
    if (!shape.is_kept) own_types_.push_back(made);
    return made;
  };
  if (has_types(call.function)) {
    for (std::size_t b = 0; b < parts_.size(); ++b) {
      const Piece piece = call.piece(shapes, parts_[b].source, parts_[b].destination);
      blocks_[b].type = build(piece, true, blocks_[b].count);
    }
    lay_out_by_bytes(draw);
  } else {
    int elements = 0;
    const bool may_be_wild = has_displacements || parts_.size() <= kWildElements;
    element_ = build(unit, may_be_wild && !is_described_alike(call.function), elements);
    for (std::size_t b = 0; b < parts_.size(); ++b) {
      blocks_[b].type = element_;
      blocks_[b].count = elements * call.units(parts_[b].source, parts_[b].destination);
    }
    count = elements * call.most_units;
    type = element_->type;
    lay_out_by_extent(draw, *element_, has_displacements);
  }
  for (const Block& block : blocks_) {
    counts.push_back(block.count);
    types.push_back(block.type->type);
    offsets.push_back(static_cast<MPI_Aint>(block.at));
    byte_displacements.push_back(static_cast<int>(block.at));
    displacements.push_back(static_cast<int>(
        element_ == nullptr ? 0 : block.at / std::max<std::int64_t>(element_->extent, 1)));
  }
  // Open MPI 4.1 wants an address of arrays without elements, and reads as many datatypes of
  // MPI_Ialltoallw as there are neighbours, if any.
  constexpr std::size_t kMore = 64;
  types.resize(types.size() + kMore, MPI_BYTE);
  offsets.resize(offsets.size() + kMore);
  for (auto* const each : {&counts, &displacements, &byte_displacements})
    each->resize(each->size() + kMore);
  if (type == MPI_DATATYPE_NULL) type = MPI_BYTE;
  buffer_ = std::make_unique<Buffer>(blocks_, memory);
  address = buffer_->data();
}

/// Blocks one after another; or with gaps, in any order, from before the address on.
void Side::lay_out_by_extent(Draw& draw, const BuiltType& element, bool has_gaps) {
  std::vector<std::size_t> order(blocks_.size());
  std::iota(order.begin(), order.end(), 0U);
  if (has_gaps && draw.chance(50)) draw.shuffle(order);
  std::int64_t place = has_gaps ? draw.number(-2, 2) : 0;
  std::int64_t end = INT64_MIN;
  for (const std::size_t b : order) {
    Block& block = blocks_[b];
    if (has_gaps) {
      place += draw.chance(30) ? draw.number(1, 3) : 0;
      const Span span = span_of(element, block.count);
      while (end != INT64_MIN && place * element.extent + span.low < end)
        place += (end - place * element.extent - span.low + element.extent - 1) / element.extent;
      if (block.count > 0) end = place * element.extent + span.high;
    }
    block.at = place * element.extent;
    place += block.count;
  }
}

void Side::lay_out_by_bytes(Draw& draw) {
  std::vector<std::size_t> order(blocks_.size());
  std::iota(order.begin(), order.end(), 0U);
  if (draw.chance(50)) draw.shuffle(order);
  constexpr std::int64_t kAlignment = 16;  // of any leaf
  std::int64_t end = -kAlignment * draw.number(0, 20);
  for (const std::size_t b : order) {
    Block& block = blocks_[b];
    const Span span = span_of(*block.type, block.count);
    const std::int64_t begin = end + (draw.chance(60) ? 0 : draw.number(1, 200)) - span.low;
    block.at = (begin & -kAlignment) + (begin % kAlignment != 0 ? kAlignment : 0);
    if (block.count > 0) end = block.at + span.high;
  }
}

void Side::write(int round) {
  buffer_->expect_poison();
  for (std::size_t b = 0; b < parts_.size(); ++b) {
    const Part& part = parts_[b];
    if (part.is_null) continue;
    buffer_->expect(b, call_.message(round, part.source, part.destination, part.edge));
  }
  buffer_->write();
}

void Side::clear() {
  buffer_->expect_poison();
  buffer_->write();
}

std::string Side::check_unchanged() {
  buffer_->read();
  return buffer_->difference();
}

bool Side::expect_any(std::size_t b, int round, std::vector<bool>& is_taken, std::uint64_t& edges) {
  const Part& part = parts_[b];
  is_taken.resize(static_cast<std::size_t>(part.alike));
  for (int edge = 0; edge < part.alike; ++edge) {
    const std::uint64_t message = call_.message(round, part.source, part.destination, edge);
    if (is_taken[static_cast<std::size_t>(edge)] || !buffer_->holds(b, message)) continue;
    is_taken[static_cast<std::size_t>(edge)] = true;
    buffer_->expect(b, message);
    // A sum: calls complete in any order.
    edges +=
        mix({call_.id, static_cast<std::uint64_t>(round), b, static_cast<std::uint64_t>(edge)});
    return true;
  }
  return false;
}

std::string Side::check_received(int round, std::uint64_t& edges) {
  buffer_->read();
  buffer_->expect_poison();
  std::map<int, std::vector<bool>> is_taken;  // by source
  for (std::size_t b = 0; b < parts_.size(); ++b) {
    const Part& part = parts_[b];
    constexpr std::int64_t kTelling = 8;  // bytes that are different in different messages
    if (part.is_null) continue;
    if (part.alike == 1) {
      buffer_->expect(b, call_.message(round, part.source, part.destination, part.edge));
    } else if (blocks_[b].bytes() < kTelling) {
      buffer_->expect_anything(b);
    } else if (!expect_any(b, round, is_taken[part.source], edges)) {
      return "block " + std::to_string(b) + " holds no message of rank " +
             std::to_string(part.source) + " of the world";
    }
  }
  return buffer_->difference();
}

void Side::free_types() {
  for (const auto& each : own_types_) each->free();
}

}  // namespace random_collectives
