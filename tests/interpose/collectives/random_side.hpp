/// \file  One of the two buffers of a collective call, with the arguments that describe it to MPI.
#pragma once

#include <mpi.h>

#include <memory>
#include <vector>

#include "random_call.hpp"

namespace random_collectives {

/// A block, and the message that it holds. Ranks of the world.
struct Part {
  int source = kNone, destination = kNone;
  bool is_null = false;  ///< of MPI_PROC_NULL: left alone
  int edge = 0;          ///< its number among the edges between these two
  int alike = 1;         ///< how many of them there are
};

class Side {
 public:
  /// Draws how the blocks lie in memory; `unit` is not used where the call has a datatype for each.
  /// `has_displacements`: the call takes one for each block on this side.
  Side(const Call& call, Shapes& shapes, Draw& draw, Memory memory, const Piece& unit,
       std::vector<Part> parts, bool has_displacements);

  /// The messages of a round are in the buffer.
  void write(int round);
  /// All is poison.
  void clear();
  /// After a call that left it alone, or received into it. Describes what is wrong, if anything is.
  /// `edges`: hash of which edges were received where it is for the library to choose.
  [[nodiscard]] std::string check_unchanged();
  [[nodiscard]] std::string check_received(int round, std::uint64_t& edges);
  /// Frees the datatypes that nobody else uses.
  void free_types();

  [[nodiscard]] const std::vector<Part>& parts() const { return parts_; }
  [[nodiscard]] Buffer& buffer() { return *buffer_; }

  /// \{ MPI's arguments: without counts, with them, and with types.
  void* address = nullptr;
  int count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  std::vector<int> counts, displacements, byte_displacements;
  std::vector<MPI_Datatype> types;
  std::vector<MPI_Aint> offsets;
  /// \}

 private:
  void lay_out_by_extent(Draw& draw, const BuiltType& element, bool has_gaps);
  void lay_out_by_bytes(Draw& draw);
  /// Expects what one of the edges between the same two brings, each once.
  bool expect_any(std::size_t b, int round, std::vector<bool>& is_taken, std::uint64_t& edges);

  const Call& call_;
  std::vector<Part> parts_;
  std::vector<Block> blocks_;
  std::vector<std::shared_ptr<BuiltType>> own_types_;
  std::shared_ptr<BuiltType> element_;
  std::unique_ptr<Buffer> buffer_;
};

}  // namespace random_collectives
