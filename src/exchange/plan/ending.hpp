/// \file  The words by which a rank tells its peers that it has left a planned exchange, and why.
#pragma once

#include <cstdint>
#include <string>

namespace strake::exchange::planned {

/// Two words, which ranks of a node share (SequenceCounters), and others get as a message
/// (Farewells). All zero: the rank takes part.
struct Ending {
  enum class Kind : std::uint8_t {
    None,
    Left,     ///< destroyed, or in MPI_Finalize, when no round was under way
    GivenUp,  ///< failed, destroyed while a round was under way, or Exchange::give_up()
    Died,     ///< as a cause only: other ranks have noticed it
  };
  std::uint64_t rounds_and_kind = 0;
  /// The rank because of which this one has given up, with that rank's kind; 0: there is none.
  std::uint64_t cause = 0;

  Ending() noexcept = default;
  Ending(Kind kind, std::uint64_t rounds, std::uint64_t because) noexcept
      : rounds_and_kind(rounds * kKinds + static_cast<std::uint64_t>(kind)), cause(because) {}
  [[nodiscard]] static std::uint64_t cause_of(int rank, Kind kind) noexcept {
    return static_cast<std::uint64_t>(rank) * kKinds + static_cast<std::uint64_t>(kind);
  }

  [[nodiscard]] bool is_none() const noexcept { return rounds_and_kind == 0; }
  [[nodiscard]] Kind kind() const noexcept { return static_cast<Kind>(rounds_and_kind % kKinds); }
  /// How many rounds the rank has ended: all that it owes for these is there.
  [[nodiscard]] std::uint64_t rounds() const noexcept { return rounds_and_kind / kKinds; }
  /// The first cause that is known, if this is `rank`'s ending.
  [[nodiscard]] std::uint64_t first_cause(int rank) const noexcept {
    return cause != 0 ? cause : cause_of(rank, kind());
  }
  /// "rank 1 has left the exchange after 4 rounds", "rank 2 has given up an exchange after 4
  /// rounds, since rank 1 has left it". \param counted  whether the number of rounds is known
  [[nodiscard]] std::string text(int rank, bool counted) const;

 private:
  static constexpr std::uint64_t kKinds = 4;
};

}  // namespace strake::exchange::planned
