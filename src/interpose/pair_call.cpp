#include "interpose/pair_call.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <new>
#include <utility>

#include "exchange/transport/mixed.hpp"
#include "exchange/transport/plans.hpp"
#include "interpose/examine.hpp"
#include "interpose/times.hpp"
#include "mpi/own_world.hpp"
#include "mpi/real_mpi.hpp"
#include "mpi/types.hpp"
#include "mpi/world.hpp"
#include "settings/log.hpp"
#include "strake/error.hpp"

namespace strake::interpose {
namespace {

/// [bytes] As the MPI library packs them, as many as it sends.
std::int64_t size_of(const Block& block) {
  MPI_Count size = 0;
  mpi::check(real_mpi().MPI_Type_size_x(block.type, &size), "MPI_Type_size_x");
  return size * block.count;
}

/// MPI_Pack counts bytes in an int.
constexpr std::int64_t kMostPacked = std::numeric_limits<int>::max();

}  // namespace

SetAside::SetAside(exchange::MessageDirection its_direction, const Block& its_block,
                   exchange::Typed its_typed)
    : direction(its_direction), block(its_block), typed(std::move(its_typed)) {
  packed.resize(static_cast<std::size_t>(size_of(block)));
  mpi::check(real_mpi().MPI_Type_dup(its_block.type, &block.type), "MPI_Type_dup");
}

SetAside::~SetAside() {
  if (mpi::in_world()) real_mpi().MPI_Type_free(&block.type);
}

bool PairCall::add(exchange::MessageDirection direction, int rank, std::uint32_t edge,
                   const Block& block, bool keep) {
  added_.push_back({direction, keep, rank, edge, block});
  mix(static_cast<std::uint64_t>(rank) << 1U |
      (direction == exchange::MessageDirection::Send ? 1U : 0U));
  if (block.count == 0) {
    add_empty(direction, rank, edge);
    return true;
  }
  if (block.count < 0 || block.type == MPI_DATATYPE_NULL) return false;
  mpi::TypeRecord* const record = mpi::find_type(block.type);
  if (record == nullptr) may_be_kept_ = false;
  if (record != nullptr && record->size_bytes() == 0) {
    add_empty(direction, rank, edge);
    return true;
  }
  Examined found;
  const bool decoded = record != nullptr && record->ready(block.type, block.count, Use::Often) &&
                       record->decodable();
  if (decoded && !resolve(block.address, block.count, *record, found)) {
    if (found.reason == Reason::NoKernels)
      throw Unsupported("the kernels were not compiled for the device of a collective call");
    if (found.reason != Reason::Empty) return false;
    add_empty(direction, rank, edge);
    return true;
  }
  mix(static_cast<std::uint64_t>(decoded ? record->size_bytes() * block.count : size_of(block)));
  if (decoded) mix(static_cast<std::uint64_t>(found.typed.place.kind));
  if (decoded && !keep) {
    messages.add(direction, rank, edge, std::move(found.typed));
    return true;
  }
  if (!decoded && (block.count > kMostPacked || size_of(block) > kMostPacked))
    throw Unsupported("a datatype that can't be decoded, in a collective call of 2 GiB or more");
  SetAside& aside = aside_.emplace_back(direction, block, std::move(found.typed));
  messages.add(direction, rank, edge,
               exchange::host_bytes(aside.packed.data(), std::ssize(aside.packed)));
  return true;
}

void PairCall::start(std::uint32_t call) {
  for (SetAside& aside : aside_)
    if (aside.direction == exchange::MessageDirection::Send) pack(aside);
  running_ = true;
  messages.start(call);
}

void PairCall::pack(SetAside& aside) {
  if (aside.typed.elements != nullptr) {
    exchange::copy_mixed(exchange::MessageDirection::Send, aside.typed.elements->layout(),
                         aside.typed.address, aside.packed.data(), ByteRange::all());
    return;
  }
  int position = 0;
  mpi::check(
      real_mpi().MPI_Pack(aside.block.address, static_cast<int>(aside.block.count),
                          aside.block.type, aside.packed.data(),
                          static_cast<int>(aside.packed.size()), &position, mpi::own_world()),
      "MPI_Pack");
}

void PairCall::unpack(const SetAside& aside) {
  if (aside.typed.elements != nullptr) {
    exchange::copy_mixed(exchange::MessageDirection::Receive, aside.typed.elements->layout(),
                         aside.typed.address, const_cast<std::byte*>(aside.packed.data()),
                         ByteRange::all());
    return;
  }
  int position = 0;
  mpi::check(
      real_mpi().MPI_Unpack(aside.packed.data(), static_cast<int>(aside.packed.size()), &position,
                            aside.block.address, static_cast<int>(aside.block.count),
                            aside.block.type, mpi::own_world()),
      "MPI_Unpack");
}

/// Once for each transport that carried some of the call's bytes.
void PairCall::count() const noexcept {
  std::array<std::int64_t, machine::kTransports> bytes{};
  for (const exchange::PairMessage& message : messages.all()) {
    if (message.direction() == exchange::MessageDirection::Send)
      bytes[static_cast<std::size_t>(message.transport())] += message.bytes();
  }
  const auto most = std::ranges::max_element(bytes);
  if (*most == 0) {
    record({kind_.function, Transport::Library, Reason::Empty, 0});
    times::note_nothing();
    return;
  }
  for (std::size_t transport = 0; transport < bytes.size(); ++transport) {
    if (bytes[transport] > 0)
      record({kind_.function, static_cast<Transport>(transport), Reason::None, bytes[transport]});
  }
  times::note_transport(static_cast<Transport>(most - bytes.begin()));
}

int PairCall::finish() noexcept {
  running_ = false;
  int error = messages.error();
  try {
    for (const SetAside& aside : aside_)
      if (aside.direction == exchange::MessageDirection::Receive && error == MPI_SUCCESS)
        unpack(aside);
  } catch (const MpiError& failed) {
    error = failed.code();
  } catch (const std::exception& failed) {
    log::warn("a collective call failed: {}", failed.what());
    error = MPI_ERR_OTHER;
  }
  failed_ = error != MPI_SUCCESS;
  count();
  return error;
}

}  // namespace strake::interpose
