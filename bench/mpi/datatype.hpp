/// \file  MPI datatypes as values: made by one function per constructor, freed when they go.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <span>
#include <utility>

#include "strake/box.hpp"

namespace bench {

/// Owns a derived type, or refers to a named one.
class Datatype {
 public:
  Datatype() = default;
  Datatype(MPI_Datatype named) : type_(named) {}  // implicit: MPI_DOUBLE is a Datatype
  static Datatype owning(MPI_Datatype derived) {
    Datatype type(derived);
    type.owned_ = true;
    return type;
  }
  Datatype(Datatype&& other) noexcept
      : type_(std::exchange(other.type_, MPI_DATATYPE_NULL)),
        owned_(std::exchange(other.owned_, false)) {}
  Datatype& operator=(Datatype&& other) noexcept {
    std::swap(type_, other.type_);
    std::swap(owned_, other.owned_);
    return *this;
  }
  ~Datatype() {
    if (owned_) MPI_Type_free(&type_);
  }
  [[nodiscard]] MPI_Datatype get() const { return type_; }
  void commit() const {
    MPI_Datatype handle = type_;  // MPI does not change it
    MPI_Type_commit(&handle);
  }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  bool owned_ = false;
};

Datatype contiguous(int count, const Datatype& old);
Datatype vector(int count, int blocklength, int stride, const Datatype& old);
Datatype hvector(int count, int blocklength, MPI_Aint stride_bytes, const Datatype& old);
Datatype indexed(std::span<const int> lengths, std::span<const int> places, const Datatype& old);
Datatype indexed_block(int blocklength, std::span<const int> places, const Datatype& old);
/// C order: the last dimension is contiguous.
Datatype subarray(std::span<const int> sizes, std::span<const int> subsizes,
                  std::span<const int> starts, const Datatype& old);
/// Cells of an array with so many along each axis, x contiguous.
Datatype subarray(const strake::Box& cells, const strake::Index3& array, const Datatype& old);
Datatype resized(const Datatype& old, MPI_Aint extent_bytes);

/// A member of a struct type: one element of `type` at `offset`.
struct Member {
  MPI_Aint offset = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
};
Datatype structure(std::span<const Member> members);

}  // namespace bench
