/// \file  One rank's part in a collective call that is carried out pair by pair: the blocks of its
/// buffers, and the rank that each goes to or comes from.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <list>
#include <vector>

#include "exchange/collective/pair_messages.hpp"
#include "interpose/counters.hpp"
#include "mpi/neighbours.hpp"
#include "mpi/types.hpp"

namespace strake::interpose {

/// A block of a buffer: so many elements of a datatype at an address.
struct Block {
  std::byte* address = nullptr;
  std::int64_t count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  bool operator==(const Block&) const = default;
};

/// A block whose packed bytes lie in host memory meanwhile: the MPI library alone can read its
/// datatype, or the call overwrites it (MPI_IN_PLACE).
struct SetAside {
  SetAside(exchange::MessageDirection its_direction, const Block& its_block,
           exchange::Typed its_typed);
  ~SetAside();
  SetAside(const SetAside&) = delete;
  SetAside& operator=(const SetAside&) = delete;

  exchange::MessageDirection direction;
  Block block;            ///< of a duplicate of the datatype, which the program may free
  exchange::Typed typed;  ///< `elements` null: the MPI library packs and unpacks it
  std::vector<std::byte> packed;
};

class PairCall final : public mpi::Companion {
 public:
  /// A kind of call, by which calls are told apart.
  struct Kind {
    Function function;
    std::uint32_t tried = 0;   ///< by which trials know it
    bool sends_empty = false;  ///< whether messages without bytes are sent: of neighbours
    bool blocking = false;
    exchange::Bundling bundling = exchange::Bundling::None;
  };
  /// \param number  as of exchange::PairMessages; 0: of a persistent call, whose messages are to be
  ///   made once it has one
  PairCall(const Kind& kind, MPI_Comm comm, exchange::Members& members, std::int32_t number)
      : messages(members, number, kind.bundling, kind.blocking), kind_(kind), comm_(comm) {}

  /// A call with the blocks of this one may use it again, in host memory, once it is not running.
  [[nodiscard]] bool may_serve(const Kind& kind) const noexcept {
    return kind.function == kind_.function && kind.bundling == kind_.bundling && !running_ &&
           !failed_ && generation_ == mpi::g_type_generation.load();
  }
  /// Whether may_serve() tells of all its datatypes: they are known.
  [[nodiscard]] bool may_be_kept() const noexcept { return may_be_kept_; }
  /// Calls of the same function whose blocks are as long, go to the same ranks and lie in the same
  /// kinds of memory have the same.
  [[nodiscard]] std::uint64_t shape() const noexcept { return shape_; }
  /// The memory that it takes, at most. [bytes]
  [[nodiscard]] std::int64_t size_bytes() const noexcept { return messages.size_bytes(); }
  /// Whether the blocks that are looked at, in the order in which they were added, are those of
  /// this call.
  class Same {
   public:
    explicit Same(const PairCall& call) noexcept : call_(call) {}
    [[nodiscard]] bool add(exchange::MessageDirection direction, int rank, std::uint32_t edge,
                           const Block& block, bool keep = false) noexcept {
      const Added added{direction, keep, rank, edge, block};
      return at_ < call_.added_.size() && call_.added_[at_++] == added;
    }
    [[nodiscard]] bool all() const noexcept { return at_ == call_.added_.size(); }

   private:
    const PairCall& call_;
    std::size_t at_ = 0;
  };

  /// Adds a message. `keep`: the block may be overwritten before it is sent.
  /// False: the MPI library says what is wrong with the arguments.
  /// \throws OutOfMemory
  [[nodiscard]] bool add(exchange::MessageDirection direction, int rank, std::uint32_t edge,
                         const Block& block, bool keep = false);
  /// Begins all messages, as call `call` of its number. \throws MpiError, CudaError
  void start(std::uint32_t call);
  /// All messages are done: takes what was set aside, and counts the call. MPI_SUCCESS, or the
  /// class of what went wrong.
  [[nodiscard]] int finish() noexcept;

  [[nodiscard]] MPI_Comm comm() const noexcept { return comm_; }

  exchange::PairMessages messages;
  [[nodiscard]] const Kind& kind() const noexcept { return kind_; }

 private:
  struct Added {
    exchange::MessageDirection direction;
    bool keep;
    int rank;
    std::uint32_t edge;
    Block block;
    bool operator==(const Added&) const = default;
  };
  void mix(std::uint64_t value) noexcept {
    shape_ = (shape_ ^ value) * 0x9E3779B97F4A7C15U;
    shape_ ^= shape_ >> 32U;
  }
  void add_empty(exchange::MessageDirection direction, int rank, std::uint32_t edge) {
    if (kind_.sends_empty) messages.add(direction, rank, edge, {});
  }
  void count() const noexcept;
  void pack(SetAside& aside);
  void unpack(const SetAside& aside);

  Kind kind_;
  MPI_Comm comm_;
  std::uint64_t shape_ = 0;
  bool running_ = false;
  bool failed_ = false;
  bool may_be_kept_ = true;
  std::uint64_t generation_ = mpi::g_type_generation.load();
  std::vector<Added> added_;
  std::list<SetAside> aside_;
};

}  // namespace strake::interpose
