#include "exchange/shared/post_office.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <random>
#include <span>

#include "job/names.hpp"
#include "settings/log.hpp"
#include "settings/settings.hpp"
#include "strake/error.hpp"

namespace strake::exchange::shared {
namespace {

std::uint64_t make_nonce() {
  std::random_device source;
  return static_cast<std::uint64_t>(source()) << 32 | source();
}

std::uint64_t job_number(const std::string& job) {
  return job::hash_of(fmt::format("{} {}", geteuid(), job));
}

}  // namespace

PostOffice::PostOffice(const std::string& job, std::int32_t rank, std::int32_t ranks)
    : job_(job_number(job)),
      rank_(rank),
      limit_(settings::number(settings::Id::share_limit)),
      outbox_(rank, ranks, make_nonce(), settings::number(settings::Id::share_bytes)),
      socket_(name_of(rank)),
      inbox_(socket_, job_, rank, ranks),
      neighbours_(static_cast<std::size_t>(ranks)) {
  // A message to oneself is one copy in the MPI library already.
  neighbours_[static_cast<std::size_t>(rank)].reach = Reach::No;
  const std::int64_t node = settings::number(settings::Id::ranks_per_node);
  for (std::int32_t other = 0; node > 0 && other < ranks; ++other) {
    if (other / node != rank / node) neighbours_[static_cast<std::size_t>(other)].reach = Reach::No;
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

void PostOffice::stop_sending() noexcept {
  for (Neighbour& neighbour : neighbours_) neighbour.reach = Reach::No;
}

bool PostOffice::introduce(std::int32_t rank) {
  Neighbour& neighbour = neighbours_[static_cast<std::size_t>(rank)];
  inbox_.expect(rank);  // the other rank may wait for an answer, too
  if (neighbour.reach == Reach::Introduced) {
    if (!outbox_.is_read_by(rank)) return false;
    neighbour.reach = Reach::Yes;
    log::debug("rank {} sends to rank {} by shared memory", rank_, rank);
    return true;
  }
  // It may not have begun yet, may have a full queue, or may never take part: tried ever more
  // rarely.
  if (!std::has_single_bit(++neighbour.attempts)) return false;
  const Introduction made{outbox_.header(), job_};
  const auto message = std::as_bytes(std::span(&made, 1));
  if (socket_.send(name_of(rank), message, outbox_.descriptor()) ==
      sharing::DescriptorSocket::Sent::Yes)
    neighbour.reach = Reach::Introduced;
  return false;
}

int PostOffice::ranks_reached() const noexcept {
  return static_cast<int>(
      std::count_if(neighbours_.begin(), neighbours_.end(),
                    [](const Neighbour& neighbour) { return neighbour.reach == Reach::Yes; }));
}

void PostOffice::mark(const Destination& to) {
  // Once one has gone unmarked, a probe could not tell it from an envelope.
  if (!reaches(to.rank) || !outbox_.mark(to))
    neighbours_[static_cast<std::size_t>(to.rank)].reach = Reach::No;
}

}  // namespace strake::exchange::shared
