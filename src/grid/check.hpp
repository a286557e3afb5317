/// \file  What STRAKE_CHECK=1 asks of a grid's exchanges: who reads ghost cells before they have
/// come, who changes cells that are being sent, and who reads or writes beside the stored cells.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "grid/impl.hpp"
#include "strake/copy.hpp"

namespace strake {

/// Ghost cells that are to come are poisoned: each gets a value that names its quantity and its
/// direction. As `float` or `double` it is a quiet NaN, whose payload arithmetic of a CPU hands on.
/// An owned cell that has such a value was computed from a ghost cell before the program was told
/// that it is there. In host memory cells that come earlier stay hidden until then, so that an
/// early read is found in each run.
///
/// Buffers are fenced: the bytes around the stored cells of each row, plane and buffer hold poison,
/// too, which names the quantity and no direction. A fence that has changed was written to; an
/// owned cell that has its poison was computed from beside the stored cells.
class STRAKE_LOCAL Grid::Impl::Check {
 public:
  explicit Check(Impl& grid) noexcept : grid_(grid) {}

  /// Poisons the fences of the next quantity, which is being added.
  void fence(const Data& field);
  /// Before `exchange` starts: looks for early reads, keeps what is sent, and poisons what is to
  /// come.
  /// \throws Error  there were some
  void before_start(const Wanted& wanted, const Exchange& exchange, std::span<Stream> after);
  /// After each call that may have moved bytes: hides what came of all exchanges.
  void hide();
  /// The program is told that what comes from `peer` is there.
  void show(const Exchange& exchange, int peer);
  /// It is told that `exchange` has ended.
  /// \throws Error  a cell that was sent has been changed meanwhile; no rank waits for this one
  /// then
  void end(const Exchange& exchange);
  /// Before buffers are swapped: looks for early reads. \throws Error  there were some
  void swap();

 private:
  /// What of a quantity goes to a rank, or comes from it.
  struct Cells {
    const Data* field;
    std::size_t subgrid;
    std::byte* base;
    ExchangePart::Transfer transfer;
    std::vector<std::byte> values;  ///< what was sent; what came, while it is hidden
    std::vector<std::byte> poison{};
  };
  /// Of an exchange that has begun.
  struct Begun {
    std::vector<Cells> sent;
    std::vector<Cells> coming;  ///< but for what the program was told of
  };
  /// The fence of a subgrid's buffers.
  struct Fence {
    Layout layout;
    CopyPlan read;
    std::vector<std::byte> poison;
    std::vector<std::byte> now;
  };
  /// A ghost cell's, or a fence's, which has no direction.
  struct Origin {
    const Data* field;
    Direction direction;
  };
  [[nodiscard]] std::vector<std::byte> read(std::size_t subgrid, const Layout& layout,
                                            const std::byte* base) const;
  void write(const Cells& there, const std::vector<std::byte>& values) const;
  /// What a transfer moves, between now and its end.
  [[nodiscard]] Cells cells_of(const Wanted& wanted, const ExchangePart::Transfer& transfer,
                               const std::vector<std::byte*>& bases) const;
  [[nodiscard]] bool may_reach(const Origin& origin, const Box& owned, const Index3& at) const;
  /// What the poison at `word` names; nothing if it is none.
  [[nodiscard]] std::optional<Origin> origin_of(const std::byte* word, std::int64_t bytes) const;
  /// Whether cells that this rank owns hold poison, and fences what they held.
  /// \throws Error  the message names quantity and coordinates, and of the ghost cell that was read
  /// quantity and direction; no rank waits for this one then
  void look();
  void look(const Data& field, std::size_t subgrid, bool next) const;
  void look_at_fence(const Data& field, std::size_t subgrid, bool next);
  [[noreturn]] void refuse(const std::string& what) const;

  Impl& grid_;
  std::map<const Exchange*, Begun> begun_;
  std::map<const Data::Part*, Fence> fences_;
};

}  // namespace strake
