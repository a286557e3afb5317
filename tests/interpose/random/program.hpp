/// \file  Parts of a random program. A program is one sequence of actions of all ranks: each rank
/// runs its own ones in this order, and each action can complete once all earlier ones have. So no
/// program deadlocks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace random_program {

constexpr int kNone = -1;
constexpr int kWildcard = -1;  ///< MPI_ANY_SOURCE or MPI_ANY_TAG

/// How a datatype lays out its bytes. Plain: elements of a predefined datatype. Wild: a datatype of
/// tests/support/random_types.
enum class Form { kPlain, kDense, kStrided, kIndexed, kStruct, kSubarray, kWild };
constexpr const char* kFormNames[] = {"plain",  "dense",    "strided", "indexed",
                                      "struct", "subarray", "wild"};

/// A datatype and a count, as numbers: every rank knows the size, those that need it build it.
struct Shape {
  Form form = Form::kPlain;
  int count = 0;
  std::int64_t element_bytes = 1;
  int leaf_bytes = 1;      ///< 1: MPI_BYTE, 4: MPI_INT, 8: MPI_DOUBLE
  std::uint64_t seed = 0;  ///< of gaps and block lengths; of a wild one: its index
  /// Whether the datatype is used again: Strake leaves those that are used a few times to the MPI
  /// library.
  bool is_kept = false;
  std::int64_t bytes() const { return count * element_bytes; }
};

/// Where a buffer lies. Shared: MPI_Alloc_mem. Device: whatever memory the program is linked to.
enum class Memory { kHeap, kShared, kStack, kStatic, kDevice };
constexpr const char* kMemoryNames[] = {"heap", "MPI_Alloc_mem", "stack", "static", "device"};

enum class Call {
  kSend,
  kSsend,
  kRsend,
  kBsend,
  kIsend,
  kIssend,
  kIrsend,
  kIbsend,
  kSendInit,
  kSsendInit,
  kRsendInit,
  kBsendInit,
  kRecv,
  kIrecv,
  kRecvInit,
  kMrecv,
  kImrecv
};
constexpr const char* kCallNames[] = {
    "MPI_Send",       "MPI_Ssend",      "MPI_Rsend",  "MPI_Bsend",     "MPI_Isend",
    "MPI_Issend",     "MPI_Irsend",     "MPI_Ibsend", "MPI_Send_init", "MPI_Ssend_init",
    "MPI_Rsend_init", "MPI_Bsend_init", "MPI_Recv",   "MPI_Irecv",     "MPI_Recv_init",
    "MPI_Mrecv",      "MPI_Imrecv"};

inline bool is_persistent(Call c) {
  return (c >= Call::kSendInit && c <= Call::kBsendInit) || c == Call::kRecvInit;
}
inline bool is_blocking(Call c) {
  return c <= Call::kBsend || c == Call::kRecv || c == Call::kMrecv;
}
inline bool is_buffered(Call c) {
  return c == Call::kBsend || c == Call::kIbsend || c == Call::kBsendInit;
}
inline bool is_ready(Call c) {
  return c == Call::kRsend || c == Call::kIrsend || c == Call::kRsendInit;
}

/// Senders to a rank on a communicator. Any: every member, received by source. One: the member
/// after it, so that MPI_ANY_SOURCE has one outcome. Race: every member, received by
/// MPI_ANY_SOURCE.
enum class Senders { kAny, kOne, kRace };

struct Comm {
  std::vector<int> members;  ///< ranks of the world, by rank here
  Senders senders = Senders::kAny;
  int leaf_bytes = 1;  ///< of all messages
  bool is_live = true;
  int size() const { return static_cast<int>(members.size()); }
  /// The one that sends to `rank`, if senders is One.
  int one_sender(int rank) const { return (rank + 1) % size(); }
  int rank_of(int world_rank) const {
    for (int i = 0; i < size(); ++i) {
      if (members[static_cast<std::size_t>(i)] == world_rank) return i;
    }
    return kNone;
  }
};

/// Ranks are those of its communicator.
struct Message {
  int id = kNone;
  int comm = 0, source = 0, destination = 0, tag = 0;
  std::int64_t bytes = 0;
  int send = kNone, receive = kNone;  ///< the operations
  bool is_receiving = false;          ///< its receive has been called
  bool is_ready = false;              ///< sent in ready mode
};

/// One send or one receive.
struct Operation {
  int id = kNone;
  bool sends = false;
  int rank = 0;  ///< of the world
  int comm = 0;
  int peer = 0;  ///< rank of the communicator, or kWildcard
  int tag = 0;
  Call call = Call::kIsend;
  Shape shape;
  Memory memory = Memory::kHeap;
  bool frees_type = false;     ///< as soon as it is begun
  bool frees_request = false;  ///< as soon as it is begun
  bool is_hopeless = false;    ///< a receive that no message is for
  int again = kNone;           ///< the operation whose persistent request it starts again
  int message = kNone;
  int epoch = 0;            ///< barriers before it
  bool is_settled = false;  ///< a call has completed it for certain
};

/// How a request is completed; `Wait` and `Test` one after the other.
enum class Completion {
  kWait,
  kWaitall,
  kWaitany,
  kWaitsome,
  kTest,
  kTestall,
  kTestany,
  kTestsome
};
constexpr const char* kCompletionNames[] = {"MPI_Wait",     "MPI_Waitall", "MPI_Waitany",
                                            "MPI_Waitsome", "MPI_Test",    "MPI_Testall",
                                            "MPI_Testany",  "MPI_Testsome"};

/// How a message is looked for, and received then.
enum class Way { kRecv, kIrecv, kProbe, kIprobe, kMprobe, kImprobe };
constexpr const char* kWayNames[] = {"MPI_Recv",   "MPI_Irecv",  "MPI_Probe",
                                     "MPI_Iprobe", "MPI_Mprobe", "MPI_Improbe"};

/// How a rank of a cycle sends and receives.
enum class Turn { kSendrecv, kReplace, kReceiveFirst, kSendFirst };
constexpr const char* kTurnNames[] = {"MPI_Sendrecv", "MPI_Sendrecv_replace",
                                      "MPI_Irecv and MPI_Send", "MPI_Isend and MPI_Recv"};

enum class Kind {
  kStart,          ///< `operations`: one
  kStartall,       ///< `operations`: inactive persistent requests
  kComplete,       ///< `operations` by `completion`; until all are, if `is_certain`
  kAsk,            ///< MPI_Request_get_status; until it is complete, if `is_certain`
  kProbe,          ///< finds `message`, by `way`
  kProbeNothing,   ///< for what nobody sends
  kTake,           ///< as kProbe, by MPI_Mprobe or MPI_Improbe, and holds it
  kCancelReceive,  ///< of a hopeless receive, or of one that may have got its message
  kCancelSend,     ///< a send, cancelled, and its receive, if `probes` after some probes
  kPair,           ///< a blocking send and a receive by `way`
  kCycle,          ///< `operations`: send and receive of each rank in turn; `turns`
  kRace,           ///< sends and receives from any source; `count` receives are called first
  kBarrier,        ///< `operations`: sends that were freed and have been received
  kFree,           ///< inactive persistent requests
  kMakeComms,      ///< `comms`: of one MPI_Comm_dup, if `duplicates`, or MPI_Comm_split
  kFreeComm,       ///< `operations`: inactive persistent requests of it
  kDetach,         ///< detaches the buffer of buffered sends, and attaches it again
};

struct Action {
  Kind kind = Kind::kBarrier;
  std::vector<int> ranks;  ///< of the world, that take part; all, if empty
  std::vector<int> operations;
  std::vector<int> possible;  ///< those of them that are complete sooner or later, by the model
  Completion completion = Completion::kWait;
  bool is_certain = true;
  bool ignores_statuses = false;
  Way way = Way::kRecv;
  std::vector<Way> ways;    ///< of a race's receives
  std::vector<Turn> turns;  ///< of a cycle's ranks
  int comm = 0, peer = 0, tag = 0;
  int message = kNone;
  std::vector<int> comms;
  int count = 0;
  bool probes = false, duplicates = false;
};

}  // namespace random_program
