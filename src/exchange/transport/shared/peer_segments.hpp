/// \file  The messages that come by the segments of other ranks of this node.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "device/backend.hpp"
#include "exchange/peers/directory.hpp"
#include "exchange/transport/launch_batcher.hpp"
#include "exchange/transport/shared/descriptors.hpp"
#include "exchange/transport/shared/destination.hpp"
#include "exchange/transport/shared/remote_layouts.hpp"
#include "exchange/transport/shared/send_segment.hpp"
#include "memory/pool.hpp"
#include "strake/copy.hpp"
#include "strake/layout.hpp"

namespace strake::exchange::shared {

/// Where a message lies in its sender's memory.
struct Source {
  std::shared_ptr<RemoteLayout> layout;
  const std::byte* base = nullptr;  ///< that the layout counts from
  Place place;
};

/// A copy of a message from a device's memory.
struct Pull {
  DeviceCopy copy;
  const std::byte* from = nullptr;
};

class PeerSegments;

/// A message that is here: packed, being packed by its sender, or where it lies in the sender's
/// memory, which the sender leaves alone until done().
class Delivery {
 public:
  /// \param from  the sender, by its number in `peer_segments`
  Delivery(Descriptor& descriptor, const std::byte* data, std::int64_t bytes,
           const PeerSegments& peer_segments, std::int32_t from,
           std::optional<Source> source) noexcept
      : descriptor_(&descriptor),
        data_(data),
        bytes_(bytes),
        peer_segments_(&peer_segments),
        from_(from),
        source_(std::move(source)) {}
  [[nodiscard]] std::int64_t bytes() const noexcept { return bytes_; }
  /// Whether the message comes straight from the sender's memory.
  [[nodiscard]] bool direct() const noexcept { return source_.has_value(); }
  /// Copies such a message to `layout` from `address` on in host memory, which has as many bytes.
  /// False: it comes another way or from a device's memory, or has more or fewer.
  bool copy_to(const Layout& layout, std::byte* address) const;
  /// Returns the copy of such a message to `layout` within one device's memory. Nothing: the
  /// message is not in the memory `place`, or has more or fewer bytes. \throws CudaError
  [[nodiscard]] std::optional<Pull> pull_to(const Layout& layout, Place place) const;
  /// Waits until the sender of a packed message has packed the bytes before `end`, and returns how
  /// many are packed. \throws Error  they will not be: packing failed, or the sender is dead
  std::int64_t wait_until(std::int64_t end) const;
  /// Calls `take(piece, packed)` for the pieces of the first `bytes`, each as soon as it is packed:
  /// byte i is at packed[i].
  /// \throws Error  as wait_until()
  template <typename Take>
  void for_each_piece(std::int64_t bytes, const Take& take) const {
    if (from_device())
      return take_gathered(bytes, [&](const std::byte* packed) {
        take(ByteRange{0, bytes}, packed);
      });
    for (std::int64_t begin = 0; begin < bytes;) {
      const Piece piece = next_piece(begin, bytes);
      take(ByteRange{begin, piece.end}, piece.packed);
      begin = piece.end;
    }
  }
  /// Calls `take(packed)` once the first `bytes` are all packed, side by side.
  /// \throws Error  as wait_until()
  template <typename Take>
  void take_whole(std::int64_t bytes, const Take& take) const {
    if (direct()) return take_gathered(bytes, [&](const std::byte* packed) { take(packed); });
    wait_until(bytes);
    take(data_);
  }
  /// The bytes were taken: the sender may use their place again.
  void done() const noexcept { descriptor_->state.store(State::Done, std::memory_order_release); }

 private:
  struct Piece {
    std::int64_t end;
    const std::byte* packed;
  };
  [[nodiscard]] Piece next_piece(std::int64_t begin, std::int64_t bytes) const;
  [[nodiscard]] bool from_device() const noexcept {
    return direct() && source_->place.kind == MemoryKind::Device;
  }
  template <typename Take>
  void take_gathered(std::int64_t bytes, const Take& take) const {
    const Place place = source_->place;
    if (from_device()) {
      const PoolBlock all({MemoryKind::Pinned, place.device}, bytes_);
      LaunchBatcher::get().run(place.device, source_->layout->device_packing(place), all.data(),
                               source_->base);
      return take(all.data());
    }
    const PoolBlock all(place, bytes);
    source_->layout->packing().run(all.data(), source_->base, {0, bytes});
    take(all.data());
  }

  Descriptor* descriptor_;
  const std::byte* data_;
  std::int64_t bytes_;
  const PeerSegments* peer_segments_;
  std::int32_t from_;
  std::optional<Source> source_;
};

/// While it is in scope the bytes of a delivery are being taken, whether that succeeds or not.
class Taken {
 public:
  explicit Taken(const Delivery& delivery) noexcept : delivery_(delivery) {}
  ~Taken() { delivery_.done(); }
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;

 private:
  const Delivery& delivery_;
};

/// Whether suspects (PeerSegments::suspect) or what may become one wait to be settled.
inline constinit std::atomic<bool> g_unsettled{false};

/// One thread at a time.
class PeerSegments {
 public:
  /// \param layouts  how many of other ranks' are kept
  PeerSegments(peers::Directory& directory, std::size_t layouts);

  /// From now on messages to this rank itself are found, too.
  void know(const SendSegment& own) noexcept { own_ = &own; }
  [[nodiscard]] RemoteLayouts& layouts() noexcept { return layouts_; }

  /// Opens the message that `landed` names, the begin of one of a header message's length from
  /// `from`. Nothing: it is a message of its own. An offer is claimed: done() has to follow soon.
  /// \throws Error  the segment is not as it should be
  [[nodiscard]] std::optional<Delivery> open(const std::byte* landed, std::int32_t from);
  /// Whether the process of `rank` is known to be gone. Up to four system calls.
  [[nodiscard]] bool is_gone(std::int32_t rank) const noexcept { return directory_.is_gone(rank); }
  /// Whether `landed` names a message of `from`'s to this rank.
  [[nodiscard]] bool is_header(const std::byte* landed, std::int32_t from) {
    return descriptor_of(landed, from) != nullptr;
  }
  /// A probe is about to look: the header message is known, and its message no longer next.
  void see(const std::byte* landed, std::int32_t from);
  /// \{ Messages that receives with less room than a header message have ended with an error:
  /// nobody looked at what they name. Their descriptors are suspects. The oldest live descriptor
  /// from there that is no suspect becomes one. Probes pass suspects over. False: there is none.
  /// \param length  of the message; 0: not known
  bool suspect(const Destination& from, std::int64_t length = 0);
  /// Returns the ranks, and communicators' names, of live messages to this rank with that tag.
  struct Sender {
    std::int32_t rank = -1;
    std::uint64_t comm = 0;
    bool operator==(const Sender&) const = default;
  };
  [[nodiscard]] std::vector<Sender> senders(std::int32_t tag) const;
  /// Whether there is any live message to this rank.
  [[nodiscard]] bool has_live() const;
  /// Frees the suspects that a later message of the same source, tag and communicator has
  /// overtaken, which proves that they were matched, if `safe(rank, comm)`: no receive that waits
  /// for its message, and may look at it, has matched one from there.
  template <typename Safe>
  void free_overtaken(const Safe& safe) {
    // The loop walks a copy, and looks at each suspect twice: `safe` makes progress, by which a
    // receive may get the message, and the sender may take back one that it has cancelled.
    const std::vector<Suspect> all = suspects_;
    for (const Suspect& suspect : all) {
      if (!suspect.overtaken || !is_live(suspect)) continue;
      if (!safe(suspect.from, suspect.descriptor->comm.load()) || !is_live(suspect)) continue;
      State found = State::Live;
      suspect.descriptor->state.compare_exchange_strong(found, State::Done,
                                                        std::memory_order_acq_rel);
    }
    std::erase_if(suspects_, [](const Suspect& suspect) { return !is_live(suspect); });
  }
  /// Whether free_overtaken() may have something to free.
  [[nodiscard]] bool has_overtaken() const noexcept {
    return std::ranges::any_of(suspects_, &Suspect::overtaken);
  }
  /// \}
  /// A message of a header message's length, which was none, has come from `from`; `matched`: a
  /// probe had matched it before.
  void end_placeholder(const Destination& from, std::int64_t length, bool matched = false);
  /// The bytes of the next message from there, as a probe has found one of that length, a
  /// header message's; `matched`: it is no longer the next.
  [[nodiscard]] std::int64_t bytes_of_next(const Destination& from, std::int64_t length,
                                           bool matched);

 private:
  [[nodiscard]] std::optional<Source> claim(Descriptor& descriptor, std::int32_t from,
                                            std::int64_t bytes);
  [[nodiscard]] Source source_of(const Descriptor& descriptor, std::int32_t from);
  [[nodiscard]] Source own_source(const Descriptor& descriptor);
  [[nodiscard]] DescriptorTable* table_of(std::int32_t from) const noexcept;
  Descriptor* descriptor_of(const std::byte* landed, std::int32_t from);
  /// A descriptor that may be of a message that nobody will look at.
  struct Suspect {
    std::int32_t from = -1;
    Descriptor* descriptor = nullptr;
    std::uint32_t generation = 0;
    bool overtaken = false;  ///< it was matched, as a later message was
  };
  static bool is_live(const Suspect& suspect) noexcept {
    return suspect.descriptor->state.load(std::memory_order_acquire) == State::Live &&
           suspect.descriptor->generation.load(std::memory_order_relaxed) == suspect.generation;
  }
  [[nodiscard]] const Suspect* find_suspect(const Descriptor& descriptor) const noexcept;
  [[nodiscard]] bool is_suspect(const Descriptor& descriptor) const noexcept {
    return find_suspect(descriptor) != nullptr;
  }
  void overtake(const Descriptor& by, std::int32_t from) noexcept;
  void note_matched(const Descriptor& descriptor, std::int32_t from) noexcept;
  void suspect_overtaken(const Destination& from);
  /// Calls `visit(descriptor, sequence)` for the descriptors from there that `wanted(descriptor)`
  /// wants.
  template <typename Wanted, typename Visit>
  void for_each_descriptor(const Destination& from, State state, const Wanted& wanted,
                           const Visit& visit) const;
  /// Calls `visit(rank, descriptor)` for all live messages to this rank.
  template <typename Visit>
  void for_each_live(const Visit& visit) const;
  template <typename Wanted>
  [[nodiscard]] Descriptor* oldest_descriptor(const Destination& from, State state,
                                              const Wanted& wanted) const;
  [[nodiscard]] Descriptor* next_descriptor(const Destination& from, std::int64_t length) const;

  peers::Directory& directory_;
  std::int32_t self_;
  Parts parts_;  ///< of all segments
  const SendSegment* own_ = nullptr;
  RemoteLayouts layouts_;
  std::vector<Suspect> suspects_;         ///< almost always none
  ByDestination<std::uint64_t> matched_;  ///< the last sequence number from there
};

}  // namespace strake::exchange::shared
