#include "exchange/collective/pair_messages.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "exchange/choice/choice.hpp"
#include "exchange/transport/launch_batcher.hpp"
#include "exchange/transport/plans.hpp"
#include "mpi/own_world.hpp"
#include "mpi/real_mpi.hpp"
#include "settings/log.hpp"
#include "strake/error.hpp"

namespace strake::exchange {
namespace {

bool on_host(const Typed& typed) noexcept {
  return typed.elements == nullptr || (typed.place.kind == MemoryKind::Host && !typed.mixed);
}

/// How the bytes are packed that no memory shared with the other rank carries.
Transport packed_transport(const Typed& typed, Direction direction, bool near) {
  if (on_host(typed) || typed.mixed) return Transport::Pack;
  const Transport chosen = choose(*typed.elements, direction, typed.place, true).transport;
  if (typed.place.in_host_memory()) return Transport::Pack;
  // The bytes of a cell are copied by the CPU.
  const bool usable = chosen == Transport::OneShot || chosen == Transport::Staged ||
                      (chosen == Transport::Device && !near);
  return usable ? chosen : Transport::OneShot;
}

/// A message has come for which there is no room: its sender is not to wait for it.
void drop(const shared::Cell& cell, std::int32_t from) {
  if (cell.way != shared::Cell::Way::Segment) return;
  const auto delivery = shared::ShmEndpoint::get()->peer_segments().open(
      reinterpret_cast<const std::byte*>(&cell.header), from);
  if (delivery) delivery->done();
}

void advance_library() noexcept {
  int flag = 0;
  mpi::real_mpi().MPI_Iprobe(MPI_ANY_SOURCE, mpi::first_single_tag(), mpi::own_world(), &flag,
                             MPI_STATUS_IGNORE);
}

}  // namespace

PairMessage::PairMessage(const Members& members, std::int32_t number, Direction direction, int rank,
                         std::uint32_t edge, Typed typed)
    : direction_(direction),
      form_(Form::Transfer),
      rank_(members.world_rank(rank)),
      name_{number, 0, edge},
      typed_(std::move(typed)),
      bytes_(typed_.elements != nullptr ? typed_.elements->size_bytes() : 0),
      transport_(Transport::Library),
      near_(members.is_near(rank)) {
  const bool sends = direction == Direction::Send;
  const bool plain = on_host(typed_) && (bytes_ == 0 || typed_.elements->dense()) &&
                     bytes_ <= std::numeric_limits<int>::max();
  if (near_ && sends && on_host(typed_) && bytes_ <= shared::Cell::kMostInside) {
    form_ = Form::Inside;
    transport_ = Transport::Shared;
  } else if (near_ && bytes_ == 0) {
    form_ = Form::Nothing;
    transport_ = Transport::Shared;
  } else if (!near_ && plain) {
    form_ = Form::Plain;
  } else {
    transfer_.emplace(direction, typed_, packed_transport(typed_, direction, near_));
    if (near_) {
      by_cell_.emplace(direction, rank_);
      by_cell_->set_bytes(bytes_);
      if (sends) transfer_->share_each(shared::Destination::by_cell(rank_));
    } else {
      const mpi::Peer peer{rank_, number, mpi::own_world()};
      sends ? by_mpi_.emplace(peer, mpi::real_mpi().MPI_Isend) : by_mpi_.emplace(peer);
    }
  }
}

PairMessage::~PairMessage() {
  if (plain_ != MPI_REQUEST_NULL) mpi::real_mpi().MPI_Request_free(&plain_);
}

Channel& PairMessage::channel() noexcept {
  return near_ ? static_cast<Channel&>(*by_cell_) : static_cast<Channel&>(*by_mpi_);
}

void PairMessage::start(std::uint32_t call) {
  name_.call = call;
  done_ = false;
  switch (form_) {
    case Form::Inside:
      send_inside();
      return;
    case Form::Nothing:
      return;
    case Form::Plain:
      if (direction_ == Direction::Receive) start_plain();
      return;
    case Form::Transfer:
      break;
  }
  if (near_) by_cell_->name(name_);
  transfer_->start();
  if (direction_ == Direction::Receive) transfer_->post(channel());
}

void PairMessage::send_inside() {
  shared::Cell cell;
  cell.name = name_;
  cell.bytes = bytes_;
  if (bytes_ > 0)
    plans_of(*typed_.elements)
        .plan(Direction::Send, {}, {})
        .run(cell.inside.data(), typed_.address);
  post_cell(rank_, cell);
  done_ = true;
}

void PairMessage::start_plain() {
  const mpi::RealMpi& real = mpi::real_mpi();
  std::byte* const first =
      bytes_ > 0 ? typed_.address + typed_.elements->layout().bounds().begin : nullptr;
  const auto count = static_cast<int>(bytes_);
  const int tag = name_.comm;
  const int code =
      direction_ == Direction::Send
          ? real.MPI_Isend(first, count, MPI_BYTE, rank_, tag, mpi::own_world(), &plain_)
          : real.MPI_Irecv(first, count, MPI_BYTE, rank_, tag, mpi::own_world(), &plain_);
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

bool PairMessage::step() {
  if (done_) return true;
  switch (form_) {
    case Form::Inside:
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
      // A send leaves in one step, and ends in the next ones.
      done_ = transfer_->step(channel()) ||
              (transfer_->state() == Transfer::State::Posted && transfer_->step(channel()));
      if (!done_) break;
      transport_ = transfer_->transport();
      if (const auto& delivery = transfer_->arrival().delivery)
        transport_ = delivery->direct() ? Transport::Direct : Transport::Shared;
      break;
  }
  return done_;
}

template <typename Act>
void PairMessages::guard(PairMessage& message, const Act& act) noexcept {
  int error = MPI_ERR_OTHER;
  try {
    act();
    return;
  } catch (const MessageFailed& failed) {
    error = failed.code();
  } catch (const MpiError& failed) {
    error = failed.code();
  } catch (const OutOfMemory& failed) {
    log::warn("{}", failed.what());
    error = MPI_ERR_NO_MEM;
  } catch (const std::bad_alloc&) {
    error = MPI_ERR_NO_MEM;
  } catch (const std::exception& failed) {
    log::warn("a message of a collective call failed: {}", failed.what());
  }
  message.give_up();
  if (error_ == MPI_SUCCESS) error_ = error;
}

void PairMessages::start(std::uint32_t call) noexcept {
  error_ = MPI_SUCCESS;
  left_ = 0;
  on_device_ = false;
  for (PairMessage& message : all_) {
    guard(message, [&] { message.start(call); });
    const Transfer* const transfer = message.transfer();
    on_device_ = on_device_ || (transfer != nullptr && transfer->on_device());
    if (!message.done()) ++left_;
  }
  leaving_ = std::ranges::any_of(all_, &PairMessage::leaving);
  if (leaving_) (void)step();
}

bool PairMessages::step(bool leave) noexcept {
  if (left_ == 0) return true;
  if (on_device_) prepare();
  bool waits = !leave;
  leaving_ = false;
  std::size_t left = 0;
  for (PairMessage& message : all_) {
    if (message.done()) continue;
    // Messages of MPI's with one tag leave in the order of their numbers.
    if (!(waits && message.leaving())) guard(message, [&] { (void)message.step(); });
    leaving_ = leaving_ || message.leaving();
    waits = waits || leaving_;
    if (!message.done()) ++left;
  }
  left_ = left;
  // Messages that the MPI library has from this rank: others may wait for these before they come to
  // this call.
  constexpr unsigned kNowAndThen = 16;
  if (left_ != 0 && ++turns_ % kNowAndThen == 0) advance_library();
  if (on_device_) LaunchBatcher::get().launch();
  return left_ == 0;
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
           message.direction() == Direction::Receive &&
           message.transfer()->state() == Transfer::State::Arriving;
  });
}

}  // namespace strake::exchange
