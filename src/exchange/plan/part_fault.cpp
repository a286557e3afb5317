#include "exchange/plan/part_fault.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "layout/hasher.hpp"
#include "layout/overlap.hpp"

namespace strake::exchange::planned {
namespace {

/// A transfer from or to one array. Users of find_overlap() are indices into lists of these.
struct Use {
  const ExchangePart::Transfer* transfer = nullptr;
  bool received = false;
};

/// The bounds of some layouts.
class BoundsList {
 public:
  void add(const ByteRange& range) {
    begins_.push_back(range.begin);
    ends_.push_back(range.end);
  }
  void sort() {
    std::ranges::sort(begins_);
    std::ranges::sort(ends_);
  }
  /// How many of them have a byte in common with `range`. Cost: O(log n).
  [[nodiscard]] std::ptrdiff_t count_meeting(const ByteRange& range) const {
    const auto begun = std::ranges::lower_bound(begins_, range.end) - begins_.begin();
    return begun - (std::ranges::upper_bound(ends_, range.begin) - ends_.begin());
  }

 private:
  std::vector<std::int64_t> begins_;
  std::vector<std::int64_t> ends_;
};

/// Returns the uses whose bounds meet those of another one, if one of the two is received.
std::vector<Use> that_may_overlap(const std::vector<Use>& uses) {
  BoundsList sent, received;
  for (const Use& use : uses) (use.received ? received : sent).add(use.transfer->layout.bounds());
  sent.sort();
  received.sort();
  std::vector<Use> found;
  std::ranges::copy_if(uses, std::back_inserter(found), [&](const Use& use) {
    const ByteRange bounds = use.transfer->layout.bounds();
    const std::ptrdiff_t itself = use.received ? 1 : 0;
    return received.count_meeting(bounds) > itself ||
           (use.received && sent.count_meeting(bounds) > 0);
  });
  return found;
}

std::optional<Overlap> overlap_of(const std::vector<Use>& uses) {
  std::int64_t blocks = 0;
  for (const Use& use : uses) blocks += use.transfer->layout.block_count();
  std::vector<Touched> all;
  all.reserve(static_cast<std::size_t>(blocks));
  for (std::size_t i = 0; i < uses.size(); ++i)
    uses[i].transfer->layout.for_each_block([&](std::int64_t offset, std::int64_t length) {
      const auto begin = static_cast<std::uint64_t>(offset);
      all.push_back({begin, begin + static_cast<std::uint64_t>(length), i, uses[i].received});
    });
  return find_overlap(all);
}

Hash128 hash_of(const std::vector<Use>& uses) {
  Hasher hasher;
  for (const Use& use : uses) {
    const Hash128 hash = use.transfer->layout.hash();
    hasher.add(static_cast<std::int64_t>(hash.lo));
    hasher.add(static_cast<std::int64_t>(hash.hi));
    hasher.add(use.received ? 1 : 0);
  }
  return hasher.value();
}

/// A byte that is received, and touched by another transfer; empty if there is none. All layouts
/// are within their arrays.
std::string overlap_in(const ExchangePart& part, int rank) {
  std::vector<std::vector<Use>> by_array(part.arrays().size());
  for (const auto* list : {&part.receives(), &part.sends()})
    for (const ExchangePart::Transfer& transfer : *list)
      if (transfer.layout.size_bytes() > 0)
        by_array[static_cast<std::size_t>(transfer.array)].push_back(
            {&transfer, list == &part.receives()});
  // The fields of a grid have the same transfers: one array of each kind is looked at.
  std::set<std::pair<std::uint64_t, std::uint64_t>> known;
  for (std::size_t array = 0; array < by_array.size(); ++array) {
    const std::vector<Use> uses = that_may_overlap(by_array[array]);
    const Hash128 hash = hash_of(uses);
    if (uses.empty() || !known.emplace(hash.lo, hash.hi).second) continue;
    const std::optional<Overlap> overlap = overlap_of(uses);
    if (!overlap) continue;
    const auto text = [&](std::size_t user) {
      const auto& [transfer, received] = uses[user];
      return fmt::format("{} rank {}, {}", received ? "received from" : "sent to", transfer->peer,
                         named(*transfer));
    };
    const auto [first, second] = std::minmax(overlap->earlier.user, overlap->later.user);
    return fmt::format("rank {}: byte {} of array {} is {}, and {}", rank, overlap->byte, array,
                       text(first), text(second));
  }
  return {};
}

}  // namespace

std::string named(const ExchangePart::Transfer& transfer) {
  return transfer.what.empty() ? fmt::format("tag {}", transfer.tag)
                               : fmt::format("{} (tag {})", transfer.what, transfer.tag);
}

std::string fault_of(const ExchangePart& part, int rank, int ranks) {
  const auto arrays = static_cast<int>(part.arrays().size());
  for (int i = 0; i < arrays; ++i) {
    const ExchangePart::Array& array = part.arrays()[static_cast<std::size_t>(i)];
    if (array.size_bytes < 0)
      return fmt::format("rank {}: array {} has {} bytes", rank, i, array.size_bytes);
  }
  for (const auto* list : {&part.sends(), &part.receives()}) {
    const char* const verb = list == &part.sends() ? "to" : "from";
    for (const ExchangePart::Transfer& transfer : *list) {
      const std::string where = fmt::format("rank {}: the transfer {} rank {}, {}", rank, verb,
                                            transfer.peer, named(transfer));
      if (transfer.peer < 0 || transfer.peer >= ranks)
        return fmt::format("{}: there are {} ranks", where, ranks);
      if (transfer.array < 0 || transfer.array >= arrays)
        return fmt::format("{}: there is no array {}, only {}", where, transfer.array, arrays);
      const ByteRange touched = transfer.layout.bounds();
      const std::int64_t size = part.arrays()[static_cast<std::size_t>(transfer.array)].size_bytes;
      if (transfer.layout.size_bytes() == 0) continue;
      if (touched.begin < 0)
        return fmt::format("{}: bytes {} to {} of array {} begin before the array", where,
                           touched.begin, touched.end, transfer.array);
      if (touched.end > size)
        return fmt::format("{}: bytes {} to {} of array {}, which has {}", where, touched.begin,
                           touched.end, transfer.array, size);
    }
  }
  return overlap_in(part, rank);
}

}  // namespace strake::exchange::planned
