// Parts of exchanges of those who know what a rank needs, and whose it is.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

#include "mpi/agree.hpp"
#include "mpi/real_mpi.hpp"
#include "mpi/sparse.hpp"
#include "strake/error.hpp"
#include "strake/exchange.hpp"

namespace strake {
namespace {

using mpi::NumbersByRank;

/// Two numbers for each element go in one message of the MPI library, which counts in int.
constexpr std::size_t kMostNumbers = std::numeric_limits<int>::max() / 2;

/// A communicator for a call's own messages.
class Duplicate {
 public:
  explicit Duplicate(MPI_Comm of) {
    mpi::check(mpi::real_mpi().MPI_Comm_dup(of, &comm_), "MPI_Comm_dup");
    mpi::real_mpi().MPI_Comm_size(comm_, &ranks_);
    mpi::real_mpi().MPI_Comm_rank(comm_, &rank_);
  }
  ~Duplicate() { mpi::real_mpi().MPI_Comm_free(&comm_); }
  Duplicate(const Duplicate&) = delete;
  Duplicate& operator=(const Duplicate&) = delete;
  [[nodiscard]] MPI_Comm comm() const noexcept { return comm_; }
  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int ranks() const noexcept { return ranks_; }
  [[nodiscard]] NumbersByRank exchange(const NumbersByRank& to) {
    return mpi::sparse_exchange(comm_, tag_++, to);
  }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int ranks_ = 1;
  int tag_ = 0;
};

Layout layout_of_elements(const std::vector<std::int64_t>& indices, std::int64_t bytes) {
  std::vector<std::int64_t> offsets(indices.size());
  std::ranges::transform(indices, offsets.begin(),
                         [bytes](std::int64_t index) { return index * bytes; });
  return Layout::blocks(offsets, bytes);
}

/// Returns why this rank's arguments are wrong; empty if they are not.
std::string fault_of(const Duplicate& group, const ElementArray& array,
                     std::span<const std::int64_t> wanted, std::span<const ElementOf> from) {
  constexpr std::int64_t kMostBytes = std::numeric_limits<std::int64_t>::max();
  if (array.bytes < 1) return fmt::format("elements of {} bytes", array.bytes);
  if (array.count < 0 || array.count > kMostBytes / array.bytes)
    return fmt::format("an array of {} elements of {} bytes", array.count, array.bytes);
  if (wanted.size() != from.size())
    return fmt::format("rank {} wants {} elements, and says of {} whose they are", group.rank(),
                       wanted.size(), from.size());
  if (wanted.size() > kMostNumbers)
    return fmt::format("rank {} wants {} elements, more than {}", group.rank(), wanted.size(),
                       kMostNumbers);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] < 0 || wanted[i] >= array.count)
      return fmt::format("rank {} wants its element {} of {}", group.rank(), wanted[i],
                         array.count);
    if (from[i].rank < 0 || from[i].rank >= group.ranks())
      return fmt::format("rank {} wants an element of rank {} of {}", group.rank(), from[i].rank,
                         group.ranks());
  }
  std::vector<std::int64_t> sorted(wanted.begin(), wanted.end());
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice != sorted.end())
    return fmt::format("rank {} gets its element {} twice", group.rank(), *twice);
  return {};
}

/// Elements that go between two ranks, by how often their sources were asked for before: a source
/// that is wanted several times is in several transfers, so that values that go back are combined
/// one after the other.
using Transfers = std::vector<std::vector<std::int64_t>>;

/// \param sources  of one rank, in the order in which they are wanted
/// \param elements  as many: those that are sent, or received
Transfers transfers_of(const std::vector<std::int64_t>& sources,
                       const std::vector<std::int64_t>& elements) {
  std::unordered_map<std::int64_t, std::size_t> asked;
  Transfers transfers;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const std::size_t times = asked[sources[i]]++;
    if (times >= transfers.size()) transfers.emplace_back();
    transfers[times].push_back(elements[i]);
  }
  return transfers;
}

ExchangePart part_of(Duplicate& group, const ElementArray& array,
                     std::span<const std::int64_t> wanted, std::span<const ElementOf> from) {
  mpi::agree(group.comm(), fault_of(group, array, wanted, from));
  NumbersByRank theirs, mine;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    theirs[from[i].rank].push_back(from[i].index);
    mine[from[i].rank].push_back(wanted[i]);
  }
  const NumbersByRank asked = group.exchange(theirs);
  std::string fault;
  for (const auto& [rank, indices] : asked)
    for (const std::int64_t index : indices)
      if ((index < 0 || index >= array.count) && fault.empty())
        fault = fmt::format("rank {} wants element {} of rank {}, which has {}", rank, index,
                            group.rank(), array.count);
  mpi::agree(group.comm(), fault);
  ExchangePart part;
  const int number = part.array(array.place, array.count * array.bytes);
  for (const auto& [rank, indices] : asked) {
    const Transfers sent = transfers_of(indices, indices);
    for (std::size_t tag = 0; tag < sent.size(); ++tag)
      part.send(rank, static_cast<int>(tag), number, layout_of_elements(sent[tag], array.bytes));
  }
  for (const auto& [rank, indices] : mine) {
    const Transfers received = transfers_of(theirs.at(rank), indices);
    for (std::size_t tag = 0; tag < received.size(); ++tag)
      part.receive(rank, static_cast<int>(tag), number,
                   layout_of_elements(received[tag], array.bytes));
  }
  return part;
}

/// The owner of each of `wanted`, and its index there. Each rank keeps the owners of the numbers
/// that are equal to it modulo the ranks, and answers who asks.
std::vector<ElementOf> owners_of(Duplicate& group, std::span<const std::int64_t> owned,
                                 std::span<const std::int64_t> wanted) {
  const auto keeper = [&](std::int64_t id) { return static_cast<int>(id % group.ranks()); };
  NumbersByRank told;  // the numbers, and then where they are
  for (const std::int64_t id : owned) told[keeper(id)].push_back(id);
  for (std::size_t i = 0; i < owned.size(); ++i)
    told[keeper(owned[i])].push_back(static_cast<std::int64_t>(i));
  std::unordered_map<std::int64_t, ElementOf> owners;
  std::string fault;
  for (const auto& [rank, numbers] : group.exchange(told)) {
    const std::size_t count = numbers.size() / 2;
    for (std::size_t i = 0; i < count; ++i) {
      const auto [known, is_new] =
          owners.try_emplace(numbers[i], ElementOf{rank, numbers[count + i]});
      if (!is_new && fault.empty())
        fault = fmt::format("ranks {} and {} own global index {}", known->second.rank, rank,
                            numbers[i]);
    }
  }
  mpi::agree(group.comm(), fault);
  NumbersByRank questions;
  for (const std::int64_t id : wanted) questions[keeper(id)].push_back(id);
  NumbersByRank answers;  // the rank and the index of each
  for (const auto& [rank, ids] : group.exchange(questions)) {
    for (const std::int64_t id : ids) {
      const auto known = owners.find(id);
      if (known == owners.end() && fault.empty())
        fault = fmt::format("rank {} wants global index {}, which no rank owns", rank, id);
      const ElementOf owner = known == owners.end() ? ElementOf{} : known->second;
      answers[rank].insert(answers[rank].end(), {owner.rank, owner.index});
    }
  }
  mpi::agree(group.comm(), fault);
  const NumbersByRank heard = group.exchange(answers);
  std::map<int, std::size_t> read;
  std::vector<ElementOf> found;
  for (const std::int64_t id : wanted) {
    const int rank = keeper(id);
    const std::vector<std::int64_t>& numbers = heard.at(rank);
    std::size_t& at = read[rank];
    found.push_back({static_cast<int>(numbers[at]), numbers[at + 1]});
    at += 2;
  }
  return found;
}

}  // namespace

ExchangePart ExchangePart::of_elements(MPI_Comm comm, const ElementArray& array,
                                       std::span<const std::int64_t> wanted,
                                       std::span<const ElementOf> from) {
  mpi::require_intracommunicator(comm, "an exchange");
  Duplicate group(comm);
  return part_of(group, array, wanted, from);
}

ExchangePart ExchangePart::of_global_ids(MPI_Comm comm, std::int64_t element_bytes, Place place,
                                         std::span<const std::int64_t> owned,
                                         std::span<const std::int64_t> ghosts) {
  mpi::require_intracommunicator(comm, "an exchange");
  Duplicate group(comm);
  std::string fault;
  for (const auto ids : {owned, ghosts}) {
    if (ids.size() > kMostNumbers && fault.empty())
      fault = fmt::format("{} global indices on rank {}, more than {}", ids.size(), group.rank(),
                          kMostNumbers);
    for (const std::int64_t id : ids)
      if (id < 0 && fault.empty())
        fault = fmt::format("global index {} on rank {}", id, group.rank());
  }
  mpi::agree(group.comm(), fault);
  const std::vector<ElementOf> from = owners_of(group, owned, ghosts);
  const auto first = static_cast<std::int64_t>(owned.size());
  std::vector<std::int64_t> wanted(ghosts.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] = first + static_cast<std::int64_t>(i);
  return part_of(group, {element_bytes, first + static_cast<std::int64_t>(ghosts.size()), place},
                 wanted, from);
}

}  // namespace strake
