#include "exchange/collective/bundled_messages.hpp"

#include <algorithm>

#include "mpi/types.hpp"

namespace strake::exchange {

Typed host_bytes(std::byte* address, std::int64_t bytes) {
  if (bytes == 0) return {};
  mpi::TypeRecord* const record = mpi::find_type(MPI_BYTE);
  return {record->elements(bytes), address, {MemoryKind::Host, -1}, false};
}

Told BundledMessages::place(std::int64_t bytes) noexcept {
  if (bytes > Bundle::kMostInside || inside_ + Bundle::padded(bytes) > Bundle::kCapacity)
    return Told::BesideBundle;
  inside_ += Bundle::padded(bytes);
  return Told::InBundle;
}

void BundledMessages::enter(Bundle& bundle, int own_rank, FirstFault& fault) noexcept {
  for (const auto& [key, message] : of_edges_) {
    if (!fault.guard([&] { message->enter(bundle, own_rank, key.first); })) message->give_up();
  }
}

bool BundledMessages::entered() const noexcept {
  return std::ranges::all_of(of_edges_, [](const auto& one) { return one.second->entered(); });
}

void BundledMessages::note_losses() const noexcept {
  for (const auto& one : of_edges_) one.second->note_loss();
}

void BundledMessages::take(const Bundle& bundle, int own_rank, FirstFault& fault) noexcept {
  bundle.for_each([&](const BundleEntry& entry, const std::byte* inside) {
    if (entry.to != own_rank) return;
    const auto found = of_edges_.find({entry.from, entry.edge});
    if (found == of_edges_.end()) return;
    PairMessage& message = *found->second;
    if (!fault.guard([&] { message.take(entry, inside); })) message.give_up();
  });
}

void BundledMessages::end(FirstFault& fault) noexcept {
  for (const auto& one : of_edges_) {
    PairMessage& message = *one.second;
    if (message.done() || message.taken()) continue;
    fault.note(MPI_ERR_OTHER);
    message.give_up();
  }
}

void PairBundle::make_carrier(std::int64_t bytes) {
  carrier_.emplace(members_, number_, direction_, rank_, 0, host_bytes(bundle_->data(), bytes),
                   Told::ByMpi);
}

void PairBundle::start(std::uint32_t call, FirstFault& fault) noexcept {
  call_ = call;
  begun_ = done_ = false;
  const bool can_begin = fault.guard([&] {
    if (!bundle_) bundle_.emplace(messages.room());
    bundle_->clear(call);
    if (direction_ == MessageDirection::Send) {
      messages.enter(*bundle_, members_.rank(), fault);
      if (!carrier_) make_carrier(bundle_->bytes());  // each time as many
      return;
    }
    if (!carrier_) make_carrier(bundle_->room());
    carrier_->start(call);
    begun_ = true;
  });
  if (can_begin) return;
  if (direction_ == MessageDirection::Receive) messages.end(fault);
  done_ = true;
}

bool PairBundle::step(bool leave, FirstFault& fault) noexcept {
  if (done_) return true;
  if (!begun_) {
    if (!leave || !messages.entered()) return false;
    messages.note_losses();
  }
  const bool lives = fault.guard([&] {
    if (!begun_) carrier_->start(0);
    begun_ = true;
    done_ = carrier_->step();
  });
  if (!lives) {
    carrier_->give_up();
    begun_ = done_ = true;
  }
  if (!done_ || direction_ == MessageDirection::Send) return done_;
  // Another call's: that one has failed here.
  if (lives && bundle_->call() == call_) messages.take(*bundle_, members_.rank(), fault);
  messages.end(fault);
  return true;
}

}  // namespace strake::exchange
