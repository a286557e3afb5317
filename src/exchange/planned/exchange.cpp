#include "strake/exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include "exchange/backoff.hpp"
#include "exchange/planned/agree.hpp"
#include "exchange/planned/board.hpp"
#include "exchange/planned/far_messages.hpp"
#include "exchange/planned/lane.hpp"
#include "exchange/planned/sheets.hpp"
#include "mpi/real_mpi.hpp"
#include "strake/error.hpp"
#include "strake/memory.hpp"

namespace strake {

using namespace exchange::planned;

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

  void start(Bases bases, bool reverse, std::span<const Combine> combine);
  bool test();
  void wait();
  [[nodiscard]] bool arrived(int peer) const noexcept {
    const auto found = std::ranges::find(peers_, peer, &Peer::rank);
    return !running_ || found == peers_.end() || !found->to_take;
  }
  [[nodiscard]] std::string plan() const;
  [[nodiscard]] std::int64_t bytes_sent() const noexcept;

 private:
  /// With one other rank: the lane to it, and that from it.
  struct Peer {
    Peer(int other, Dealings& dealings)
        : rank(other), lanes{Lane(std::move(dealings.sends)), Lane(std::move(dealings.receives))} {}
    int rank;
    std::array<Lane, 2> lanes;
    bool near = false;  ///< it has a board
    Corner corner;      ///< in this rank's board
    /// The last two exchanges that this rank gave bytes of, by lane.
    std::array<std::array<std::uint64_t, 2>, 2> given{};
    bool to_take = false;
    bool to_be_read = false;  ///< until it has, the arrays must stay
    std::optional<FarMessages> far;
  };
  void require(Bases bases, std::size_t combines, bool reverse) const;
  void copy_own();
  void give(Peer& peer);
  void give_near(Peer& peer);
  bool take(Peer& peer);
  template <typename Find>
  void take_bytes(Peer& peer, const std::byte* packed, bool in_place, const Find& find);
  void serve(const Peer& peer);
  void require_alive(const Peer& peer) const;
  void fail() noexcept;
  void end() noexcept { running_ = false; }
  [[nodiscard]] std::size_t giving() const noexcept { return reverse_ ? kReceives : kSends; }
  [[nodiscard]] std::size_t taking() const noexcept { return reverse_ ? kSends : kReceives; }
  /// The packed bytes of two exchanges that follow each other lie side by side.
  [[nodiscard]] std::int64_t packed_at(const Corner& corner, std::size_t lane,
                                       const Lane& length) const noexcept {
    return corner.packed_at[lane] + static_cast<std::int64_t>(number_ % 2) * length.packed_bytes();
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
  std::vector<ExchangePart::Array> arrays_;
  std::vector<Peer> peers_;
  std::vector<Piece> own_;  ///< from this rank to itself: `mine` is sent, `theirs` received
  std::vector<std::optional<CopyPlan>> own_plans_;
  std::unique_ptr<Boards> boards_;

  bool running_ = false;
  bool reverse_ = false;
  std::uint64_t number_ = 0;
  std::vector<std::byte*> bases_;
  std::vector<Combine> combine_;
  std::vector<std::byte> scratch_;
  unsigned turns_ = 0;
};

Exchange::Impl::Impl(MPI_Comm comm, const ExchangePart& part) : arrays_(part.arrays()) {
  const mpi::RealMpi& real = mpi::real_mpi();
  mpi::check(real.MPI_Comm_dup(comm, &comm_), "MPI_Comm_dup");
  try {
    std::string device;
    for (std::size_t i = 0; i < arrays_.size(); ++i)
      if (!arrays_[i].place.in_host_memory())
        device = fmt::format(
            "array {} of an exchange is in {} memory: only host memory can be "
            "exchanged so far",
            i, name_of(arrays_[i].place.kind));
    agree(comm_, device, FaultKind::Unsupported);
    int rank = 0;
    real.MPI_Comm_rank(comm_, &rank);
    BoardShape shape;
    shape.arrays = static_cast<std::int64_t>(arrays_.size());
    std::map<int, Corner> corners;
    for (auto& [other, dealings] : tell_peers(comm_, part)) {
      if (other == rank) {
        own_ = std::move(dealings.sends);
        own_plans_.resize(own_.size());
        continue;
      }
      Peer& peer = peers_.emplace_back(other, dealings);
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
      if (!peer.near) peer.far.emplace(comm_, peer.rank);
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
  if (over != 0) return;
  real.MPI_Comm_free(&comm_);
}

void Exchange::Impl::require(Bases bases, std::size_t combines, bool reverse) const {
  if (running_) throw InvalidArgument("an exchange is started that has not ended yet");
  if (bases.size() != arrays_.size()) {
    throw InvalidArgument(fmt::format("an exchange of {} arrays is started with {} addresses",
                                      arrays_.size(), bases.size()));
  }
  if (reverse && combines != 1 && combines != arrays_.size()) {
    throw InvalidArgument(fmt::format(
        "a reverse exchange of {} arrays is started with {} ways to combine, not one or as many",
        arrays_.size(), combines));
  }
  for (std::size_t i = 0; i < bases.size(); ++i) {
    const Place there = classify(bases[i]);
    if (there.in_host_memory()) continue;
    throw InvalidArgument(fmt::format(
        "array {} was planned in {} memory, and is at {} in {} memory", i,
        name_of(arrays_[i].place.kind), static_cast<const void*>(bases[i]), name_of(there.kind)));
  }
}

void Exchange::Impl::start(Bases bases, bool reverse, std::span<const Combine> combine) {
  require(bases, combine.size(), reverse);
  bases_.assign(bases.begin(), bases.end());
  combine_.assign(combine.begin(), combine.end());
  reverse_ = reverse;
  ++number_;
  running_ = true;
  try {
    for (Peer& peer : peers_) {
      peer.to_take = !peer.lanes[taking()].is_empty();
      peer.to_be_read = false;
    }
    // Far messages take longest.
    for (const bool near : {false, true})
      for (Peer& peer : peers_)
        if (peer.near == near) give(peer);
    copy_own();
  } catch (...) {
    fail();
    throw;
  }
}

/// From this rank to itself.
void Exchange::Impl::copy_own() {
  for (std::size_t i = 0; i < own_.size(); ++i) {
    const Piece& piece = own_[i];
    std::byte* const sent = bases_[static_cast<std::size_t>(piece.array)];
    std::byte* const received = bases_[static_cast<std::size_t>(piece.their_array)];
    if (!reverse_) {
      auto& plan = own_plans_[i];
      if (!plan) plan = CopyPlan::compile(piece.theirs, Place{}, piece.mine, Place{});
      plan->run(received, sent);
      continue;
    }
    scratch_.resize(static_cast<std::size_t>(piece.theirs.size_bytes()));
    CopyPlan::compile(Layout::dense(piece.theirs.size_bytes()), Place{}, piece.theirs, Place{})
        .run(scratch_.data(), received);
    const Combine& how = combine_of(combine_, piece.array);
    combine_packed(
        piece.mine, sent, scratch_.data(),
        how ? how : [](std::byte* there, const std::byte* came, std::int64_t bytes) {
          std::copy(came, came + bytes, there);
        });
  }
}

void Exchange::Impl::give(Peer& peer) {
  if (!peer.near) {
    Lane& in = peer.lanes[taking()];
    Lane& out = peer.lanes[giving()];
    peer.far->receive(in.packed_bytes());
    peer.far->send(out.packed_bytes(), [&](std::byte* packed) { out.pack(bases_, packed, true); });
    return;
  }
  if (!peer.lanes[giving()].is_empty()) give_near(peer);
}

void Exchange::Impl::give_near(Peer& peer) {
  const std::size_t which = giving();
  Lane& lane = peer.lanes[which];
  // The bytes of the exchange before the last lie where these go.
  auto& [last, before] = peer.given[which];
  const LaneEnd& their_end = boards_->of(peer.rank).lane(boards_->corner(peer.rank).lane +
                                                         static_cast<std::int64_t>(1 - which));
  for (exchange::Backoff backoff; their_end.taken.load(std::memory_order_acquire) < before;
       backoff.pause())
    serve(peer);
  bool in_place = lane.bytes_in_place() > 0;
  for (const Lane::Shown& shown : lane.shown())
    in_place = in_place && boards_->show(shown.array, bases_[static_cast<std::size_t>(shown.array)],
                                         shown.touched.begin, shown.touched.end);
  Board& board = boards_->own();
  const std::int64_t at = packed_at(peer.corner, which, lane);
  board.populate(at, at + lane.packed_bytes());
  lane.pack(bases_, board.packed() + at, !in_place);
  LaneEnd& end = board.lane(peer.corner.lane + static_cast<std::int64_t>(which));
  end.in_place[number_ % 2].store(in_place ? 1 : 0, std::memory_order_relaxed);
  end.given.store(number_, std::memory_order_release);
  before = std::exchange(last, number_);
  peer.to_be_read = in_place;
}

template <typename Find>
void Exchange::Impl::take_bytes(Peer& peer, const std::byte* packed, bool in_place,
                                const Find& find) {
  Lane& lane = peer.lanes[taking()];
  if (reverse_) {
    lane.combine(bases_, packed, in_place, find, combine_);
  } else {
    lane.take(bases_, packed, in_place, find);
  }
  peer.to_take = false;
}

/// False: the bytes are not there yet.
bool Exchange::Impl::take(Peer& peer) {
  if (!peer.near) {
    const std::byte* const packed = peer.far->received();
    if (packed == nullptr) return false;
    take_bytes(peer, packed, false, [](int) -> const std::byte* { return nullptr; });
    return true;
  }
  const std::size_t theirs = giving() == kSends ? kSends : kReceives;
  const Corner& corner = boards_->corner(peer.rank);
  const Board& board = boards_->of(peer.rank);
  const LaneEnd& end = board.lane(corner.lane + static_cast<std::int64_t>(theirs));
  if (end.given.load(std::memory_order_acquire) < number_) return false;
  const bool in_place = end.in_place[number_ % 2].load(std::memory_order_relaxed) != 0;
  take_bytes(peer, board.packed() + packed_at(corner, theirs, peer.lanes[taking()]), in_place,
             [&](int array) { return boards_->find(peer.rank, array); });
  boards_->own()
      .lane(peer.corner.lane + static_cast<std::int64_t>(taking()))
      .taken.store(number_, std::memory_order_release);
  return true;
}

bool Exchange::Impl::test() {
  if (!running_) return true;
  bool all = true;
  try {
    bool earlier = true;
    for (Peer& peer : peers_) {
      // Values are combined in the order of the peers, so that the result is always the same.
      if (peer.to_take && (earlier || !reverse_)) (void)take(peer);
      earlier = earlier && !peer.to_take;
      all = all && !peer.to_take;
      if (peer.far) all = peer.far->sent() && all;
      if (!peer.to_be_read) continue;
      const LaneEnd& end = boards_->of(peer.rank).lane(boards_->corner(peer.rank).lane +
                                                       static_cast<std::int64_t>(1 - giving()));
      peer.to_be_read = end.taken.load(std::memory_order_acquire) < number_;
      all = all && !peer.to_be_read;
    }
    for (Peer& peer : peers_)
      if (peer.near && (peer.to_take || peer.to_be_read)) serve(peer);
  } catch (...) {
    fail();
    throw;
  }
  if (all) end();
  return all;
}

void Exchange::Impl::wait() {
  for (exchange::Backoff backoff; !test();) backoff.pause();
}

/// In each turn of a wait for `peer`.
void Exchange::Impl::serve(const Peer& peer) {
  constexpr unsigned kRarely = 64;
  constexpr unsigned kVeryRarely = 1 << 14;  // a system call
  if (++turns_ % kVeryRarely == 0) require_alive(peer);
  if (turns_ % kRarely != 0) return;
  // As any call of MPI that waits: others may wait for messages of this rank. The program's own
  // MPI_Iprobe, which under `strake run` is the interposer's.
  constexpr int kNoTag = 6;
  int flag = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, kNoTag, comm_, &flag, MPI_STATUS_IGNORE);
}

void Exchange::Impl::require_alive(const Peer& peer) const {
  const Board& board = boards_->of(peer.rank);
  const Corner& corner = boards_->corner(peer.rank);
  if (board.lane(corner.lane).failed.load(std::memory_order_acquire) != 0)
    throw Error(fmt::format("rank {} has given up an exchange", peer.rank));
  if (boards_->is_gone(peer.rank))
    throw Error(fmt::format("rank {} died in an exchange", peer.rank));
}

/// So that no peer waits for this rank.
void Exchange::Impl::fail() noexcept {
  running_ = false;
  for (Peer& peer : peers_) {
    if (!peer.near) continue;
    for (const std::int64_t lane : {std::int64_t{0}, std::int64_t{1}})
      boards_->own().lane(peer.corner.lane + lane).failed.store(1, std::memory_order_release);
  }
}

std::string Exchange::Impl::plan() const {
  std::string text;
  for (const Piece& piece : own_)
    text += fmt::format("itself: {} bytes, copied\n", piece.mine.size_bytes());
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
  std::int64_t bytes = 0;
  for (const Piece& piece : own_) bytes += piece.mine.size_bytes();
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
  impl_->start(arrays, false, {});
}
void Exchange::start_reverse(std::span<std::byte* const> arrays, std::span<const Combine> combine) {
  if (impl_ == nullptr) throw InvalidArgument("an exchange is started that was never planned");
  impl_->start(arrays, true, combine);
}
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
