#include "interpose/untestable.hpp"

#include <new>

#include "mpi/quirks.hpp"

namespace strake::interpose {
namespace {

/// Belongs to the table.
struct UntestableRequest : RequestEntry {
  explicit UntestableRequest(Untestable its_how) noexcept
      : RequestEntry(Kind::Untestable), how(its_how) {}
  Untestable how;
};

}  // namespace

void remember_untestable(MPI_Request request, Untestable how) noexcept {
  if (!mpi::quirks::kTestallRepeatsBadly || request == MPI_REQUEST_NULL) return;
  forget_untestable(request);
  // Where no memory is left, an MPI_Testall with this request may fail.
  if (auto* const entry = new (std::nothrow) UntestableRequest(how))
    RequestTable::get().enter(request, *entry);
}

void forget_untestable(MPI_Request request) noexcept {
  RequestEntry* const entry = RequestTable::get().find(request);
  if (entry == nullptr || entry->kind != RequestEntry::Kind::Untestable) return;
  RequestTable::get().remove(*entry);
  delete static_cast<UntestableRequest*>(entry);
}

Untestable how_untestable(const RequestEntry& entry) noexcept {
  return static_cast<const UntestableRequest&>(entry).how;
}

}  // namespace strake::interpose
