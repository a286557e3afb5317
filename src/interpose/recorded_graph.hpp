/// \file  The bytes that a program's ranks send each other, recorded for `strake plan --graph`
/// (STRAKE_RECORD_GRAPH). Timed calls are recorded: the generated entries call these functions.
#pragma once

#include <mpi.h>

namespace strake::interpose::recorded {

/// Whether messages are recorded: between MPI_Init and MPI_Finalize, where a file is wanted.
[[nodiscard]] bool is_on() noexcept;
/// In MPI_Init.
void start() noexcept;

/// \{ A call that succeeded has sent that to a rank, to its neighbours, or to all ranks. Nothing is
/// recorded of calls in place.
void sent(MPI_Comm comm, int dest, MPI_Count count, MPI_Datatype type) noexcept;
void sent_to_neighbours(MPI_Comm comm, const void* from, MPI_Count count,
                        MPI_Datatype type) noexcept;
template <typename Number>
void sent_to_neighbours(MPI_Comm comm, const void* from, const Number* counts,
                        MPI_Datatype type) noexcept;
template <typename Number>
void sent_to_neighbours(MPI_Comm comm, const void* from, const Number* counts,
                        const MPI_Datatype* types) noexcept;
void sent_to_all(MPI_Comm comm, const void* from, MPI_Count count, MPI_Datatype type) noexcept;
template <typename Number>
void sent_to_all(MPI_Comm comm, const void* from, const Number* counts, MPI_Datatype type) noexcept;
template <typename Number>
void sent_to_all(MPI_Comm comm, const void* from, const Number* counts,
                 const MPI_Datatype* types) noexcept;
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
