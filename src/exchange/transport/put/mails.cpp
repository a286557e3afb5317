#include "exchange/transport/put/mails.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

#include "exchange/transport/lanes/swap_with.hpp"
#include "mpi/agree.hpp"
#include "mpi/real_mpi.hpp"
#include "strake/error.hpp"

namespace strake::exchange::planned {

Mails::Mails(MPI_Comm comm, Connections& connections, const std::vector<Place>& arrays,
             std::vector<Part> parts, const DeviceChoices& choices) {
  std::string fault;
  for (Part& part : parts) {
    mails_.push_back(std::make_unique<Mail>(part.place, arrays, std::move(part.partners),
                                            std::move(part.own), choices));
    try {
      if (fault.empty()) mails_.back()->open_mailbox();
    } catch (const std::exception& error) {
      fault = error.what();
    }
  }
  mpi::agree(comm, fault, mpi::FaultKind::Memory);
  std::vector<End> ends;
  for (const auto& mail : mails_)
    for (std::size_t i = 0; i < mail->partners().size(); ++i) ends.push_back({mail.get(), i});
  // Both ranks have the ends between them in the same order.
  std::ranges::sort(ends, {},
                    [](const End& end) { return end.mail->partners()[end.partner].pair; });
  swap_offers(comm, connections, ends);
  std::erase_if(mails_, [](const auto& mail) { return !mail->is_used(); });
  try {
    prepare(false, {});
  } catch (const std::exception& error) {
    fault = error.what();
  }
  mpi::agree(comm, fault, mpi::FaultKind::Other);
}

void Mails::swap_offers(MPI_Comm comm, Connections& connections, const std::vector<End>& ends) {
  constexpr int kOffer = 7;
  constexpr int kReached = 8;
  constexpr int kAccepted = 9;
  const auto partner_of = [&](std::size_t i) -> const Mail::Partner& {
    return ends[i].mail->partners()[ends[i].partner];
  };
  std::vector<int> ranks;
  std::vector<std::size_t> others, twins(ends.size());
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (!partner_of(i).is_own) {
      ranks.push_back(partner_of(i).rank);
      others.push_back(i);
      continue;
    }
    while (partner_of(twins[i]).pair != partner_of(i).twin) ++twins[i];
  }
  // What the other end of each says, also where that is this rank's own.
  const auto swap = [&]<typename T>(int tag, const std::vector<T>& mine) {
    std::vector<T> theirs(ends.size()), out, in;
    for (const std::size_t i : others) out.push_back(mine[i]);
    swap_with(comm, ranks, tag, out, in, [&] { Connections::look(); });
    for (std::size_t i = 0; i < others.size(); ++i) theirs[others[i]] = in[i];
    for (std::size_t i = 0; i < ends.size(); ++i)
      if (partner_of(i).is_own) theirs[i] = mine[twins[i]];
    return theirs;
  };
  int own_rank = 0;
  mpi::real_mpi().MPI_Comm_rank(comm, &own_rank);
  std::map<const Mail*, Mail::Offer> offers;
  for (const auto& mail : mails_) offers[mail.get()] = mail->offer(connections);
  std::vector<Mail::Offer> mine;
  for (const auto& [mail, partner] : ends) mine.push_back(mail->offer_to(partner, offers.at(mail)));
  std::vector<Mail::Offer> theirs = swap(kOffer, mine);
  for (std::size_t i = 0; i < ends.size(); ++i)
    mine[i].transport = ends[i].mail->wanted(connections, own_rank, ends[i].partner, theirs[i]);
  theirs = swap(kReached, mine);
  std::vector<char> accepts;
  for (std::size_t i = 0; i < ends.size(); ++i)
    accepts.push_back(ends[i].mail->accepts(connections, ends[i].partner, mine[i], theirs[i]) ? 1
                                                                                              : 0);
  const std::vector<char> they_accept = swap(kAccepted, accepts);
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const bool both = accepts[i] != 0 && they_accept[i] != 0;
    ends[i].mail->settle(ends[i].partner, both);
    if (both) where_[partner_of(i).pair] = ends[i];
  }
  // Also where it is not the two that share a device that exchange.
  for (const auto& mail : mails_) {
    for (const std::size_t i : others)
      if (theirs[i].device != 0 && theirs[i].device == offers.at(mail.get()).device)
        mail->share_device();
  }
}

Transport Mails::transport(std::size_t pair) const {
  const End& end = where_.at(pair);
  return end.mail->transport(end.partner);
}

bool Mails::engines_copy_own() const noexcept {
  return std::ranges::any_of(mails_, [](const auto& mail) { return mail->engines_copy_own(); });
}

void Mails::require_capturable(std::span<Stream> streams) const {
  if (std::ranges::any_of(mails_, [](const auto& mail) { return mail->uses_engines(); }) &&
      StreamAccess::any_captures(streams))
    throw Unsupported(
        "an exchange by copy engines (STRAKE_METHOD=engine, here or on another rank) is captured: "
        "the host tells them which box a round uses");
}

bool Mails::may_wait() const noexcept {
  return std::ranges::all_of(mails_, [](const auto& mail) { return mail->may_wait(); });
}

bool Mails::is_idle() const noexcept {
  return std::ranges::all_of(mails_, [](const auto& mail) { return mail->is_idle(); });
}

void Mails::prepare(bool reverse, std::span<const Combine> combine) {
  for (const auto& mail : mails_) mail->prepare(reverse, combine);
}

/// All mails come after what is in `work` now.
void Mails::follow(DeviceStream& work) {
  auto& event = events_[work.device()];
  if (event == nullptr) event = required_device_backend().make_event(work.device());
  work.record(*event);
  for (const auto& mail : mails_) mail->follow(work, *event);
}

void Mails::start(Bases bases, std::span<Stream> after) {
  require_capturable(after);
  for (const Stream& stream : after)
    if (DeviceStream* const work = StreamAccess::of(stream)) follow(*work);
  if (after.empty()) {
    for (const auto& mail : mails_) {
      const int device = mail->place().device;
      auto& legacy = defaults_[device];
      if (legacy == nullptr) legacy = required_device_backend().adopt_stream(nullptr, device);
      follow(*legacy);
    }
  }
  for (const auto& mail : mails_) mail->put(bases);
}

bool Mails::test(bool now) {
  bool all = true;
  for (const auto& mail : mails_) all = mail->test(now) && all;
  return all;
}

void Mails::end_in(std::span<Stream> before) {
  for (const auto& mail : mails_) {
    const DeviceEvent& end = mail->end();
    for (const Stream& stream : before)
      if (DeviceStream* const work = StreamAccess::of(stream)) work->wait(end);
  }
}

void Mails::forget() noexcept {
  for (const auto& mail : mails_) mail->forget();
}

void Mails::run(Bases bases, std::span<Stream> streams) {
  require_capturable(streams);
  if (mails_.size() == 1 && streams.size() == 1 &&
      streams.front().device() == mails_.front()->place().device)
    return mails_.front()->run(bases, *StreamAccess::of(streams.front()));
  prepare(false, {});
  start(bases, streams);
  end_in(streams);
}

std::string Mails::last_round() const {
  std::string text;
  for (const auto& mail : mails_) {
    const auto stages = mail->stages();
    if (!stages) continue;
    text += fmt::format("device {}, last round: ", mail->place().device);
    if (!mail->partners().empty())
      text += fmt::format("put by {:.1f} us, all had come by {:.1f}, ", stages->put, stages->seen);
    text += fmt::format("ended at {:.1f} us\n", stages->ended);
  }
  return text;
}

// Each may wait behind what another one waits for.
void Mails::stop_waiting() noexcept {
  for (const auto& mail : mails_) mail->stop_waiting();
}

void Mails::give_up() noexcept {
  stop_waiting();
  for (const auto& mail : mails_) mail->give_up();
}

std::optional<std::size_t> Mails::late() const noexcept {
  for (const auto& mail : mails_)
    if (const Mail::Partner* const partner = mail->late()) return partner->pair;
  return std::nullopt;
}

bool Mails::misses(std::size_t pair) const noexcept {
  const End& end = where_.at(pair);
  return end.mail->misses(end.partner);
}

}  // namespace strake::exchange::planned
