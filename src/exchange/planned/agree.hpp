/// \file  A fault that only some ranks can see is agreed on before anyone throws.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>

namespace strake::exchange::planned {

/// What is thrown for it.
enum class FaultKind : std::uint8_t { Argument, Unsupported, Memory, Other };

/// Throws on all ranks of `comm` if any of them has a `fault` (a text that is not empty): the first
/// such rank's. Collective.
/// \throws InvalidArgument, Unsupported, OutOfMemory, Error; MpiError
void agree(MPI_Comm comm, const std::string& fault, FaultKind kind = FaultKind::Argument);

}  // namespace strake::exchange::planned
