/// \file  What rank 0 says at the end: what was accelerated, what was passed through, and why.
#pragma once

namespace strake::interpose {

/// Whether a summary will be written (STRAKE_SUMMARY or STRAKE_SUMMARY_JSON).
[[nodiscard]] bool summary_wanted() noexcept;

/// In MPI_Init: whether these ranks were spawned. Such ones leave what is said once a job, and the
/// summary, to those of the job.
[[nodiscard]] bool note_parent() noexcept;

/// In MPI_Finalize: adds up the counts of all ranks, in jobs where every rank is preloaded, and
/// lets rank 0 write them.
void summarise() noexcept;

}  // namespace strake::interpose
