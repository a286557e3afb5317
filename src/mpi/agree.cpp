#include "mpi/agree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <vector>

#include "layout/hasher.hpp"
#include "mpi/peers.hpp"
#include "mpi/real_mpi.hpp"
#include "strake/error.hpp"

namespace strake::mpi {
namespace {

int rank_of(MPI_Comm comm) {
  int rank = 0;
  check(real_mpi().MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  return rank;
}

/// `text` becomes that of rank `root`.
void broadcast(MPI_Comm comm, std::string& text, int root) {
  const RealMpi& real = real_mpi();
  auto length = static_cast<int>(text.size());
  check(real.MPI_Bcast(&length, 1, MPI_INT, root, comm), "MPI_Bcast");
  text.resize(static_cast<std::size_t>(length));
  check(real.MPI_Bcast(text.data(), length, MPI_CHAR, root, comm), "MPI_Bcast");
}

/// Each text with its length before it, so that no two lists become one text.
std::string joined(std::span<const Given> given) {
  std::string all;
  for (const Given& one : given) {
    for (const std::string* text : {&one.what, &one.value}) {
      const std::uint64_t length = text->size();
      all.append(reinterpret_cast<const char*>(&length), sizeof(length)).append(*text);
    }
  }
  return all;
}

std::vector<Given> parted(std::string_view all) {
  const auto next = [&] {
    std::uint64_t length = 0;
    std::memcpy(&length, all.data(), sizeof(length));
    const std::string text(all.substr(sizeof(length), length));
    all.remove_prefix(sizeof(length) + length);
    return text;
  };
  std::vector<Given> given;
  while (!all.empty()) {
    Given& one = given.emplace_back();
    one.what = next();
    one.value = next();
  }
  return given;
}

Hash128 hash_of(const std::string& text) {
  Hasher hasher;
  for (std::size_t at = 0; at < text.size(); at += sizeof(std::int64_t)) {
    std::int64_t word = 0;
    std::memcpy(&word, text.data() + at, std::min(sizeof(word), text.size() - at));
    hasher.add(word);
  }
  hasher.add(static_cast<std::int64_t>(text.size()));
  return hasher.value();
}

/// The first difference between a rank's list and that of rank 0; empty if there is none.
std::string difference(int rank, std::span<const Given> here, std::span<const Given> first) {
  for (std::size_t i = 0; i < std::max(here.size(), first.size()); ++i) {
    if (i >= first.size())
      return fmt::format("{} is {} on rank {}, and rank 0 has none", here[i].what, here[i].value,
                         rank);
    if (i >= here.size())
      return fmt::format("{} is {} on rank 0, and rank {} has none", first[i].what, first[i].value,
                         rank);
    if (here[i].what != first[i].what)
      return fmt::format("rank {} gives {} ({}) where rank 0 gives {} ({})", rank, here[i].what,
                         here[i].value, first[i].what, first[i].value);
    if (here[i].value != first[i].value)
      return fmt::format("{} is {} on rank {} and {} on rank 0", here[i].what, here[i].value, rank,
                         first[i].value);
  }
  return {};
}

}  // namespace

void throw_fault(const std::string& fault, ErrorCode kind) {
  switch (kind) {
    case ErrorCode::InvalidArgument:
      throw InvalidArgument(fault);
    case ErrorCode::Unsupported:
      throw Unsupported(fault);
    case ErrorCode::OutOfMemory:
      throw OutOfMemory(fault);
    case ErrorCode::Mpi:
    case ErrorCode::Cuda:
    case ErrorCode::Other:
      break;
  }
  throw Error(fault);
}

void agree(MPI_Comm comm, const std::string& fault, ErrorCode kind) {
  const RealMpi& real = real_mpi();
  const int none = std::numeric_limits<int>::max();
  int first = fault.empty() ? none : rank_of(comm);
  check(real.MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, comm), "MPI_Allreduce");
  if (first == none) return;
  std::string text = fault;
  broadcast(comm, text, first);
  int thrown = static_cast<int>(kind);
  check(real.MPI_Bcast(&thrown, 1, MPI_INT, first, comm), "MPI_Bcast");
  throw_fault(text, static_cast<ErrorCode>(thrown));
}

void require_alike(MPI_Comm comm, std::span<const Given> given) {
  std::string first = joined(given);
  const Hash128 hash = hash_of(first);
  // The least complement is the complement of the greatest word.
  std::array<std::uint64_t, 4> least = {hash.lo, hash.hi, ~hash.lo, ~hash.hi};
  check(real_mpi().MPI_Allreduce(MPI_IN_PLACE, least.data(), 4, MPI_UINT64_T, MPI_MIN, comm),
        "MPI_Allreduce");
  if (least[0] == ~least[2] && least[1] == ~least[3]) return;
  broadcast(comm, first, 0);
  agree(comm, difference(rank_of(comm), given, parted(first)));
}

void require_intracommunicator(MPI_Comm comm, const char* user) {
  if (comm == MPI_COMM_NULL) throw InvalidArgument(fmt::format("{} on MPI_COMM_NULL", user));
  if (is_inter(comm))
    throw InvalidArgument(
        fmt::format("{} on an intercommunicator, whose ranks are two groups", user));
}

}  // namespace strake::mpi
