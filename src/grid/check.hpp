/// \file  Checks that STRAKE_CHECK=1 adds to a grid's exchanges. They find reads of ghost cells
/// before these arrive, changes of cells that are being sent, and accesses beside the stored cells.
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

/// Ghost cells that are to be received are poisoned: each gets a value that names its field and its
/// direction. As `float` or `double` the value is a quiet NaN, whose payload arithmetic of a CPU
/// hands on. An owned cell with such a value was computed from a ghost cell before the program was
/// told of its arrival. In host memory cells that arrive earlier stay hidden until then, so that an
/// early read is found in each run.
///
/// Buffers are fenced: the bytes around the stored cells of each row, plane and buffer hold poison,
/// too, which names the field and no direction. A fence that has changed was written to; an owned
/// cell with a fence's poison was computed from beside the stored cells.
class STRAKE_LOCAL Grid::Impl::Check {
 public:
  explicit Check(Impl& grid) noexcept : grid_(grid) {}

  /// Poisons the fences of the next field, which is being added.
  void fence(const Data& field);
  /// Before `exchange` starts: looks for early reads, keeps what is sent, and poisons what is to
  /// come.
  /// \throws Error  there were some
  void before_start(const Wanted& wanted, const Exchange& exchange, std::span<Stream> after);
  /// After each call that may have moved bytes: hides what came of all exchanges.
  void hide();
  /// Shows the hidden cells from `peer`, before the program is told that all from it has arrived.
  void show(const Exchange& exchange, int peer);
  /// Shows all hidden cells, before the program is told that `exchange` has ended.
  /// \throws Error  a cell that was sent has been changed meanwhile; no rank waits for this one
  /// then
  void end(const Exchange& exchange);
  /// Before buffers are swapped: looks for early reads. \throws Error  there were some
  void swap();

 private:
  /// Cells of a field that one transfer sends or receives.
  struct Cells {
    const Data* field;
    std::size_t subgrid;
    std::byte* base;
    ExchangePart::Transfer transfer;
    std::vector<std::byte> values;  ///< as sent; or as received, while these are hidden
    std::vector<std::byte> poison{};
  };
  /// The cells of an exchange that has begun.
  struct Begun {
    std::vector<Cells> sent;
    std::vector<Cells> coming;  ///< without those that the program was told of
  };
  /// The fence of a subgrid's buffers.
  struct Fence {
    Layout layout;
    CopyPlan read;
    std::vector<std::byte> poison;
    std::vector<std::byte> now;
  };
  /// The ghost cells that a poison names, or a fence, which has no direction.
  struct Origin {
    const Data* field;
    Direction direction;
  };
  [[nodiscard]] std::vector<std::byte> read(std::size_t subgrid, const Layout& layout,
                                            const std::byte* base) const;
  void write(const Cells& there, const std::vector<std::byte>& values) const;
  /// The cells of `transfer`, in the buffers `bases`.
  [[nodiscard]] Cells cells_of(const Wanted& wanted, const ExchangePart::Transfer& transfer,
                               const std::vector<std::byte*>& bases) const;
  [[nodiscard]] bool may_reach(const Origin& origin, const Box& owned, const Index3& at) const;
  /// Returns the origin that the poison at `word` names; nullopt if the word is no poison.
  [[nodiscard]] std::optional<Origin> origin_of(const std::byte* word, std::int64_t bytes) const;
  /// Looks for poison in the cells that this rank owns, and for changes in fences.
  /// \throws Error  there is some; the message names field and coordinates, and the field and
  /// direction of the ghost cell that was read; no rank waits for this one then
  void look();
  void look(const Data& field, std::size_t subgrid, bool next) const;
  void look_at_fence(const Data& field, std::size_t subgrid, bool next);
  [[noreturn]] void refuse(const std::string& what) const;

  Impl& grid_;
  std::map<const Exchange*, Begun> begun_;
  std::map<const Data::Part*, Fence> fences_;
};

}  // namespace strake
