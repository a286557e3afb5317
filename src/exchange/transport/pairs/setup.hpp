/// \file  How ranks talk while they plan an exchange: messages from rank to rank, in steps, and
/// what becomes of a fault. Two forms: all ranks of a group plan together, or each rank plans with
/// its peers alone.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "exchange/peers/backoff.hpp"
#include "exchange/peers/group.hpp"
#include "mpi/agree.hpp"

namespace strake::exchange::planned {

/// For one exchange, and one thread. A step with a rank is carried out at both ends, by both alike.
class Setup {
 public:
  using Words = std::vector<std::int64_t>;
  using Meanwhile = std::function<void()>;
  /// The steps of planning. The numbers are tags of the group's communicator (6 is that of
  /// farewells).
  enum class Step : std::uint8_t {
    Transfers = 1,
    Places = 2,
    Sent = 3,
    Got = 4,
    Tags = 5,
    Offers = 7,
    Reached = 8,
    Accepted = 9,
    Resolved = 10,
    Planned = 11,
  };

  /// All ranks of the group plan: a collective call. A fault of one rank is thrown on all.
  /// \param meanwhile  called again and again while this rank waits
  Setup(const peers::Group& group, Meanwhile meanwhile)
      : comm_(group.comm()), rank_(group.rank()), meanwhile_(std::move(meanwhile)) {}
  /// This rank plans with `peers`, each of which plans with this one: nothing is collective. A rank
  /// that has a fault, or learns of one, leaves: so its peers learn of it. Two ranks that plan
  /// several exchanges of the group this way plan them in one order.
  Setup(const peers::Group& group, std::set<int> peers, Meanwhile meanwhile)
      : Setup(group, std::move(meanwhile)) {
    peers.erase(rank_);
    staying_ = std::move(peers);
    collective_ = false;
  }

  [[nodiscard]] int rank() const noexcept { return rank_; }

  /// Throws a fault (a text that is not empty): on all ranks, if one of them has one, or, among
  /// peers, on this rank. Collective if planning is.
  /// \throws  as mpi::agree()
  void agree(const std::string& fault, mpi::FaultKind kind = mpi::FaultKind::Argument) const;

  /// out[i] goes to ranks[i], in[i] comes from there. `look()` is called again and again.
  /// \throws MpiError; Error  among peers: one of them has left
  template <typename T, typename Look>
  void swap(Step step, const std::vector<int>& ranks, const std::vector<T>& out, std::vector<T>& in,
            const Look& look) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::map<int, Words> words;
    constexpr std::size_t kWordsOfOne =
        (sizeof(T) + sizeof(std::int64_t) - 1) / sizeof(std::int64_t);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      Words& all = words[ranks[i]];
      all.resize(all.size() + kWordsOfOne);
      std::memcpy(all.data() + all.size() - kWordsOfOne, static_cast<const void*>(&out[i]),
                  sizeof(T));
    }
    std::map<int, Words> came = swap_words(step, std::move(words), look);
    std::map<int, std::size_t> taken;
    in.resize(ranks.size());
    for (std::size_t i = 0; i < ranks.size(); ++i)
      std::memcpy(static_cast<void*>(&in[i]),
                  &came.at(ranks[i]).at(kWordsOfOne * taken[ranks[i]]++), sizeof(T));
  }
  /// Each rank's words go to it, those that come are returned: from the same ranks, or, where all
  /// ranks plan and `step` is Transfers, from any.
  /// \throws  as swap()
  [[nodiscard]] std::map<int, Words> swap_words(Step step, std::map<int, Words> out,
                                                const Meanwhile& look);

  /// The last step, once this rank has opened everything. Collective if planning is.
  /// \returns  whether `mine` holds on all ranks of the group; among peers, which don't know: false
  /// \throws  as swap()
  [[nodiscard]] bool conclude(bool mine);
  /// The last step was taken: peers learn of no fault here any more.
  [[nodiscard]] bool is_over() const noexcept { return over_; }

  /// Among peers: this rank can't go on, for a reason that its peers are told. Waits until each of
  /// them has taken its next step. Does nothing after the last step, or where all ranks plan.
  void leave(const std::string& reason) noexcept;
  /// Whether a peer has left, as this rank knows.
  [[nodiscard]] bool has_left(int rank) const noexcept {
    return !collective_ && !staying_.contains(rank);
  }

 private:
  [[nodiscard]] std::map<int, Words> deal(const std::map<int, Words>& out);
  [[nodiscard]] std::map<int, Words> receive_from(std::set<int> ranks, int tag,
                                                  const Meanwhile& look);
  void pause(Backoff& backoff, const Meanwhile& look);

  MPI_Comm comm_;
  int rank_;
  bool collective_ = true;
  bool over_ = false;
  std::set<int> staying_;  ///< peers that have not left
  Meanwhile meanwhile_;
  unsigned turns_ = 0;
};

}  // namespace strake::exchange::planned
