#include "exchange/wire.hpp"

#include <climits>

#include "mpi/real_mpi.hpp"

namespace strake::exchange {

Wire::Wire(std::int64_t bytes) : count_(static_cast<int>(bytes)) {
  if (bytes <= INT_MAX) return;
  const mpi::RealMpi& real = mpi::real_mpi();
  constexpr std::int64_t kPiece = std::int64_t{1} << 30;
  MPI_Datatype piece = MPI_DATATYPE_NULL;
  mpi::check(real.MPI_Type_contiguous(static_cast<int>(kPiece), MPI_PACKED, &piece),
             "MPI_Type_contiguous");
  const int lengths[] = {static_cast<int>(bytes / kPiece), static_cast<int>(bytes % kPiece)};
  const MPI_Aint places[] = {0, static_cast<MPI_Aint>(bytes / kPiece * kPiece)};
  const MPI_Datatype types[] = {piece, MPI_PACKED};
  mpi::check(real.MPI_Type_create_struct(2, lengths, places, types, &type_),
             "MPI_Type_create_struct");
  mpi::check(real.MPI_Type_free(&piece), "MPI_Type_free");
  mpi::check(real.MPI_Type_commit(&type_), "MPI_Type_commit");
  count_ = 1;
}

Wire::~Wire() {
  if (type_ != MPI_PACKED) mpi::real_mpi().MPI_Type_free(&type_);
}

std::int64_t received_bytes(const MPI_Status& status) noexcept {
  MPI_Count count = 0;
  mpi::real_mpi().MPI_Get_elements_x(&status, MPI_PACKED, &count);
  return count == MPI_UNDEFINED ? 0 : static_cast<std::int64_t>(count);
}

}  // namespace strake::exchange
