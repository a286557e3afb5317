#include "interpose/receive.hpp"

#include "interpose/short_receives.hpp"
#include "mpi/wire.hpp"

namespace strake::interpose {

bool Receive::settle(const std::optional<Delivery>& delivery, const MPI_Status& status) {
  if (!landing_) return taken(true);
  return taken(delivery ? landing_->take(*delivery)
                        : landing_->settle(mpi::received_bytes(status)));
}

void Receive::note_failed(int error, const MPI_Status& status, std::int64_t room) const noexcept {
  const bool gives_own = landing_ && landing_->own() != nullptr;
  if (gives_own || room >= exchange::shared::kLongestHeader || met_ != Met::No) return;
  note_truncated(error, status, expects_ ? known_ : mpi::communicator(comm_));
}

}  // namespace strake::interpose
