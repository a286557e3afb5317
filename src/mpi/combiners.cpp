#include "mpi/combiners.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "layout/darray.hpp"
#include "layout/node.hpp"
#include "strake/error.hpp"

namespace strake::mpi {
namespace {

// `n` neighbours.
Layout run(const Element& e, std::int64_t n) { return e.layout.repeated(n, e.extent); }

// `dims` (outermost first) of an element.
Layout nest(const Element& e, std::span<const Dim> dims) {
  if (e.layout.is_dense()) return Layout::box(e.layout.offset(), e.layout.size_bytes(), dims);
  Layout layout = e.layout;
  for (auto dim = dims.rbegin(); dim != dims.rend(); ++dim) {
    layout = layout.repeated(dim->count, dim->stride_bytes);
  }
  return layout;
}

Layout vector_of(const Element& e, std::int64_t count, std::int64_t blocklength,
                 std::int64_t stride_bytes) {
  const Dim dims[] = {{count, stride_bytes}, {blocklength, e.extent}};
  return nest(e, dims);
}

// Collects elements at displacements, in order. Elements of few blocks are kept as two numbers for
// each block, without an allocation; elements of many blocks become a part of their own.
class Pieces {
 public:
  Pieces(Descent& descent, std::int64_t size) : descent_(descent), paid_(size) {
    runs_.reserve(static_cast<std::size_t>(size));
  }
  void add(const Element& e, std::int64_t n, std::int64_t displacement) {
    const std::int64_t size = e.layout.size_bytes();
    if (n == 0 || size == 0) return;
    if (e.layout.is_dense() && (n == 1 || e.extent == size)) {
      runs_.append(displacement + e.layout.offset(), n * size);
      return;
    }
    // A part takes about as much memory as 16 listed blocks, and an allocation.
    constexpr std::int64_t kListed = 16;
    if (n <= kListed && e.layout.block_count() <= kListed / n) {
      for (std::int64_t i = 0; i < n; ++i) {
        e.layout.for_each_block([&](std::int64_t offset, std::int64_t length) {
          runs_.append(displacement + i * e.extent + offset, length);
        });
      }
      return;
    }
    flush();
    // Most lists repeat their block length, so the part made last may be used again.
    if (n != last_n_ || &e != last_element_) {
      last_ = run(e, n);
      last_n_ = n;
      last_element_ = &e;
    }
    parts_.push_back(last_.shifted(displacement));
  }
  [[nodiscard]] Layout finish() {
    if (parts_.empty()) return compressed();
    flush();
    if (const auto repeated = LayoutBuilder::equal_parts(parts_)) return *repeated;
    std::int64_t blocks = 0;
    for (const Layout& part : parts_) {
      blocks += std::min(part.block_count(), LayoutBuilder::kMaxRuns);
    }
    return descent_.afford(blocks) ? Layout::sequence(parts_) : Layout();
  }

 private:
  void flush() {
    if (runs_.runs().empty()) return;
    parts_.push_back(compressed());
    runs_.clear();
  }
  Layout compressed() {
    const auto blocks = static_cast<std::int64_t>(runs_.runs().size());
    const std::int64_t beyond = std::max<std::int64_t>(blocks - paid_, 0);
    paid_ = std::max<std::int64_t>(paid_ - blocks, 0);
    return descent_.afford(beyond) ? LayoutBuilder::compress(runs_.runs()) : Layout();
  }

  Descent& descent_;
  std::int64_t paid_;  ///< blocks that were paid for as arguments
  RunList runs_;
  std::vector<Layout> parts_;
  Layout last_;
  std::int64_t last_n_ = 0;
  const Element* last_element_ = nullptr;
};

// `unit_bytes` is what a displacement counts: the extent for indexed, 1 where displacements are
// bytes.
Layout indexed(Descent& descent, const Element& e, Numbers lengths, Numbers displacements,
               std::int64_t unit_bytes) {
  Pieces pieces(descent, displacements.size());
  for (std::int64_t i = 0; i < displacements.size(); ++i) {
    pieces.add(e, lengths[i], displacements[i] * unit_bytes);
  }
  return pieces.finish();
}

Layout indexed_block(Descent& descent, const Element& e, std::int64_t length, Numbers displacements,
                     std::int64_t unit_bytes) {
  Pieces pieces(descent, displacements.size());
  for (std::int64_t i = 0; i < displacements.size(); ++i) {
    pieces.add(e, length, displacements[i] * unit_bytes);
  }
  return pieces.finish();
}

Layout struct_of(Contents& contents, Descent& descent) {
  const std::int64_t count = contents.next_count();
  const Numbers lengths = contents.next_counts(count);
  const Numbers displacements = contents.next_addresses(count);
  const std::vector<MPI_Datatype>& types = contents.types();
  Pieces pieces(descent, count);
  MPI_Datatype last_type = MPI_DATATYPE_NULL;
  const Element* element = nullptr;
  for (std::int64_t i = 0; i < count; ++i) {
    const MPI_Datatype type = types[static_cast<std::size_t>(i)];
    if (element == nullptr || type != last_type) {
      element = &element_of(type, descent);
      last_type = type;
    }
    pieces.add(*element, lengths[i], displacements[i]);
  }
  return pieces.finish();
}

// Position in `sizes` of the level-th dim counted from the outermost.
std::int64_t outermost(std::int64_t level, std::int64_t ndims, std::int64_t order) {
  return order == MPI_ORDER_C ? level : ndims - 1 - level;
}

Layout subarray(Contents& contents, const Element& e) {
  const std::int64_t ndims = contents.next_int();
  const Numbers sizes = contents.next_counts(ndims);
  const Numbers subsizes = contents.next_counts(ndims);
  const Numbers starts = contents.next_counts(ndims);
  const std::int64_t order = contents.next_int();
  std::vector<Dim> dims(static_cast<std::size_t>(ndims));
  std::int64_t stride = e.extent;
  std::int64_t start = 0;
  for (std::int64_t level = ndims - 1; level >= 0; --level) {
    const std::int64_t d = outermost(level, ndims, order);
    dims[static_cast<std::size_t>(level)] = {subsizes[d], stride};
    start += starts[d] * stride;
    stride *= sizes[d];
  }
  return nest(e, dims).shifted(start);
}

Distribution distribution_of(std::int64_t mpi_distribution) {
  if (mpi_distribution == MPI_DISTRIBUTE_BLOCK) return Distribution::Block;
  return mpi_distribution == MPI_DISTRIBUTE_CYCLIC ? Distribution::Cyclic : Distribution::None;
}

Layout darray(Contents& contents, const Element& e) {
  (void)contents.next_int();  // the number of processes, which is also the product of the grid's
  const std::int64_t rank = contents.next_int();
  const std::int64_t ndims = contents.next_int();
  const Numbers sizes = contents.next_counts(ndims);
  const Numbers distributions = contents.next_ints(ndims);
  const Numbers blocks = contents.next_ints(ndims);
  const Numbers processes = contents.next_ints(ndims);
  const Order order = contents.next_int() == MPI_ORDER_C ? Order::C : Order::Fortran;
  std::vector<DistributedDim> dims(static_cast<std::size_t>(ndims));
  for (std::int64_t d = 0; d < ndims; ++d) {
    DistributedDim& dim = dims[static_cast<std::size_t>(d)];
    dim = {sizes[d], distribution_of(distributions[d]), {}, processes[d]};
    if (blocks[d] != MPI_DISTRIBUTE_DFLT_DARG) dim.block = blocks[d];
  }
  return strake::darray(e.layout, e.extent, dims, order, rank);
}

}  // namespace

Layout combine(Contents& contents, Descent& descent) {
  const int combiner = contents.combiner();
  if (combiner == MPI_COMBINER_STRUCT || combiner == kCombinerStructInteger) {
    return struct_of(contents, descent);
  }
  if (contents.types().size() != 1) {
    throw Unsupported("MPI combiner " + std::to_string(combiner) + " is not known");
  }
  const Element& e = element_of(contents.types()[0], descent);
  switch (combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
      return e.layout;
    case MPI_COMBINER_CONTIGUOUS:
      return run(e, contents.next_count());
    case MPI_COMBINER_VECTOR: {
      const std::int64_t count = contents.next_count();
      const std::int64_t blocklength = contents.next_count();
      return vector_of(e, count, blocklength, contents.next_count() * e.extent);
    }
    case MPI_COMBINER_HVECTOR:
    case kCombinerHvectorInteger: {
      const std::int64_t count = contents.next_count();
      const std::int64_t blocklength = contents.next_count();
      return vector_of(e, count, blocklength, contents.next_address());
    }
    case MPI_COMBINER_INDEXED: {
      const std::int64_t count = contents.next_count();
      const Numbers lengths = contents.next_counts(count);
      return indexed(descent, e, lengths, contents.next_counts(count), e.extent);
    }
    case MPI_COMBINER_HINDEXED:
    case kCombinerHindexedInteger: {
      const std::int64_t count = contents.next_count();
      const Numbers lengths = contents.next_counts(count);
      return indexed(descent, e, lengths, contents.next_addresses(count), 1);
    }
    case MPI_COMBINER_INDEXED_BLOCK: {
      const std::int64_t count = contents.next_count();
      const std::int64_t length = contents.next_count();
      return indexed_block(descent, e, length, contents.next_counts(count), e.extent);
    }
    case MPI_COMBINER_HINDEXED_BLOCK: {
      const std::int64_t count = contents.next_count();
      const std::int64_t length = contents.next_count();
      return indexed_block(descent, e, length, contents.next_addresses(count), 1);
    }
    case MPI_COMBINER_SUBARRAY:
      return subarray(contents, e);
    case MPI_COMBINER_DARRAY:
      return darray(contents, e);
    default:
      throw Unsupported("MPI combiner " + std::to_string(combiner) + " is not known");
  }
}

}  // namespace strake::mpi
