#include "strake/exchange.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "exchange/backoff.hpp"
#include "exchange/planned/agree.hpp"
#include "exchange/planned/board.hpp"
#include "exchange/planned/far_messages.hpp"
#include "exchange/planned/lane.hpp"
#include "exchange/planned/own_copies.hpp"
#include "exchange/planned/sheets.hpp"
#include "exchange/together.hpp"
#include "mpi/real_mpi.hpp"
#include "strake/error.hpp"
#include "strake/memory.hpp"

namespace strake {

using namespace exchange::planned;

namespace {

/// " of device 1".
std::string of_device(Place place) {
  return place.device < 0 ? std::string() : fmt::format(" of device {}", place.device);
}

}  // namespace

int ExchangePart::array(Place place, std::int64_t size_bytes) {
  arrays_.push_back({place, size_bytes});
  return static_cast<int>(arrays_.size()) - 1;
}

void ExchangePart::send(int peer, int tag, int array, Layout layout, std::string what) {
  sends_.push_back({peer, tag, array, std::move(layout), std::move(what)});
}

void ExchangePart::receive(int peer, int tag, int array, Layout layout, std::string what) {
  receives_.push_back({peer, tag, array, std::move(layout), std::move(what)});
}

/// Exchanges are numbered from 1 on. Each has two kinds of lanes: those whose bytes this rank
/// gives, and those whose bytes it takes.
class STRAKE_LOCAL Exchange::Impl {
 public:
  Impl(MPI_Comm comm, const ExchangePart& part);
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  /// What is sent is written by work in `after`, if there is one, else by the device's legacy
  /// default stream.
  void start(Bases bases, bool reverse, std::span<const Combine> combine, Stream* after);
  bool test();
  void wait();
  [[nodiscard]] bool running() const noexcept { return running_ || failure_ != nullptr; }
  [[nodiscard]] bool arrived(int peer) const noexcept {
    if (peer == rank_) return !running_ || done_ || own_done_;
    const auto found = std::ranges::find(peers_, peer, &Peer::rank);
    return !running_ || done_ || found == peers_.end() || found->taking == Taking::No;
  }
  [[nodiscard]] std::string plan() const;
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
  /// With one other rank: the lane to it, and that from it.
  struct Peer {
    Peer(int other, Dealings& dealings, Place place)
        : rank(other),
          lanes{Lane(std::move(dealings.sends), place, dealings.they_are_on_device),
                Lane(std::move(dealings.receives), place, dealings.they_are_on_device)} {}
    int rank;
    std::array<Lane, 2> lanes;
    bool near = false;  ///< it has a board
    Corner corner;      ///< in this rank's board
    /// The last two exchanges that this rank gave bytes of, by lane.
    std::array<std::array<std::uint64_t, 2>, 2> given{};
    std::array<bool, 2> packs_all{};  ///< by lane: the other rank can't read it in place
    bool in_place = false;            ///< what is being given
    Clock::time_point patient_until;
    Giving giving = Giving::No;
    Taking taking = Taking::No;
    std::unique_ptr<FarMessages> far;
  };
  void require(Bases bases, std::span<const Combine> combine, bool reverse) const;
  /// Bytes are given; in a start on a device they are not taken yet: who claims them has to end it.
  enum class What : std::uint8_t { Give, All };
  bool advance(What what);
  bool advance_while_copying(What what);
  bool follows_its_work();
  void give(Peer& peer);
  bool give_near(Peer& peer);
  void end_of_packing(Peer& peer);
  void watch_reader(Peer& peer);
  void take(Peer& peer);
  void take_near(Peer& peer);
  void end_of_taking(Peer& peer);
  void serve(const Peer& peer);
  void require_alive(const Peer& peer) const;
  void fail() noexcept;
  void begin();
  void end() noexcept;
  void advance_others() const;
  void advance_quietly() noexcept;
  /// How long it waits for a reader before it packs: that costs a device, and host memory, more.
  [[nodiscard]] Clock::duration patience_for(std::int64_t bytes) const noexcept {
    constexpr std::int64_t kBytesPerNs = 4;
    return std::chrono::nanoseconds((on_device() ? 500'000 : 5000) + bytes / kBytesPerNs);
  }
  [[nodiscard]] std::size_t giving() const noexcept { return reverse_ ? kReceives : kSends; }
  [[nodiscard]] std::size_t taking() const noexcept { return reverse_ ? kSends : kReceives; }
  [[nodiscard]] bool on_device() const noexcept { return place_.kind == MemoryKind::Device; }
  /// This rank's end of a lane, and the other's.
  [[nodiscard]] LaneEnd& end_of(const Peer& peer, std::size_t lane) const {
    return boards_->own().lane(peer.corner.lane + static_cast<std::int64_t>(lane));
  }
  [[nodiscard]] LaneEnd& other_end_of(const Peer& peer, std::size_t lane) const {
    // What this rank sends, the other one receives.
    return boards_->of(peer.rank).lane(boards_->corner(peer.rank).lane +
                                       static_cast<std::int64_t>(1 - lane));
  }
  /// The packed bytes of two exchanges that follow each other lie side by side.
  [[nodiscard]] std::int64_t packed_at(const Corner& corner, std::size_t lane,
                                       const Lane& length) const noexcept {
    return corner.packed_at[lane] + static_cast<std::int64_t>(number_ % 2) * length.packed_bytes();
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  std::size_t arrays_ = 0;
  Place place_;  ///< of all arrays
  std::vector<Peer> peers_;
  OwnCopies own_;
  std::unique_ptr<Boards> boards_;

  bool running_ = false;  ///< until test() has told that it is done
  bool done_ = false;
  bool failed_ = false;
  bool reverse_ = false;
  bool own_due_ = false;
  bool own_done_ = true;
  std::uint64_t number_ = 0;
  std::uint64_t before_ = 0;  ///< a mark of the default stream; 0: there is none, or it is reached
  Event after_;
  bool has_event_ = false;
  std::vector<std::byte*> bases_;
  std::vector<Combine> combine_;
  unsigned turns_ = 0;
  std::thread::id thread_;      ///< that started it
  std::exception_ptr failure_;  ///< of one that failed while another one was waited for
};

namespace {

/// The one place of all arrays; a fault where there are several.
Place place_of(const ExchangePart& part, std::string& fault) {
  Place place;
  for (std::size_t i = 0; i < part.arrays().size(); ++i) {
    Place own = part.arrays()[i].place;
    if (own.in_host_memory()) own = {};  // the CPU copies
    if (i == 0) place = own;
    if (own.kind == MemoryKind::Managed)
      fault = fmt::format("array {} of an exchange is in managed memory", i);
    if (own != place)
      fault = fmt::format(
          "array {} of an exchange is in {} memory{}, array 0 in {} memory{}: plan "
          "an exchange for each",
          i, name_of(own.kind), of_device(own), name_of(place.kind), of_device(place));
  }
  return place;
}

}  // namespace

Exchange::Impl::Impl(MPI_Comm comm, const ExchangePart& part) : arrays_(part.arrays().size()) {
  const mpi::RealMpi& real = mpi::real_mpi();
  mpi::check(real.MPI_Comm_dup(comm, &comm_), "MPI_Comm_dup");
  try {
    std::string fault;
    place_ = place_of(part, fault);
    agree(comm_, fault, FaultKind::Unsupported);
    real.MPI_Comm_rank(comm_, &rank_);
    BoardShape shape;
    shape.arrays = static_cast<std::int64_t>(arrays_);
    std::map<int, Corner> corners;
    for (auto& [other, dealings] : tell_peers(comm_, part)) {
      if (other == rank_) {
        own_ = OwnCopies(std::move(dealings.sends), place_);
        continue;
      }
      Peer& peer = peers_.emplace_back(other, dealings, place_);
      peer.corner.lane = shape.lanes;
      shape.lanes += 2;
      for (const std::size_t lane : {kSends, kReceives}) {
        peer.corner.packed_at[lane] = shape.packed_bytes;
        shape.packed_bytes += 2 * peer.lanes[lane].packed_bytes();
      }
      corners[other] = peer.corner;
    }
    boards_ = std::make_unique<Boards>(comm_, corners, shape);
    for (Peer& peer : peers_) {
      peer.near = boards_->reaches(peer.rank);
      if (!peer.near) peer.far = std::make_unique<FarMessages>(comm_, peer.rank);
    }
  } catch (...) {
    real.MPI_Comm_free(&comm_);
    throw;
  }
}

Exchange::Impl::~Impl() {
  if (running_) {
    try {
      wait();
    } catch (const Error&) {
      // Another rank has failed.
    }
  }
  const mpi::RealMpi& real = mpi::real_mpi();
  int over = 0;
  real.MPI_Finalized(&over);
  if (over == 0) real.MPI_Comm_free(&comm_);
}

void Exchange::Impl::require(Bases bases, std::span<const Combine> combine, bool reverse) const {
  if (failed_) throw Error("an exchange is started that has failed before");
  if (running_) throw InvalidArgument("an exchange is started that has not ended yet");
  if (bases.size() != arrays_) {
    throw InvalidArgument(fmt::format("an exchange of {} arrays is started with {} addresses",
                                      arrays_, bases.size()));
  }
  if (reverse && combine.size() != 1 && combine.size() != arrays_) {
    throw InvalidArgument(fmt::format(
        "a reverse exchange of {} arrays is started with {} ways to combine, not one or as many",
        arrays_, combine.size()));
  }
  if (on_device() && std::ranges::any_of(combine, [](const Combine& how) { return bool{how}; }))
    throw Unsupported("values are combined in host memory only: in a device's they are replaced");
  for (std::size_t i = 0; i < bases.size(); ++i) {
    const Place there = bases[i] == nullptr ? place_ : classify(bases[i]);
    if (on_device() ? there == place_ : there.in_host_memory()) continue;
    throw InvalidArgument(
        fmt::format("array {} was planned in {} memory{}, and is at {} in {} "
                    "memory{}",
                    i, name_of(place_.kind), of_device(place_), static_cast<const void*>(bases[i]),
                    name_of(there.kind), of_device(there)));
  }
}

void Exchange::Impl::start(Bases bases, bool reverse, std::span<const Combine> combine,
                           Stream* after) {
  require(bases, combine, reverse);
  if (after != nullptr) after->record(after_);
  before_ = after == nullptr && on_device() ? exchange::Together::get().mark(place_.device) : 0;
  has_event_ = after != nullptr;
  bases_.assign(bases.begin(), bases.end());
  combine_.assign(combine.begin(), combine.end());
  reverse_ = reverse;
  ++number_;
  failure_ = nullptr;
  done_ = false;
  begin();
  own_due_ = !own_.is_empty();
  own_done_ = own_.is_empty();
  for (Peer& peer : peers_) {
    peer.giving = peer.lanes[giving()].is_empty() ? Giving::No : Giving::Due;
    peer.taking = peer.lanes[taking()].is_empty() ? Taking::No : Taking::Due;
  }
  try {
    for (Peer& peer : peers_)
      if (peer.far) peer.far->receive(peer.lanes[taking()].packed_bytes());
    done_ = advance_while_copying(on_device() ? What::Give : What::All);
  } catch (...) {
    fail();
    throw;
  }
}

/// Whether the work is done that writes what is sent, and reads what is received.
bool Exchange::Impl::follows_its_work() {
  if (has_event_ && !after_.query()) return false;
  has_event_ = false;
  if (before_ != 0 && !exchange::Together::get().reached(place_.device, before_)) return false;
  before_ = 0;
  return true;
}

/// The same, until none of this rank's own copies for others goes on: it may make no call for long.
bool Exchange::Impl::advance_while_copying(What what) {
  bool all = advance(what);
  const auto copies = [](const Peer& peer) {
    return peer.giving == Giving::Packing || peer.giving == Giving::Repacking ||
           peer.taking == Taking::Copying;
  };
  for (exchange::Backoff backoff; !all && std::ranges::any_of(peers_, copies); backoff.pause())
    all = advance(What::Give);
  return all;
}

/// One look at all that goes on. Waits for nothing. True: all is done.
bool Exchange::Impl::advance(What what) {
  if (!follows_its_work()) return false;
  bool all = true;
  // Far messages take longest; then what others wait for.
  for (const bool near : {false, true})
    for (Peer& peer : peers_)
      if (peer.near == near && peer.giving == Giving::Due) give(peer);
  // On a device they go in one launch with what is taken.
  if (own_due_ && (what == What::All || peers_.empty())) {
    own_due_ = false;
    own_.begin(bases_, reverse_, combine_);
  }
  bool earlier = true;
  for (Peer& peer : peers_) {
    // Values are combined in the order of the peers, so that the result is always the same.
    if (what == What::All && (peer.taking == Taking::Due || peer.taking == Taking::Asked) &&
        (earlier || !reverse_))
      take(peer);
    earlier = earlier && peer.taking == Taking::No;
  }
  exchange::Together::get().launch();
  for (Peer& peer : peers_) {
    if ((peer.giving == Giving::Packing || peer.giving == Giving::Repacking) &&
        peer.lanes[giving()].idle())
      end_of_packing(peer);
    if (peer.giving == Giving::Offered) watch_reader(peer);
    if (peer.taking == Taking::Copying && peer.lanes[taking()].idle()) end_of_taking(peer);
    all = all && peer.giving == Giving::No && peer.taking == Taking::No;
    if (peer.far) all = peer.far->sent() && all;
  }
  if (!own_due_) own_done_ = own_.idle();
  return own_done_ && all;
}

void Exchange::Impl::give(Peer& peer) {
  Lane& lane = peer.lanes[giving()];
  if (peer.near) {
    if (!give_near(peer)) return;
  } else {
    peer.in_place = false;
    lane.pack(bases_, peer.far->room(lane.packed_bytes()), true);
  }
  peer.giving = Giving::Packing;
  if (lane.idle()) end_of_packing(peer);
}

/// False: the bytes of the exchange before the last lie still where these go.
bool Exchange::Impl::give_near(Peer& peer) {
  const std::size_t which = giving();
  Lane& lane = peer.lanes[which];
  const std::uint64_t before = peer.given[which][1];
  if (other_end_of(peer, which).taken.load(std::memory_order_acquire) < before) {
    serve(peer);
    return false;
  }
  peer.in_place = lane.bytes_in_place() > 0 && !peer.packs_all[which];
  for (const Lane::Shown& shown : lane.shown())
    peer.in_place = peer.in_place && boards_->show(shown.array, place_,
                                                   bases_[static_cast<std::size_t>(shown.array)],
                                                   shown.touched.begin, shown.touched.end);
  const std::int64_t at = packed_at(peer.corner, which, lane);
  boards_->own().populate(at, at + lane.packed_bytes());
  lane.pack(bases_, boards_->own().packed() + at, !peer.in_place);
  return true;
}

void Exchange::Impl::end_of_packing(Peer& peer) {
  const std::size_t which = giving();
  if (!peer.near) {
    peer.giving = Giving::No;
    return peer.far->send();
  }
  LaneEnd& end = end_of(peer, which);
  if (peer.giving == Giving::Repacking) {
    end.packed.store(number_, std::memory_order_release);
    peer.giving = Giving::No;
    return;
  }
  end.in_place[number_ % 2].store(peer.in_place ? 1 : 0, std::memory_order_relaxed);
  if (peer.in_place) {
    end.offer.store(offer_of(number_, Offer::Open), std::memory_order_relaxed);
    peer.patient_until = Clock::now() + patience_for(peer.lanes[which].size_bytes());
  }
  end.given.store(number_, std::memory_order_release);
  peer.given[which] = {number_, peer.given[which][0]};
  peer.giving = peer.in_place ? Giving::Offered : Giving::No;
}

/// Of bytes that are to be read in place. Who reads them may be busy elsewhere, and even wait for
/// this rank in another way: after a while they are packed.
void Exchange::Impl::watch_reader(Peer& peer) {
  const std::size_t which = giving();
  if (other_end_of(peer, which).taken.load(std::memory_order_acquire) >= number_) {
    peer.giving = Giving::No;
    return;
  }
  auto& offer = end_of(peer, which).offer;
  Lane& lane = peer.lanes[which];
  std::uint64_t is = offer.load(std::memory_order_acquire);
  if (is == offer_of(number_, Offer::Open) && Clock::now() >= peer.patient_until &&
      offer.compare_exchange_strong(is, offer_of(number_, Offer::Back),
                                    std::memory_order_acq_rel)) {
    is = offer_of(number_, Offer::Back);
  } else if (is == offer_of(number_, Offer::Back)) {
    peer.packs_all[which] = true;  // the reader's doing: it can't read them
  }
  if (is != offer_of(number_, Offer::Back)) return serve(peer);
  lane.pack(bases_, boards_->own().packed() + packed_at(peer.corner, which, lane), true);
  peer.giving = Giving::Repacking;
  if (lane.idle()) end_of_packing(peer);  // this rank may not call again soon
}

/// Begins it, if the bytes are there.
void Exchange::Impl::take(Peer& peer) {
  if (peer.near) return take_near(peer);
  const std::byte* const packed = peer.far->received();
  if (packed == nullptr) return serve(peer);
  (void)peer.lanes[taking()].take(bases_, packed, {}, reverse_ ? combine_ : std::vector<Combine>{});
  peer.taking = Taking::Copying;
  if (peer.lanes[taking()].idle()) end_of_taking(peer);
}

void Exchange::Impl::take_near(Peer& peer) {
  const std::size_t which = taking();
  Lane& lane = peer.lanes[which];
  LaneEnd& giver = other_end_of(peer, which);
  const auto& how_far = peer.taking == Taking::Asked ? giver.packed : giver.given;
  if (how_far.load(std::memory_order_acquire) < number_) return serve(peer);
  Lane::Find find;
  const bool in_place = giver.in_place[number_ % 2].load(std::memory_order_relaxed) != 0;
  // Perhaps it is not, since there was no room to tell of its arrays.
  constexpr std::uint64_t kNowAndThen = 16;
  if (!in_place && number_ % kNowAndThen == 1) boards_->look();
  if (peer.taking == Taking::Due && in_place) {
    std::uint64_t open = offer_of(number_, Offer::Open);
    if (!giver.offer.compare_exchange_strong(open, offer_of(number_, Offer::Claimed),
                                             std::memory_order_acq_rel)) {
      peer.taking = Taking::Asked;  // the giver packs them
      return;
    }
    find = [&](int array) { return boards_->find(peer.rank, array, place_); };
  }
  const std::byte* const packed =
      boards_->of(peer.rank).packed() + packed_at(boards_->corner(peer.rank), 1 - which, lane);
  const std::span<const Combine> combine =
      reverse_ ? std::span<const Combine>(combine_) : std::span<const Combine>();
  if (lane.take(bases_, packed, find, combine)) {
    peer.taking = Taking::Copying;
    if (lane.idle()) end_of_taking(peer);
  } else {
    giver.offer.store(offer_of(number_, Offer::Back), std::memory_order_release);
    peer.taking = Taking::Asked;
  }
}

void Exchange::Impl::end_of_taking(Peer& peer) {
  peer.taking = Taking::No;
  if (peer.near) end_of(peer, taking()).taken.store(number_, std::memory_order_release);
}

namespace {

/// Those that have begun, of all threads.
struct Running {
  std::mutex mutex;
  std::vector<Exchange::Impl*> all;
  std::atomic<std::size_t> count{0};
};
Running& all_running() {
  static auto& made = *new Running;
  return made;
}

}  // namespace

bool Exchange::Impl::test() {
  if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
  if (!running_) return true;
  if (thread_ != std::this_thread::get_id())
    throw InvalidArgument("an exchange is waited for by another thread than began it");
  try {
    if (done_ || advance_while_copying(What::All)) end();
  } catch (...) {
    fail();
    throw;
  }
  // Other ranks may wait for those first.
  if (running_ && all_running().count.load(std::memory_order_relaxed) > 1) advance_others();
  return !running_;
}

void Exchange::Impl::advance_others() const {
  std::vector<Impl*> others;
  {
    const std::lock_guard lock(all_running().mutex);
    for (Impl* other : all_running().all)
      if (other != this && other->thread_ == thread_) others.push_back(other);
  }
  for (Impl* other : others) other->advance_quietly();
}

void Exchange::Impl::advance_quietly() noexcept {
  try {
    if (running_ && !done_) done_ = advance_while_copying(What::All);
  } catch (...) {
    failure_ = std::current_exception();
    fail();
  }
}

void Exchange::Impl::begin() {
  thread_ = std::this_thread::get_id();
  const std::lock_guard lock(all_running().mutex);
  all_running().all.push_back(this);
  all_running().count.store(all_running().all.size(), std::memory_order_relaxed);
  running_ = true;
}

void Exchange::Impl::end() noexcept {
  running_ = false;
  const std::lock_guard lock(all_running().mutex);
  std::erase(all_running().all, this);
  all_running().count.store(all_running().all.size(), std::memory_order_relaxed);
}

void Exchange::Impl::wait() {
  for (exchange::Backoff backoff; !test();) backoff.pause();
}

namespace {

/// That of the program, which under `strake run` is the interposer's. Looked up, so that the
/// library needs no MPI library by name: MPICH's has two.
decltype(&MPI_Iprobe) programs_iprobe() noexcept {
  static const auto found =
      reinterpret_cast<decltype(&MPI_Iprobe)>(dlsym(RTLD_DEFAULT, "MPI_Iprobe"));
  return found != nullptr ? found : mpi::real_mpi().MPI_Iprobe;
}

}  // namespace

/// In each turn of a wait for `peer`.
void Exchange::Impl::serve(const Peer& peer) {
  constexpr unsigned kRarely = 64;
  constexpr unsigned kVeryRarely = 1 << 14;  // a system call
  if (++turns_ % kVeryRarely == 0 && peer.near) require_alive(peer);
  if (turns_ % kRarely != 0) return;
  boards_->look();
  // As any call of MPI that waits: others may wait for messages of this rank.
  constexpr int kNoTag = 6;
  int flag = 0;
  (void)programs_iprobe()(MPI_ANY_SOURCE, kNoTag, comm_, &flag, MPI_STATUS_IGNORE);
}

void Exchange::Impl::require_alive(const Peer& peer) const {
  if (other_end_of(peer, kSends).failed.load(std::memory_order_acquire) != 0 ||
      other_end_of(peer, kReceives).failed.load(std::memory_order_acquire) != 0)
    throw Error(fmt::format("rank {} has given up an exchange", peer.rank));
  if (boards_->is_gone(peer.rank))
    throw Error(fmt::format("rank {} died in an exchange", peer.rank));
}

/// So that no peer waits for this rank.
void Exchange::Impl::fail() noexcept {
  failed_ = true;
  end();
  for (const Peer& peer : peers_) {
    if (!peer.near) continue;
    for (const std::size_t lane : {kSends, kReceives})
      end_of(peer, lane).failed.store(1, std::memory_order_release);
  }
}

std::string Exchange::Impl::plan() const {
  std::string text;
  if (!own_.is_empty()) text += fmt::format("itself: {} bytes, copied\n", own_.size_bytes());
  for (const Peer& peer : peers_) {
    const Lane& out = peer.lanes[kSends];
    const Lane& in = peer.lanes[kReceives];
    text += fmt::format("rank {}: sends {} bytes, receives {}, ", peer.rank, out.size_bytes(),
                        in.size_bytes());
    text += peer.near ? fmt::format(
                            "{} of what is sent is read in place, if shared, {} packed in "
                            "shared memory\n",
                            out.bytes_in_place(), out.size_bytes() - out.bytes_in_place())
                      : std::string("one packed message each way\n");
  }
  return text;
}

std::int64_t Exchange::Impl::bytes_sent() const noexcept {
  std::int64_t bytes = own_.size_bytes();
  for (const Peer& peer : peers_) bytes += peer.lanes[kSends].size_bytes();
  return bytes;
}

Exchange::Exchange(MPI_Comm comm, const ExchangePart& part)
    : impl_(std::make_unique<Impl>(comm, part)) {}
Exchange::Exchange() noexcept = default;
Exchange::Exchange(Exchange&&) noexcept = default;
Exchange& Exchange::operator=(Exchange&&) noexcept = default;
Exchange::~Exchange() = default;

void Exchange::start(std::span<std::byte* const> arrays) {
  if (impl_ == nullptr) throw InvalidArgument("an exchange is started that was never planned");
  impl_->start(arrays, false, {}, nullptr);
}
void Exchange::start(std::span<std::byte* const> arrays, Stream& after) {
  if (impl_ == nullptr) throw InvalidArgument("an exchange is started that was never planned");
  impl_->start(arrays, false, {}, &after);
}
void Exchange::start_reverse(std::span<std::byte* const> arrays, std::span<const Combine> combine) {
  if (impl_ == nullptr) throw InvalidArgument("an exchange is started that was never planned");
  impl_->start(arrays, true, combine, nullptr);
}
bool Exchange::running() const noexcept { return impl_ != nullptr && impl_->running(); }
bool Exchange::arrived(int peer) const noexcept { return impl_ == nullptr || impl_->arrived(peer); }
bool Exchange::test() { return impl_ == nullptr || impl_->test(); }
void Exchange::wait() {
  if (impl_ != nullptr) impl_->wait();
}
std::string Exchange::plan() const { return impl_ == nullptr ? std::string() : impl_->plan(); }
std::int64_t Exchange::bytes_sent() const noexcept {
  return impl_ == nullptr ? 0 : impl_->bytes_sent();
}

}  // namespace strake
