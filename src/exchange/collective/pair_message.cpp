#include "exchange/collective/pair_message.hpp"

#include <limits>
#include <utility>

#include "exchange/choice/choice.hpp"
#include "exchange/transport/plans.hpp"
#include "mpi/own_world.hpp"
#include "mpi/real_mpi.hpp"
#include "strake/error.hpp"

namespace strake::exchange {
namespace {

bool on_host(const Typed& typed) noexcept {
  return typed.elements == nullptr || (typed.place.kind == MemoryKind::Host && !typed.mixed);
}

/// How the bytes are packed that no memory shared with the other rank carries. `by_cpu`: the CPU
/// copies the packed bytes, to or from a cell or a bundle.
Transport packed_transport(const Typed& typed, MessageDirection direction, bool by_cpu) {
  if (on_host(typed) || typed.mixed) return Transport::Pack;
  const Transport chosen = choose(*typed.elements, direction, typed.place, true).transport;
  if (typed.place.in_host_memory()) return Transport::Pack;
  const bool usable = chosen == Transport::OneShot || chosen == Transport::Staged ||
                      (chosen == Transport::Device && !by_cpu);
  return usable ? chosen : Transport::OneShot;
}

/// A message has come for which there is no room: its sender is not to wait for it.
void drop(const shared::Cell& cell, std::int32_t from) {
  if (cell.carrier == shared::Cell::Carrier::Message) {
    (void)mpi::real_mpi().MPI_Recv(nullptr, 0, MPI_BYTE, from, cell.tag, mpi::own_world(),
                                   MPI_STATUS_IGNORE);
    return;
  }
  if (cell.carrier != shared::Cell::Carrier::Segment) return;
  const auto delivery = shared::ShmEndpoint::get()->peer_segments().open(
      reinterpret_cast<const std::byte*>(&cell.header), from);
  if (delivery) delivery->done();
}

}  // namespace

PairMessage::PairMessage(const Members& members, std::int32_t number, MessageDirection direction,
                         int rank, std::uint32_t edge, Typed typed, Told told)
    : direction_(direction),
      told_(told),
      near_(told == Told::Alone && members.is_near(rank)),
      rank_(members.world_rank(rank)),
      name_{number, 0, edge},
      typed_(std::move(typed)),
      bytes_(typed_.elements != nullptr ? typed_.elements->size_bytes() : 0),
      begins_as_(told <= Told::ByMpi ? form_alone() : form_in_bundle()),
      form_(begins_as_),
      tag_(number) {
  if (form_ == Form::Inside || form_ == Form::Nothing) transport_ = Transport::Shared;
  if (form_ == Form::Transfer) make_transfer();
}

PairMessage::~PairMessage() {
  if (plain_ != MPI_REQUEST_NULL) mpi::real_mpi().MPI_Request_free(&plain_);
}

bool PairMessage::can_be_plain() const noexcept {
  return on_host(typed_) && (bytes_ == 0 || typed_.elements->dense()) &&
         bytes_ <= std::numeric_limits<int>::max();
}

PairMessage::Form PairMessage::form_alone() const noexcept {
  if (!near_) return can_be_plain() ? Form::Plain : Form::Transfer;
  const bool sends = direction_ == MessageDirection::Send;
  if (sends && on_host(typed_) && bytes_ <= shared::Cell::kMostInside) return Form::Inside;
  return bytes_ == 0 ? Form::Nothing : Form::Transfer;
}

PairMessage::Form PairMessage::form_in_bundle() const noexcept {
  if (told_ == Told::BesideBundle) return can_be_plain() ? Form::Plain : Form::Transfer;
  return on_host(typed_) || bytes_ == 0 ? Form::Bundled : Form::Transfer;
}

void PairMessage::make_transfer() {
  const bool alone = told_ <= Told::ByMpi;
  const bool by_cpu = alone ? near_ : told_ == Told::InBundle && bytes_ <= Bundle::kMostInside;
  transfer_.emplace(direction_, typed_, packed_transport(typed_, direction_, by_cpu));
  if (!alone) {
    by_bundle_.emplace(direction_, rank_);
  } else if (near_) {
    by_cell_.emplace(direction_, rank_);
    by_cell_->set_bytes(bytes_);
    if (direction_ == MessageDirection::Send)
      transfer_->share_each(shared::Destination::by_cell(rank_));
  } else {
    const mpi::Envelope peer{rank_, tag_, mpi::own_world()};
    direction_ == MessageDirection::Send ? by_mpi_.emplace(peer, mpi::real_mpi().MPI_Isend)
                                         : by_mpi_.emplace(peer);
  }
}

Channel& PairMessage::channel() noexcept {
  if (by_bundle_) return *by_bundle_;
  return near_ ? static_cast<Channel&>(*by_cell_) : static_cast<Channel&>(*by_mpi_);
}

void PairMessage::enter(Bundle& bundle, int from, int to) {
  const bool inside = told_ == Told::InBundle;
  given_up_ = false;
  entered_at_ = room_ = nullptr;
  BundleEntry entry{to, from, name_.edge, BundleEntry::kInside, bytes_};
  if (!inside) entry.tag = tag_ = next_single_tag();
  entered_at_ = bundle.add(entry);
  if (entered_at_ == nullptr) throw Error("a bundle has no room for its messages");
  if (inside) room_ = entered_at_;
  if (!by_bundle_) return;
  inside ? by_bundle_->send_inside(room_) : by_bundle_->send_apart(tag_);
}

void PairMessage::start(std::uint32_t call) {
  name_.call = call;
  form_ = begins_as_;
  // A send that its bundle could not enter is not started.
  done_ = given_up_ = given_up_ && told_ > Told::ByMpi && direction_ == MessageDirection::Send;
  taken_ = false;
  if (done_) return;
  switch (form_) {
    case Form::Inside:
      send_inside();
      return;
    case Form::Nothing:
      return;
    case Form::Plain:
      if (direction_ == MessageDirection::Receive) start_plain();
      return;
    case Form::Bundled:
      if (direction_ == MessageDirection::Receive) return;
      if (room_ == nullptr) throw Error("a message is in no bundle");
      if (bytes_ > 0)
        plans_of(*typed_.elements).plan(MessageDirection::Send, {}, {}).run(room_, typed_.address);
      transport_ = Transport::Pack;
      done_ = true;
      return;
    case Form::Transfer:
      break;
  }
  if (by_cell_) by_cell_->name(name_);
  transfer_->start();
  if (direction_ == MessageDirection::Receive) transfer_->post(channel());
}

void PairMessage::send_inside() {
  shared::Cell cell;
  cell.name = name_;
  cell.bytes = bytes_;
  if (bytes_ > 0)
    plans_of(*typed_.elements)
        .plan(MessageDirection::Send, {}, {})
        .run(cell.inside.data(), typed_.address);
  post_cell(rank_, cell);
  done_ = true;
}

void PairMessage::take(const BundleEntry& entry, const std::byte* inside) {
  if (done_ || taken_) return;
  taken_ = true;
  if (entry.tag < BundleEntry::kInside) throw MessageFailed(MPI_ERR_OTHER, true);
  if (form_ == Form::Bundled && entry.tag == BundleEntry::kInside) {
    take_inside(entry, inside);
    return;
  }
  if (form_ == Form::Bundled) {
    tag_ = entry.tag;
    form_ = can_be_plain() ? Form::Plain : Form::Transfer;
    if (form_ == Form::Plain) {
      start_plain();
      return;
    }
    if (!transfer_) make_transfer();
    transfer_->start();
    transfer_->post(channel());
  }
  by_bundle_->arrived(entry, inside);
  done_ = step_transfer();
}

void PairMessage::take_inside(const BundleEntry& entry, const std::byte* inside) {
  if (entry.bytes > bytes_) throw MessageFailed(MPI_ERR_TRUNCATE, true);
  if (entry.bytes > 0)
    plans_of(*typed_.elements)
        .plan(MessageDirection::Receive, {}, {})
        .run(typed_.address, inside, ByteRange{0, entry.bytes});
  transport_ = Transport::Pack;
  done_ = true;
}

void PairMessage::start_plain() {
  const mpi::RealMpi& real = mpi::real_mpi();
  std::byte* const first =
      bytes_ > 0 ? typed_.address + typed_.elements->layout().bounds().begin : nullptr;
  const auto count = static_cast<int>(bytes_);
  transport_ = Transport::Library;
  const int code =
      direction_ == MessageDirection::Send
          ? real.MPI_Isend(first, count, MPI_BYTE, rank_, tag_, mpi::own_world(), &plain_)
          : real.MPI_Irecv(first, count, MPI_BYTE, rank_, tag_, mpi::own_world(), &plain_);
  mpi::check(code, "a message of a collective call");
}

bool PairMessage::step_plain() {
  if (plain_ == MPI_REQUEST_NULL) {  // a send, whose turn it is to leave
    start_plain();
    return false;
  }
  int flag = 0;
  const int code = mpi::real_mpi().MPI_Test(&plain_, &flag, MPI_STATUS_IGNORE);
  if (code != MPI_SUCCESS) throw MessageFailed(code, true);
  return flag != 0;
}

/// A send leaves in one step, and ends in the next ones.
bool PairMessage::step_transfer() {
  const bool done = transfer_->step(channel()) ||
                    (transfer_->state() == Transfer::State::Posted && transfer_->step(channel()));
  if (!done) return false;
  transport_ = transfer_->transport();
  if (const auto& delivery = transfer_->arrival().delivery)
    transport_ = delivery->direct() ? Transport::Direct : Transport::Shared;
  return true;
}

bool PairMessage::step() {
  if (done_) return true;
  switch (form_) {
    case Form::Inside:
    case Form::Bundled:  // a receive, whose entry has not come
      break;
    case Form::Nothing:
      if (const auto cell = take_cell(rank_, name_)) {
        done_ = true;
        drop(*cell, rank_);
        if (cell->bytes > 0) throw MessageFailed(MPI_ERR_TRUNCATE, true);
      }
      break;
    case Form::Plain:
      done_ = step_plain();
      break;
    case Form::Transfer:
      done_ = step_transfer();
      break;
  }
  return done_;
}

}  // namespace strake::exchange
