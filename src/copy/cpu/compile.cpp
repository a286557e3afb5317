#include "copy/cpu/compile.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace strake::cpu {
namespace {

/// With fewer bytes a thread costs more than it saves.
constexpr std::int64_t kThreadedBytes = std::int64_t{8} << 20;
/// Children of at most this many blocks are moved field by field.
constexpr std::int64_t kRecordFields = 64;

/// Fewer runs are moved as windows.
constexpr std::int64_t kManyRuns = 1000;

/// Compiles a copy of so many bytes with one set of kernels.
class Compiler {
 public:
  Compiler(const Kernels& kernels, std::int64_t bytes) : kernels_(kernels), bytes_(bytes) {}

  /// Layout to layout.
  OpPtr join(const Layout& to, const Layout& from) const;
  /// One dense side, at offset 0.
  OpPtr build(CopyKind kind, const Layout& strided) const;

 private:
  OpPtr nest(std::int64_t block, const std::vector<Loop>& loops, std::int64_t to_offset,
             std::int64_t from_offset) const;
  OpPtr box(CopyKind kind, const Layout& layout) const;
  OpPtr list(CopyKind kind, const Layout& blocks) const;
  OpPtr repeat(CopyKind kind, const Layout& layout) const;
  OpPtr sequence(CopyKind kind, const Layout& layout) const;
  OpPtr in_sequence(CopyKind kind, std::span<const Layout> parts) const;
  OpPtr join_boxes(const Layout& to, const Layout& from) const;
  OpPtr join_sequences(const Layout& to, const Layout& from) const;

  const Kernels& kernels_;
  std::int64_t bytes_;
};

/// A loop from the strides of the dense and the strided side.
Loop loop_of_sides(CopyKind kind, std::int64_t count, std::int64_t dense, std::int64_t strided) {
  return kind == CopyKind::Pack ? Loop{count, dense, strided} : Loop{count, strided, dense};
}

/// Loops of a box around its blocks, innermost first.
std::vector<Loop> loops_of(CopyKind kind, const Layout& box) {
  std::vector<Loop> loops;
  std::int64_t packed = box.block_bytes();
  const auto dims = box.dims();
  for (auto dim = dims.rbegin(); dim != dims.rend(); ++dim) {
    loops.push_back(loop_of_sides(kind, dim->count, packed, dim->stride_bytes));
    packed *= dim->count;
  }
  return loops;
}

OpPtr Compiler::nest(std::int64_t block, const std::vector<Loop>& loops, std::int64_t to_offset,
                     std::int64_t from_offset) const {
  Nest inner;
  inner.block = block;
  inner.whole_bytes = bytes_;
  std::size_t k = 0;
  for (; k < loops.size() && k < kNestLoops; ++k) inner.loops[k] = loops[k];
  OpPtr op = std::make_unique<NestOp>(*kernels_.nest, inner, to_offset, from_offset);
  for (; k < loops.size(); ++k) {
    op = std::make_unique<RepeatOp>(std::move(op), loops[k].count, loops[k].to, loops[k].from);
  }
  return op;
}

/// Whether a box has so few blocks that its loops cost more than a list of them: the corner of a
/// grid, an edge of a few cells. Measured on 3 x 3 blocks of 24 B: 16 ns, as a list 8 ns.
bool is_handful(const Layout& box) {
  constexpr std::int64_t kFew = 64;
  constexpr std::int64_t kShortRow = 8;
  return box.dims().size() > 1 && box.block_count() <= kFew && box.block_bytes() <= kLongestBlock &&
         box.dims().back().count < kShortRow;
}

OpPtr Compiler::box(CopyKind kind, const Layout& layout) const {
  const bool pack = kind == CopyKind::Pack;
  const std::int64_t to_offset = pack ? 0 : layout.offset();
  const std::int64_t from_offset = pack ? layout.offset() : 0;
  if (layout.is_dense()) {
    return std::make_unique<DenseOp>(*kernels_.nest, layout.size_bytes(), to_offset, from_offset);
  }
  if (is_handful(layout)) {
    return std::make_unique<ListOp>(kernels_, kind, layout, layout.block_bytes());
  }
  return nest(layout.block_bytes(), loops_of(kind, layout), to_offset, from_offset);
}

/// The blocks of a record as moves; false where it is no short list of small boxes.
bool add_moves(CopyKind kind, const Layout& layout, std::int64_t at, std::int64_t& position,
               std::vector<RecordsOp::Move>& moves) {
  const std::int64_t offset = at + layout.offset();
  const auto add = [&](std::int64_t block_offset, std::int64_t block) -> RecordsOp::Move& {
    RecordsOp::Move move;
    move.nest.block = block;
    move.to = kind == CopyKind::Pack ? position : block_offset;
    move.from = kind == CopyKind::Pack ? block_offset : position;
    moves.push_back(move);
    return moves.back();
  };
  switch (layout.kind()) {
    case Layout::Kind::Empty:
      return true;
    case Layout::Kind::Box: {
      const std::vector<Loop> loops = loops_of(kind, layout);
      if (loops.size() >= kNestLoops) return false;
      RecordsOp::Move& move = add(offset, layout.block_bytes());
      for (std::size_t k = 0; k < loops.size(); ++k) move.nest.loops[k + 1] = loops[k];
      position += layout.size_bytes();
      return true;
    }
    case Layout::Kind::Blocks:
      layout.shifted(at).for_each_block([&](std::int64_t block_offset, std::int64_t block) {
        add(block_offset, block);
        position += block;
      });
      return true;
    case Layout::Kind::Sequence:
      for (const Layout& part : layout.parts()) {
        if (!add_moves(kind, part, offset, position, moves)) return false;
      }
      return true;
    case Layout::Kind::Repeat:
      return false;
  }
  return false;
}

/// The greatest common divisor, fast if it is `unit` itself, as in most cases.
std::int64_t common_unit(std::int64_t unit, std::int64_t length) {
  return unit != 0 && length % unit == 0 ? unit : std::gcd(unit, length);
}

/// The common length of all blocks, or of pieces that they can be cut into: with one length no
/// branch depends on it, which outweighs more copies. 0 if there is none. Measured on 3000 pieces
/// of 24 B in 1221 and in 587 blocks (us, unpacked; Zen 4 and an Intel Xeon): 2.4 and 3.4, as
/// blocks of their own lengths 4.2 and 4.1; 1.8 and 3.0, 1.9 and 3.2.
std::int64_t piece_of(const Layout& blocks) {
  constexpr std::int64_t kMostOfABlock = 4;
  std::int64_t unit = blocks.block_bytes();
  if (!blocks.block_positions().empty()) {
    unit = 0;
    for (const std::int64_t position : blocks.block_positions()) {
      unit = common_unit(unit, position);
      if (unit != 0 && blocks.size_bytes() > kMostOfABlock * unit * blocks.block_count()) return 0;
    }
  }
  return unit <= kLongestBlock ? unit : 0;
}

/// Cuts the list where pieces would get shorter: for example after the positions of atoms, three
/// doubles each, if their other properties follow.
std::vector<Layout> parts_of_one_piece(const Layout& blocks) {
  constexpr std::size_t kWorthAnOp = 256;
  const auto offsets = blocks.block_offsets();
  const auto positions = blocks.block_positions();
  std::vector<Layout> parts;
  if (positions.empty()) return parts;
  const auto length = [&](std::size_t i) { return positions[i + 1] - positions[i]; };
  std::size_t begin = 0;
  const auto cut_at = [&](std::size_t end) {
    std::vector<std::int64_t> lengths;
    for (std::size_t i = begin; i < end; ++i) lengths.push_back(length(i));
    const Layout part = Layout::blocks(offsets.subspan(begin, end - begin), lengths);
    parts.push_back(part.shifted(blocks.offset()));
    begin = end;
  };
  std::int64_t unit = 0;
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const std::int64_t with_it = common_unit(unit, length(i));
    if (with_it != unit && i - begin >= kWorthAnOp) {
      cut_at(i);
      unit = length(i);
    } else {
      unit = with_it;
    }
  }
  if (begin != 0) cut_at(offsets.size());
  return parts;
}

OpPtr Compiler::list(CopyKind kind, const Layout& blocks) const {
  const std::vector<Layout> parts = parts_of_one_piece(blocks);
  if (!parts.empty()) return in_sequence(kind, parts);
  const std::int64_t unit = piece_of(blocks);
  std::int64_t most_windows = WindowsOp::worth(kernels_, kind, blocks, unit);
  OpPtr runs;
  const auto pack_runs = kind == CopyKind::Pack ? kernels_.list->pack_runs : nullptr;
  if (pack_runs != nullptr && !blocks.block_positions().empty()) {
    // Four windows take as long as five runs, if there are many of them.
    const std::int64_t most =
        unit != 0 ? most_windows * 5 / 4 : blocks.block_count() * kernels_.list->runs_for_two / 2;
    auto op = RunsOp::make(pack_runs, blocks, most);
    if (op != nullptr && op->count() >= kManyRuns) {
      most_windows = std::min(most_windows, op->count() * 4 / 5);
      runs = std::move(op);
    }
  }
  if (OpPtr windows = WindowsOp::make(kernels_, kind, blocks, most_windows)) return windows;
  if (runs != nullptr) return runs;
  return std::make_unique<ListOp>(kernels_, kind, blocks, unit);
}

OpPtr Compiler::repeat(CopyKind kind, const Layout& layout) const {
  const Dim dim = layout.dims()[0];
  const Layout child = layout.parts()[0].shifted(layout.offset());
  const Loop loop = loop_of_sides(kind, dim.count, child.size_bytes(), dim.stride_bytes);
  OpPtr op = build(kind, child);
  if (child.block_count() <= kRecordFields) {
    std::vector<RecordsOp::Move> moves;
    std::int64_t position = 0;
    if (add_moves(kind, child, 0, position, moves)) {
      return std::make_unique<RecordsOp>(*kernels_.nest, std::move(op), moves, dim.count, loop.to,
                                         loop.from);
    }
  }
  return std::make_unique<RepeatOp>(std::move(op), dim.count, loop.to, loop.from);
}

OpPtr Compiler::in_sequence(CopyKind kind, std::span<const Layout> parts) const {
  std::vector<SequenceOp::Member> members;
  members.reserve(parts.size());
  std::int64_t position = 0;
  for (const Layout& part : parts) {
    if (part.size_bytes() == 0) continue;
    SequenceOp::Member member;
    member.op = build(kind, part);
    (kind == CopyKind::Pack ? member.to : member.from) = position;
    member.position = position;
    position += part.size_bytes();
    members.push_back(std::move(member));
  }
  return std::make_unique<SequenceOp>(std::move(members), position);
}

OpPtr Compiler::sequence(CopyKind kind, const Layout& layout) const {
  std::vector<Layout> parts;
  parts.reserve(layout.parts().size());
  for (const Layout& part : layout.parts()) parts.push_back(part.shifted(layout.offset()));
  return in_sequence(kind, parts);
}

OpPtr Compiler::build(CopyKind kind, const Layout& strided) const {
  switch (strided.kind()) {
    case Layout::Kind::Blocks:
      return list(kind, strided);
    case Layout::Kind::Repeat:
      return repeat(kind, strided);
    case Layout::Kind::Sequence:
      return sequence(kind, strided);
    case Layout::Kind::Empty:
    case Layout::Kind::Box:
      break;
  }
  return box(kind, strided);
}

/// A box as loops over bytes: the block too is one, of stride 1.
std::vector<Dim> byte_dims(const Layout& box) {
  std::vector<Dim> dims = {{box.block_bytes(), 1}};
  dims.insert(dims.end(), box.dims().rbegin(), box.dims().rend());
  return dims;
}

/// The loops of two boxes in step, where each loop of the one is a whole number of loops of the
/// other.
std::optional<std::vector<Loop>> common_loops(std::vector<Dim> to, std::vector<Dim> from) {
  std::vector<Loop> loops;
  std::size_t t = 0;
  std::size_t f = 0;
  while (t < to.size() && f < from.size()) {
    const std::int64_t count = std::min(to[t].count, from[f].count);
    if (to[t].count % count != 0 || from[f].count % count != 0) return std::nullopt;
    loops.push_back({count, to[t].stride_bytes, from[f].stride_bytes});
    const auto take = [count](std::vector<Dim>& dims, std::size_t& at) {
      dims[at].count /= count;
      dims[at].stride_bytes *= count;
      if (dims[at].count == 1) ++at;
    };
    take(to, t);
    take(from, f);
  }
  return loops;
}

OpPtr Compiler::join_boxes(const Layout& to, const Layout& from) const {
  std::optional<std::vector<Loop>> loops = common_loops(byte_dims(to), byte_dims(from));
  if (!loops) return nullptr;
  const std::int64_t block = loops->front().count;
  loops->erase(loops->begin());
  return nest(block, *loops, to.offset(), from.offset());
}

OpPtr Compiler::join_sequences(const Layout& to, const Layout& from) const {
  const auto to_parts = to.parts();
  const auto from_parts = from.parts();
  if (to_parts.size() != from_parts.size()) return nullptr;
  std::vector<SequenceOp::Member> members;
  std::int64_t position = 0;
  for (std::size_t i = 0; i < to_parts.size(); ++i) {
    if (to_parts[i].size_bytes() != from_parts[i].size_bytes()) return nullptr;
    SequenceOp::Member member;
    member.op = join(to_parts[i].shifted(to.offset()), from_parts[i].shifted(from.offset()));
    member.position = position;
    position += to_parts[i].size_bytes();
    members.push_back(std::move(member));
  }
  return std::make_unique<SequenceOp>(std::move(members), position);
}

OpPtr Compiler::join(const Layout& to, const Layout& from) const {
  if (to.is_dense() && from.is_dense()) {
    return std::make_unique<DenseOp>(*kernels_.nest, to.size_bytes(), to.offset(), from.offset());
  }
  OpPtr op;
  if (to.kind() == Layout::Kind::Box && from.kind() == Layout::Kind::Box) op = join_boxes(to, from);
  if (to.kind() == Layout::Kind::Sequence && from.kind() == Layout::Kind::Sequence) {
    op = join_sequences(to, from);
  }
  if (to.kind() == Layout::Kind::Repeat && from.kind() == Layout::Kind::Repeat &&
      to.dims()[0].count == from.dims()[0].count) {
    op = std::make_unique<RepeatOp>(
        join(to.parts()[0].shifted(to.offset()), from.parts()[0].shifted(from.offset())),
        to.dims()[0].count, to.dims()[0].stride_bytes, from.dims()[0].stride_bytes);
  }
  if (op != nullptr) return op;
  return std::make_unique<BounceOp>(build(CopyKind::Pack, from), build(CopyKind::Unpack, to));
}

/// `op` behind a fixed shift of both bases.
OpPtr shifted(OpPtr op, std::int64_t to, std::int64_t from) {
  if (to == 0 && from == 0) return op;
  const std::int64_t size = op->size_bytes();
  std::vector<SequenceOp::Member> members;
  members.push_back({std::move(op), to, from, 0});
  return std::make_unique<SequenceOp>(std::move(members), size);
}

}  // namespace

OpPtr compile(const Layout& to, const Layout& from, Options options) {
  const Kernels& kernels = options.kernels != nullptr ? *options.kernels : default_kernels();
  const Compiler compiler(kernels, to.size_bytes());
  const bool pack = to.is_dense();
  const bool unpack = from.is_dense();
  OpPtr op;
  if (to.size_bytes() == 0) return std::make_unique<DenseOp>(*kernels.nest, 0, 0, 0);
  if (pack == unpack) {
    op = compiler.join(to, from);
  } else if (pack) {
    op = shifted(compiler.build(CopyKind::Pack, from), to.offset(), 0);
  } else {
    op = shifted(compiler.build(CopyKind::Unpack, to), 0, from.offset());
  }
  if (options.threads > 1 && op->size_bytes() > kThreadedBytes) {
    op = std::make_unique<ThreadsOp>(std::move(op), options.threads);
  }
  return op;
}

}  // namespace strake::cpu
