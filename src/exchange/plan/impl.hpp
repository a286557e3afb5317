/// \file  The inside of a planned exchange: its peers, and what is to be given to them and taken
/// from them.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "exchange/peers/group.hpp"
#include "exchange/plan/ending.hpp"
#include "exchange/plan/farewells.hpp"
#include "exchange/plan/sheets.hpp"
#include "exchange/plan/unless_done.hpp"
#include "exchange/transport/lanes/connections.hpp"
#include "exchange/transport/lanes/far_messages.hpp"
#include "exchange/transport/lanes/lane.hpp"
#include "exchange/transport/lanes/own_copies.hpp"
#include "exchange/transport/put/mails.hpp"
#include "strake/exchange.hpp"

namespace strake {

using namespace exchange::planned;

/// Exchanges are numbered from 1 on. Each has two kinds of lanes: those whose bytes this rank
/// gives, and those whose bytes it takes.
class STRAKE_LOCAL Exchange::Impl {
 public:
  Impl(MPI_Comm comm, const ExchangePart& part);
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  /// What is sent is written by work in the streams of `after`, if there are any, else in the
  /// devices' legacy default streams.
  void start(Bases bases, bool reverse, std::span<const Combine> combine, std::span<Stream> after);
  bool test() { return test(What::All); }
  void wait();
  /// \{ As of Exchange.
  void wait(std::span<Stream> before);
  void enqueue(Bases bases, std::span<Stream> streams);
  /// \}
  /// So that no peer waits for this rank: it gives up what is under way.
  void fail() noexcept;
  /// An exception unwinds the stack: gives up what is under way, also in streams.
  void unwind() noexcept {
    if (running_ || !mail_->is_idle()) fail();
  }
  /// In MPI_Finalize: all exchanges of the process that are still alive take part no longer.
  static void end_all() noexcept;
  [[nodiscard]] bool running() const noexcept { return running_ || failure_ != nullptr; }
  [[nodiscard]] bool arrived(int peer) const noexcept {
    if (!running_ || done_) return true;
    return std::ranges::all_of(peers_,
                               [&](const Peer& one) {
                                 return one.rank != peer ||
                                        (one.mailed ? !mailing_ : one.taking == Taking::No);
                               }) &&
           (peer != rank_ || (!mailing_ && !own_due_));
  }
  [[nodiscard]] std::string plan() const;
  [[nodiscard]] std::vector<PeerPlan> peers() const;
  [[nodiscard]] std::int64_t bytes_sent() const noexcept;

 private:
  using Clock = std::chrono::steady_clock;
  enum class Giving : std::uint8_t {
    No,
    Due,
    Packing,
    Offered,    ///< to be read in place: until they are, the arrays must stay as they are
    Repacking,  ///< after all
  };
  enum class Taking : std::uint8_t { No, Due, Asked, Copying };
  /// Another memory that one of this rank's has transfers with: the lane to it, and that from it.
  /// Its number is that of its pair in Connections.
  struct Peer {
    Peer(Dealings& dealings, Place here)
        : rank(dealings.rank),
          place(here),
          lanes{Lane(std::move(dealings.sends), place, dealings.direct),
                Lane(std::move(dealings.receives), place, dealings.direct)},
          on_device(dealings.they_are_on_device) {}
    int rank;     ///< whose it is; it may be this rank's
    Place place;  ///< of this rank's arrays
    std::array<Lane, 2> lanes;
    bool on_device;       ///< its arrays are
    bool near = false;    ///< it shares memory with this rank
    bool mailed = false;  ///< all goes by mail: the rest of this is not used
    /// The last two exchanges that this rank gave bytes of, by lane.
    std::array<std::array<std::uint64_t, 2>, 2> given{};
    std::array<bool, 2> packs_all{};  ///< by lane: the other rank can't read it in place
    bool in_place = false;            ///< what is being given
    /// How the last bytes went that were sent forward.
    enum class Went : std::uint8_t { Unknown, InPlace, Packed } went = Went::Unknown;
    Clock::time_point patient_until;
    Giving giving = Giving::No;
    Taking taking = Taking::No;
    std::unique_ptr<FarMessages> far;
  };
  /// How many of the bytes that are sent to a near peer it reads in place: as in the last exchange
  /// forward that it has ended, or, before the first, if all arrays are shared.
  [[nodiscard]] std::int64_t bytes_in_place(const Peer& peer) const noexcept;
  void plan_peers(std::vector<Dealings>& all);
  void plan_far(const std::vector<Peer*>& far);
  void plan_mail(const std::vector<Dealings>& all, std::vector<Mails::Part> devices);
  void require(Bases bases, std::span<const Combine> combine, bool reverse) const;
  void require_device_combines(std::span<const Combine> combine) const;
  /// \returns whether they are being captured, which matters to a device's arrays only
  [[nodiscard]] bool require_streams(std::span<Stream> streams) const;
  void require_own_thread() const;
  void require_all_coming(bool anew);
  template <typename Move>
  void or_fail(const Move& move) {
    unless_done(move, [&] { fail(); });
  }
  /// No CPU copies anything of this rank's.
  [[nodiscard]] bool all_by_mail() const noexcept {
    return !places_.all.empty() && std::ranges::all_of(places_.all, is_device) &&
           std::ranges::all_of(peers_, &Peer::mailed);
  }
  [[nodiscard]] static bool is_device(Place place) noexcept {
    return place.kind == MemoryKind::Device;
  }
  [[nodiscard]] Place place_of(std::size_t array) const noexcept {
    return places_.all[places_.of_array[array]];
  }
  enum class What : std::uint8_t {
    Give,  ///< in a start on a device no bytes are taken yet: who claims them has to end it
    All,
    Wait,  ///< all, for a caller in wait(): a device may be made to wait for other ranks
  };
  bool advance(What what);
  bool advance_while_copying(What what);
  bool test(What what);
  void look_at_mail(What what);
  bool follows_its_work();
  void give(Peer& peer);
  bool give_near(Peer& peer);
  void end_of_packing(Peer& peer);
  void end_of_giving(Peer& peer, bool in_place) noexcept;
  void watch_reader(Peer& peer);
  void take(Peer& peer);
  void take_near(Peer& peer);
  void end_of_taking(Peer& peer);
  bool look_around();
  void serve(const Peer& peer);
  void require_coming(const Peer& peer, bool anew = false);
  void require_alive(const Peer& peer);
  [[nodiscard]] Ending ending_of(const Peer& peer) const noexcept;
  static void end_at_finalize();
  void join();
  void leave(Ending::Kind kind) noexcept;
  void finish_copies() noexcept;
  void wait_for_reader(const Peer& peer) const noexcept;
  [[nodiscard]] bool is_idle_soon() const noexcept;
  void begin();
  void end() noexcept;
  void advance_others() const;
  void advance_quietly() noexcept;
  /// How long it waits for a reader before it packs.
  [[nodiscard]] static Clock::duration patience_for(std::int64_t bytes) noexcept {
    constexpr std::int64_t kBytesPerNs = 4;
    return std::chrono::nanoseconds(5000 + bytes / kBytesPerNs);
  }
  [[nodiscard]] std::size_t giving() const noexcept { return reverse_ ? kReceives : kSends; }
  [[nodiscard]] std::size_t taking() const noexcept { return reverse_ ? kSends : kReceives; }
  /// Empty where what comes takes the place of what is there.
  [[nodiscard]] std::span<const Combine> combining() const noexcept { return combine_; }
  /// Whether any array is.
  [[nodiscard]] bool on_device() const noexcept {
    return std::ranges::any_of(places_.all, is_device);
  }
  [[nodiscard]] std::size_t number_of(const Peer& peer) const noexcept {
    return static_cast<std::size_t>(&peer - peers_.data());
  }
  /// This rank's end of a lane, and the other's.
  [[nodiscard]] LaneEnd& end_of(const Peer& peer, std::size_t lane) const noexcept {
    return connections_->own_end(number_of(peer), lane);
  }
  /// (This rank's sends are the other one's receives.)
  [[nodiscard]] LaneEnd& other_end_of(const Peer& peer, std::size_t lane) const noexcept {
    return connections_->their_end(number_of(peer), 1 - lane);
  }
  /// The packed bytes of two exchanges that follow each other lie side by side: where those of this
  /// one begin.
  [[nodiscard]] std::int64_t packed_at(const Lane& lane) const noexcept {
    return static_cast<std::int64_t>(number_ % 2) * lane.packed_bytes();
  }

  std::shared_ptr<exchange::peers::Group> group_;
  Farewells* farewells_ = nullptr;  ///< null: all peers are near
  int rank_ = 0;
  std::size_t arrays_ = 0;
  Places places_;                             ///< of the arrays
  std::unique_ptr<Connections> connections_;  ///< outlives the lanes, whose copies read there
  std::vector<Peer> peers_;
  OwnCopies own_;                ///< in host memory
  std::int64_t own_bytes_ = 0;   ///< what this rank is to itself, in any one memory
  std::unique_ptr<Mails> mail_;  ///< between devices of the node

  bool all_ranks_by_mail_ = false;  ///< all that goes from or to a device

  bool running_ = false;  ///< until test() has told that it is done
  bool done_ = false;
  bool ended_ = false;   ///< peers were told that this rank takes part no longer
  bool failed_ = false;  ///< it has not left well
  bool reverse_ = false;
  bool own_due_ = false;
  bool mailing_ = false;   ///< a round of mail goes on
  bool captured_ = false;  ///< what was started is part of a graph
  std::uint64_t number_ = 0;
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
