/// \file  The bytes that a program's ranks send each other, recorded for `strake plan --graph`
/// (STRAKE_RECORD_GRAPH). Timed calls are recorded: the generated entries call these functions.
#pragma once

#include <mpi.h>

namespace strake::interpose::recorded {

/// Whether messages are recorded: between MPI_Init and MPI_Finalize, where a file is wanted.
[[nodiscard]] bool is_on() noexcept;
/// In MPI_Init.
void start() noexcept;

/// \{ A call sends that to a rank, or to its neighbours, or to all ranks. Errors are the call's own
/// affair: wrong arguments are not recorded.
void sent(MPI_Comm comm, int dest, MPI_Count count, MPI_Datatype type) noexcept;
void sent_to_neighbours(MPI_Comm comm, MPI_Count count, MPI_Datatype type) noexcept;
template <typename Number>
void sent_to_neighbours(MPI_Comm comm, const Number* counts, MPI_Datatype type) noexcept;
template <typename Number>
void sent_to_neighbours(MPI_Comm comm, const Number* counts, const MPI_Datatype* types) noexcept;
void sent_to_all(MPI_Comm comm, MPI_Count count, MPI_Datatype type) noexcept;
template <typename Number>
void sent_to_all(MPI_Comm comm, const Number* counts, MPI_Datatype type) noexcept;
template <typename Number>
void sent_to_all(MPI_Comm comm, const Number* counts, const MPI_Datatype* types) noexcept;
/// \}
/// A persistent send was made; it sends whenever it is started.
void made_persistent(MPI_Request request, MPI_Comm comm, int dest, MPI_Count count,
                     MPI_Datatype type) noexcept;
void started(int count, const MPI_Request* requests) noexcept;

/// In MPI_Finalize, of all ranks, before the communicators go: rank 0 writes the file, a line
/// "from to bytes" for each pair of ranks.
void write() noexcept;

}  // namespace strake::interpose::recorded
