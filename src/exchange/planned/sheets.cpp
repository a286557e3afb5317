#include "exchange/planned/sheets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "exchange/method.hpp"
#include "exchange/planned/part_fault.hpp"
#include "layout/encoding.hpp"
#include "mpi/agree.hpp"
#include "mpi/real_mpi.hpp"
#include "settings/settings.hpp"
#include "strake/error.hpp"

namespace strake::exchange::planned {
namespace {

using Words = std::vector<std::int64_t>;
using Transfers = std::vector<const ExchangePart::Transfer*>;

/// Host memory of any kind is one: the CPU copies there.
Place folded(Place place) noexcept { return place.in_host_memory() ? Place{} : place; }

/// This rank's transfers with one peer, by tag, those of one tag as they were declared.
struct Mine {
  Transfers sends;
  Transfers receives;
};

void put(Words& words, const Transfers& transfers) {
  words.push_back(static_cast<std::int64_t>(transfers.size()));
  for (const ExchangePart::Transfer* transfer : transfers) {
    const Words layout = encode(transfer->layout);
    words.push_back(transfer->tag);
    words.push_back(transfer->array);
    words.push_back(static_cast<std::int64_t>(layout.size()));
    words.insert(words.end(), layout.begin(), layout.end());
  }
}

/// What a peer says.
struct Theirs {
  struct Transfer {
    int tag = 0;
    int array = 0;
    Layout layout;
  };
  bool direct = false;
  std::vector<bool> on_device;        ///< by place
  std::vector<std::size_t> place_of;  ///< by array
  std::vector<Transfer> sends;
  std::vector<Transfer> receives;
};

void put(Words& words, const Places& places) {
  words.push_back(std::ssize(places.all));
  for (const Place place : places.all) words.push_back(place.kind == MemoryKind::Device ? 1 : 0);
  words.push_back(std::ssize(places.of_array));
  for (const std::size_t number : places.of_array)
    words.push_back(static_cast<std::int64_t>(number));
}

std::int64_t next(std::span<const std::int64_t>& words) {
  const std::int64_t word = words.front();
  words = words.subspan(1);
  return word;
}

void take_places(std::span<const std::int64_t>& words, Theirs& theirs) {
  for (std::int64_t left = next(words); left > 0; --left)
    theirs.on_device.push_back(next(words) != 0);
  for (std::int64_t left = next(words); left > 0; --left)
    theirs.place_of.push_back(static_cast<std::size_t>(next(words)));
}

std::vector<Theirs::Transfer> take(std::span<const std::int64_t>& words) {
  std::vector<Theirs::Transfer> taken(static_cast<std::size_t>(next(words)));
  for (Theirs::Transfer& transfer : taken) {
    transfer.tag = static_cast<int>(next(words));
    transfer.array = static_cast<int>(next(words));
    const auto length = static_cast<std::size_t>(next(words));
    transfer.layout = decode(words.first(length));
    words = words.subspan(length);
  }
  return taken;
}

/// Pairs this rank's list with the peer's; a fault where they do not fit.
std::string pair_up(const Transfers& mine, const std::vector<Theirs::Transfer>& theirs, bool sends,
                    int rank, int peer, std::vector<Piece>& pieces) {
  const auto here = [&](const ExchangePart::Transfer& transfer) {
    return sends ? fmt::format("rank {} sends rank {} {} bytes, {}", rank, peer,
                               transfer.layout.size_bytes(), named(transfer))
                 : fmt::format("rank {} receives {} bytes of rank {}, {}", rank,
                               transfer.layout.size_bytes(), peer, named(transfer));
  };
  const char* const other = sends ? "which receives" : "which sends";
  for (std::size_t i = 0; i < std::max(mine.size(), theirs.size()); ++i) {
    const bool has = i < mine.size();
    if (!has || i >= theirs.size() || mine[i]->tag != theirs[i].tag) {
      if (has && (i >= theirs.size() || mine[i]->tag < theirs[i].tag))
        return fmt::format("{}, {} none of that tag", here(*mine[i]), other);
      return fmt::format("rank {} {} {} bytes {} rank {}, tag {}, which {} none of that tag", peer,
                         sends ? "receives" : "sends", theirs[i].layout.size_bytes(),
                         sends ? "of" : "to", rank, theirs[i].tag, sends ? "sends" : "receives");
    }
    if (mine[i]->layout.size_bytes() != theirs[i].layout.size_bytes())
      return fmt::format("{}, {} {}", here(*mine[i]), other, theirs[i].layout.size_bytes());
    if (mine[i]->layout.size_bytes() == 0) continue;  // nothing to move
    pieces.push_back(
        {mine[i]->tag, mine[i]->array, mine[i]->layout, theirs[i].layout, theirs[i].array});
  }
  return {};
}

/// Sends each rank its words, and gets theirs.
std::map<int, Words> deal(MPI_Comm comm, const std::map<int, Words>& out) {
  const mpi::RealMpi& real = mpi::real_mpi();
  int ranks = 1;
  real.MPI_Comm_size(comm, &ranks);
  std::vector<int> lengths(static_cast<std::size_t>(ranks)), coming(lengths.size());
  for (const auto& [peer, words] : out)
    lengths[static_cast<std::size_t>(peer)] = static_cast<int>(words.size());
  mpi::check(real.MPI_Alltoall(lengths.data(), 1, MPI_INT, coming.data(), 1, MPI_INT, comm),
             "MPI_Alltoall");
  std::map<int, Words> in;
  std::vector<MPI_Request> requests;
  constexpr int kTag = 1;
  for (int peer = 0; peer < ranks; ++peer) {
    const int length = coming[static_cast<std::size_t>(peer)];
    if (length == 0) continue;
    Words& words = in[peer];
    words.resize(static_cast<std::size_t>(length));
    mpi::check(real.MPI_Irecv(words.data(), length, MPI_INT64_T, peer, kTag, comm,
                              &requests.emplace_back(MPI_REQUEST_NULL)),
               "MPI_Irecv");
  }
  for (const auto& [peer, words] : out)
    mpi::check(real.MPI_Isend(words.data(), static_cast<int>(words.size()), MPI_INT64_T, peer, kTag,
                              comm, &requests.emplace_back(MPI_REQUEST_NULL)),
               "MPI_Isend");
  mpi::check(
      real.MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE),
      "MPI_Waitall");
  return in;
}

/// Ranks may differ in other settings, such as STRAKE_METHOD: each pair of them settles those.
void require_one_protocol(MPI_Comm comm) {
  const mpi::Given given[] = {
      {"the version of Strake", STRAKE_VERSION},
      {"STRAKE_RANKS_PER_NODE", std::to_string(settings::number(settings::Id::ranks_per_node))}};
  mpi::require_alike(comm, given);
}

}  // namespace

Places::Places(const ExchangePart& part) {
  for (const ExchangePart::Array& array : part.arrays()) {
    const Place place = folded(array.place);
    const auto known = std::ranges::find(all, place);
    of_array.push_back(static_cast<std::size_t>(known - all.begin()));
    if (known == all.end()) all.push_back(place);
  }
}

std::vector<Dealings> tell_peers(MPI_Comm comm, const ExchangePart& part, const Places& places) {
  const mpi::RealMpi& real = mpi::real_mpi();
  int rank = 0;
  int ranks = 1;
  real.MPI_Comm_rank(comm, &rank);
  real.MPI_Comm_size(comm, &ranks);
  require_one_protocol(comm);
  mpi::agree(comm, fault_of(part, rank, ranks));

  std::map<int, Mine> mine;
  for (const ExchangePart::Transfer& transfer : part.sends())
    mine[transfer.peer].sends.push_back(&transfer);
  for (const ExchangePart::Transfer& transfer : part.receives())
    mine[transfer.peer].receives.push_back(&transfer);
  const bool direct = forced_method() == Method::Direct;
  std::map<int, Words> out;
  for (auto& [peer, own] : mine) {
    for (Transfers* list : {&own.sends, &own.receives})
      std::ranges::stable_sort(*list, {}, &ExchangePart::Transfer::tag);
    Words& words = out[peer];
    words.push_back(direct ? 1 : 0);
    put(words, places);
    put(words, own.sends);
    put(words, own.receives);
  }
  std::string fault;
  for (const auto& [peer, words] : out) {
    if (words.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
      fault = fmt::format("rank {}: its layouts with rank {} need {} words to be told", rank, peer,
                          words.size());
  }
  mpi::agree(comm, fault);

  // By rank, then by the place of the lower of the two ranks.
  std::map<std::tuple<int, std::size_t, std::size_t>, Dealings> dealings;
  std::map<int, Words> in = deal(comm, out);
  for (const auto& [peer, own] : mine) in[peer];  // who says nothing has no transfers
  for (const auto& [peer, words] : in) {
    Theirs theirs;
    if (!words.empty()) {
      std::span<const std::int64_t> left(words);
      theirs.direct = next(left) != 0;
      take_places(left, theirs);
      theirs.sends = take(left);
      theirs.receives = take(left);
    }
    std::vector<Piece> sends, receives;
    if (fault.empty()) fault = pair_up(mine[peer].sends, theirs.receives, true, rank, peer, sends);
    if (fault.empty())
      fault = pair_up(mine[peer].receives, theirs.sends, false, rank, peer, receives);
    const auto put_in_order = [&](std::vector<Piece>& pieces, auto which) {
      for (Piece& piece : pieces) {
        const std::size_t here = places.of_array[static_cast<std::size_t>(piece.array)];
        const std::size_t there = theirs.place_of[static_cast<std::size_t>(piece.their_array)];
        Dealings& between =
            dealings[rank <= peer ? std::tuple(peer, here, there) : std::tuple(peer, there, here)];
        between.rank = peer;
        between.place = here;
        between.their_place = there;
        between.they_are_on_device = theirs.on_device[there];
        between.direct = direct && theirs.direct;
        (between.*which).push_back(std::move(piece));
      }
    };
    put_in_order(sends, &Dealings::sends);
    put_in_order(receives, &Dealings::receives);
  }
  mpi::agree(comm, fault);
  std::vector<Dealings> all;
  for (auto& [order, between] : dealings) all.push_back(std::move(between));
  return all;
}

}  // namespace strake::exchange::planned
