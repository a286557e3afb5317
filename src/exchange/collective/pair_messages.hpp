/// \file  The messages of one rank in one collective call that is carried out pair by pair: to and
/// from each rank that it has something to do with. They can be started any number of times.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <utility>
#include <vector>

#include "exchange/collective/bundle_choice.hpp"
#include "exchange/collective/bundled_messages.hpp"
#include "exchange/collective/first_fault.hpp"
#include "exchange/collective/members.hpp"
#include "exchange/collective/pair_message.hpp"
#include "exchange/collective/relays.hpp"

namespace strake::exchange {

/// Which messages of a call of neighbours go together. All ranks say the same. In a nonblocking one
/// they do not: a bundle may name a message that MPI sends only once its receiver has asked for it,
/// and a receiver that is in another call of MPI's meanwhile reads no bundle.
enum class Bundling : std::uint8_t {
  None,
  Pairs,   ///< those between two ranks that are not near
  Relays,  ///< those, too, that relays carry, in a blocking call
};

/// One thread at a time.
class PairMessages {
 public:
  /// \param number  as PairMessage's: by it the ranks tell their calls apart; 0: make() says it
  /// \param blocking  all ranks stay in the call until it is complete
  PairMessages(Members& members, std::int32_t number, Bundling bundling, bool blocking);
  /// Adds one, before they are started. Messages between two ranks in one direction are added in
  /// the order of their numbers. \throws OutOfMemory
  void add(MessageDirection direction, int rank, std::uint32_t edge, Typed typed);
  /// \{ A persistent call, of which all messages were added. All its ranks call these, in turn:
  /// chooses which messages go together; \throws std::bad_alloc
  void choose();
  /// tells it to the other ends, and makes the messages; \throws OutOfMemory, Error
  void make(std::int32_t number);
  /// gives bundles a number of their own: they leave when all their blocks are there, which may be
  /// before or after messages that go by themselves.
  void number_bundles(std::int32_t number) noexcept;
  /// \}
  /// Starts them all, as call `call` of that number. A fault ends one message, and is told by
  /// error().
  void start(std::uint32_t call) noexcept;
  /// Takes the steps that need no waiting. True: all are done.
  /// \param leave  whether sends may leave by it
  bool step(bool leave = true) noexcept;
  /// Begins what sends of a device need before their turn.
  void prepare() noexcept;
  /// Whether a send was not handed over yet.
  [[nodiscard]] bool leaving() const noexcept { return leaving_; }
  [[nodiscard]] bool awaited() const noexcept;
  [[nodiscard]] bool unpacking() const noexcept;
  [[nodiscard]] bool on_device() const noexcept { return on_device_; }
  /// MPI_SUCCESS, or the class of the first fault.
  [[nodiscard]] int error() const noexcept { return fault_.code(); }
  [[nodiscard]] const std::list<PairMessage>& all() const noexcept { return all_; }
  /// The memory of all messages and of their bundles. [bytes]
  [[nodiscard]] std::int64_t size_bytes() const noexcept;

 private:
  template <typename Act>
  void guard(PairMessage& message, const Act& act) noexcept {
    if (!fault_.guard(act)) message.give_up();
  }
  struct Added {
    MessageDirection direction;
    int rank;
    std::uint32_t edge;
    Typed typed;
    [[nodiscard]] std::int64_t bytes() const noexcept {
      return typed.elements != nullptr ? typed.elements->size_bytes() : 0;
    }
  };
  /// `bundle`: tells of the message; null: it goes alone.
  void make_message(Added added, BundledMessages* bundle, Told told);
  /// The messages that a bundle tells of, which this one is to be among; null: it goes alone.
  [[nodiscard]] BundledMessages* bundle_of(MessageDirection direction, int rank);
  [[nodiscard]] BundledMessages& pair_bundle(MessageDirection direction, int rank);
  bool step_bundles(bool leave) noexcept;
  bool step_relays() noexcept;

  Members& members_;
  std::int32_t number_;
  bool blocking_;
  bool by_pairs_;
  Relays* relays_;            ///< null: relays carry nothing
  std::vector<Added> added_;  ///< of a persistent call, until they are made
  std::optional<BundleChoice> choice_;
  std::list<PairMessage> all_;
  std::list<PairBundle> bundles_;
  std::vector<BundledMessages> given_, got_;  ///< by share of the relays
  std::vector<bool> taken_;                   ///< as `got_`
  bool done_ = true;
  unsigned turns_ = 0;
  bool leaving_ = false;
  bool on_device_ = false;
  FirstFault fault_;
};

}  // namespace strake::exchange
