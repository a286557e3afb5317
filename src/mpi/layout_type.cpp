#include "mpi/layout_type.hpp"

#include <fmt/format.h>

#include <limits>
#include <numeric>
#include <vector>

#include "mpi/real_mpi.hpp"
#include "strake/error.hpp"

namespace strake::mpi {
namespace {

constexpr std::int64_t kMostCount = std::numeric_limits<int>::max();

/// A datatype on the way to the whole; predefined ones are not freed.
class Made {
 public:
  explicit Made(MPI_Datatype named) noexcept : type_(named) {}
  template <typename Constructor, typename... Arguments>
  Made(const char* name, Constructor constructor, Arguments... arguments) : owned_(true) {
    check(constructor(arguments..., &type_), name);
  }
  ~Made() {
    if (owned_) real_mpi().MPI_Type_free(&type_);
  }
  Made(Made&& other) noexcept
      : type_(std::exchange(other.type_, MPI_DATATYPE_NULL)),
        owned_(std::exchange(other.owned_, false)) {}
  Made& operator=(Made&&) = delete;
  [[nodiscard]] MPI_Datatype get() const noexcept { return type_; }
  [[nodiscard]] MPI_Datatype release() noexcept {
    owned_ = false;
    return type_;
  }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  bool owned_ = false;
};

struct Element {
  MPI_Datatype type;
  std::int64_t bytes;
};

/// The longest basic type of which all blocks are made whose lengths `unit` divides.
Element element_of(std::int64_t unit) noexcept {
  for (const Element& element : {Element{MPI_DOUBLE, 8}, {MPI_FLOAT, 4}, {MPI_SHORT, 2}})
    if (unit % element.bytes == 0) return element;
  return {MPI_BYTE, 1};
}

/// `type` at several offsets. [bytes]
Made placed(const std::vector<MPI_Aint>& offsets, const std::vector<int>& counts,
            MPI_Datatype type) {
  return {"MPI_Type_create_hindexed",
          real_mpi().MPI_Type_create_hindexed,
          static_cast<int>(offsets.size()),
          counts.data(),
          offsets.data(),
          type};
}

/// `count` copies of `type`, each `stride` bytes after the one before.
Made repeated(std::int64_t count, std::int64_t stride, MPI_Datatype type) {
  const auto hvector = [](std::int64_t n, std::int64_t distance, MPI_Datatype of) {
    return Made("MPI_Type_create_hvector", real_mpi().MPI_Type_create_hvector, static_cast<int>(n),
                1, static_cast<MPI_Aint>(distance), of);
  };
  if (count <= kMostCount) return hvector(count, stride, type);
  constexpr std::int64_t kChunk = std::int64_t{1} << 30;
  const Made chunk = hvector(kChunk, stride, type);
  const Made chunks = hvector(count / kChunk, kChunk * stride, chunk.get());
  const Made rest = hvector(count % kChunk, stride, type);
  const int lengths[] = {1, 1};
  const MPI_Aint offsets[] = {0, static_cast<MPI_Aint>(count / kChunk * kChunk * stride)};
  const MPI_Datatype types[] = {chunks.get(), rest.get()};
  return {"MPI_Type_create_struct", real_mpi().MPI_Type_create_struct, 2, lengths, offsets, types};
}

Made block(std::int64_t bytes) {
  const Element element = element_of(bytes);
  const std::int64_t count = bytes / element.bytes;
  if (count > kMostCount) return repeated(count, element.bytes, element.type);
  return {"MPI_Type_contiguous", real_mpi().MPI_Type_contiguous, static_cast<int>(count),
          element.type};
}

void require_countable(std::size_t count, const char* what) {
  if (count > static_cast<std::size_t>(kMostCount))
    throw Unsupported(
        fmt::format("a datatype of a layout with {} {}: {} at most", count, what, kMostCount));
}

/// A list of blocks, which lie relative to the layout's offset.
Made list(const Layout& layout) {
  const auto blocks = layout.block_offsets();
  const auto positions = layout.block_positions();
  require_countable(blocks.size(), "blocks");
  const std::vector<MPI_Aint> offsets(blocks.begin(), blocks.end());
  if (positions.empty()) {
    const Made one = block(layout.block_bytes());
    return placed(offsets, std::vector<int>(offsets.size(), 1), one.get());
  }
  std::int64_t unit = 0;
  std::int64_t longest = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::int64_t length = positions[i + 1] - positions[i];
    unit = std::gcd(unit, length);
    longest = std::max(longest, length);
  }
  const Element element = element_of(unit);
  require_countable(static_cast<std::size_t>(longest / element.bytes), "elements in a block");
  std::vector<int> counts;
  for (std::size_t i = 0; i < blocks.size(); ++i)
    counts.push_back(static_cast<int>((positions[i + 1] - positions[i]) / element.bytes));
  return placed(offsets, counts, element.type);
}

Made with_offset(const Layout& layout);

Made parts(const Layout& layout) {
  require_countable(layout.parts().size(), "parts");
  std::vector<Made> made;
  std::vector<MPI_Datatype> types;
  for (const Layout& part : layout.parts())
    types.push_back(made.emplace_back(with_offset(part)).get());
  const std::vector<int> lengths(types.size(), 1);
  const std::vector<MPI_Aint> offsets(types.size(), 0);
  return {"MPI_Type_create_struct",
          real_mpi().MPI_Type_create_struct,
          static_cast<int>(types.size()),
          lengths.data(),
          offsets.data(),
          types.data()};
}

/// The layout's bytes relative to its offset.
Made without_offset(const Layout& layout) {
  switch (layout.kind()) {
    case Layout::Kind::Empty:
      break;
    case Layout::Kind::Blocks:
      return list(layout);
    case Layout::Kind::Sequence:
      return parts(layout);
    case Layout::Kind::Box:
    case Layout::Kind::Repeat: {
      std::vector<Made> made;
      made.push_back(layout.kind() == Layout::Kind::Box ? block(layout.block_bytes())
                                                        : with_offset(layout.parts().front()));
      const auto dims = layout.dims();
      for (auto dim = dims.rbegin(); dim != dims.rend(); ++dim)
        made.push_back(repeated(dim->count, dim->stride_bytes, made.back().get()));
      return std::move(made.back());
    }
  }
  return {"MPI_Type_contiguous", real_mpi().MPI_Type_contiguous, 0, MPI_BYTE};
}

Made with_offset(const Layout& layout) {
  Made made = without_offset(layout);
  if (layout.offset() == 0) return made;
  return placed({static_cast<MPI_Aint>(layout.offset())}, {1}, made.get());
}

}  // namespace

LayoutType::LayoutType(const Layout& layout) {
  Made made = with_offset(layout);
  type_ = made.get();
  check(real_mpi().MPI_Type_commit(&type_), "MPI_Type_commit");
  (void)made.release();
}

LayoutType::~LayoutType() {
  if (type_ != MPI_DATATYPE_NULL) real_mpi().MPI_Type_free(&type_);
}

}  // namespace strake::mpi
