/// \file  The inside of a planned exchange: its peers, and the transfers with each.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "exchange/peers/group.hpp"
#include "exchange/plan/ending.hpp"
#include "exchange/plan/farewells.hpp"
#include "exchange/plan/negotiation.hpp"
#include "exchange/plan/unless_done.hpp"
#include "exchange/transport/pairs/connections.hpp"
#include "exchange/transport/pairs/own_copies.hpp"
#include "exchange/transport/pairs/pair_schedule.hpp"
#include "exchange/transport/pairs/pair_transfer.hpp"
#include "exchange/transport/pairs/setup.hpp"
#include "exchange/transport/put/device_puts.hpp"
#include "strake/exchange.hpp"

namespace strake {

using namespace exchange::planned;

/// Rounds are numbered from 1 on. Each pair has two schedules: what this rank sends, and what it
/// receives.
class STRAKE_LOCAL Exchange::Impl {
 public:
  /// Collective over `comm`, as Exchange's constructor.
  Impl(MPI_Comm comm, const ExchangePart& part);
  /// Plans with the peers that `part` names, by their ranks in the group, each of which has this
  /// rank among its own: no call is collective, no communicator is made, and other ranks of the
  /// group do not take part. Such exchanges are planned in an order that all ranks could have, as
  /// blocking calls. Values are only replaced in it if this rank or a peer has any in a device's
  /// memory.
  /// \throws  as Exchange's constructor, on this rank alone. A peer gets an Error that names this
  /// rank: from its constructor, if it has not planned yet, else in the first round in which its
  /// CPU waits for this rank.
  Impl(std::shared_ptr<exchange::peers::Group> group, const ExchangePart& part);
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  /// Begins a round. Arrays on devices are used after the earlier work in the streams of `after`,
  /// or, if none of these is a device's, in the devices' legacy default streams.
  void start(Bases bases, bool reverse, std::span<const Combine> combine, std::span<Stream> after);
  bool test() { return test(What::All); }
  void wait();
  /// \{ As of Exchange.
  void wait(std::span<Stream> before);
  void enqueue(Bases bases, bool reverse, std::span<const Combine> combine,
               std::span<Stream> streams);
  /// \}
  /// Gives up what is under way, so that no peer waits for this rank.
  void fail() noexcept;
  /// An exception unwinds the stack: gives up what is under way, also in streams.
  void unwind() noexcept {
    if (running_ || !puts_->is_idle()) fail();
  }
  /// \{ For who advances all that has begun. A fault is told by the next call.
  [[nodiscard]] bool is_of_this_thread() const noexcept {
    return thread_ == std::this_thread::get_id();
  }
  void advance_quietly() noexcept;
  /// \}
  /// In MPI_Finalize: all exchanges of the process that are still alive take part no longer.
  static void end_all() noexcept;
  [[nodiscard]] bool running() const noexcept { return running_ || failure_ != nullptr; }
  [[nodiscard]] std::int64_t round() const noexcept {
    return static_cast<std::int64_t>(round_.number);
  }
  [[nodiscard]] bool arrived(int peer) const noexcept {
    if (!running_ || done_) return true;
    return std::ranges::all_of(peers_,
                               [&](const Peer& one) {
                                 return one.rank != peer ||
                                        (one.by_put ? !putting_ : one.transfer->has_received());
                               }) &&
           (peer != rank_ || (!putting_ && !own_due_));
  }
  [[nodiscard]] std::string plan() const;
  [[nodiscard]] std::vector<PeerPlan> peers() const;
  [[nodiscard]] std::int64_t bytes_sent() const noexcept;

 private:
  void plan_all(Setup& setup, const ExchangePart& part);
  void give_up_unplanned(const Setup& setup) noexcept;
  using Clock = std::chrono::steady_clock;
  /// Another memory that one of this rank's has transfers with. Its number is that of its pair in
  /// Connections.
  struct Peer {
    Peer(NegotiatedPair& transfers, Place here)
        : rank(transfers.rank),
          place(here),
          schedules{PairSchedule(std::move(transfers.sends), place, transfers.direct),
                    PairSchedule(std::move(transfers.receives), place, transfers.direct)},
          on_device(transfers.they_are_on_device) {}
    int rank;     ///< whose it is; it may be this rank's
    Place place;  ///< of this rank's arrays
    Schedules schedules;
    bool on_device;                    ///< its arrays are
    bool near = false;                 ///< it shares memory with this rank
    bool by_put = false;               ///< all goes by put: there is no `transfer`
    PairTransfer* transfer = nullptr;  ///< owned by transfers_; all far peers of a rank share one
  };
  /// A transfer, and the (first) peer that it is with.
  struct Opened {
    const Peer* peer;
    std::unique_ptr<PairTransfer> transfer;
    /// The one that sends when it is this one's turn. Messages of the MPI library take longest: the
    /// largest first; then what ranks of the node wait for.
    PairTransfer* sends_here = nullptr;
  };
  /// By rank of another node.
  using FarChoices = std::map<int, PairChoice>;
  void plan_peers(Setup& setup, std::vector<NegotiatedPair>& all);
  using Tags = std::map<int, std::array<int, 2>>;
  [[nodiscard]] Tags plan_far(Setup& setup);
  void open_transfers(Setup& setup, const Tags& tags, const FarChoices& far);
  void open_transfer(std::span<Peer* const> peers, const std::array<int, 2>& tags,
                     const PairChoice* far);
  [[nodiscard]] std::vector<PairChoice> choose(std::span<const DevicePair> pairs, FarChoices& far);
  [[nodiscard]] std::string why(const Peer& peer) const;
  void plan_puts(Setup& setup, const std::vector<NegotiatedPair>& all,
                 std::vector<DevicePuts::Part> devices, FarChoices& far);
  [[nodiscard]] Transport transport_of(const Peer& peer) const;
  /// How the bytes travel that this rank is to itself.
  [[nodiscard]] Transport own_transport() const noexcept {
    return puts_->engines_copy_own() ? Transport::Engine : Transport::Self;
  }
  void require(Bases bases, std::span<const Combine> combine, bool reverse) const;
  void require_device_combines(std::span<const Combine> combine) const;
  void require_compiled(bool reverse, std::span<const Combine> combine) const;
  /// \returns whether they are being captured, which matters to a device's arrays only
  [[nodiscard]] bool require_streams(std::span<Stream> streams) const;
  void require_own_thread() const;
  void require_all_coming(bool anew);
  template <typename Move>
  void or_fail(const Move& move) {
    unless_done(move, [&] { fail(); });
  }
  /// No CPU copies anything of this rank's.
  [[nodiscard]] bool all_by_put() const noexcept {
    return !places_.all.empty() && std::ranges::all_of(places_.all, is_device) &&
           std::ranges::all_of(peers_, &Peer::by_put);
  }
  [[nodiscard]] static bool is_device(Place place) noexcept {
    return place.kind == MemoryKind::Device;
  }
  [[nodiscard]] Place place_of(std::size_t array) const noexcept {
    return places_.all[places_.of_array[array]];
  }
  enum class What : std::uint8_t {
    Send,  ///< in a start on a device no bytes are received yet: who claims them has to end it
    All,
    Wait,  ///< all, for a caller in wait(): a device may be made to wait for other ranks
  };
  bool advance(What what);
  bool advance_while_copying(What what);
  bool test(What what);
  void look_at_puts(What what);
  bool follows_its_work();
  bool look_around();
  void serve(const Peer& peer);
  void require_coming(const Peer& peer, bool anew = false);
  void require_alive(const Peer& peer);
  [[nodiscard]] Ending ending_of(const Peer& peer) const noexcept;
  static void end_at_finalize();
  void join();
  void part_again() noexcept;
  void leave(Ending::Kind kind) noexcept;
  void finish_copies() noexcept;
  [[nodiscard]] bool is_idle_soon() const noexcept;
  void begin();
  void end() noexcept;
  /// Whether any array is in a device's memory.
  [[nodiscard]] bool on_device() const noexcept {
    return std::ranges::any_of(places_.all, is_device);
  }
  [[nodiscard]] std::size_t number_of(const Peer& peer) const noexcept {
    return static_cast<std::size_t>(&peer - peers_.data());
  }

  std::shared_ptr<exchange::peers::Group> group_;
  Farewells* farewells_ = nullptr;  ///< null: all peers are near
  int rank_ = 0;
  std::size_t arrays_ = 0;
  Places places_;                             ///< of the arrays
  std::unique_ptr<Connections> connections_;  ///< outlives the schedules, whose copies read there
  std::vector<Peer> peers_;
  /// Why transfers to ranks of other nodes go as they do, for people.
  std::unique_ptr<std::map<int, std::string>> far_reasons_;
  std::vector<Opened> transfers_;     ///< in the order of the peers
  OwnCopies own_;                     ///< in host memory
  std::int64_t own_bytes_ = 0;        ///< what this rank is to itself, in any one memory
  std::unique_ptr<DevicePuts> puts_;  ///< between devices of the node

  bool all_ranks_by_put_ = false;  ///< all that goes from or to a device

  bool running_ = false;  ///< until test() has told that it is done
  bool done_ = false;
  bool ended_ = false;   ///< peers were told that this rank takes part no longer
  bool failed_ = false;  ///< it has not left well
  bool own_due_ = false;
  bool putting_ = false;      ///< a round of puts goes on
  bool captured_ = false;     ///< what was started is part of a graph
  bool is_stepping_ = false;  ///< a call advances it now
  Round round_;               ///< the last that was started; its number counts from 1 on
  /// Marks of the devices' default streams, by place; 0: there is none, or it is reached.
  std::vector<std::uint64_t> before_;
  std::vector<Event> after_;  ///< of the streams that were given, until they are reached
  std::vector<std::byte*> bases_;
  std::vector<Combine> combine_;
  unsigned turns_ = 0;
  Clock::time_point looked_;    ///< when a wait made system calls, last
  std::uint64_t cause_ = 0;     ///< of Ending: why this rank gives up
  std::thread::id thread_;      ///< that started it
  std::exception_ptr failure_;  ///< of one that failed while another one was waited for
};

}  // namespace strake
