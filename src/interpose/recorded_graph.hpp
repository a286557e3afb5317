/// \file  The bytes that a program's ranks send each other, recorded for `strake plan --graph`
/// (STRAKE_RECORD_GRAPH). Timed calls are recorded: the generated entries call these functions.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <functional>

namespace strake::interpose::recorded {

/// Whether messages are recorded: between MPI_Init and MPI_Finalize, where a file is wanted.
[[nodiscard]] bool is_on() noexcept;
/// In MPI_Init.
void start() noexcept;

/// \{ The blocks of a collective call, one for each rank that gets some.
struct Block {
  MPI_Count count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
};
using BlockAt = std::function<Block(std::size_t)>;
enum class Receivers : std::uint8_t { Neighbours, All };
void sent_blocks(MPI_Comm comm, const void* from, Receivers to, const BlockAt& block) noexcept;
[[nodiscard]] inline MPI_Count count_of(MPI_Count all, std::size_t /*block*/) { return all; }
template <typename Number>
[[nodiscard]] MPI_Count count_of(const Number* each, std::size_t block) {
  return each[block];
}
[[nodiscard]] inline MPI_Datatype type_of(MPI_Datatype all, std::size_t /*block*/) { return all; }
[[nodiscard]] inline MPI_Datatype type_of(const MPI_Datatype* each, std::size_t block) {
  return each[block];
}
/// \}

/// \{ A call that succeeded has sent that to a rank, to its neighbours, or to all ranks. Nothing is
/// recorded of calls in place. Counts and datatypes are one for all blocks, or a list.
void sent(MPI_Comm comm, int dest, MPI_Count count, MPI_Datatype type) noexcept;
template <typename Counts, typename Types>
void sent_to_neighbours(MPI_Comm comm, const void* from, Counts counts, Types types) noexcept {
  sent_blocks(comm, from, Receivers::Neighbours, [&](std::size_t i) {
    return Block{count_of(counts, i), type_of(types, i)};
  });
}
template <typename Counts, typename Types>
void sent_to_all(MPI_Comm comm, const void* from, Counts counts, Types types) noexcept {
  sent_blocks(comm, from, Receivers::All, [&](std::size_t i) {
    return Block{count_of(counts, i), type_of(types, i)};
  });
}
/// \}
/// A persistent send was made; it sends whenever it is started.
void made_persistent(MPI_Request request, MPI_Comm comm, int dest, MPI_Count count,
                     MPI_Datatype type) noexcept;
/// Another persistent operation was made, perhaps under the handle of a send that was freed.
void made_other(MPI_Request request) noexcept;
void started(int count, const MPI_Request* requests) noexcept;

/// In MPI_Finalize, of all ranks, before the communicators go: rank 0 writes the file, a line
/// "from to bytes" for each pair of ranks.
void write() noexcept;

}  // namespace strake::interpose::recorded
