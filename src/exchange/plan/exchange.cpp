#include "strake/exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "exchange/choice/exchange_choice.hpp"
#include "exchange/peers/backoff.hpp"
#include "exchange/plan/impl.hpp"
#include "exchange/progress/in_flight.hpp"
#include "exchange/transport/launch_batcher.hpp"
#include "machine/transports.hpp"
#include "memory/place_text.hpp"
#include "mpi/agree.hpp"
#include "mpi/real_mpi.hpp"
#include "state/process_state.hpp"
#include "strake/error.hpp"
#include "strake/memory.hpp"

namespace strake {

int ExchangePart::array(Place place, std::int64_t size_bytes) {
  arrays_.push_back({place, size_bytes});
  return static_cast<int>(arrays_.size()) - 1;
}

int ExchangePart::array_like(int array) {
  if (array < 0 || array >= std::ssize(arrays_))
    throw InvalidArgument(
        fmt::format("an array like array {} of {} arrays", array, arrays_.size()));
  const Array like = arrays_[static_cast<std::size_t>(array)];
  arrays_.push_back(like);
  const int made = static_cast<int>(arrays_.size()) - 1;
  for (std::vector<Transfer>* const list : {&sends_, &receives_}) {
    const std::size_t count = list->size();
    for (std::size_t i = 0; i < count; ++i) {
      if ((*list)[i].array != array) continue;
      Transfer transfer = (*list)[i];
      transfer.array = made;
      list->push_back(std::move(transfer));
    }
  }
  return made;
}

void ExchangePart::send(int peer, int tag, int array, Layout layout, std::string what) {
  sends_.push_back({peer, tag, array, std::move(layout), std::move(what)});
}

void ExchangePart::receive(int peer, int tag, int array, Layout layout, std::string what) {
  receives_.push_back({peer, tag, array, std::move(layout), std::move(what)});
}

void Exchange::Impl::require(Bases bases, std::span<const Combine> combine, bool reverse) const {
  if (ended_) throw Error("an exchange is started that has failed, or ended in MPI_Finalize");
  if (running_)
    throw InvalidArgument("an exchange is started that has not ended yet: call wait() first");
  if (bases.size() != arrays_) {
    throw InvalidArgument(fmt::format("an exchange of {} arrays is started with {} addresses",
                                      arrays_, bases.size()));
  }
  if (reverse && combine.size() != 1 && combine.size() != arrays_) {
    throw InvalidArgument(fmt::format(
        "a reverse exchange of {} arrays is started with {} ways to combine, not one or as many",
        arrays_, combine.size()));
  }
  if (std::ranges::any_of(combine, [](const Combine& how) { return bool{how}; }))
    require_device_combines(combine);
  for (std::size_t i = 0; i < bases.size(); ++i) {
    const Place planned = place_of(i);
    const Place there = bases[i] == nullptr ? planned : classify(bases[i]);
    if (is_device(planned) ? there == planned : there.in_host_memory()) continue;
    throw InvalidArgument(fmt::format("array {} was planned in {}, and is at {} in {}", i,
                                      text_of(planned), static_cast<const void*>(bases[i]),
                                      text_of(there)));
  }
}

void Exchange::Impl::require_device_combines(std::span<const Combine> combine) const {
  if (!all_ranks_by_put_)
    throw Unsupported(
        "values in a device's memory are combined where all ranks' devices reach each other, and "
        "some here don't: replace() is possible");
  for (std::size_t i = 0; i < arrays_; ++i) {
    if (is_device(place_of(i)) && !combine_of(combine, static_cast<int>(i)).on_device())
      throw Unsupported(
          "values in a device's memory are combined by sum, min and max of float, double and "
          "integers of 4 and 8 bytes, or all replaced");
  }
}

void Exchange::Impl::start(Bases bases, bool reverse, std::span<const Combine> combine,
                           std::span<Stream> after) {
  require(bases, combine, reverse);
  captured_ = require_streams(after);
  const auto is_devices = [](const Stream& stream) { return stream.device() >= 0; };
  if (!on_device() || std::ranges::none_of(after, is_devices)) after = {};  // their work is done
  if (captured_ && !all_by_put())
    throw Unsupported(
        "an exchange with ranks that this device doesn't reach is captured: their CPUs take part");
  if (captured_) require_compiled(reverse, combine);
  // Bytes that do not go by put wait for the CPU to find the work before them done.
  if (!all_by_put()) {
    after_.resize(after.size());
    for (std::size_t i = 0; i < after.size(); ++i) after[i].record(after_[i]);
    before_.assign(places_.all.size(), 0);
    for (std::size_t i = 0; i < before_.size(); ++i)
      if (after.empty() && is_device(places_.all[i]))
        before_[i] = exchange::LaunchBatcher::get().mark(places_.all[i].device);
  }
  if (puts_->is_used()) {
    or_fail([&] {
      puts_->prepare(reverse, combine);
      puts_->start(bases, after);
    });
    putting_ = true;
  }
  bases_.assign(bases.begin(), bases.end());
  combine_.assign(combine.begin(), combine.end());
  round_ = {round_.number + 1, reverse, bases_, combine_};
  failure_ = nullptr;
  done_ = false;
  begin();
  own_due_ = !own_.is_empty();
  try {
    if (captured_) return;
    for (const Opened& opened : transfers_) opened.transfer->start(round_);
    done_ = advance_while_copying(on_device() ? What::Send : What::All);
  } catch (...) {
    fail();
    throw;
  }
}

namespace {

/// The exchanges of all threads that have begun, and not ended.
class Running final : public exchange::Mover {
 public:
  Running() { exchange::g_in_flight.add(*this); }
  void begin(Exchange::Impl* one) {
    const std::lock_guard lock(mutex_);
    all_.push_back(one);
    exchange::g_in_flight.begin();
  }
  void end(Exchange::Impl* one) noexcept {
    const std::lock_guard lock(mutex_);
    if (std::erase(all_, one) != 0) exchange::g_in_flight.end();
  }
  /// Advances the exchanges of this thread.
  void advance() noexcept override {
    std::size_t at = 0;
    while (Exchange::Impl* const one = next_of_this_thread(at)) one->advance_quietly();
  }

 private:
  /// Returns this thread's first exchange from `at` on, and sets `at` to behind it; null: there is
  /// none. An exchange that a step has ended is no more in the list.
  Exchange::Impl* next_of_this_thread(std::size_t& at) noexcept {
    const std::lock_guard lock(mutex_);
    while (at < all_.size())
      if (Exchange::Impl* const one = all_[at++]; one->is_of_this_thread()) return one;
    return nullptr;
  }
  std::mutex mutex_;
  std::vector<Exchange::Impl*> all_;
};
Running& all_running() { return ProcessState::part<Running>(); }

}  // namespace

bool Exchange::Impl::test(What what) {
  if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
  if (!running_) return true;
  require_own_thread();
  if (captured_)
    throw Unsupported(
        "an exchange that is part of a graph is waited for by the CPU: give wait() a stream");
  try {
    if (done_ || advance_while_copying(what)) end();
  } catch (...) {
    fail();
    throw;
  }
  // Other ranks may wait for others first.
  if (running_ && exchange::g_in_flight.count() > 1) exchange::g_in_flight.advance_own();
  if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
  return !running_;
}

void Exchange::Impl::require_own_thread() const {
  if (thread_ != std::this_thread::get_id())
    throw InvalidArgument("an exchange is waited for by another thread than began it");
}

bool Exchange::Impl::require_streams(std::span<Stream> streams) const {
  const bool captures = StreamAccess::any_captures(streams);
  for (const Stream& stream : streams)
    if (captures && stream.device() >= 0 && !StreamAccess::any_captures(std::span(&stream, 1)))
      throw InvalidArgument("an exchange is given streams of which some are captured, some not");
  const auto is_of = [](const Stream& stream, Place place) {
    return stream.device() == (is_device(place) ? place.device : -1);
  };
  const auto wrong = std::ranges::find_if_not(streams, [&](const Stream& stream) {
    return std::ranges::any_of(places_.all, [&](Place place) { return is_of(stream, place); });
  });
  if (arrays_ == 0 || wrong == streams.end()) return captures && on_device();
  const auto name = [](int number) {
    return number < 0 ? std::string("the CPU") : fmt::format("device {}", number);
  };
  throw InvalidArgument(fmt::format("an exchange of arrays in {} is given a stream of {}",
                                    text_of(places_.all.front()), name(wrong->device())));
}

void Exchange::Impl::wait(std::span<Stream> before) {
  const bool captures = require_streams(before);
  if (before.empty()) return wait();
  if (!running_ || !all_by_put() || (!captured_ && !puts_->may_wait())) {
    if (running_ && captures)
      throw Unsupported("an exchange that takes CPUs ends in a stream that is being captured");
    return wait();
  }
  require_own_thread();
  require_all_coming(captured_);
  if (captures && !captured_)
    throw Unsupported("an exchange that has begun outside of a graph is to end in it");
  if (captured_ && !captures) {
    puts_->forget();  // what was captured ends nowhere
  } else if (putting_) {
    or_fail([&] { puts_->end_in(before); });
  }
  putting_ = false;
  end();
}

/// Before a device waits for other ranks, which the CPU does not look at then. `anew`: in a round
/// that is about to begin.
void Exchange::Impl::require_all_coming(bool anew) {
  or_fail([&] {
    for (const Peer& peer : peers_)
      if (peer.by_put) require_coming(peer, anew);
  });
}

void Exchange::Impl::enqueue(Bases bases, bool reverse, std::span<const Combine> combine,
                             std::span<Stream> streams) {
  const bool captured = require_streams(streams);
  // Where ranks share a device, one that waits would keep the others from it.
  if (!all_by_put() || streams.empty() || (!captured && !puts_->may_wait())) {
    start(bases, reverse, combine, streams);
    return wait(streams);
  }
  require(bases, combine, reverse);
  if (captured) require_compiled(reverse, combine);
  require_all_coming(true);
  if (!puts_->is_used()) return;
  or_fail(
      [&] { reverse ? puts_->run_reverse(bases, combine, streams) : puts_->run(bases, streams); });
}

/// No memory can be had while work is captured.
void Exchange::Impl::require_compiled(bool reverse, std::span<const Combine> combine) const {
  if (reverse && !puts_->is_compiled_reverse(combine))
    throw Unsupported(
        "a reverse exchange is captured that has never run before: run it once, combining alike");
}

void Exchange::Impl::advance_quietly() noexcept {
  try {
    if (running_ && !done_ && !captured_ && !is_stepping_) done_ = advance(What::All);
  } catch (...) {
    failure_ = std::current_exception();
    fail();
  }
}

void Exchange::Impl::begin() {
  thread_ = std::this_thread::get_id();
  all_running().begin(this);
  running_ = true;
}

void Exchange::Impl::end() noexcept {
  running_ = false;
  all_running().end(this);
}

void Exchange::Impl::wait() {
  for (exchange::Backoff backoff; !test(What::Wait);) backoff.pause();
}

std::string Exchange::Impl::plan() const {
  std::string text;
  if (own_bytes_ != 0)
    text += fmt::format("itself: {} bytes, {}: {}\n", own_bytes_, name_of(own_transport()),
                        machine::facts_of(own_transport()).describe);
  for (const Peer& peer : peers_) {
    if (places_.all.size() > 1) text += fmt::format("{}, ", text_of(peer.place));
    text +=
        fmt::format("rank {}: sends {} bytes, receives {}, ", peer.rank,
                    peer.schedules[kSends].size_bytes(), peer.schedules[kReceives].size_bytes());
    const Transport transport = transport_of(peer);
    const std::string because = why(peer);
    text +=
        fmt::format("{}: {}{}{}\n", name_of(transport),
                    peer.by_put ? machine::facts_of(transport).describe : peer.transfer->describe(),
                    because.empty() ? "" : "; ", because);
  }
  puts_->for_each_round(rank_, [&](int device, const std::vector<DeviceTraffic>& traffic) {
    const auto prediction = predict_round({rank_, device}, traffic);
    if (!prediction) return;
    text +=
        fmt::format("device {}, predicted: {:.1f} us with a launch and a wait, {:.1f} of them {}\n",
                    device, *prediction->seconds * 1e6, prediction->bound.seconds * 1e6,
                    name_of(prediction->bound.resource));
  });
  if (!running()) text += puts_->last_round();
  return text;
}

Transport Exchange::Impl::transport_of(const Peer& peer) const {
  return peer.by_put ? puts_->transport(number_of(peer)) : peer.transfer->transport();
}

std::vector<Exchange::PeerPlan> Exchange::Impl::peers() const {
  std::vector<PeerPlan> all;
  if (own_bytes_ != 0) all.push_back({rank_, own_bytes_, own_bytes_, name_of(own_transport())});
  for (const Peer& peer : peers_) {
    const char* const transport = name_of(transport_of(peer));
    const std::int64_t out = peer.schedules[kSends].size_bytes();
    const std::int64_t in = peer.schedules[kReceives].size_bytes();
    const auto same = std::ranges::find_if(all, [&](const PeerPlan& known) {
      return known.rank == peer.rank && known.transport == transport;
    });
    if (same == all.end()) {
      all.push_back({peer.rank, out, in, transport});
    } else {
      same->sends_bytes += out;
      same->receives_bytes += in;
    }
  }
  return all;
}

std::int64_t Exchange::Impl::bytes_sent() const noexcept {
  std::int64_t bytes = own_bytes_;
  for (const Peer& peer : peers_) bytes += peer.schedules[kSends].size_bytes();
  return bytes;
}

Exchange::Exchange(MPI_Comm comm, const ExchangePart& part) : impl_(new Impl(comm, part)) {}
Exchange::Exchange() noexcept = default;
Exchange::Exchange(Exchange&&) noexcept = default;
Exchange& Exchange::operator=(Exchange&&) noexcept = default;
void Exchange::Delete::operator()(Impl* impl) const noexcept { delete impl; }
void Exchange::unwind() noexcept {
  if (impl_ != nullptr) impl_->unwind();
}

namespace {

Exchange::Impl& planned(Exchange::Impl* impl) {
  if (impl == nullptr) throw InvalidArgument("an exchange is started that was never planned");
  return *impl;
}

}  // namespace

void Exchange::start(const Addresses& arrays, const Streams& after) {
  planned(impl_.get()).start(arrays.all(), false, {}, StreamList(after).all());
}
void Exchange::enqueue(const Addresses& arrays, const Streams& streams) {
  planned(impl_.get()).enqueue(arrays.all(), false, {}, StreamList(streams).all());
}
void Exchange::start_reverse(const Addresses& arrays, std::span<const Combine> combine,
                             const Streams& after) {
  planned(impl_.get()).start(arrays.all(), true, combine, StreamList(after).all());
}
void Exchange::enqueue_reverse(const Addresses& arrays, std::span<const Combine> combine,
                               const Streams& streams) {
  planned(impl_.get()).enqueue(arrays.all(), true, combine, StreamList(streams).all());
}
std::int64_t Exchange::round() const noexcept { return impl_ == nullptr ? 0 : impl_->round(); }
bool Exchange::running() const noexcept { return impl_ != nullptr && impl_->running(); }
bool Exchange::arrived(int peer) const noexcept { return impl_ == nullptr || impl_->arrived(peer); }
bool Exchange::test() { return impl_ == nullptr || impl_->test(); }
void Exchange::wait(const Streams& before) {
  if (impl_ != nullptr) impl_->wait(StreamList(before).all());
}
void Exchange::give_up() noexcept {
  if (impl_ != nullptr) impl_->fail();
}
std::string Exchange::plan() const { return impl_ == nullptr ? std::string() : impl_->plan(); }
std::vector<Exchange::PeerPlan> Exchange::peers() const {
  return impl_ == nullptr ? std::vector<PeerPlan>() : impl_->peers();
}
std::int64_t Exchange::bytes_sent() const noexcept {
  return impl_ == nullptr ? 0 : impl_->bytes_sent();
}

}  // namespace strake
