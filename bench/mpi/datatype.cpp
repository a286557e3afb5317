#include "mpi/datatype.hpp"

#include <array>
#include <cstddef>
#include <vector>

namespace bench {

Datatype contiguous(int count, const Datatype& old) {
  MPI_Datatype type;
  MPI_Type_contiguous(count, old.get(), &type);
  return Datatype::owning(type);
}

Datatype vector(int count, int blocklength, int stride, const Datatype& old) {
  MPI_Datatype type;
  MPI_Type_vector(count, blocklength, stride, old.get(), &type);
  return Datatype::owning(type);
}

Datatype hvector(int count, int blocklength, MPI_Aint stride_bytes, const Datatype& old) {
  MPI_Datatype type;
  MPI_Type_create_hvector(count, blocklength, stride_bytes, old.get(), &type);
  return Datatype::owning(type);
}

Datatype indexed(std::span<const int> lengths, std::span<const int> places, const Datatype& old) {
  MPI_Datatype type;
  MPI_Type_indexed(static_cast<int>(lengths.size()), lengths.data(), places.data(), old.get(),
                   &type);
  return Datatype::owning(type);
}

Datatype indexed_block(int blocklength, std::span<const int> places, const Datatype& old) {
  MPI_Datatype type;
  MPI_Type_create_indexed_block(static_cast<int>(places.size()), blocklength, places.data(),
                                old.get(), &type);
  return Datatype::owning(type);
}

Datatype subarray(std::span<const int> sizes, std::span<const int> subsizes,
                  std::span<const int> starts, const Datatype& old) {
  MPI_Datatype type;
  MPI_Type_create_subarray(static_cast<int>(sizes.size()), sizes.data(), subsizes.data(),
                           starts.data(), MPI_ORDER_C, old.get(), &type);
  return Datatype::owning(type);
}

Datatype subarray(const strake::Box& cells, const strake::Index3& array, const Datatype& old) {
  std::array<int, 3> sizes{};
  std::array<int, 3> subsizes{};
  std::array<int, 3> starts{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    sizes[2 - axis] = static_cast<int>(array[axis]);
    subsizes[2 - axis] = static_cast<int>(cells.extent(static_cast<int>(axis)));
    starts[2 - axis] = static_cast<int>(cells.lower[axis]);
  }
  return subarray(sizes, subsizes, starts, old);
}

Datatype resized(const Datatype& old, MPI_Aint extent_bytes) {
  MPI_Datatype type;
  MPI_Type_create_resized(old.get(), 0, extent_bytes, &type);
  return Datatype::owning(type);
}

Datatype structure(std::span<const Member> members) {
  const std::vector<int> lengths(members.size(), 1);
  std::vector<MPI_Aint> offsets;
  std::vector<MPI_Datatype> types;
  for (const Member& member : members) {
    offsets.push_back(member.offset);
    types.push_back(member.type);
  }
  MPI_Datatype type;
  MPI_Type_create_struct(static_cast<int>(members.size()), lengths.data(), offsets.data(),
                         types.data(), &type);
  return Datatype::owning(type);
}

}  // namespace bench
