/// \file  Planned exchanges between the devices of a node's ranks. A rank has staging memory in
/// the memory of each of its devices: the other devices put packed bytes into it, and it takes them
/// out (transport put, or engine where copy engines do it). Where a device doesn't reach another
/// one's memory, the buffers are in host memory that both reach (one-shot). A round is a kernel
/// that puts, and one that takes, or one for both; flags beside the bytes tell that they have come,
/// so that no CPU has to.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "copy/device_copier.hpp"
#include "device/backend.hpp"
#include "exchange/transport/pairs/connections.hpp"
#include "exchange/transport/pairs/pair_schedule.hpp"
#include "exchange/transport/pairs/pair_transfer.hpp"
#include "exchange/transport/put/choices.hpp"
#include "exchange/transport/put/mapped_pages.hpp"
#include "exchange/transport/put/staging_memory.hpp"
#include "memory/pool.hpp"
#include "strake/place.hpp"
#include "strake/stream.hpp"

namespace strake::exchange::planned {

/// The puts of one device of a rank in one exchange. A buffer for each peer holds the bytes of two
/// rounds that follow each other. All peers raise their flags in each round, also where no bytes
/// go: so a device that has seen the flags of a round knows that the buffers of the next one are
/// empty again, and none is two rounds ahead.
class DevicePut {
 public:
  /// Another device, of a rank of the node, whose memory holds arrays, too.
  struct PutPeer {
    int rank = 0;               ///< whose device it is
    bool is_own = false;        ///< this rank's
    std::size_t pair = 0;       ///< its number among those of Connections
    std::size_t other_end = 0;  ///< if it is this rank's: the pair that is the other end
    const PairSchedule* sends = nullptr;
    const PairSchedule* receives = nullptr;
  };
  /// A device tells its peer this of its staging memory.
  struct StagingOffer {
    Transport transport = Transport::Put;  ///< that it would use
    int ordinal = 0;                       ///< of its device
    Connections::InDevice staging;
    std::byte* address = nullptr;  ///< of it, in its process
    std::int64_t flag_at = 0;
    std::int64_t buffer_at = 0;
    std::uint64_t device = 0;  ///< which one; 0: not known
  };
  /// \param arrays  the memories of all arrays of this rank's; those in `place` are this device's
  DevicePut(Place place, const std::vector<Place>& arrays, std::vector<PutPeer> peers,
            std::vector<MatchedTransfer> own, bool engines_are_forced);
  ~DevicePut();
  DevicePut(const DevicePut&) = delete;
  DevicePut& operator=(const DevicePut&) = delete;

  /// \{ Planning, step by step, with all peers (DevicePuts).
  [[nodiscard]] const std::vector<PutPeer>& peers() const noexcept { return peers_; }
  /// \throws OutOfMemory, CudaError
  void open_staging();
  /// Gives the staging memory to the other ranks, which call Connections::look() meanwhile.
  [[nodiscard]] StagingOffer offer(Connections& connections);
  /// Returns the offer for one peer.
  [[nodiscard]] StagingOffer offer_to(std::size_t peer, const StagingOffer& all) const;
  /// How this device would have it, where `best` was chosen.
  [[nodiscard]] Transport wanted(Connections& connections, std::size_t peer, Transport best,
                                 const StagingOffer& theirs) const;
  /// False: this device reaches neither the peer's memory nor what its rank shares, or one of
  /// the two does not want it.
  [[nodiscard]] bool accepts(Connections& connections, std::size_t peer, const StagingOffer& mine,
                             const StagingOffer& theirs);
  /// Transfers with the peer go this way if both ends have accepted it; else none does.
  void settle(std::size_t peer, bool accepted);
  /// From the next prepare() on, the launch that puts packs these bytes, too, if they are few. Both
  /// outlive this object.
  void pack_too(PackedByDevice& packed, const Schedules& schedules) {
    packed_.push_back({&packed, &schedules});
  }
  /// Other ranks use this device, too.
  void share_device() noexcept { may_wait_ = false; }
  /// \}

  /// Returns the copies within its memory.
  [[nodiscard]] const std::vector<MatchedTransfer>& own() const noexcept { return own_; }
  /// Whether bytes from and to a peer go this way: both ends say the same.
  [[nodiscard]] bool reaches(std::size_t peer) const noexcept { return buffers_of_.contains(peer); }
  /// Whether anything goes this way.
  [[nodiscard]] bool is_used() const noexcept { return !own_.empty() || !buffers_of_.empty(); }
  [[nodiscard]] Place place() const noexcept { return place_; }
  /// Whether a device waits for other ranks without holding up those: none shares it, and its
  /// flags are in its own memory.
  [[nodiscard]] bool may_wait() const noexcept { return may_wait_; }
  /// How bytes from and to a peer travel; it is one that this reaches.
  [[nodiscard]] Transport transport(std::size_t peer) const {
    return buffers_of_.at(peer).transport;
  }
  /// Whether copy engines move what this device is to itself.
  [[nodiscard]] bool engines_copy_own() const noexcept {
    return engines_are_forced_ && !own_.empty();
  }
  /// False: engines are forced, and no graph has what they copy. (Where they were chosen, kernels
  /// copy it in graphs, and from the first capture on.)
  [[nodiscard]] bool can_be_captured() const noexcept {
    return !engines_are_forced_ || !uses_engines();
  }

  /// Compiles what an exchange takes that way. \param combine  of a reverse exchange; as
  /// PairSchedule::unpack \throws InvalidArgument  values that are not aligned; OutOfMemory,
  /// CudaError
  void prepare(bool reverse, std::span<const Combine> combine);
  /// Whether a reverse exchange was prepared that combines alike.
  [[nodiscard]] bool is_compiled_reverse(std::span<const Combine> combine) const;
  /// The next round comes after `event` in `work`, which may be another device's.
  void follow(const DeviceStream& work, const DeviceEvent& event);
  /// Puts this device's bytes, as prepared. \throws Unsupported  and nothing was done; CudaError
  void put(Bases bases);
  /// Whether the round that was started has ended. `now`: the caller waits for it.
  /// \throws CudaError
  [[nodiscard]] bool test(bool now);
  /// Takes, if that was not begun, and \returns what comes after the round.
  [[nodiscard]] const DeviceEvent& end();
  /// A round that was captured, in a capture that has ended without its end, is no more.
  void forget() noexcept { step_ = Step::Idle; }
  /// A whole round in `stream`, of this device.
  /// \throws Unsupported  and nothing was done; CudaError
  void run(Bases bases, DeviceStream& stream);
  /// Times in the last round that has ended, if the device is idle: when its bytes were with the
  /// peers, the peers' had come, and all were taken. [us since the round began]
  /// \throws CudaError
  struct Stages {
    double put = 0;
    double seen = 0;
    double ended = 0;
  };
  [[nodiscard]] std::optional<Stages> stages() const;
  /// Returns all that this device moves in a round; nothing if other devices of this rank take
  /// part. \param rank  this one
  [[nodiscard]] std::optional<std::vector<DeviceTraffic>> round(int rank) const;
  /// A peer whose bytes have not come; null: there is none.
  [[nodiscard]] const PutPeer* late() const noexcept;
  /// Whether a peer that has put its last round is missed in the one that was started. Waits for
  /// up to 100 ms: a device raises its flags, by which the peer could end, before the host sees
  /// that it has put.
  [[nodiscard]] bool misses(std::size_t peer) const noexcept;
  /// Whether the device has nothing more to do. \returns false also if it has failed
  [[nodiscard]] bool is_idle() const noexcept;
  /// The device waits for no flag any more, whatever has come.
  void stop_waiting() noexcept;
  /// As stop_waiting(), and waits up to 2 s for the end of all rounds: their arrays are used no
  /// more, unless the device is held up by something else.
  void give_up() noexcept;

 private:
  /// The buffers and flags that this device shares with one peer.
  struct Shared {
    Transport transport = Transport::Put;
    std::array<PutCopies::Buffer, 2> out{};  ///< what this device puts: forward, and back
    std::array<PutCopies::Buffer, 2> in{};   ///< what it takes
    const std::uint64_t* flag = nullptr;     ///< its last round, for this rank's CPU
    MappedPages ends;                        ///< of the peer's rank
    MappedPages packed;                      ///< the same, where the buffers are there
    PutFlags flags;
    int ordinal = 0;  ///< of the peer's device
    bool same_device = false;
  };
  enum class Step : std::uint8_t { Idle, Put, Taking };
  /// A peer's staging memory, where this device reaches it; else null.
  [[nodiscard]] std::byte* staging_of(Connections& connections, const PutPeer& peer,
                                      const StagingOffer& theirs) const;
  [[nodiscard]] Shared shared_with(Connections& connections, const PutPeer& peer,
                                   const StagingOffer& mine, const StagingOffer& theirs);
  void use_staging(Shared& made, const PutPeer& peer, const StagingOffer& mine,
                   const StagingOffer& theirs, std::byte* staging) const;
  void use_host_memory(Shared& made, const PutPeer& peer, const Connections& connections);
  [[nodiscard]] bool uses_engines() const noexcept;
  /// Bytes that this device may pack beside what it puts.
  struct Packed {
    PackedByDevice* transfer = nullptr;
    const Schedules* schedules = nullptr;
  };
  /// Bytes of one way that the launch does pack, and their place.
  struct Target {
    const PairSchedule* schedule = nullptr;
    std::byte* to = nullptr;
  };
  [[nodiscard]] std::vector<DeviceCombine> combines_of(std::span<const Combine> combine) const;
  [[nodiscard]] std::vector<Target> targets(std::size_t schedule);
  struct RoundCopies;
  [[nodiscard]] std::unique_ptr<PutRounds> compiled(bool reverse,
                                                    const std::vector<DeviceCombine>& combine,
                                                    const std::vector<Target>& targets,
                                                    bool engines) const;
  /// Copies as they were chosen, and by kernels alone; null: these are the same.
  struct Compiled {
    std::unique_ptr<PutRounds> chosen;
    std::unique_ptr<PutRounds> by_kernels;
  };
  [[nodiscard]] const PutRounds* rounds(const Compiled& of, const DeviceStream& stream);
  void follow_last(DeviceStream& stream, const DeviceStream& work);
  const DeviceEvent& remember(DeviceStream& stream);
  void keep(Bases bases);
  [[nodiscard]] bool has_ended() const;
  [[nodiscard]] bool is_idle_soon() noexcept;
  [[nodiscard]] bool is_put() const noexcept;
  [[nodiscard]] bool has_come(std::uint64_t round) const noexcept;
  void look_at_device();

  Place place_;
  std::vector<std::size_t> arrays_;    ///< in this device's memory, by slot of a launch
  std::vector<std::int32_t> slot_of_;  ///< by array; negative: it is elsewhere
  std::vector<PutPeer> peers_;
  std::vector<MatchedTransfer> own_;
  std::vector<Packed> packed_;
  bool has_room_ = false;  ///< for all peers' buffers among the slots of a launch
  bool may_wait_ = true;
  bool engines_are_forced_ = false;
  bool was_captured_ = false;  ///< so that the host's count of rounds is wrong
  /// The last round that was put. Where graphs may put, too, the device alone has the count.
  std::uint64_t round_ = 0;
  StagingMemory staging_;
  PoolBlock progress_block_;
  PutProgress* progress_ = nullptr;
  std::vector<std::int64_t> buffer_at_;  ///< by peer: in the staging memory
  /// \{ This rank's, where some buffers are in host memory.
  MappedPages own_ends_;
  MappedPages own_packed_;
  /// \}
  std::map<std::size_t, Shared> buffers_of_;  ///< by peer
  std::vector<PutFlags> flags_;
  Compiled forward_;
  /// By how values are combined, by array; none: they are replaced. Work in streams may use any.
  std::map<std::vector<DeviceCombine>, Compiled> back_;

  std::unique_ptr<DeviceStream> stream_;  ///< of rounds that were started
  std::unique_ptr<DeviceEvent> captured_end_;
  std::unique_ptr<DeviceEvent> last_;  ///< the end of the last round that the CPU saw no end of
  bool has_last_ = false;

  Step step_ = Step::Idle;
  const Compiled* prepared_ = nullptr;  ///< for the next round that is started
  const PutRounds* copies_ = nullptr;   ///< of the round that was started
  std::uint64_t ticket_ = 0;
  std::vector<std::byte*> bases_;
  unsigned looks_ = 0;
};

}  // namespace strake::exchange::planned
