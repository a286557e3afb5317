// Layouts as datatypes of the MPI library, and back.
#include "mpi/layout_type.hpp"

#include <gtest/gtest.h>

#include "../unit/random_layouts.hpp"
#include "mpi/datatype.hpp"
#include "pack_reference.hpp"

namespace strake::test {
namespace {

/// Open MPI 4.1.4 packs other bytes of copies that go backwards by less than they are long:
/// hvector(16, 1, -1, hvector(4, 1, 18, byte)).
bool is_packed_wrongly([[maybe_unused]] const Layout& layout) {
#if defined(OPEN_MPI)
  std::int64_t extent = layout.block_bytes();
  const auto dims = layout.dims();
  if (layout.kind() == Layout::Kind::Repeat) extent = layout.parts().front().bounds().size();
  for (auto dim = dims.rbegin(); dim != dims.rend(); ++dim) {
    if (dim->stride_bytes < 0 && -dim->stride_bytes < extent) return true;
    extent += std::abs(dim->stride_bytes) * (dim->count - 1);
  }
  const auto parts = layout.parts();
  return std::any_of(parts.begin(), parts.end(), is_packed_wrongly);
#else
  return false;
#endif
}

TEST(LayoutType, random_layouts_are_packed_and_decoded_alike) {
  constexpr std::uint64_t kLayoutSeed = 20261128;
  Random random(kLayoutSeed);
  for (int i = 0; i < 400; ++i) {
    const Layout layout = random_layout(random).shifted(pick(random, -100, 100));
    if (layout.size_bytes() > 1 << 20) continue;
    SCOPED_TRACE("seed " + std::to_string(kLayoutSeed) + ", layout " + std::to_string(i) + ": " +
                 layout.to_string());
    const mpi::LayoutType type(layout);
    ASSERT_EQ(mpi::decode(type.get()).layout, layout);
    if (is_packed_wrongly(layout)) continue;
    Arena arena(layout.bounds());
    ASSERT_TRUE(same_bytes(gather(layout, arena.base()),
                           mpi_packed(arena.base(), 1, type.get(), layout.size_bytes())));
  }
}

TEST(LayoutType, counts_past_31_bits_are_nested) {
  constexpr std::int64_t kMany = (std::int64_t{1} << 31) + 5;
  for (const Layout& layout :
       {Layout::dense(kMany), Layout::box(16, 4, std::vector<Dim>{{kMany, 12}}),
        Layout::box(0, 8, std::vector<Dim>{{3, 1 << 20}, {kMany, -16}})}) {
    const mpi::LayoutType type(layout);
    // The last copies are a part of their own.
    const Layout decoded = mpi::decode(type.get()).layout;
    EXPECT_EQ(decoded.size_bytes(), layout.size_bytes());
    EXPECT_EQ(decoded.bounds(), layout.bounds());
    EXPECT_EQ(decoded.block_count(), layout.block_count());
  }
}

TEST(LayoutType, no_bytes_are_a_type_of_no_bytes) {
  const mpi::LayoutType type{Layout()};
  MPI_Count size = -1;
  MPI_Type_size_x(type.get(), &size);
  EXPECT_EQ(size, 0);
}

}  // namespace
}  // namespace strake::test
