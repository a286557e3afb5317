#include "exchange/shared/post_office.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <span>

#include "settings/log.hpp"
#include "settings/settings.hpp"
#include "strake/error.hpp"

namespace strake::exchange::shared {
namespace {

/// FNV-1a.
std::uint64_t hash_of(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

std::uint64_t make_nonce() {
  std::random_device source;
  return static_cast<std::uint64_t>(source()) << 32 | source();
}

std::uint64_t job_number(const std::string& job) {
  return hash_of(fmt::format("{} {}", geteuid(), job));
}

// A rank that has not begun to take part yet, or that has a full queue, may do so later.
constexpr int kAttempts = 32;

}  // namespace

PostOffice::PostOffice(const std::string& job, std::int32_t rank, std::int32_t ranks)
    : job_(job_number(job)),
      rank_(rank),
      limit_(settings::number(settings::Id::share_limit)),
      socket_(name_of(rank)),
      outbox_(rank, make_nonce(), settings::number(settings::Id::share_bytes)),
      inbox_(socket_, job_, rank, ranks),
      reach_(static_cast<std::size_t>(ranks), Reach::Unknown),
      attempts_(static_cast<std::size_t>(ranks)) {
  // A message to oneself is one copy in the MPI library already.
  reach_[static_cast<std::size_t>(rank)] = Reach::No;
  const std::int64_t node = settings::number(settings::Id::ranks_per_node);
  for (std::int32_t other = 0; node > 0 && other < ranks; ++other) {
    if (other / node != rank / node) reach_[static_cast<std::size_t>(other)] = Reach::No;
  }
}

std::string PostOffice::name_of(std::int32_t rank) const {
  return fmt::format("strake-{:016x}-{}", job_, rank);
}

void PostOffice::open(const std::string& job, std::int32_t rank, std::int32_t ranks) noexcept {
  try {
    s_open.store(new PostOffice(job, rank, ranks), std::memory_order_release);
  } catch (const std::exception& error) {
    log::info("rank {} sends no messages by shared memory: {}", rank, error.what());
  }
}

void PostOffice::close() noexcept {
  // Not destroyed: messages may still be in flight.
  s_open.store(nullptr, std::memory_order_release);
}

bool PostOffice::introduce(std::int32_t rank) {
  const auto at = static_cast<std::size_t>(rank);
  const Introduction made{outbox_.header(), job_};
  using Sent = sharing::DescriptorSocket::Sent;
  const Sent sent =
      socket_.send(name_of(rank), std::as_bytes(std::span(&made, 1)), outbox_.descriptor());
  if (sent == Sent::Yes) {
    reach_[at] = Reach::Yes;
    log::debug("rank {} sends to rank {} by shared memory", rank_, rank);
    return true;
  }
  if (++attempts_[at] == kAttempts) {
    reach_[at] = Reach::No;
    log::debug("rank {} can't reach rank {} by shared memory", rank_, rank);
  }
  return false;
}

int PostOffice::ranks_reached() const noexcept {
  return static_cast<int>(std::count(reach_.begin(), reach_.end(), Reach::Yes));
}

void PostOffice::mark(const Destination& to) {
  const auto at = static_cast<std::size_t>(to.rank);
  // Once one has gone unmarked, a probe could not tell it from an envelope.
  if (reach_[at] != Reach::No && (!reaches(to.rank) || !outbox_.mark(to))) reach_[at] = Reach::No;
}

}  // namespace strake::exchange::shared
