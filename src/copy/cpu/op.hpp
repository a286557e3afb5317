/// \file  A compiled CPU copy: a small tree of operations whose leaves are kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "copy/cpu/kernels.hpp"
#include "strake/layout.hpp"

namespace strake::cpu {

/// Whether `to` (Pack) or `from` (Unpack) is the dense side.
enum class CopyKind : std::uint8_t { Pack, Unpack };

/// Moves the bytes of one layout, or of a part of one. On a dense side the pointer is the address
/// of the operation's first packed byte, whichever part is moved; on a strided side it is the base
/// that offsets count from.
class Op {
 public:
  explicit Op(std::int64_t size_bytes) noexcept : size_bytes_(size_bytes) {}
  virtual ~Op() = default;
  Op(const Op&) = delete;
  Op& operator=(const Op&) = delete;

  [[nodiscard]] std::int64_t size_bytes() const noexcept { return size_bytes_; }
  /// Moves all bytes. No allocation.
  virtual void run(std::byte* to, const std::byte* from) const = 0;
  /// Moves the packed bytes [part.begin, part.end), inside [0, size) and not empty. No allocation.
  virtual void run_part(std::byte* to, const std::byte* from, ByteRange part) const = 0;
  /// "box 24 B", for people.
  [[nodiscard]] virtual std::string description() const = 0;

 private:
  std::int64_t size_bytes_;
};
using OpPtr = std::unique_ptr<const Op>;

/// Moves `part` by the cheaper of the two calls.
inline void run_range(const Op& op, std::byte* to, const std::byte* from, ByteRange part) {
  if (part.begin == 0 && part.end == op.size_bytes()) return op.run(to, from);
  if (part.begin < part.end) op.run_part(to, from, part);
}

/// A nest of loops around blocks of one length, between any two strided sides. Loops innermost
/// first, in packed order.
class NestOp final : public Op {
 public:
  NestOp(const NestKernels& kernels, const Nest& nest, std::int64_t to_offset,
         std::int64_t from_offset);
  void run(std::byte* to, const std::byte* from) const override {
    run_(nest_, to + to_offset_, from + from_offset_);
  }
  void run_part(std::byte* to, const std::byte* from, ByteRange part) const override;
  [[nodiscard]] std::string description() const override;

 private:
  /// The whole nest with kernel loops as the kernel wants them.
  [[nodiscard]] Nest ordered(const Nest& nest) const;
  void run_level(int level, std::byte* to, const std::byte* from, ByteRange part) const;

  Nest packed_order_;
  Nest nest_;
  NestFn run_;
  NestChoice choice_;
  std::int64_t step_bytes_[kNestLoops];  ///< packed bytes of one step of each loop
  std::int64_t to_offset_;
  std::int64_t from_offset_;
  const NestKernels& kernels_;
};

/// Whether the gaps between the blocks may be read: every gap shares its pages with bytes of
/// blocks. False for blocks in different allocations, which may have unmapped pages between them.
[[nodiscard]] bool gaps_are_mapped(const Layout& blocks);

/// Listed blocks to or from a dense side.
class ListOp final : public Op {
 public:
  /// With `unit` the blocks, of a list or a box, are cut into blocks of that length, which divides
  /// theirs.
  ListOp(const Kernels& kernels, CopyKind kind, const Layout& blocks, std::int64_t unit);
  void run(std::byte* to, const std::byte* from) const override;
  void run_part(std::byte* to, const std::byte* from, ByteRange part) const override;
  [[nodiscard]] std::string description() const override;

 private:
  void run_blocks(std::int64_t first, std::int64_t last, std::byte* to,
                  const std::byte* from) const;
  void run_inside(std::int64_t block, ByteRange part, std::byte* to, const std::byte* from) const;
  [[nodiscard]] std::int64_t offset_of(std::int64_t block) const;
  [[nodiscard]] std::int64_t position_of(std::int64_t block) const;
  [[nodiscard]] std::int64_t block_at(std::int64_t position) const;

  List list_;
  std::int64_t count_ = 0;
  std::vector<std::int64_t> wide_;    ///< offsets, then positions, if they need 64 bits
  std::vector<std::int32_t> narrow_;  ///< the same if 32 bits are enough
  CopyKind kind_;
  std::int64_t strided_offset_;
  PackListFn pack_ = nullptr;
  UnpackListFn unpack_ = nullptr;
  const NestKernels& kernels_;
};

/// Listed blocks that lie so close together that a vector holds several.
class WindowsOp final : public Op {
 public:
  /// As many windows as take the time of the list; `unit` is the length of its pieces, or 0.
  static std::int64_t worth(const Kernels& kernels, CopyKind kind, const Layout& blocks,
                            std::int64_t unit);
  /// Null if more than `most` are needed, or blocks are no whole units.
  static std::unique_ptr<const WindowsOp> make(const Kernels& kernels, CopyKind kind,
                                               const Layout& blocks, std::int64_t most);
  WindowsOp(const Kernels& kernels, CopyKind kind, std::vector<Window> windows,
            const Layout& blocks, bool gaps_readable);
  void run(std::byte* to, const std::byte* from) const override {
    run_windows(0, count_, to, from);
  }
  void run_part(std::byte* to, const std::byte* from, ByteRange part) const override;
  [[nodiscard]] std::string description() const override;

 private:
  void run_windows(std::int64_t first, std::int64_t last, std::byte* to,
                   const std::byte* from) const;
  /// The packed bytes [part.begin, part.end), all inside one window.
  void run_inside(const Window& window, ByteRange part, std::byte* to, const std::byte* from) const;

  std::vector<Window> windows_;  ///< and one more, whose position is the end of the packed bytes
  std::int64_t count_;
  std::int64_t strided_offset_;
  PackWindowsFn pack_ = nullptr;  ///< of the two, the one that this operation runs
  UnpackWindowsFn unpack_ = nullptr;
};

/// Listed blocks, cut into runs of at most a vector, into the dense side.
class RunsOp final : public Op {
 public:
  /// Null if more than `most` are needed, or blocks are no whole units, or must be fetched ahead.
  static std::unique_ptr<const RunsOp> make(PackRunsFn pack, const Layout& blocks,
                                            std::int64_t most);
  RunsOp(PackRunsFn pack, std::vector<UnitRun> runs, const Layout& blocks);
  [[nodiscard]] std::int64_t count() const noexcept;
  void run(std::byte* to, const std::byte* from) const override;
  void run_part(std::byte* to, const std::byte* from, ByteRange part) const override;
  [[nodiscard]] std::string description() const override;

 private:
  struct Found {
    std::int64_t run;
    std::int64_t position;
  };
  /// The run that holds a packed byte, or one past all.
  [[nodiscard]] Found find(std::int64_t byte) const;
  [[nodiscard]] UnitRun at(std::int64_t run) const { return runs_[static_cast<std::size_t>(run)]; }

  std::vector<UnitRun> runs_;
  std::vector<std::int64_t> marks_;  ///< positions of every kMarked-th run
  std::int64_t strided_offset_;
  PackRunsFn pack_;
};

/// `count` copies of a child, at constant distances on both sides.
class RepeatOp final : public Op {
 public:
  RepeatOp(OpPtr child, std::int64_t count, std::int64_t to_step, std::int64_t from_step);
  void run(std::byte* to, const std::byte* from) const override;
  void run_part(std::byte* to, const std::byte* from, ByteRange part) const override;
  [[nodiscard]] std::string description() const override;

 private:
  OpPtr child_;
  std::int64_t count_, to_step_, from_step_;
};

/// As RepeatOp, for a child of few blocks. Each block of the child becomes a loop over a chunk of
/// the copies: within a loop all blocks have one length, so that no branch depends on it.
class RecordsOp final : public Op {
 public:
  struct Move {
    Nest nest;  ///< loops[0] runs over the copies
    std::int64_t to = 0;
    std::int64_t from = 0;
  };
  RecordsOp(const NestKernels& kernels, OpPtr child, const std::vector<Move>& moves,
            std::int64_t count, std::int64_t to_step, std::int64_t from_step);
  void run(std::byte* to, const std::byte* from) const override { run_copies(0, count_, to, from); }
  void run_part(std::byte* to, const std::byte* from, ByteRange part) const override;
  [[nodiscard]] std::string description() const override;

 private:
  void run_copies(std::int64_t first, std::int64_t last, std::byte* to,
                  const std::byte* from) const;
  struct Step {
    NestFn run;
    Move move;
    int copies_loop;
  };
  OpPtr child_;
  std::vector<Step> steps_;
  std::int64_t count_, chunk_, to_step_, from_step_;
};

/// Children one after the other in packed order.
class SequenceOp final : public Op {
 public:
  struct Member {
    OpPtr op;
    std::int64_t to = 0;  ///< added to the pointers that the member gets
    std::int64_t from = 0;
    std::int64_t position = 0;  ///< its first packed byte
  };
  SequenceOp(std::vector<Member> members, std::int64_t size_bytes);
  void run(std::byte* to, const std::byte* from) const override;
  void run_part(std::byte* to, const std::byte* from, ByteRange part) const override;
  [[nodiscard]] std::string description() const override;

 private:
  std::vector<Member> members_;
};

/// Adjacent bytes on both sides.
class DenseOp final : public Op {
 public:
  DenseOp(const NestKernels& kernels, std::int64_t bytes, std::int64_t to_offset,
          std::int64_t from_offset);
  void run(std::byte* to, const std::byte* from) const override;
  void run_part(std::byte* to, const std::byte* from, ByteRange part) const override;
  [[nodiscard]] std::string description() const override { return "dense"; }

 private:
  CopyFn copy_;
  std::int64_t to_offset_, from_offset_;
};

/// A copy between layouts of different structure, packed and unpacked piece by piece through a
/// buffer that stays in the L1 cache.
class BounceOp final : public Op {
 public:
  BounceOp(OpPtr pack, OpPtr unpack);
  void run(std::byte* to, const std::byte* from) const override {
    run_part(to, from, {0, size_bytes()});
  }
  void run_part(std::byte* to, const std::byte* from, ByteRange part) const override;
  [[nodiscard]] std::string description() const override;

 private:
  OpPtr pack_, unpack_;
};

/// A large copy that several threads share, by packed bytes. Each run starts the threads, waits for
/// their end, and allocates for that; so no thread stays in a rank. A part of a copy has one thread
/// for each whole MiB, at most the given number.
class ThreadsOp final : public Op {
 public:
  ThreadsOp(OpPtr op, int threads);
  void run(std::byte* to, const std::byte* from) const override {
    run_part(to, from, {0, size_bytes()});
  }
  void run_part(std::byte* to, const std::byte* from, ByteRange part) const override;
  [[nodiscard]] std::string description() const override;

 private:
  OpPtr op_;
  int threads_;
};

}  // namespace strake::cpu
