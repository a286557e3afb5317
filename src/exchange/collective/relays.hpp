/// \file  The relays of one communicator at work in one blocking call: this rank's bundles on their
/// way to agents and from them, and its duties as an agent. In a nonblocking call an agent might be
/// in a call of the MPI library's, which forwards nothing (decision 28).
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <vector>

#include "exchange/collective/bundle.hpp"
#include "exchange/collective/first_fault.hpp"
#include "exchange/collective/members.hpp"
#include "exchange/collective/pair_message.hpp"
#include "exchange/collective/relay_plan.hpp"
#include "mpi/companion.hpp"

namespace strake::exchange {

/// One call at a time, one thread at a time.
class Relays final : public mpi::Companion {
 public:
  /// The relays of a communicator; null: it has none. \throws std::bad_alloc
  [[nodiscard]] static Relays* of(Members& members);
  Relays(const Members& members, std::int32_t number, const RelayPlan& plan);

  /// The index in the plan of the share that a message to, or from, that rank is in.
  [[nodiscard]] std::optional<std::size_t> share_with(MessageDirection direction,
                                                      int rank) const noexcept;
  [[nodiscard]] std::size_t gives() const noexcept { return gives_.size(); }
  [[nodiscard]] std::size_t gets() const noexcept { return gets_.size(); }

  /// A call begins: all bundles are empty.
  void start(std::uint32_t call, FirstFault& fault) noexcept;
  /// This rank's bundle to the node of a share, before it is given.
  [[nodiscard]] Bundle& bundle_to_give(std::size_t share) noexcept { return gives_[share]->bundle; }
  [[nodiscard]] bool is_given(std::size_t share) const noexcept { return gives_[share]->begun; }
  /// All of the bundle's bytes are there.
  void give(std::size_t share, FirstFault& fault) noexcept;
  /// The bundle of a share, once it has come.
  [[nodiscard]] const Bundle* got(std::size_t share) const noexcept {
    return gets_[share]->done ? &gets_[share]->bundle : nullptr;
  }
  /// Takes the steps that need no waiting. True: nothing is left to do for this rank.
  bool step(FirstFault& fault) noexcept;

 private:
  /// One bundle between this rank and another one.
  struct Leg {
    Leg(MessageDirection its_direction, int its_rank, std::uint32_t its_edge, std::int64_t room,
        Told how = Told::Alone)
        : direction(its_direction), rank(its_rank), edge(its_edge), told(how), bundle(room) {}
    MessageDirection direction;
    int rank;
    std::uint32_t edge;
    Told told;
    Bundle bundle;
    /// Nothing, if the other rank is this one; else of the bytes of the last call.
    std::optional<PairMessage> message;
    bool begun = false;
    bool done = false;
  };
  /// The agent joins what the node's ranks, `own` perhaps among them, send to another node.
  struct Joining {
    std::list<Leg> from;
    Leg* own = nullptr;
    std::optional<Leg> to;
  };
  /// The agent splits what comes from another node.
  struct Splitting {
    std::optional<Leg> from;
    std::map<int, Leg*> to;
    std::list<Leg> others;
    bool split = false;
  };
  void begin(Leg& leg, FirstFault& fault) noexcept;
  /// True: the leg is done.
  bool step(Leg& leg, FirstFault& fault) noexcept;
  bool step(Joining& joining, FirstFault& fault) noexcept;
  bool step(Splitting& splitting, FirstFault& fault) noexcept;
  template <typename Act>
  void for_all(const Act& act);

  const Members& members_;
  std::int32_t number_;
  const RelayPlan& plan_;
  std::uint32_t call_ = 0;
  std::list<Leg> own_;
  std::vector<Leg*> gives_, gets_;
  std::list<Joining> joins_;
  std::list<Splitting> splits_;
};

}  // namespace strake::exchange
