/// \file  Planned exchanges between the devices of a node's ranks. Each rank has a mailbox in the
/// memory of its device: the others put packed bytes into it, and it takes them out (method
/// device, or engine where copy engines do it). Where a device doesn't reach another one's memory,
/// the boxes are in host memory that both reach (one-shot). A round is a kernel that puts, and one
/// that takes, or one for both; flags beside the bytes tell that they have come, so that no CPU has
/// to.
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "copy/device_copier.hpp"
#include "device/backend.hpp"
#include "exchange/planned/board.hpp"
#include "exchange/planned/choice.hpp"
#include "exchange/planned/lane.hpp"
#include "exchange/planned/sheets.hpp"
#include "memory/pool.hpp"
#include "strake/place.hpp"
#include "strake/stream.hpp"

namespace strake::exchange::planned {

/// Of one rank in one exchange. A box for each other rank holds the bytes of two rounds that follow
/// each other. All ranks that it is shared with raise their flags in each round, also where no
/// bytes go: so a rank that has seen the flags of a round knows that the boxes of the next one are
/// empty again, and no rank is two rounds ahead.
class Mail {
 public:
  /// A rank of the node whose arrays are in the memory of a device, too.
  struct Partner {
    int rank = 0;
    Corner corner;  ///< in this rank's board
    const Lane* sends = nullptr;
    const Lane* receives = nullptr;
  };
  /// Collective over `comm`, also for ranks without partners. \param place  of this rank's
  /// `arrays`; no partners, and no `own` pieces, if that is host memory
  /// \throws OutOfMemory  on all ranks; MpiError
  Mail(MPI_Comm comm, Boards& boards, Place place, std::size_t arrays,
       const std::vector<Partner>& partners, const std::vector<Piece>& own);
  ~Mail();
  Mail(const Mail&) = delete;
  Mail& operator=(const Mail&) = delete;

  /// Whether bytes from and to that rank go this way: both ends say the same.
  [[nodiscard]] bool reaches(int rank) const noexcept { return boxes_of_.contains(rank); }
  /// Whether anything goes this way.
  [[nodiscard]] bool is_used() const noexcept { return used_; }
  /// Whether a device waits for other ranks without holding up those: none shares it, and its
  /// flags are in its own memory.
  [[nodiscard]] bool may_wait() const noexcept { return may_wait_; }
  /// How bytes from and to a rank travel; it is one that this reaches.
  [[nodiscard]] MailMethod method(int rank) const { return boxes_of_.at(rank).method; }
  /// \{ Whether copy engines move what this rank is to itself; or anything: no graph has it then.
  [[nodiscard]] bool engines_copy_own() const noexcept { return engines_copy_own_; }
  [[nodiscard]] bool uses_engines() const noexcept;
  /// \}

  /// Compiles what an exchange takes that way. \param combine  of a reverse exchange; as Lane::take
  /// \throws InvalidArgument  values that are not aligned; OutOfMemory, CudaError
  void prepare(bool reverse, std::span<const Combine> combine);
  /// Puts this rank's bytes, as prepared, after the work in `after`, or else in the device's legacy
  /// default stream. What `after` captures gets it, too. \throws Unsupported  and nothing was done;
  /// CudaError
  void start(Bases bases, Stream* after);
  /// Whether the round that was started has ended. `now`: the caller waits for it. \throws
  /// CudaError
  [[nodiscard]] bool test(bool now);
  /// The work that `before` gets later comes after the round's end.
  void end_in(Stream& before);
  /// A round that was captured, in a capture that has ended without its end, is no more.
  void forget() noexcept { step_ = Step::Idle; }
  /// A whole round in `stream`. \throws Unsupported  and nothing was done; CudaError
  void run(Bases bases, Stream& stream);
  /// A rank whose bytes have not come; -1: none.
  [[nodiscard]] int late() const noexcept;
  /// Ends what waits on the device, whatever has come, and the round that was started: its arrays
  /// are used no more.
  void give_up() noexcept;

 private:
  /// A board's begin, where this rank's device reaches it.
  class MappedBoard {
   public:
    MappedBoard() noexcept = default;
    /// \throws CudaError
    MappedBoard(int device, const Board& board, std::int64_t bytes);
    ~MappedBoard();
    MappedBoard(MappedBoard&& other) noexcept;
    MappedBoard& operator=(MappedBoard&& other) noexcept;
    [[nodiscard]] std::byte* there(const void* word) const noexcept {
      return there_ + (static_cast<const std::byte*>(word) - here_);
    }
    [[nodiscard]] bool is_there() const noexcept { return here_ != nullptr; }

   private:
    int device_ = -1;
    std::byte* here_ = nullptr;
    std::byte* there_ = nullptr;
  };
  /// What is shared with one other rank.
  struct Shared {
    MailMethod method = MailMethod::Device;
    std::array<MailCopies::Box, 2> out{};  ///< what this rank puts: forward, and back
    std::array<MailCopies::Box, 2> in{};   ///< what it takes
    const std::uint64_t* flag = nullptr;   ///< its last round, for this rank's CPU
    MappedBoard board;
    MailFlags flags;
    Partner partner;
  };
  enum class Step : std::uint8_t { Idle, Put, Taking };
  struct Offer;
  void open_mailbox(MPI_Comm comm, const std::vector<Partner>& partners);
  void swap_offers(MPI_Comm comm, Boards& boards, const std::vector<Partner>& partners);
  [[nodiscard]] Shared accepted(Boards& boards, const Partner& partner, const Offer& mine,
                                const Offer& theirs);
  void use_mailbox(Shared& made, const Offer& mine, const Offer& theirs, std::byte* mailbox) const;
  void use_boards(Shared& made, Boards& boards);
  [[nodiscard]] std::unique_ptr<DeviceMail> compiled(
      bool reverse, const std::vector<DeviceCombine>& combine) const;
  void require_uncaptured(const DeviceStream& work) const;
  void follow(DeviceStream& stream, const DeviceStream& work);
  void remember(DeviceStream& stream);
  [[nodiscard]] bool is_put() const noexcept;
  [[nodiscard]] bool has_come(std::uint64_t round) const noexcept;
  void look_at_device();

  Place place_;
  std::size_t arrays_ = 0;
  std::vector<Piece> own_;
  bool has_room_ = false;  ///< for all partners' boxes among the slots of a launch
  bool used_ = false;
  bool may_wait_ = true;
  bool engines_copy_own_ = false;
  /// The last round that was put. Where graphs may put, too, the device alone has the count.
  std::uint64_t round_ = 0;
  PoolBlock mailbox_;
  PoolBlock progress_block_;
  MailProgress* progress_ = nullptr;
  std::map<int, std::int64_t> box_at_;  ///< by rank: in the mailbox
  MappedBoard own_board_;               ///< whole, where some boxes are in it
  std::map<int, Shared> boxes_of_;
  std::vector<MailFlags> flags_;
  std::unique_ptr<DeviceMail> forward_;
  /// By how values are combined, by array; none: they are replaced. Work in streams may use any.
  std::map<std::vector<DeviceCombine>, std::unique_ptr<DeviceMail>> back_;

  std::unique_ptr<DeviceStream> stream_;   ///< of rounds that were started
  std::unique_ptr<DeviceStream> default_;  ///< the legacy default one
  std::unique_ptr<DeviceEvent> before_;    ///< what a round comes after
  std::unique_ptr<DeviceEvent> ended_;
  std::unique_ptr<DeviceEvent> last_;  ///< the end of the last round in a stream of the user's
  bool has_last_ = false;

  Step step_ = Step::Idle;
  const DeviceMail* copies_ = nullptr;  ///< of the round that was started
  std::uint64_t ticket_ = 0;
  std::vector<std::byte*> bases_;
  unsigned looks_ = 0;
};

}  // namespace strake::exchange::planned
