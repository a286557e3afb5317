#include "exchange/collective/pair_messages.hpp"

#include <algorithm>

#include "exchange/transport/launch_batcher.hpp"
#include "mpi/own_world.hpp"
#include "mpi/real_mpi.hpp"
#include "strake/error.hpp"

namespace strake::exchange {
namespace {

void advance_library() noexcept {
  int flag = 0;
  mpi::real_mpi().MPI_Iprobe(MPI_ANY_SOURCE, mpi::first_single_tag(), mpi::own_world(), &flag,
                             MPI_STATUS_IGNORE);
}

}  // namespace

PairMessages::PairMessages(Members& members, std::int32_t number, Bundling bundling, bool blocking)
    : members_(members),
      number_(number),
      blocking_(blocking),
      by_pairs_(bundling != Bundling::None),
      relays_(bundling == Bundling::Relays ? Relays::of(members) : nullptr) {
  if (relays_ == nullptr) return;
  given_.resize(relays_->gives());
  got_.resize(relays_->gets());
}

BundledMessages* PairMessages::bundle_of(MessageDirection direction, int rank) {
  const bool sends = direction == MessageDirection::Send;
  if (relays_ != nullptr) {
    if (const auto share = relays_->share_with(direction, rank))
      return &(sends ? given_ : got_)[*share];
  }
  return by_pairs_ && members_.bundles(direction, rank) ? &pair_bundle(direction, rank) : nullptr;
}

BundledMessages& PairMessages::pair_bundle(MessageDirection direction, int rank) {
  for (PairBundle& bundle : bundles_)
    if (bundle.is_of(direction, rank)) return bundle.messages;
  return bundles_.emplace_back(members_, number_, direction, rank).messages;
}

void PairMessages::add(MessageDirection direction, int rank, std::uint32_t edge, Typed typed) {
  Added added{direction, rank, edge, std::move(typed)};
  if (number_ == 0) {
    added_.push_back(std::move(added));
    return;
  }
  BundledMessages* const bundle = bundle_of(direction, rank);
  const bool placed = bundle != nullptr && direction == MessageDirection::Send;
  const Told told = placed ? bundle->place(added.bytes()) : Told::InBundle;
  make_message(std::move(added), bundle, told);
}

void PairMessages::make_message(Added added, BundledMessages* bundle, Told told) {
  PairMessage& message =
      all_.emplace_back(members_, number_, added.direction, added.rank, added.edge,
                        std::move(added.typed), bundle != nullptr ? told : Told::Alone);
  if (!blocking_) message.leave_copies();
  if (bundle != nullptr) bundle->add(message, added.rank);
}

void PairMessages::choose() {
  choice_.emplace(members_);
  if (!by_pairs_) return;
  for (const Added& one : added_) choice_->add(one.direction, one.rank, one.edge, one.bytes());
  choice_->choose();
}

void PairMessages::make(std::int32_t number) {
  number_ = number;
  if (choice_->tell(number) != MPI_SUCCESS) throw Error("ranks did not learn of their bundles");
  for (Added& one : added_) {
    const bool bundled = choice_->bundled(one.direction, one.rank, one.edge);
    BundledMessages* const bundle = bundled ? &pair_bundle(one.direction, one.rank) : nullptr;
    make_message(std::move(one), bundle, Told::InBundle);
  }
  added_.clear();
  choice_.reset();
}

void PairMessages::number_bundles(std::int32_t number) noexcept {
  for (PairBundle& bundle : bundles_) bundle.set_number(number);
}

void PairMessages::start(std::uint32_t call) noexcept {
  fault_.clear();
  done_ = on_device_ = false;
  for (PairBundle& bundle : bundles_) bundle.start(call, fault_);
  if (relays_ != nullptr) {
    relays_->start(call, fault_);
    taken_.assign(got_.size(), false);
    for (std::size_t share = 0; share < given_.size(); ++share)
      given_[share].enter(relays_->bundle_to_give(share), members_.rank(), fault_);
  }
  for (PairMessage& message : all_) {
    guard(message, [&] { message.start(call); });
    const Transfer* const transfer = message.transfer();
    on_device_ = on_device_ || (transfer != nullptr && transfer->on_device());
  }
  leaving_ = std::ranges::any_of(all_, &PairMessage::leaving) ||
             std::ranges::any_of(bundles_, &PairBundle::leaving);
  if (leaving_ || relays_ != nullptr) (void)step();
}

bool PairMessages::step(bool leave) noexcept {
  if (done_) return true;
  if (on_device_) prepare();
  bool waits = !leave;
  leaving_ = false;
  bool all = true;
  for (PairMessage& message : all_) {
    if (message.done()) continue;
    // Messages of MPI's with one tag leave in the order of their numbers.
    if (!(waits && message.leaving())) guard(message, [&] { (void)message.step(); });
    leaving_ = leaving_ || message.leaving();
    waits = waits || leaving_;
    all = all && message.done();
  }
  all = step_bundles(leave) && all;
  if (relays_ != nullptr) all = step_relays() && all;
  // Bundles may have told of messages, which are not done.
  done_ = all && std::ranges::all_of(all_, &PairMessage::done);
  // Messages that the MPI library has from this rank: others may wait for these before they come to
  // this call.
  constexpr unsigned kNowAndThen = 16;
  if (!done_ && ++turns_ % kNowAndThen == 0) advance_library();
  if (on_device_) LaunchBatcher::get().launch();
  return done_;
}

bool PairMessages::step_bundles(bool leave) noexcept {
  bool all = true;
  for (PairBundle& bundle : bundles_) {
    all = bundle.step(leave, fault_) && all;
    leaving_ = leaving_ || bundle.leaving();
  }
  return all;
}

bool PairMessages::step_relays() noexcept {
  for (std::size_t share = 0; share < given_.size(); ++share) {
    if (relays_->is_given(share) || !given_[share].entered()) continue;
    given_[share].note_losses();
    relays_->give(share, fault_);
  }
  const bool done = relays_->step(fault_);
  for (std::size_t share = 0; share < got_.size(); ++share) {
    const Bundle* const bundle = relays_->got(share);
    if (taken_[share] || bundle == nullptr) continue;
    taken_[share] = true;
    got_[share].take(*bundle, members_.rank(), fault_);
    got_[share].end(fault_);
  }
  return done;
}

void PairMessages::prepare() noexcept {
  for (PairMessage& message : all_) message.prepare();
}

bool PairMessages::awaited() const noexcept {
  return std::ranges::any_of(all_, [](const PairMessage& message) {
    return message.transfer() != nullptr && message.transfer()->awaited();
  });
}

bool PairMessages::unpacking() const noexcept {
  return std::ranges::any_of(all_, [](const PairMessage& message) {
    return !message.done() && message.transfer() != nullptr &&
           message.direction() == MessageDirection::Receive &&
           message.transfer()->state() == Transfer::State::Arriving;
  });
}

std::int64_t PairMessages::size_bytes() const noexcept {
  std::int64_t bytes = 0;
  for (const PairMessage& message : all_) bytes += message.bytes();
  for (const PairBundle& bundle : bundles_) bytes += bundle.room();
  return bytes;
}

}  // namespace strake::exchange
