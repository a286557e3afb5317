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

#include "exchange/peers/group.hpp"
#include "mpi/agree.hpp"

namespace strake::exchange::planned {

/// For one exchange, and one thread. The two ranks of a pair take the same steps in the same order:
/// each sends one message a step.
class Setup {
 public:
  using Words = std::vector<std::int64_t>;
  enum class Step : std::uint8_t {
    Transfers = 1,
    Places,
    Sent,
    Got,
    Tags,
    Offers,
    Reached,
    Accepted,
    Resolved,
    Planned,
  };

  /// All ranks of the group plan: a collective call. A fault of one rank is thrown on all.
  /// \param meanwhile  called again and again while this rank waits
  Setup(const peers::Group& group, std::function<void()> meanwhile)
      : comm_(group.comm()), rank_(group.rank()), meanwhile_(std::move(meanwhile)) {}
  /// This rank plans with `peers`, each of which plans with this one: nothing is collective. A rank
  /// that has a fault, or learns of one, leaves: so its peers learn of it. Exchanges of the group
  /// that are planned this way are planned in an order that all ranks could have, as blocking
  /// calls.
  Setup(const peers::Group& group, const std::set<int>& peers, std::function<void()> meanwhile)
      : Setup(group, std::move(meanwhile)) {
    for (const int peer : peers)  // one that does not exist is a fault of this rank's
      if (peer >= 0 && peer < group.size() && peer != rank_) staying_.insert(peer);
    collective_ = false;
  }

  [[nodiscard]] int rank() const noexcept { return rank_; }

  /// Throws a fault (a text that is not empty): on all ranks, if one of them has one, or, among
  /// peers, on this rank. Collective if planning is.
  /// \throws  as mpi::agree()
  void agree(const std::string& fault, ErrorCode kind = ErrorCode::InvalidArgument) const;

  /// out[i] goes to ranks[i], in[i] comes from there.
  /// \throws MpiError; Error  among peers: one of them has left
  template <typename T>
  void swap(Step step, const std::vector<int>& ranks, const std::vector<T>& out,
            std::vector<T>& in) {
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
    std::map<int, Words> came = swap_words(step, std::move(words));
    std::map<int, std::size_t> taken;
    in.resize(ranks.size());
    for (std::size_t i = 0; i < ranks.size(); ++i)
      std::memcpy(static_cast<void*>(&in[i]),
                  &came.at(ranks[i]).at(kWordsOfOne * taken[ranks[i]]++), sizeof(T));
  }
  /// Each rank's words go to it, those that come are returned: from the same ranks, or, where all
  /// ranks plan and `step` is Transfers, from any.
  /// \throws  as swap()
  [[nodiscard]] std::map<int, Words> swap_words(Step step, std::map<int, Words> out);
  /// Lets others go on. A caller that waits for peers by itself calls it again and again.
  void meanwhile() const { meanwhile_(); }

  /// The last step, once this rank has opened everything. Collective if planning is.
  /// \returns  whether `mine` holds on all ranks of the group; `among_peers` where these plan
  /// \throws  as swap()
  [[nodiscard]] bool conclude(bool mine, bool among_peers);
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
  [[nodiscard]] std::map<int, Words> deal(std::map<int, Words> out);
  [[nodiscard]] std::map<int, Words> receive_from(std::set<int> ranks, int tag);

  MPI_Comm comm_;
  int rank_;
  bool collective_ = true;
  bool over_ = false;
  std::set<int> staying_;  ///< peers that have not left
  std::function<void()> meanwhile_;
};

}  // namespace strake::exchange::planned
