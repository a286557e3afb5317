/// \file  The summary that rank 0 writes at the end: which way its bytes went, what was passed
/// on, and why.
#pragma once

namespace strake::interpose {

/// Whether a summary will be written (STRAKE_SUMMARY or STRAKE_SUMMARY_JSON).
[[nodiscard]] bool summary_wanted() noexcept;

/// In MPI_Init: whether these ranks were spawned (MPI_Comm_spawn). Then they write neither the
/// summary nor the messages that a job prints once: the first ranks do.
[[nodiscard]] bool note_parent() noexcept;

/// In MPI_Finalize: adds up the counts of all ranks, in jobs where every rank is preloaded, and
/// lets rank 0 write them.
void summarise() noexcept;

}  // namespace strake::interpose
