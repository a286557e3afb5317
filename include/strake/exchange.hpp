/// \file  Exchanges: sets of transfers between the ranks of a communicator, planned once and run
/// many times. Sources: dissertation 4.5 (planned halo exchanges), FALCON-X 4 (copies from the
/// sender's memory).
#pragma once

#include <mpi.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "strake/addresses.hpp"
#include "strake/api.hpp"
#include "strake/combine.hpp"
#include "strake/layout.hpp"
#include "strake/place.hpp"
#include "strake/stream.hpp"

namespace strake {

/// An array of elements of one size.
struct ElementArray {
  std::int64_t bytes = 0;  ///< of an element
  std::int64_t count = 0;  ///< of elements
  Place place{};
};

/// An element of a rank's array.
struct ElementOf {
  int rank = 0;
  std::int64_t index = 0;
};

/// One rank's part of an exchange: its arrays, and which of their bytes it sends to which rank and
/// receives from which.
class STRAKE_API ExchangePart {
 public:
  /// An array: a memory whose address is given at each start, so that buffers may alternate.
  /// \param size_bytes  how much may be touched from its address on
  /// \returns its number, from 0 on
  int array(Place place = {}, std::int64_t size_bytes = std::numeric_limits<std::int64_t>::max());
  /// Another array, in the same place, of the size of `array`, and with all transfers that `array`
  /// has by now: several fields go in one exchange so. Local; all ranks add as many.
  /// \returns its number \throws InvalidArgument  there is no such array
  int array_like(int array);

  /// \{ `layout` of `array` goes to `peer`, comes from there. The peer has a transfer with the same
  /// tag and as many bytes: byte i of the one in packed order becomes byte i of the other.
  /// Transfers with equal peer and tag are matched in the order of declaration. Received bytes are
  /// neither sent nor named by another receive(); bytes may be sent several times. `peer` may be
  /// this rank. `what` is for errors ("rho, direction +x").
  /// A neighbour may be oriented: where its axes are permuted or reversed, one side lists its cells
  /// in the order of the other, by a Layout::box with one Dim for each axis of that side, around
  /// one element, with the own stride along the axis, negative where it is reversed.
  void send(int peer, int tag, int array, Layout layout, std::string what = {});
  void receive(int peer, int tag, int array, Layout layout, std::string what = {});
  /// \}

  /// \{ The part of a rank that knows what it needs; what it sends is found by messages to the
  /// owners alone. Collective: a communicator is made for the time of the call, and a barrier and
  /// some allreduces take place beside these messages, three times as many with global indices.
  ///
  /// \param array  the only one, number 0; array_like(0) adds others
  /// \param wanted  the elements of `array` that get values; element `from[i]` comes into the one
  /// that `wanted[i]` says. Several may come from one; in a reverse exchange all go back to it.
  /// Ranks must not want elements that get values themselves (Exchange refuses that).
  ///
  /// \throws InvalidArgument  on all ranks: `from` is not as long as `wanted`, an element is wanted
  /// twice, or an element or a rank does not exist; the message names ranks and indices; more than
  /// 2^30 elements; `comm` as for an Exchange. MpiError
  [[nodiscard]] static ExchangePart of_elements(MPI_Comm comm, const ElementArray& array,
                                                std::span<const std::int64_t> wanted,
                                                std::span<const ElementOf> from);
  /// As of_elements(), by indices that are global: the array has owned.size() + ghosts.size()
  /// elements: those that this rank owns, in the order of `owned`, and behind them copies of
  /// others, in the order of `ghosts`. A ghost may be listed twice, or be one of this rank's own.
  /// An element may be several numbers, `element_bytes` in all. During the call rank r holds the
  /// owners of the indices i with i % ranks == r: 24 bytes an index, and a hash table's own.
  /// \throws InvalidArgument  also: an index is below 0, of two owners, or of none
  [[nodiscard]] static ExchangePart of_global_ids(MPI_Comm comm, std::int64_t element_bytes,
                                                  Place place, std::span<const std::int64_t> owned,
                                                  std::span<const std::int64_t> ghosts);
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
/// have; other ranks get one packed message each, and beside it one for each long transfer that is
/// one piece of host memory at both ends, from where it lies. A rank's arrays may be in the
/// memories of several devices, and in host memory as well. For one thread at a time: who starts it
/// also tests and waits.
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

  /// Starts the exchange with the values that the arrays hold now, or, in a device's memory, when
  /// the work that `after` holds now is done; address i of `arrays` is that of array i. Sent bytes
  /// must not be changed, and received ones not be used, before the exchange has ended. Waits for
  /// no other rank; test() and wait(), of this exchange or of another one that this thread has
  /// begun, do what can't be done yet.
  ///
  /// \param after  streams of the devices that hold arrays; one of them orders what all devices do;
  /// none: the legacy default streams of these devices. A graph that they capture contains the
  /// start; a wait() with streams ends the exchange then.
  ///
  /// \throws InvalidArgument  not as many addresses as arrays, an array that is elsewhere than
  /// planned; the exchange has begun already; a stream of another device than the arrays'; some
  /// streams are being captured, some not. Unsupported  streams are being captured, and not all
  /// ranks' arrays can be reached from this device, or copy engines move the bytes
  /// (STRAKE_METHOD=engine). MpiError, CudaError
  void start(const Addresses& arrays, const Streams& after = {});
  /// Enqueues a whole exchange of arrays in a device's memory in `streams`: after the work in all
  /// of them, and before work that any of them gets later. No CPU waits or takes part, and the
  /// exchange may be captured in a graph, which exchanges these arrays at each launch. Where not
  /// all ranks' arrays can be reached from this device, or ranks share it, or there are no streams,
  /// it is start() and wait() instead. Each rank may use whichever of these it likes. Destroy the
  /// exchange when its work in streams and graphs is done. A launch of a graph is a use like
  /// others: order it with them by streams and events, and let none come between a start and its
  /// end. A stream that waits for a rank that has left, given up, or died, waits until the job is
  /// ended. Of exchanges in several streams up to 16 may wait at once.
  ///
  /// \throws  as start()
  void enqueue(const Addresses& arrays, const Streams& streams);
  /// Reverse exchange: sends each received region back to its owner, which merges it by
  /// `combine[array]`, in the order of the owner's send() calls: the same result in each run (but
  /// where values are replaced on a device: one of several that come for one value stays). Until it
  /// has ended, bytes that start() sends (an owner's values) must not be used, and bytes that
  /// start() receives (ghosts) not be changed; all others may be used.
  /// \param combine  as many as arrays, or one for all; in a device's memory sum, min or max
  /// \throws  as start(); Unsupported  values that devices don't combine, or some ranks' devices
  /// don't reach each other; streams are being captured, and values never went back by these
  /// `combine` before
  void start_reverse(const Addresses& arrays, std::span<const Combine> combine,
                     const Streams& after = {});
  /// By one `combine` for all arrays: `start_reverse(y, strake::sum<double>())`.
  template <std::convertible_to<Combine> How>
  void start_reverse(const Addresses& arrays, const How& combine, const Streams& after = {}) {
    const Combine one(combine);
    start_reverse(arrays, std::span<const Combine>(&one, 1), after);
  }
  /// By those in braces, one for each array or one for all: `{sum<double>(), max<int>()}`. `{}` is
  /// an empty Combine.
  void start_reverse(const Addresses& arrays, std::initializer_list<Combine> combine,
                     const Streams& after = {}) {
    if (combine.size() == 0) return start_reverse(arrays, Combine(), after);
    start_reverse(arrays, std::span<const Combine>(combine.begin(), combine.size()), after);
  }
  /// \{ Enqueues a whole reverse exchange, as enqueue() does a forward one. \throws  as
  /// start_reverse()
  void enqueue_reverse(const Addresses& arrays, std::span<const Combine> combine,
                       const Streams& streams);
  template <std::convertible_to<Combine> How>
  void enqueue_reverse(const Addresses& arrays, const How& combine, const Streams& streams) {
    const Combine one(combine);
    enqueue_reverse(arrays, std::span<const Combine>(&one, 1), streams);
  }
  void enqueue_reverse(const Addresses& arrays, std::initializer_list<Combine> combine,
                       const Streams& streams) {
    if (combine.size() == 0) return enqueue_reverse(arrays, Combine(), streams);
    enqueue_reverse(arrays, std::span<const Combine>(combine.begin(), combine.size()), streams);
  }
  /// \}
  /// Whether the exchange has ended; true also if none was begun. Moves what can be moved.
  /// \throws Error  a rank that this one waits for has left the exchange or given it up, or is of
  /// this node and has died: the message names it, and the first rank that was the cause. This rank
  /// has given up then. MpiError
  bool test();
  /// Waits until all receives are complete and all sent bytes may be changed. Returns as soon as
  /// this rank's own transfers are done, whichever other rank is late. (If other ranks' devices
  /// don't reach a rank's device memory, that rank has to call Strake once after the device's
  /// earlier work is done, before others get its bytes.)
  /// \param before  streams whose later work waits in place of the host, which may use the exchange
  /// again at once; as in enqueue(), the host waits where devices can't
  /// \throws  as start(), test()
  void wait(const Streams& before = {});
  /// For a rank that can't go on: it starts no more, and waits for no other rank. Peers whose CPUs
  /// wait for it, now or later, get an Error that names it.
  void give_up() noexcept;
  /// Whether an exchange was begun, and neither test() nor wait() has reported its end.
  [[nodiscard]] bool running() const noexcept;
  /// Whether all that comes from `peer` has come, as the last test() found.
  [[nodiscard]] bool arrived(int peer) const noexcept;

  /// The transfers with one rank, which may be this one.
  struct PeerPlan {
    int rank = 0;
    std::int64_t sends_bytes = 0;
    std::int64_t receives_bytes = 0;
    /// The transport (STRAKE_METHOD) of the sent bytes in the last round forward: "self", "direct",
    /// "shared", "put", "engine", "one-shot", "staged", "device" or "pack".
    std::string transport;
  };
  [[nodiscard]] std::vector<PeerPlan> peers() const;
  /// For people: each peer, how its bytes travel, and how many; of an exchange on a device also how
  /// long a round takes by the measurements of this machine, if there are any, and how long the
  /// last one took there, stage by stage, unless it was one launch. The host waits for the device
  /// then.
  [[nodiscard]] std::string plan() const;
  /// Size of all that this rank sends in one exchange. [bytes]
  [[nodiscard]] std::int64_t bytes_sent() const noexcept;

 private:
  friend class Grid;
  friend class Ghosts;
  /// Number of the last round that was started.
  [[nodiscard]] std::int64_t round() const noexcept;
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
  /// \param page  pages that host memory should have: all at once from the system's pool of such
  /// pages (hugetlb), whose zeroing takes a while, or, where that has too few, ordinary ones that
  /// the kernel is asked to join into huge ones (shmem_enabled). 0: the system's. [bytes]
  /// \throws InvalidArgument  fewer than no bytes; a page that is no power of two, smaller than the
  /// system's, larger than 16 GiB, or of a device; Unsupported  managed memory, or no device;
  /// OutOfMemory, CudaError
  explicit SharedArray(std::int64_t bytes, Place place = {}, std::int64_t page = 0);
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
