/// \file  The packed form of one end of a message: memory that a channel carries, and the copies
/// between that and the user's layout. Each transport by which messages are packed has a PackedForm
/// in its row of the table (exchange/transport/table.hpp). Nothing here knows how the packed bytes
/// travel. Sources: dissertation 5.5 (device, one-shot, staged).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "exchange/transport/launch_batcher.hpp"
#include "exchange/transport/plans.hpp"
#include "memory/pool.hpp"

namespace strake::exchange {

/// The user's side of a message: `elements` at `address`.
struct Typed {
  mpi::ElementsPtr elements;
  std::byte* address = nullptr;
  Place place;
  bool mixed = false;  ///< its blocks lie in several kinds of memory

  [[nodiscard]] bool on_device() const noexcept {
    return place.kind == MemoryKind::Device && !mixed;
  }
};

class Packing;

/// How a transport packs. The packed bytes are in the order of the layout. Bytes whose blocks lie
/// in several kinds of memory need none of it: they are copied to and from host memory block by
/// block.
struct PackedForm {
  /// Where the packed bytes lie that a channel carries, of a layout in `typed`.
  Place (*carried)(Place typed) noexcept = nullptr;
  /// Takes what else packing needs, and compiles the copy. \throws OutOfMemory
  void (*open)(Packing& packing) = nullptr;
  /// \{ Begins the copy from the layout to buffer(), or of the first `bytes` the other way, and
  /// calls enqueued() where it has not ended then.
  void (*pack)(Packing& packing) = nullptr;
  void (*unpack)(Packing& packing, std::int64_t bytes) = nullptr;
  /// \}
  bool synchronous = false;  ///< pack and unpack have ended when they return
  /// Device memory: messages of up to so many bytes are packed, and unpacked, in a launch with
  /// others (exchange/transport/launch_batcher.hpp). [bytes]
  std::int64_t most_together = 0;
};

/// One message at a time, any number of them one after the other. One thread at a time per object.
class Packing {
 public:
  Packing(MessageDirection direction, Typed typed)
      : typed_(std::move(typed)), direction_(direction) {}
  Packing(const Packing&) = delete;
  Packing& operator=(const Packing&) = delete;

  /// Takes the memory that `form` needs, and compiles the copy. Gives back what it had before.
  /// \throws OutOfMemory
  void open(const PackedForm& form);
  /// Compiles the copy by the CPU between the layout and host memory. \throws std::bad_alloc
  void compile_for_cpu();
  /// A message begins: nothing is copied yet.
  void begin();
  /// The copies come after what the device's legacy default stream holds now. \throws CudaError
  void mark() { before_ = LaunchBatcher::get().mark(typed_.place.device); }
  /// Whether copies are marked by themselves when they are begun: those that go with others, and
  /// those that come after a message has come.
  [[nodiscard]] bool needs_mark() const noexcept {
    return typed_.on_device() && (direction_ == MessageDirection::Receive || goes_together());
  }
  /// \{ Begins to pack the layout's bytes into buffer(), or to unpack the first `bytes` of them.
  void pack();
  void unpack(std::int64_t bytes);
  /// \}
  /// \{ Copies on the host between the layout and memory of somebody else. Synchronous.
  void pack_to(std::byte* packed, ByteRange part) { plan_->run(packed, typed_.address, part); }
  void unpack_from(const std::byte* packed, ByteRange part) {
    plan_->run(typed_.address, packed, part);
  }
  /// \}
  /// A copy that is to go with others, after the mark.
  void collect(DeviceCopy copy, std::byte* to, const std::byte* from) {
    next_ = {std::move(copy), to, from};
  }
  /// The copy between the layout and packed bytes in `packed`, for a launch with others.
  DeviceCopy device_copy(Place packed) {
    return plans_of(*typed_.elements).device_copy(direction_, typed_.place, packed);
  }
  /// Whether a copy waits to be collected.
  [[nodiscard]] bool is_to_be_collected() const noexcept { return next_.copy != nullptr; }
  /// Takes what can be taken of what was begun; true: that is done. Waits for nothing.
  /// \throws CudaError
  [[nodiscard]] bool copied();
  /// Whether the work before the message is done. \throws CudaError
  [[nodiscard]] bool follows_its_mark();
  /// Copies that have not begun never will.
  void forget() noexcept;
  /// Drops the collected copy: the other memory of it is no more.
  void forget_launch() noexcept {
    next_ = {};
    launch_.reset();
  }

  /// The CPU copies it, at once: nothing of a device's is used.
  [[nodiscard]] bool by_cpu() const noexcept {
    return typed_.place.kind == MemoryKind::Host && !typed_.mixed &&
           (form_ == nullptr || form_->synchronous);
  }
  [[nodiscard]] bool on_device() const noexcept { return typed_.on_device(); }
  [[nodiscard]] const Typed& typed() const noexcept { return typed_; }
  [[nodiscard]] mpi::Elements& elements() const noexcept { return *typed_.elements; }
  [[nodiscard]] MessageDirection direction() const noexcept { return direction_; }
  [[nodiscard]] std::int64_t size_bytes() const noexcept { return typed_.elements->size_bytes(); }
  /// The packed bytes that a channel carries; mpi::kWireRoom bytes more lie behind them.
  [[nodiscard]] PoolBlock& buffer() noexcept { return buffer_; }
  [[nodiscard]] const PoolBlock& buffer() const noexcept { return buffer_; }

  /// \{ For PackedForm. Packed bytes in device memory, between the layout and buffer().
  [[nodiscard]] PoolBlock& between() noexcept { return between_; }
  /// Between the layout and `packed`. \throws Unsupported, OutOfMemory, CudaError
  void compile(Place packed) {
    plan_ = &plans_of(*typed_.elements).plan(direction_, typed_.place, packed);
  }
  /// Null: none was compiled.
  [[nodiscard]] const CopyPlan* plan() const noexcept { return plan_; }
  /// The copy is done once `ticket` of `queue` is.
  void enqueued(Queue& queue, const Ticket& ticket) noexcept {
    queue_ = &queue;
    ticket_ = ticket;
  }
  /// \}

 private:
  [[nodiscard]] bool goes_together() const noexcept {
    return typed_.on_device() && form_ != nullptr && size_bytes() <= form_->most_together;
  }

  Typed typed_;
  MessageDirection direction_;
  const PackedForm* form_ = nullptr;
  PoolBlock buffer_;
  PoolBlock between_;
  const CopyPlan* plan_ = nullptr;
  Queue* queue_ = nullptr;  ///< the one that `ticket_` is of
  Ticket ticket_;
  std::uint64_t before_ = 0;  ///< the work before the message; 0: none, or it is done
  struct Next {
    DeviceCopy copy;  ///< null: none
    std::byte* to = nullptr;
    const std::byte* from = nullptr;
  };
  Next next_;                                  ///< a copy that is to be collected
  std::shared_ptr<const LaunchBatch> launch_;  ///< the launch that collected it
  std::int64_t to_unpack_ = 0;                 ///< by a launch of its own; 0: nothing [bytes]
};

/// \{ The forms of the transports that pack messages: in host memory; in device memory; from there
/// into mapped host memory; in device memory, copied to pinned host memory in pieces.
extern const PackedForm kPackForm;
extern const PackedForm kDeviceForm;
extern const PackedForm kOneShotForm;
extern const PackedForm kStagedForm;
/// \}

}  // namespace strake::exchange
