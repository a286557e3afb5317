/// \file  Exchanges: sets of transfers between the ranks of a communicator, planned once and run
/// many times. Sources: dissertation 4.5 (planned halo exchanges), FALCON-X 4 (copies from the
/// sender's memory).
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "strake/api.hpp"
#include "strake/combine.hpp"
#include "strake/layout.hpp"
#include "strake/place.hpp"
#include "strake/stream.hpp"

namespace strake {

/// What one rank moves in an exchange: its arrays, and which of their bytes go to which rank and
/// come from which.
class STRAKE_API ExchangePart {
 public:
  /// An array: a memory whose address is given at each start, so that buffers may alternate.
  /// \param size_bytes  how much may be touched from its address on
  /// \returns its number, from 0 on
  int array(Place place = {}, std::int64_t size_bytes = std::numeric_limits<std::int64_t>::max());

  /// \{ `layout` of `array` goes to `peer`, comes from there. The other side has one with the same
  /// tag and as many bytes: byte i of the one in packed order becomes byte i of the other. Of
  /// several with one peer and tag the first meets the first. What is received has no byte in
  /// common with what is sent, nor with what another receive() names; bytes may be sent several
  /// times. `peer` may be this rank. `what` is for errors ("rho, direction +x").
  /// A neighbour may be oriented: where its axes are permuted or reversed, one side lists its cells
  /// in the order of the other, by a Layout::box with one Dim for each axis of that side, around
  /// one element, with the own stride along the axis, negative where it is reversed.
  void send(int peer, int tag, int array, Layout layout, std::string what = {});
  void receive(int peer, int tag, int array, Layout layout, std::string what = {});
  /// \}

  struct Array {
    Place place;
    std::int64_t size_bytes = 0;
  };
  struct Transfer {
    int peer = 0;
    int tag = 0;
    int array = 0;
    Layout layout;
    std::string what;
  };
  [[nodiscard]] const std::vector<Array>& arrays() const noexcept { return arrays_; }
  [[nodiscard]] const std::vector<Transfer>& sends() const noexcept { return sends_; }
  [[nodiscard]] const std::vector<Transfer>& receives() const noexcept { return receives_; }

 private:
  std::vector<Array> arrays_;
  std::vector<Transfer> sends_;
  std::vector<Transfer> receives_;
};

/// A planned set of transfers. Ranks of a node read each other's arrays where they lie, if these
/// are shared (SharedArray) and their blocks are not too short, or else packed in memory that both
/// have; other ranks get one packed message each. A rank's arrays may be in the memories of several
/// devices, and in host memory as well. For one thread at a time: who starts it also
/// tests and waits.
class STRAKE_API Exchange {
 public:
  class Impl;  ///< the library's own

  /// Plans it. Collective over `comm`: every rank gives its part, which may be empty. All exchanges
  /// of one `comm` share a private communicator, which is made with the first of them and kept
  /// until `comm` is freed and none of them is left; any number may be alive. Costs about 0.2 us,
  /// and 32 bytes meanwhile, for each block of a layout whose bounds meet those of one that is
  /// received into the same array.
  /// \throws InvalidArgument  on all ranks alike: an array or a peer that does not exist, bytes
  /// outside of an array, bytes that are received and touched by another transfer, a transfer
  /// without its other side, or with another size there; the message names rank, tag and both
  /// sizes. Ranks with different versions of Strake, or different values of STRAKE_RANKS_PER_NODE;
  /// `comm` is MPI_COMM_NULL or an intercommunicator. Unsupported  arrays in managed memory;
  /// OutOfMemory, MpiError
  Exchange(MPI_Comm comm, const ExchangePart& part);
  Exchange() noexcept;
  Exchange(Exchange&&) noexcept;
  Exchange& operator=(Exchange&&) noexcept;
  /// Collective: all ranks destroy it after the same number of exchanges. Waits for one that has
  /// not ended, unless an exception unwinds the stack: then this rank gives up. A rank that
  /// destroys it after fewer exchanges than others, or has it alive in MPI_Finalize, has left it:
  /// peers whose CPUs wait for that rank get an Error that names it. Ranks that have ended their
  /// exchange do not wait for each other here, but, if they are of several nodes, in MPI_Finalize.
  ~Exchange() {
    // Only the program's own C++ library knows: Strake may be linked to another one, or another
    // copy.
    if (std::uncaught_exceptions() > exceptions_) unwind();
  }

  /// Begins it: what is sent is that of now, in arrays at `arrays`, by number. What is sent must
  /// not be changed, and what is received not be used, before it has ended. Waits for no other
  /// rank; what can't be done yet is done by test() and wait(), of this exchange or of another one
  /// that this thread has begun.
  /// \throws InvalidArgument  not as many addresses as arrays, an array that is elsewhere than
  /// planned; it has begun already; MpiError, CudaError
  void start(std::span<std::byte* const> arrays);
  /// The same of arrays in a device's memory that work in `after` writes and reads: the exchange
  /// comes after it, and waits for nothing that `after` gets later. Without it, after what is in
  /// the device's legacy default stream. What `after` captures gets the start, too; wait(Stream&)
  /// ends it then.
  /// \throws InvalidArgument  a stream of another device than the arrays'; Unsupported `after` is
  /// being captured, and not all ranks' arrays can be reached from this device, or copy engines
  /// move the bytes (STRAKE_METHOD=engine); CudaError
  void start(std::span<std::byte* const> arrays, Stream& after);
  /// The same of arrays in the memories of several devices: it comes after the work in each of
  /// these streams. (One stream alone orders what all devices do.)
  /// \throws InvalidArgument  some of them are being captured, some not
  void start(std::span<std::byte* const> arrays, std::span<Stream> after);
  /// A whole exchange of arrays in a device's memory, in `stream`: after the work in it, and before
  /// what it gets later. No CPU waits or takes part, and it may be captured in a graph, which
  /// exchanges these arrays at each launch. Where not all ranks' arrays can be reached from this
  /// device, or ranks share it, it is start() and wait() instead. Each rank may use whichever of
  /// these it likes. Destroy the exchange when its work in streams and graphs is done. A launch of
  /// a graph is a use like others: order it with them by streams and events, and let none come
  /// between a start and its end. A stream that waits for a rank that has left, given up, or died,
  /// waits until the job is ended. Of exchanges in several streams up to 16 may wait at once.
  /// \throws  as start()
  void enqueue(std::span<std::byte* const> arrays, Stream& stream);
  /// The same in several streams: after the work in all, and before what any gets later.
  void enqueue(std::span<std::byte* const> arrays, std::span<Stream> streams);
  /// The other way: what was received goes back to where it came from, and is combined with what is
  /// there, by array of the rank that gets it, in the order of its sends: the same result in each
  /// run (but where values are replaced on a device: one of several that come for one value stays).
  /// \param combine  as many as arrays, or one for all; in a device's memory sum, min or max
  /// \throws  as start(); Unsupported  values that devices don't combine, or some ranks' devices
  /// don't reach each other
  void start_reverse(std::span<std::byte* const> arrays, std::span<const Combine> combine);
  /// Whether it has ended. Moves what can be moved. True also if none was begun.
  /// \throws Error  a rank that this one waits for has left the exchange or given it up, or is of
  /// this node and has died: the message names it, and the first rank that was the cause. This rank
  /// has given up then. MpiError
  bool test();
  /// Until it has ended: what comes is here, and what was sent may be changed. Who has all that it
  /// needs waits for no rank that is late. (But for a device's memory that other ranks' devices
  /// don't reach a rank has to call Strake once after the device's earlier work is done, before
  /// others get its bytes.)
  /// \throws  as test()
  void wait();
  /// The same for the work that `before` gets later: the stream waits, not the host, which may use
  /// the exchange again at once. As enqueue(), the host waits where devices can't.
  /// \throws  as start(), test()
  void wait(Stream& before);
  /// The same for the work that any of these streams gets later; if there are none, as wait().
  void wait(std::span<Stream> before);
  /// For a rank that can't go on: it starts no more, and waits for no other rank. Peers whose CPUs
  /// wait for it, now or later, get an Error that names it.
  void give_up() noexcept;
  /// Whether it was begun, and neither test() nor wait() has told that it has ended.
  [[nodiscard]] bool running() const noexcept;
  /// Whether all that comes from `peer` has come, as the last test() found.
  [[nodiscard]] bool arrived(int peer) const noexcept;

  /// What is exchanged with a rank, which may be this one.
  struct PeerPlan {
    int rank = 0;
    std::int64_t sends_bytes = 0;
    std::int64_t receives_bytes = 0;
    /// How what is sent travels, as the last round forward did: the name of a transport
    /// (STRAKE_METHOD), "self", "direct", "shared", "put", "engine", "one-shot", "staged", "device"
    /// or "pack".
    std::string transport;
  };
  [[nodiscard]] std::vector<PeerPlan> peers() const;
  /// For people: each peer, how its bytes travel, and how many; of an exchange on a device also how
  /// long a round takes by the measurements of this machine, if there are any, and how long the
  /// last one took there, stage by stage, unless it was one launch. The host waits for the device
  /// then.
  [[nodiscard]] std::string plan() const;
  /// What this rank sends in one exchange. [bytes]
  [[nodiscard]] std::int64_t bytes_sent() const noexcept;

 private:
  friend class Grid;
  struct STRAKE_API Delete {
    void operator()(Impl* impl) const noexcept;
  };
  /// Before the destructor, while an exception unwinds the stack.
  void unwind() noexcept;

  std::unique_ptr<Impl, Delete> impl_;
  int exceptions_ = std::uncaught_exceptions();  ///< that unwound the stack when it was made
};

/// Memory that other ranks of the node can read where it lies: zeroes, from a page's begin on, or
/// in a device's memory. Freed with this object.
class STRAKE_API SharedArray {
 public:
  SharedArray() noexcept = default;
  /// In host memory, if it has fewer than 64 KiB, or too many are shared (64 in a process), it is
  /// ordinary memory.
  /// \throws InvalidArgument  fewer than no bytes; Unsupported  managed memory, or no device;
  /// OutOfMemory, CudaError
  explicit SharedArray(std::int64_t bytes, Place place = {});
  SharedArray(SharedArray&& other) noexcept;
  SharedArray& operator=(SharedArray&& other) noexcept;
  ~SharedArray();
  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::int64_t size_bytes() const noexcept { return bytes_; }
  [[nodiscard]] Place place() const noexcept { return place_; }

 private:
  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
  Place place_;
};

}  // namespace strake
