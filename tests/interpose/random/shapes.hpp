/// \file  The datatypes of random programs.
#pragma once

#include <mpi.h>

#include <memory>
#include <vector>

#include "../../support/random_types.hpp"
#include "draw.hpp"
#include "program.hpp"

namespace random_program {

MPI_Datatype leaf_type(int leaf_bytes);

/// A committed datatype and the bytes of one element, in packed order. Frees the datatype.
class BuiltType {
 public:
  BuiltType() = default;
  BuiltType(const BuiltType&) = delete;
  BuiltType& operator=(const BuiltType&) = delete;
  ~BuiltType() { free(); }
  void free() {
    if (is_owned && type != MPI_DATATYPE_NULL) MPI_Type_free(&type);
    is_owned = false;
  }

  MPI_Datatype type = MPI_DATATYPE_NULL;
  bool is_owned = false;
  std::vector<strake::test::Run> runs;
  std::int64_t extent = 0;
};

class Shapes {
 public:
  explicit Shapes(std::uint64_t seed);

  /// A shape of exactly so many bytes.
  static Shape draw(Draw& draw, std::int64_t bytes, int leaf_bytes);
  /// A wild one of at most so many bytes; else one of exactly so many.
  [[nodiscard]] Shape draw_wild(Draw& draw, std::int64_t bytes) const;
  /// If the shape is kept, what an earlier call gave for one like it.
  [[nodiscard]] std::shared_ptr<BuiltType> build(const Shape& shape);

 private:
  struct Kept {
    Shape shape;
    std::shared_ptr<BuiltType> type;
  };
  [[nodiscard]] std::shared_ptr<BuiltType> build_anew(const Shape& shape) const;

  std::vector<strake::test::RandomType> wild_;
  std::vector<Kept> kept_;  ///< the last used last
};

}  // namespace random_program
