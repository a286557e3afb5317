#include "shapes.hpp"

#include <algorithm>
#include <numeric>

namespace random_program {
namespace {

constexpr int kWildTypes = 64;
constexpr int kWildCount = 5;  ///< elements that do not overlap each other, as RandomTypes sees to

constexpr std::size_t kKept = 32;

/// `size` elements of the leaf at a byte displacement.
struct Block {
  MPI_Aint at = 0;
  int size = 0;
};

void append(BuiltType& to, const Block& block, int leaf_bytes) {
  to.runs.push_back({block.at, std::int64_t{block.size} * leaf_bytes});
}

/// Blocks in a strided order; `size` divides the elements.
void strided(BuiltType& made, Draw& draw, int elements, int leaf_bytes) {
  int size = draw.number(std::max(1, elements / 20000), std::max(1, std::min(elements, 64)));
  size = std::max(size, elements / 20000);
  while (elements % size != 0) ++size;
  const int stride = leaf_bytes * (size + draw.number(1, 9));
  MPI_Type_create_hvector(elements / size, size, stride, leaf_type(leaf_bytes), &made.type);
  for (int i = 0; i < elements / size; ++i) append(made, {MPI_Aint{stride} * i, size}, leaf_bytes);
}

/// Blocks of unlike lengths with unlike gaps, in shuffled order now and then.
void indexed(BuiltType& made, Draw& draw, int elements, int leaf_bytes) {
  const int longest = std::max({1, elements / 4000, draw.number(1, 48)});
  const int first = draw.number(-3, 3);
  std::vector<Block> blocks;
  MPI_Aint place = MPI_Aint{first} * leaf_bytes;
  for (int left = elements; left > 0; left -= blocks.back().size) {
    blocks.push_back({place, std::min(left, draw.number(1, longest))});
    place += MPI_Aint{leaf_bytes} * (blocks.back().size + draw.number(0, 6));
  }
  if (draw.chance(40)) draw.shuffle(blocks);
  std::vector<int> sizes;
  std::vector<MPI_Aint> at;
  for (const Block& block : blocks) {
    sizes.push_back(block.size);
    at.push_back(block.at);
    append(made, block, leaf_bytes);
  }
  MPI_Type_create_hindexed(static_cast<int>(blocks.size()), sizes.data(), at.data(),
                           leaf_type(leaf_bytes), &made.type);
}

/// A strided part, a gap, then a dense part.
void structure(BuiltType& made, Draw& draw, int elements, int leaf_bytes) {
  const int before = elements / 2;
  BuiltType first;
  if (before > 0) {
    strided(first, draw, before, leaf_bytes);
    made.runs = first.runs;
  } else {
    first.type = MPI_BYTE;
  }
  const MPI_Aint end =
      before > 0 ? first.runs.back().offset + first.runs.back().length : MPI_Aint{0};
  const MPI_Aint at[] = {0, end + leaf_bytes * draw.number(1, 5)};
  const int lengths[] = {before > 0 ? 1 : 0, elements - before};
  const MPI_Datatype types[] = {first.type, leaf_type(leaf_bytes)};
  MPI_Type_create_struct(2, lengths, at, types, &made.type);
  if (before > 0) MPI_Type_free(&first.type);
  append(made, {at[1], lengths[1]}, leaf_bytes);
}

/// The middle of an array of two dimensions.
void subarray(BuiltType& made, Draw& draw, int elements, int leaf_bytes) {
  int columns = draw.number(1, std::max(1, std::min(elements, 128)));
  columns = std::max(columns, elements / 20000);
  while (elements % columns != 0) ++columns;
  const int rows = elements / columns;
  const int row = draw.number(0, 2), column = draw.number(0, 3);
  const int all_rows = rows + row + draw.number(0, 1);
  const int all_columns = columns + column + draw.number(0, 2);
  const bool c_order = draw.chance(60);
  const int sizes[] = {c_order ? all_rows : all_columns, c_order ? all_columns : all_rows};
  const int parts[] = {c_order ? rows : columns, c_order ? columns : rows};
  const int starts[] = {c_order ? row : column, c_order ? column : row};
  MPI_Type_create_subarray(2, sizes, parts, starts, c_order ? MPI_ORDER_C : MPI_ORDER_FORTRAN,
                           leaf_type(leaf_bytes), &made.type);
  for (int i = 0; i < rows; ++i) {
    const MPI_Aint place = MPI_Aint{row + i} * all_columns + column;
    append(made, {place * leaf_bytes, columns}, leaf_bytes);
  }
}

}  // namespace

MPI_Datatype leaf_type(int leaf_bytes) {
  return leaf_bytes == 8 ? MPI_DOUBLE : leaf_bytes == 4 ? MPI_INT : MPI_BYTE;
}

Shapes::Shapes(std::uint64_t seed) {
  strake::test::RandomTypeOptions options;
  options.receivable = true;
  options.bytes_only = true;
  options.allow_empty = false;
  options.forwards = true;  // Open MPI 4.1 alone goes astray where extents lead back
  strake::test::RandomTypes types(seed, options);
  while (wild_.size() < kWildTypes) wild_.push_back(types.next());
}

Shape Shapes::draw(Draw& draw, std::int64_t bytes, int leaf_bytes) {
  Shape shape;
  shape.leaf_bytes = leaf_bytes;
  shape.form = static_cast<Form>(draw.number(0, static_cast<int>(Form::kSubarray)));
  shape.seed = static_cast<std::uint64_t>(draw.between(0, 1 << 30));
  shape.count = draw.number(1, 4);
  const bool is_none = draw.chance(50);
  if (shape.form == Form::kPlain) {
    shape.element_bytes = leaf_bytes;
    shape.count = static_cast<int>(bytes / leaf_bytes);
  } else if (bytes == 0) {
    shape.element_bytes = std::int64_t{leaf_bytes} * (is_none ? 7 : 700);
    shape.count = 0;
  } else {
    if (bytes % (shape.count * leaf_bytes) != 0) shape.count = 1;
    shape.element_bytes = bytes / shape.count;
  }
  return shape;
}

Shape Shapes::draw_wild(Draw& draw, std::int64_t bytes) const {
  const std::size_t i = draw.index(wild_.size());
  const std::int64_t fit = bytes / wild_[i].size;
  const int count = draw.number(1, kWildCount);
  if (fit == 0) return Shapes::draw(draw, bytes, 1);
  Shape shape;
  shape.form = Form::kWild;
  shape.seed = i;
  shape.element_bytes = wild_[i].size;
  shape.count = static_cast<int>(std::min<std::int64_t>(count, fit));
  shape.is_kept = draw.chance(60);
  return shape;
}

std::shared_ptr<BuiltType> Shapes::build(const Shape& shape) {
  if (!shape.is_kept) return build_anew(shape);
  const auto is_alike = [&](const Kept& kept) {
    return kept.shape.form == shape.form && kept.shape.seed == shape.seed &&
           kept.shape.element_bytes == shape.element_bytes;
  };
  const auto found = std::find_if(kept_.begin(), kept_.end(), is_alike);
  if (found == kept_.end()) {
    kept_.push_back({shape, build_anew(shape)});
  } else {
    std::rotate(found, found + 1, kept_.end());
  }
  if (kept_.size() > kKept) {
    kept_.front().type->free();  // perhaps in flight
    kept_.erase(kept_.begin());
  }
  return kept_.back().type;
}

std::shared_ptr<BuiltType> Shapes::build_anew(const Shape& shape) const {
  auto made = std::make_shared<BuiltType>();
  const int leaf_bytes = shape.leaf_bytes;
  const auto elements = static_cast<int>(shape.element_bytes / leaf_bytes);
  Draw draw(shape.seed);
  made->is_owned = true;
  switch (shape.form) {
    case Form::kPlain:
      made->type = leaf_type(leaf_bytes);
      made->is_owned = false;
      made->runs = {{0, leaf_bytes}};
      made->extent = leaf_bytes;
      return made;
    case Form::kWild:
      MPI_Type_dup(wild_[shape.seed].type, &made->type);
      made->runs = wild_[shape.seed].runs;
      made->extent = wild_[shape.seed].extent;
      return made;
    case Form::kDense:
      MPI_Type_contiguous(elements, leaf_type(leaf_bytes), &made->type);
      append(*made, {0, elements}, leaf_bytes);
      break;
    case Form::kStrided:
      strided(*made, draw, elements, leaf_bytes);
      break;
    case Form::kIndexed:
      indexed(*made, draw, elements, leaf_bytes);
      break;
    case Form::kStruct:
      structure(*made, draw, elements, leaf_bytes);
      break;
    case Form::kSubarray:
      subarray(*made, draw, elements, leaf_bytes);
      break;
  }
  MPI_Type_commit(&made->type);
  MPI_Aint lb = 0, extent = 0;
  MPI_Type_get_extent(made->type, &lb, &extent);
  made->extent = extent;
  return made;
}

}  // namespace random_program
