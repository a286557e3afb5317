#include "exchange/plan/negotiation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "exchange/choice/choice.hpp"
#include "exchange/plan/part_fault.hpp"
#include "layout/encoding.hpp"
#include "strake/error.hpp"

namespace strake::exchange::planned {
namespace {

using Words = Setup::Words;
using Transfers = std::vector<const ExchangePart::Transfer*>;

/// Host memory of any kind is one: the CPU copies there.
Place folded(Place place) noexcept { return place.in_host_memory() ? Place{} : place; }

/// This rank's transfers with one peer, by tag, those of one tag as they were declared.
struct Mine {
  Transfers sends;
  Transfers receives;
};

std::map<int, Mine> by_peer(const ExchangePart& part) {
  std::map<int, Mine> mine;
  for (const ExchangePart::Transfer& transfer : part.sends())
    mine[transfer.peer].sends.push_back(&transfer);
  for (const ExchangePart::Transfer& transfer : part.receives())
    mine[transfer.peer].receives.push_back(&transfer);
  for (auto& [peer, own] : mine)
    for (Transfers* list : {&own.sends, &own.receives})
      std::ranges::stable_sort(*list, {}, &ExchangePart::Transfer::tag);
  return mine;
}

/// Whether a transfer is one piece of host memory.
bool is_piece(const ExchangePart& part, const ExchangePart::Transfer& transfer) {
  const Place place = part.arrays()[static_cast<std::size_t>(transfer.array)].place;
  return place.in_host_memory() && transfer.layout.is_dense();
}

void put(Words& words, const ExchangePart& part, const Transfers& transfers, bool with_layouts) {
  words.push_back(static_cast<std::int64_t>(transfers.size()));
  for (const ExchangePart::Transfer* transfer : transfers) {
    const Words layout = with_layouts ? encode(transfer->layout) : Words();
    words.push_back(transfer->tag);
    words.push_back(transfer->array);
    words.push_back(transfer->layout.size_bytes());
    words.push_back(is_piece(part, *transfer) ? 1 : 0);
    words.push_back(static_cast<std::int64_t>(layout.size()));
    words.insert(words.end(), layout.begin(), layout.end());
  }
}

/// A peer's places, and its transfers with this rank, as the peer tells them.
struct Theirs {
  struct Transfer {
    int tag = 0;
    int array = 0;
    std::int64_t size_bytes = 0;
    bool dense = false;  ///< one piece of host memory
    Layout layout;       ///< empty: it is not told
  };
  bool direct = false;
  bool connected = false;
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
    transfer.size_bytes = next(words);
    transfer.dense = next(words) != 0;
    const auto length = static_cast<std::size_t>(next(words));
    if (length > 0) transfer.layout = decode(words.first(length));
    words = words.subspan(length);
  }
  return taken;
}

/// Reads a peer's words; one that says nothing has no transfers.
Theirs take_theirs(const Words& words) {
  Theirs theirs;
  if (words.empty()) return theirs;
  std::span<const std::int64_t> left(words);
  theirs.direct = next(left) != 0;
  theirs.connected = next(left) != 0;
  take_places(left, theirs);
  theirs.sends = take(left);
  theirs.receives = take(left);
  return theirs;
}

/// A fault where a message of words would be longer than MPI counts.
std::string fault_of_lengths(const std::map<int, Words>& out, int rank) {
  std::string fault;
  for (const auto& [peer, words] : out) {
    if (words.size() >= static_cast<std::size_t>(std::numeric_limits<int>::max()))
      fault = fmt::format("rank {}: its layouts with rank {} need {} words to be told", rank, peer,
                          words.size());
  }
  return fault;
}

constexpr std::size_t kTagsNamed = 5;

std::vector<int> tags_of(const Transfers& mine) {
  std::vector<int> tags;
  for (const ExchangePart::Transfer* transfer : mine) tags.push_back(transfer->tag);
  return tags;
}
std::vector<int> tags_of(const std::vector<Theirs::Transfer>& theirs) {
  std::vector<int> tags;
  for (const Theirs::Transfer& transfer : theirs) tags.push_back(transfer.tag);
  return tags;
}

/// Says that a rank has no further transfer with a tag, and which of its `tags`, sorted, it has.
std::string none_of(int tag, std::vector<int> tags) {
  if (tags.empty()) return "none of that tag, nor of any other";
  tags.erase(std::ranges::unique(tags).begin(), tags.end());
  if (std::ranges::binary_search(tags, tag)) return "no more of that tag";
  const std::size_t named = std::min(tags.size(), kTagsNamed);
  return fmt::format("none of that tag, but of tag {}{}",
                     fmt::join(std::span(tags).first(named), ", "),
                     named == tags.size() ? "" : fmt::format(" and {} more", tags.size() - named));
}

/// Pairs this rank's list with the peer's; a fault where they do not fit.
std::string pair_up(const ExchangePart& part, const Transfers& mine,
                    const std::vector<Theirs::Transfer>& theirs, bool sends, int rank, int peer,
                    std::vector<MatchedTransfer>& matched) {
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
        return fmt::format("{}, {} {}", here(*mine[i]), other,
                           none_of(mine[i]->tag, tags_of(theirs)));
      return fmt::format("rank {} {} {} bytes {} rank {}, tag {}, which {} {}", peer,
                         sends ? "receives" : "sends", theirs[i].size_bytes, sends ? "of" : "to",
                         rank, theirs[i].tag, sends ? "sends" : "receives",
                         none_of(theirs[i].tag, tags_of(mine)));
    }
    if (mine[i]->layout.size_bytes() != theirs[i].size_bytes)
      return fmt::format("{}, {} {}", here(*mine[i]), other, theirs[i].size_bytes);
    if (mine[i]->layout.size_bytes() == 0) continue;  // nothing to move
    matched.push_back({mine[i]->tag, mine[i]->array, mine[i]->layout, theirs[i].layout,
                       theirs[i].array, theirs[i].dense && is_piece(part, *mine[i])});
  }
  return {};
}

/// The pairs of a rank by peer, then by the place of the lower of the two ranks.
class PairsInOrder {
 public:
  PairsInOrder(int rank, const Places& places) : rank_(rank), places_(places) {}

  /// Adds transfers to the pairs that they belong to. \param theirs  direct and connected: both are
  /// \param which  the transfers of this rank: sends or receives
  void add(int peer, const Theirs& theirs, std::vector<MatchedTransfer> matched,
           std::vector<MatchedTransfer> NegotiatedPair::*which) {
    for (MatchedTransfer& transfer : matched) {
      const std::size_t here = places_.of_array[static_cast<std::size_t>(transfer.array)];
      const std::size_t there = theirs.place_of[static_cast<std::size_t>(transfer.their_array)];
      NegotiatedPair& between =
          pairs_[rank_ <= peer ? std::tuple(peer, here, there) : std::tuple(peer, there, here)];
      between.rank = peer;
      between.place = here;
      between.their_place = there;
      between.they_are_on_device = theirs.on_device[there];
      between.direct = theirs.direct;
      between.connected = theirs.connected;
      (between.*which).push_back(std::move(transfer));
    }
  }
  [[nodiscard]] std::vector<NegotiatedPair> take_all() {
    std::vector<NegotiatedPair> all;
    for (auto& [order, between] : pairs_) all.push_back(std::move(between));
    return all;
  }

 private:
  int rank_;
  const Places& places_;
  std::map<std::tuple<int, std::size_t, std::size_t>, NegotiatedPair> pairs_;
};

}  // namespace

Places::Places(const ExchangePart& part) {
  for (const ExchangePart::Array& array : part.arrays()) {
    const Place place = folded(array.place);
    const auto known = std::ranges::find(all, place);
    of_array.push_back(static_cast<std::size_t>(known - all.begin()));
    if (known == all.end()) all.push_back(place);
  }
}

std::vector<NegotiatedPair> negotiate(const peers::Group& group, Setup& setup,
                                      const ExchangePart& part, const Places& places) {
  const int rank = group.rank();
  setup.agree(fault_of(part, rank, group.size()));

  std::map<int, Mine> mine = by_peer(part);
  const Forced* const by_setting = forced();
  const bool direct = by_setting != nullptr && by_setting->reads_all;
  std::map<int, Words> out;
  std::map<int, int> connected;  // other threads may connect meanwhile
  for (const auto& [peer, own] : mine) {
    Words& words = out[peer];
    words.push_back(direct ? 1 : 0);
    words.push_back(connected[peer] = group.is_connected(peer) ? 1 : 0);
    put(words, places);
    const bool with_layouts = peer == rank || group.is_near(peer);
    put(words, part, own.sends, with_layouts);
    put(words, part, own.receives, with_layouts);
  }
  std::string fault = fault_of_lengths(out, rank);
  setup.agree(fault);

  auto with_itself = out.extract(rank);
  std::map<int, Words> in = setup.swap_words(Setup::Step::Transfers, std::move(out));
  if (with_itself) in.insert(std::move(with_itself));
  for (const auto& [peer, own] : mine) in[peer];  // who says nothing has no transfers
  PairsInOrder pairs(rank, places);
  for (const auto& [peer, words] : in) {
    Theirs theirs = take_theirs(words);
    theirs.direct = direct && theirs.direct;
    theirs.connected = connected[peer] != 0 && theirs.connected;
    std::vector<MatchedTransfer> sends, receives;
    if (fault.empty())
      fault = pair_up(part, mine[peer].sends, theirs.receives, true, rank, peer, sends);
    if (fault.empty())
      fault = pair_up(part, mine[peer].receives, theirs.sends, false, rank, peer, receives);
    pairs.add(peer, theirs, std::move(sends), &NegotiatedPair::sends);
    pairs.add(peer, theirs, std::move(receives), &NegotiatedPair::receives);
  }
  setup.agree(fault);
  return pairs.take_all();
}

}  // namespace strake::exchange::planned
