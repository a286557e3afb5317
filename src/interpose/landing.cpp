#include "interpose/landing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "device/backend.hpp"
#include "exchange/transport/mixed.hpp"
#include "exchange/transport/plans.hpp"
#include "mpi/real_mpi.hpp"
#include "mpi/types.hpp"
#include "strake/error.hpp"
#include "strake/memory.hpp"

namespace strake::interpose {
namespace {

using exchange::shared::kShortestHeader;
using exchange::shared::Landed;
using mpi::real_mpi;

constexpr Place kHost = {MemoryKind::Host, -1};

std::int64_t size_of(MPI_Datatype type) {
  MPI_Count bytes = 0;
  mpi::check(real_mpi().MPI_Type_size_x(type, &bytes), "MPI_Type_size_x");
  return static_cast<std::int64_t>(bytes);
}

int as_int(std::int64_t value, const char* what) {
  if (value > std::numeric_limits<int>::max())
    throw Unsupported(fmt::format("{} of {}, of a type that can't be decoded", what, value));
  return static_cast<int>(value);
}

bool on_host(const std::byte* address) {
  return device_backend() == nullptr || classify(address).in_host_memory();
}

}  // namespace

void Landing::look_at_type(MPI_Datatype type) {
  mpi::TypeRecord* const record = mpi::find_type(type);
  if (record != nullptr && !record->waits() && record->decodable()) {
    elements_ = record->elements(count_);
    room_ = elements_->size_bytes();
    if (elements_->dense()) {
      address_ = reinterpret_cast<std::byte*>(address_of(address_, elements_->layout().offset()));
      elements_.reset();
    }
    return;
  }
  room_ = size_of(type) * count_;
  mpi::check(real_mpi().MPI_Type_dup(type, &opaque_), "MPI_Type_dup");
}

void Landing::free_opaque() noexcept { real_mpi().MPI_Type_free(&opaque_); }

const std::byte* Landing::first() const noexcept {
  if (elements_ == nullptr) return address_;
  return reinterpret_cast<const std::byte*>(
      address_of(address_, elements_->layout().bounds().begin));
}

std::vector<std::byte> Landing::pack_opaque() const {
  std::vector<std::byte> all(static_cast<std::size_t>(room_));
  int at = 0;
  mpi::check(real_mpi().MPI_Pack(address_, as_int(count_, "a count"), opaque_, all.data(),
                                 as_int(room_, "a message"), &at, MPI_COMM_WORLD),
             "MPI_Pack");
  return all;
}

Landed Landing::landed() const {
  Landed landed{};
  if (own_) {
    std::memcpy(landed.data(), own_->data(), landed.size());
  } else if (room_ < kShortestHeader) {
    // No header message has come.
  } else if (opaque_ != MPI_DATATYPE_NULL) {
    std::memcpy(landed.data(), pack_opaque().data(), landed.size());
  } else if (elements_ != nullptr && on_host(first())) {
    exchange::plans_of(*elements_)
        .plan(MessageDirection::Send, kHost, kHost)
        .run(landed.data(), address_, {0, sizeof(landed)});
  } else if (elements_ != nullptr) {
    exchange::copy_mixed(MessageDirection::Send, elements_->layout(), address_, landed.data(),
                         {0, sizeof(landed)});
  } else if (on_host(first())) {
    std::memcpy(landed.data(), address_, landed.size());
  } else {
    exchange::copy_mixed(MessageDirection::Send, Layout::dense(room_), address_, landed.data(),
                         {0, sizeof(landed)});
  }
  return landed;
}

bool Landing::settle(std::int64_t bytes) {
  if (!own_) return true;
  const std::int64_t taken = std::min(bytes, room_);
  if (taken > 0) take_whole(own_->data(), taken);
  return bytes <= room_;
}

bool Landing::take(const Delivery& delivery) {
  const exchange::shared::Taken taken(delivery);
  const std::int64_t bytes = std::min(room_, delivery.bytes());
  if (opaque_ == MPI_DATATYPE_NULL && on_host(first())) {
    take_in_pieces(delivery, bytes);
  } else {
    delivery.take_whole(bytes, [&](const std::byte* packed) { take_whole(packed, bytes); });
  }
  return delivery.bytes() <= room_;
}

void Landing::take_in_pieces(const Delivery& delivery, std::int64_t bytes) {
  const CopyPlan* const plan =
      elements_ != nullptr
          ? &exchange::plans_of(*elements_).plan(MessageDirection::Receive, kHost, kHost)
          : nullptr;
  if (delivery.copy_to(elements_ != nullptr ? elements_->layout() : Layout::dense(bytes), address_))
    return;
  delivery.for_each_piece(bytes, [&](ByteRange piece, const std::byte* packed) {
    if (plan != nullptr) return plan->run(address_, packed, piece);
    std::memcpy(address_ + piece.begin, packed + piece.begin,
                static_cast<std::size_t>(piece.size()));
  });
}

void Landing::take_whole(const std::byte* packed, std::int64_t bytes) {
  if (opaque_ == MPI_DATATYPE_NULL) {
    const Layout layout = elements_ != nullptr ? elements_->layout() : Layout::dense(room_);
    exchange::copy_mixed(MessageDirection::Receive, layout, address_,
                         const_cast<std::byte*>(packed), {0, bytes});
    return;
  }
  // The last element may be there in part: all are read, and written back.
  std::vector<std::byte> all = pack_opaque();
  std::memcpy(all.data(), packed, static_cast<std::size_t>(bytes));
  int at = 0;
  mpi::check(real_mpi().MPI_Unpack(all.data(), as_int(room_, "a message"), &at, address_,
                                   as_int(count_, "a count"), opaque_, MPI_COMM_WORLD),
             "MPI_Unpack");
}

bool add_placeholder_of_left_send(const Found& found, std::int64_t count, MPI_Datatype type,
                                  const mpi::Envelope& peer) {
  if (peer.rank < 0 || count <= 0) return false;
  std::int64_t bytes = found.bytes;
  const bool not_told = found.reason == Reason::NotDecodable || found.reason == Reason::NoKernels;
  if (bytes == 0 && not_told) bytes = size_of(type) * count;
  return exchange::shared::add_placeholder(bytes, peer);
}

}  // namespace strake::interpose
