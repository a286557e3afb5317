// Collective calls that Strake carries out pair by pair, with all ranks of the communicator or none
// (decision 28): MPI_Alltoall and its kin, and those of neighbours.
#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "exchange/peers/backoff.hpp"
#include "interpose/collective.hpp"
#include "interpose/collective_operation.hpp"
#include "interpose/examine.hpp"
#include "interpose/pair_call.hpp"
#include "interpose/quiet_world.hpp"
#include "interpose/requests.hpp"
#include "mpi/neighbours.hpp"
#include "mpi/own_world.hpp"
#include "settings/log.hpp"
#include "strake/error.hpp"

namespace strake::interpose {
namespace {

using exchange::Backoff;
using exchange::Bundling;
using exchange::CollectiveWay;
using exchange::Members;
using exchange::Trial;
using mpi::CallForm;
using mpi::Neighbourhood;

/// A call has these arguments behind its buffers: MPI_Comm; MPI_Comm, MPI_Request*; or MPI_Comm,
/// MPI_Info, MPI_Request*.
template <typename... Tail>
struct CallTail {
  explicit CallTail(Tail... tail) : all(tail...) {}
  std::tuple<Tail...> all;
  static constexpr CallForm kForm = sizeof...(Tail) == 1   ? CallForm::Blocking
                                    : sizeof...(Tail) == 2 ? CallForm::Nonblocking
                                                           : CallForm::Persistent;
  [[nodiscard]] MPI_Comm comm() const { return std::get<0>(all); }
  /// Not of a blocking call.
  [[nodiscard]] MPI_Request* request() const { return std::get<sizeof...(Tail) - 1>(all); }
};

std::byte* at(const void* buffer, std::int64_t offset) {
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::intptr_t>(buffer) + offset);
}

std::int64_t extent_of(MPI_Datatype type) {
  MPI_Count lower = 0;
  MPI_Count extent = 0;
  if (type == MPI_DATATYPE_NULL ||
      real_mpi().MPI_Type_get_extent_x(type, &lower, &extent) != MPI_SUCCESS)
    return 0;
  return extent;
}

/// As the MPI library says: all ranks must agree on it.
std::uint64_t bytes_of(MPI_Datatype type) {
  MPI_Count size = 0;
  const bool known =
      type != MPI_DATATYPE_NULL && real_mpi().MPI_Type_size_x(type, &size) == MPI_SUCCESS;
  return known && size > 0 ? static_cast<std::uint64_t>(size) : 0;
}

/// The extent of a datatype. The library is asked at the first use, as the handle may be none
/// (MPI_IN_PLACE).
class Extent {
 public:
  explicit Extent(MPI_Datatype type) noexcept : type_(type) {}
  std::int64_t operator()() const {
    if (!known_) known_ = extent_of(type_);
    return *known_;
  }

 private:
  MPI_Datatype type_;
  mutable std::optional<std::int64_t> known_;
};

/// \{ Functions that return block i of a buffer.
/// All blocks are alike, one after the other.
auto in_a_row(const void* buffer, std::int64_t count, MPI_Datatype type) {
  return [=, extent = Extent(type)](std::size_t i) {
    return Block{at(buffer, static_cast<std::int64_t>(i) * count * extent()), count, type};
  };
}
/// The whole buffer, for everybody.
auto for_all(const void* buffer, std::int64_t count, MPI_Datatype type) {
  return [=](std::size_t /*i*/) { return Block{at(buffer, 0), count, type}; };
}
/// Places are counted in elements.
template <typename Count, typename Place>
auto in_places(const void* buffer, const Count* counts, const Place* places, MPI_Datatype type) {
  return [=, extent = Extent(type)](std::size_t i) {
    return Block{at(buffer, std::int64_t{places[i]} * extent()), counts[i], type};
  };
}
/// Places are counted in bytes, and each block has a datatype of its own.
template <typename Count, typename Place>
auto in_types(const void* buffer, const Count* counts, const Place* places,
              const MPI_Datatype* types) {
  return [=](std::size_t i) { return Block{at(buffer, places[i]), counts[i], types[i]}; };
}
/// \}

int run(PairCall& call, std::uint32_t number) {
  {
    const QuietWorld quiet;
    call.start(number);
    for (Backoff backoff; !call.messages.step(); backoff.pause()) Requests::get().progress(nullptr);
  }
  const int error = call.finish();
  return error == MPI_SUCCESS ? MPI_SUCCESS : raise(call.comm(), error);
}

/// The functions whose calls take one way.
enum class Family : std::uint8_t {
  Alltoall,
  Alltoallv,
  Alltoallw,
  NeighborAllgather,
  NeighborAllgatherv,
  NeighborAlltoall,
  NeighborAlltoallv,
  NeighborAlltoallw
};

/// All ranks know this alike of a kind of call on a communicator.
struct PairKind {
  Members& members;
  Trial& trial;
  PairCall::Kind call;
};

/// The call of the messages that `describe(call)` adds; one that was made before, if there is one.
/// Null: the MPI library is to refuse the arguments.
template <typename Describe>
std::shared_ptr<PairCall> call_of(const PairKind& kind, Bundling bundling, MPI_Comm comm,
                                  const Describe& describe) {
  constexpr std::size_t kMostKept = 8;  // four calls, with and without relays
  constexpr std::int64_t kMostBytes = 64 << 20;
  auto& kept = kind.members.kept;
  PairCall::Kind made = kind.call;
  made.bundling = bundling;
  // Memory that was a device's may be another one's now.
  const bool keeps = no_object_since() || device_backend() == nullptr;
  if (keeps) {
    for (const std::shared_ptr<mpi::Companion>& one : kept) {
      auto call = std::static_pointer_cast<PairCall>(one);
      PairCall::Same same(*call);
      if (call->may_serve(made) && describe(same) && same.all()) return call;
    }
  }
  auto call = std::make_shared<PairCall>(made, comm, kind.members, kind.members.number());
  if (!describe(*call)) return nullptr;
  if (!keeps || !call->may_be_kept() || call->size_bytes() > kMostBytes) return call;
  if (kept.size() == kMostKept) kept.erase(kept.begin());
  kept.push_back(call);
  return call;
}

/// Runs `act`. False: something was not to be had, as an exception of Strake's said.
template <typename Act>
bool unless_short_of_memory(const Act& act) {
  try {
    act();
    return true;
  } catch (const MpiError&) {
    throw;
  } catch (const Error& failed) {
    log::warn("a persistent collective is left to the MPI library: {}", failed.what());
  } catch (const std::bad_alloc&) {
    log::warn("a persistent collective is left to the MPI library: there is no memory");
  }
  return false;
}

/// A persistent call has a number of its own: ranks may start several in different orders. Where
/// one rank can't make it, the MPI library has it on all.
template <typename Tail, typename Leave, typename Describe>
int make_persistent(const PairKind& kind, const Tail& tail, const Leave& leave,
                    const Describe& describe) {
  const MPI_Comm comm = tail.comm();
  std::shared_ptr<PairCall> call;
  bool right = false;
  bool made = false;
  const int agreed = guarded(comm, [&] {
    Requests::get().hand_on();
    PairCall::Kind wanted = kind.call;
    if (wanted.sends_empty) wanted.bundling = Bundling::Pairs;
    const bool described = unless_short_of_memory([&] {
      call = std::make_shared<PairCall>(wanted, comm, kind.members, 0);
      right = describe(*call);
      if (right) call->messages.choose();
    });
    const std::int32_t number = mpi::agree_on_number(comm, described && right);
    if (number == 0) return MPI_SUCCESS;
    const bool here = unless_short_of_memory([&] { call->messages.make(number); });
    const std::int32_t of_bundles = mpi::agree_on_number(comm, here);
    made = of_bundles != 0;
    if (made) call->messages.number_bundles(of_bundles);
    return MPI_SUCCESS;
  });
  if (agreed != MPI_SUCCESS) return agreed;
  if (!made) return leave(right ? Reason::NoAgreement : Reason::BadArguments);
  return guarded(comm, [&] {
    Requests& ours = Requests::get();
    auto operation =
        ours.make_operation<CollectiveOperation>(call, mpi::communicator(comm), std::uint32_t{0});
    operation->make_persistent();
    *tail.request() = ours.persistent();
    ours.add(*tail.request(), std::move(operation));
    return MPI_SUCCESS;
  });
}

/// Carries a call out; `describe(call)` adds its messages, or says that the MPI library is to
/// refuse the arguments; `leave(reason)` is the MPI library's call.
template <typename Tail, typename Leave, typename Describe>
int carry_out(const PairKind& kind, const Tail& tail, const Leave& leave,
              const Describe& describe) {
  constexpr CallForm kForm = Tail::kForm;
  const MPI_Comm comm = tail.comm();
  if constexpr (kForm == CallForm::Persistent) {
    return make_persistent(kind, tail, leave, describe);
  } else {
    // A rank counts the call before anything may fail, so that all ranks number their calls alike.
    const std::uint32_t number = kind.members.next_call();
    CollectiveWay way = CollectiveWay::Pairs;
    bool timed = false;
    std::shared_ptr<PairCall> made;
    const int code = guarded(comm, [&] {
      Requests::get().hand_on();  // what was sent before leaves before
      if (kForm == CallForm::Blocking) {
        if (kind.trial.decides()) kind.trial.decide(comm);
        way = kind.trial.next();
        timed = kind.trial.times();
      }
      // A rank that has left a nonblocking call may read no bundle before others wait for that.
      const bool bundled = kind.call.sends_empty && kForm == CallForm::Blocking;
      const Bundling bundling = way == CollectiveWay::Relayed ? Bundling::Relays : Bundling::Pairs;
      made = call_of(kind, bundled ? bundling : Bundling::None, comm, describe);
      return MPI_SUCCESS;
    });
    if (code != MPI_SUCCESS) return code;
    if (made == nullptr) return leave(Reason::BadArguments);
    const auto left = [&] { return leave(Reason::CollectiveTrials); };
    if constexpr (kForm == CallForm::Blocking) {
      const auto pairs = [&] { return sending(comm, left, [&] { return run(*made, number); }); };
      if (!timed) return way != CollectiveWay::Library ? pairs() : left();
      const auto begin = std::chrono::steady_clock::now();
      const int ended = way != CollectiveWay::Library ? pairs() : left();
      const std::chrono::nanoseconds taken = std::chrono::steady_clock::now() - begin;
      kind.trial.add(made->shape(), way, taken.count());
      return ended;
    } else {
      return sending(comm, left, [&] {
        Requests& ours = Requests::get();
        auto operation =
            ours.make_operation<CollectiveOperation>(made, mpi::communicator(comm), number);
        operation->start();
        *tail.request() = ours.launch(operation);
        return MPI_SUCCESS;
      });
    }
  }
}

/// The MPI library's call for that reason, with mirrors of buffers that it does not reach.
template <const CollectiveShape& shape, CallForm form, typename Real, typename... Arguments>
int leave_to_library(Reason reason, Function function, Real real, Arguments... arguments) {
  if constexpr (form == CallForm::Blocking) {
    return collective_as<shape>(reason, function, real, arguments...);
  } else if constexpr (form == CallForm::Nonblocking) {
    return nonblocking_as<shape>(reason, function, real, arguments...);
  } else {
    return persistent_as<shape>(reason, function, real, arguments...);
  }
}

/// The members of the communicator that a call is on; null: the call is passed on, as one from
/// inside another call is.
Members* members_of(MPI_Comm comm) {
  return t_depth != 0 || g_disabled ? nullptr : Members::of(comm);
}

constexpr std::uint32_t kind_of(Family family, unsigned size_class = 0) {
  return (static_cast<std::uint32_t>(family) << 8U) + size_class;
}

/// A call of neighbours, of which `sends(i)` and `receives(i)` are the blocks.
template <typename Tail, typename Leave, typename Sends, typename Receives>
int of_neighbours(Function function, Family family, Neighbourhood matched, const Tail& tail,
                  const Leave& leave, const Sends& sends, const Receives& receives) {
  Members* const members = members_of(tail.comm());
  const mpi::Neighbours* const neighbours = members != nullptr ? members->neighbours() : nullptr;
  if (neighbours == nullptr) return leave(Reason::NoAgreement);
  const mpi::Matching matching = mpi::matching(matched, Tail::kForm, neighbours->cartesian);
  const std::uint32_t tried = kind_of(family);
  Trial& trial = members->trial(tried, CollectiveWay::Pairs, true);
  if (matching == mpi::Matching::Unknown) return leave(Reason::NoAgreement);
  if (trial.leaves(Tail::kForm == CallForm::Blocking)) return leave(Reason::CollectiveTrials);
  return carry_out({*members, trial, {function, tried, true, Tail::kForm == CallForm::Blocking}},
                   tail, leave, [&](auto& call) {
                     const mpi::Edges& edges = members->edges(matching);
                     for (const auto& [block, rank, number] : edges.receives)
                       if (!call.add(MessageDirection::Receive, rank, number, receives(block)))
                         return false;
                     for (const auto& [block, rank, number] : edges.sends)
                       if (!call.add(MessageDirection::Send, rank, number, sends(block)))
                         return false;
                     return true;
                   });
}

/// A call in which each rank sends a block to each rank. `first`: its way while nothing is known of
/// it.
template <typename Tail, typename Kind, typename Leave, typename Sends, typename Receives>
int of_all(Function function, const Kind& kind, CollectiveWay first, const Tail& tail,
           const Leave& leave, const void* sent, const Sends& sends, const Receives& receives) {
  constexpr CallForm kForm = Tail::kForm;
  Members* const members = members_of(tail.comm());
  if (members == nullptr || (kForm == CallForm::Nonblocking && !members->all_connected()))
    return leave(Reason::NoAgreement);
  const std::uint32_t tried = kind();
  Trial& trial = members->trial(tried, first, false);
  if (trial.leaves(kForm == CallForm::Blocking)) return leave(Reason::CollectiveTrials);
  return carry_out({*members, trial, {function, tried, false, kForm == CallForm::Blocking}}, tail,
                   leave, [&](auto& call) {
                     if (kForm != CallForm::Nonblocking) members->connect_all(tail.comm());
                     const bool in_place = sent == MPI_IN_PLACE;
                     const int own = members->rank();
                     const int size = members->size();
                     for (int i = in_place ? 1 : 0; i < size; ++i) {
                       const int rank = (own + size - i) % size;
                       if (!call.add(MessageDirection::Receive, rank, 0,
                                     receives(static_cast<std::size_t>(rank))))
                         return false;
                     }
                     for (int i = in_place ? 1 : 0; i < size; ++i) {
                       const int rank = (own + i) % size;
                       const auto block = static_cast<std::size_t>(rank);
                       if (!call.add(MessageDirection::Send, rank, 0,
                                     in_place ? receives(block) : sends(block), in_place))
                         return false;
                     }
                     return true;
                   });
}

template <typename Real, typename Count, typename... Tail>
int alltoall(Function function, Real real, const void* sent, Count send_count,
             MPI_Datatype send_type, void* received, Count receive_count, MPI_Datatype receive_type,
             Tail... tail) {
  const CallTail ends(tail...);
  const auto leave = [&](Reason reason) {
    return leave_to_library<kAlltoall, ends.kForm>(reason, function, real, sent, send_count,
                                                   send_type, received, receive_count, receive_type,
                                                   tail...);
  };
  // All ranks give the same number of bytes for each pair.
  const auto kind = [&] {
    const auto bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(receive_count, 0)) *
                       bytes_of(receive_type);
    return kind_of(Family::Alltoall, static_cast<unsigned>(std::bit_width(bytes)));
  };
  return of_all(function, kind, CollectiveWay::Library, ends, leave, sent,
                in_a_row(sent, send_count, send_type),
                in_a_row(received, receive_count, receive_type));
}

template <typename Real, typename Count, typename Place, typename... Tail>
int alltoallv(Function function, Real real, const void* sent, const Count* send_counts,
              const Place* send_places, MPI_Datatype send_type, void* received,
              const Count* receive_counts, const Place* receive_places, MPI_Datatype receive_type,
              Tail... tail) {
  const CallTail ends(tail...);
  const auto leave = [&](Reason reason) {
    return leave_to_library<kAlltoallv, ends.kForm>(
        reason, function, real, sent, send_counts, send_places, send_type, received, receive_counts,
        receive_places, receive_type, tail...);
  };
  return of_all(
      function, [] { return kind_of(Family::Alltoallv); }, CollectiveWay::Library, ends, leave,
      sent, in_places(sent, send_counts, send_places, send_type),
      in_places(received, receive_counts, receive_places, receive_type));
}

template <typename Real, typename Count, typename Place, typename... Tail>
int alltoallw(Function function, Real real, const void* sent, const Count* send_counts,
              const Place* send_places, const MPI_Datatype* send_types, void* received,
              const Count* receive_counts, const Place* receive_places,
              const MPI_Datatype* receive_types, Tail... tail) {
  const CallTail ends(tail...);
  const auto leave = [&](Reason reason) {
    return leave_to_library<kAlltoallw, ends.kForm>(
        reason, function, real, sent, send_counts, send_places, send_types, received,
        receive_counts, receive_places, receive_types, tail...);
  };
  return of_all(
      function, [] { return kind_of(Family::Alltoallw); }, CollectiveWay::Pairs, ends, leave, sent,
      in_types(sent, send_counts, send_places, send_types),
      in_types(received, receive_counts, receive_places, receive_types));
}

template <typename Real, typename Count, typename... Tail>
int neighbor_alltoall(Function function, Real real, const void* sent, Count send_count,
                      MPI_Datatype send_type, void* received, Count receive_count,
                      MPI_Datatype receive_type, Tail... tail) {
  const CallTail ends(tail...);
  const auto leave = [&](Reason reason) {
    return leave_to_library<kNeighborAlltoall, ends.kForm>(reason, function, real, sent, send_count,
                                                           send_type, received, receive_count,
                                                           receive_type, tail...);
  };
  return of_neighbours(function, Family::NeighborAlltoall, Neighbourhood::Alltoall, ends, leave,
                       in_a_row(sent, send_count, send_type),
                       in_a_row(received, receive_count, receive_type));
}

template <typename Real, typename Count, typename Place, typename... Tail>
int neighbor_alltoallv(Function function, Real real, const void* sent, const Count* send_counts,
                       const Place* send_places, MPI_Datatype send_type, void* received,
                       const Count* receive_counts, const Place* receive_places,
                       MPI_Datatype receive_type, Tail... tail) {
  const CallTail ends(tail...);
  const auto leave = [&](Reason reason) {
    return leave_to_library<kNeighborAlltoallv, ends.kForm>(
        reason, function, real, sent, send_counts, send_places, send_type, received, receive_counts,
        receive_places, receive_type, tail...);
  };
  return of_neighbours(function, Family::NeighborAlltoallv, Neighbourhood::Alltoallv, ends, leave,
                       in_places(sent, send_counts, send_places, send_type),
                       in_places(received, receive_counts, receive_places, receive_type));
}

template <typename Real, typename Count, typename Place, typename... Tail>
int neighbor_alltoallw(Function function, Real real, const void* sent, const Count* send_counts,
                       const Place* send_places, const MPI_Datatype* send_types, void* received,
                       const Count* receive_counts, const Place* receive_places,
                       const MPI_Datatype* receive_types, Tail... tail) {
  const CallTail ends(tail...);
  const auto leave = [&](Reason reason) {
    return leave_to_library<kNeighborAlltoallw, ends.kForm>(
        reason, function, real, sent, send_counts, send_places, send_types, received,
        receive_counts, receive_places, receive_types, tail...);
  };
  return of_neighbours(function, Family::NeighborAlltoallw, Neighbourhood::Alltoallw, ends, leave,
                       in_types(sent, send_counts, send_places, send_types),
                       in_types(received, receive_counts, receive_places, receive_types));
}

template <typename Real, typename Count, typename... Tail>
int neighbor_allgather(Function function, Real real, const void* sent, Count send_count,
                       MPI_Datatype send_type, void* received, Count receive_count,
                       MPI_Datatype receive_type, Tail... tail) {
  const CallTail ends(tail...);
  const auto leave = [&](Reason reason) {
    return leave_to_library<kNeighborAllgather, ends.kForm>(reason, function, real, sent,
                                                            send_count, send_type, received,
                                                            receive_count, receive_type, tail...);
  };
  return of_neighbours(function, Family::NeighborAllgather, Neighbourhood::Alltoallv, ends, leave,
                       for_all(sent, send_count, send_type),
                       in_a_row(received, receive_count, receive_type));
}

template <typename Real, typename Count, typename Place, typename... Tail>
int neighbor_allgatherv(Function function, Real real, const void* sent, Count send_count,
                        MPI_Datatype send_type, void* received, const Count* receive_counts,
                        const Place* receive_places, MPI_Datatype receive_type, Tail... tail) {
  const CallTail ends(tail...);
  const auto leave = [&](Reason reason) {
    return leave_to_library<kNeighborAllgatherv, ends.kForm>(
        reason, function, real, sent, send_count, send_type, received, receive_counts,
        receive_places, receive_type, tail...);
  };
  return of_neighbours(function, Family::NeighborAllgatherv, Neighbourhood::Alltoallv, ends, leave,
                       for_all(sent, send_count, send_type),
                       in_places(received, receive_counts, receive_places, receive_type));
}

}  // namespace
}  // namespace strake::interpose

// The wrappers of the functions that mpi/functions.def gives to this file.
#include "interpose/wrappers/pairwise.hpp"
