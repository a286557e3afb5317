/// \file  Layouts as MPI datatypes: the way back from datatype.hpp.
#pragma once

#include <mpi.h>

#include <utility>

#include "strake/layout.hpp"

namespace strake::mpi {

/// A committed datatype that selects the bytes of a layout, in its order, relative to the buffer's
/// address. Its basic types are the longest of double, float, short and byte that all blocks are
/// made of: programs' blocks are numbers, and MPICH packs them up to nine times as fast as bytes.
/// Decoding it gives the layout again, unless a count is past 2^31.
class LayoutType {
 public:
  /// Local. Cost: ~1 us for each dim, O(blocks) for lists.
  /// \throws Unsupported  a list or a sequence of 2^31 blocks or parts; MpiError
  explicit LayoutType(const Layout& layout);
  ~LayoutType();
  LayoutType(LayoutType&& other) noexcept : type_(std::exchange(other.type_, MPI_DATATYPE_NULL)) {}
  LayoutType& operator=(LayoutType&& other) noexcept {
    std::swap(type_, other.type_);
    return *this;
  }
  [[nodiscard]] MPI_Datatype get() const noexcept { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

}  // namespace strake::mpi
