/// \file  Receives with too little room, two of a few that are all there when they are completed:
/// what each call tells, which requests it leaves, and how often and where the error handler is
/// called. All is printed, and must be as without Strake.
#include "described.hpp"
#include "handler_calls.hpp"

namespace {

using handler_calls::count;
using handler_calls::returned;
using handler_calls::tell;

constexpr int kCount = 5;
/// Open MPI 5 returns MPI_SUCCESS from a Waitall that failed where statuses are ignored, and MPICH
/// since 4.3 completes what it leaves pending elsewhere. Strake always gives statuses.
#if (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5) || \
    (defined(MPICH_NUMVERSION) && MPICH_NUMVERSION >= 40300000)
constexpr bool kIgnoringDiffers = true;
#else
constexpr bool kIgnoringDiffers = false;
#endif
constexpr int kLast = 90;  ///< tag of a message behind all others
/// Which receives have too little room, and which are of contiguous bytes.
struct Which {
  const char* name;
  bool truncated[kCount];
  bool plain[kCount];
  bool persistent = false;
};
constexpr Which kNone = {"good ones", {}, {false, false, true, false, false}};
constexpr Which kOne = {
    "one", {false, true, false, false, false}, {false, false, true, false, false}};
constexpr Which kTwo = {
    "two", {false, true, false, true, false}, {false, false, true, false, false}};
constexpr Which kBesidePlain = {"one strided, one contiguous",
                                {false, true, true, false, false},
                                {false, false, true, false, false}};
constexpr Which kPlainFirst = {"one contiguous, one strided",
                               {false, true, false, true, false},
                               {false, true, false, false, false}};
constexpr Which kAll = {"all", {true, true, true, true, true}, {}};
#ifndef OPEN_MPI  // which tells of failed persistent requests by some calls and not by others
constexpr Which kStarted = {
    "two persistent", {false, true, false, true, false}, {false, false, true, false, false}, true};
#endif

/// Messages of two elements into receives of one or two, which have all come.
class Messages {
 public:
  Messages(MPI_Comm comm, const Which& which) : comm_(comm), which_(which) {
    std::fill_n(requests, kCount, MPI_REQUEST_NULL);
    MPI_Request sends[kCount];
    for (int i = 0; i < kCount; ++i) {
      const int room = which.truncated[i] ? 1 : 2;
      in_.emplace_back(type(i), room);
      out_.emplace_back(type(i), 2);
      out_.back().fill(static_cast<std::uint64_t>(i));
      auto* const post = which.persistent ? MPI_Recv_init : MPI_Irecv;
      CHECK_MPI(
          post(in_.back().data(), room, type(i).type, check::previous(), i, comm, &requests[i]));
      if (which.persistent) CHECK_MPI(MPI_Start(&requests[i]));
    }
    MPI_Barrier(comm);
    for (int i = 0; i < kCount; ++i) {
      CHECK_MPI(MPI_Isend(out_[static_cast<std::size_t>(i)].data(), 2, type(i).type, check::next(),
                          i, comm, &sends[i]));
    }
    // Short messages are complete in the order in which they were sent.
    CHECK_MPI(MPI_Sendrecv(nullptr, 0, MPI_INT, check::next(), kLast, nullptr, 0, MPI_INT,
                           check::previous(), kLast, comm, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_Waitall(kCount, sends, MPI_STATUSES_IGNORE));
    MPI_Barrier(comm);
    for (int i = 0, flag = 0; i < 100; ++i) {
      CHECK_MPI(MPI_Iprobe(MPI_ANY_SOURCE, kLast, comm, &flag, MPI_STATUS_IGNORE));
    }
  }

  /// The request's place, and what it is afterwards.
  [[nodiscard]] std::string left() const {
    std::string text;
    for (const MPI_Request& request : requests) text += request == MPI_REQUEST_NULL ? "-" : "x";
    return text;
  }
  /// Completes what the call has left, one by one, and looks at the good ones' bytes.
  void end(const std::string& name) {
    for (int i = 0; i < kCount; ++i) {
      if (requests[i] == MPI_REQUEST_NULL) continue;
      const int code = MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
      tell(name + ", then " + std::to_string(i), code);
      if (requests[i] == MPI_REQUEST_NULL) continue;
      CHECK(which_.persistent);
      CHECK_MPI(MPI_Request_free(&requests[i]));
    }
    for (int i = 0; i < kCount; ++i) {
      Image& image = in_[static_cast<std::size_t>(i)];
      if (!which_.truncated[i]) CHECK(image.holds(static_cast<std::uint64_t>(i)));
    }
    MPI_Barrier(comm_);
  }
  [[nodiscard]] const Described& type(int i) const { return which_.plain[i] ? plain_ : strided_; }

  MPI_Request requests[kCount];

 private:
  MPI_Comm comm_;
  const Which& which_;
  Described strided_ = describe::small();
  Described plain_ = describe::commit(describe::contiguous(16, describe::integer()));
  std::vector<Image> in_, out_;
};

void prepare(MPI_Status* statuses) {
  for (int i = 0; i < kCount; ++i) {
    statuses[i] = MPI_Status{};
    statuses[i].MPI_ERROR = 77;
  }
}
/// Error fields that a call with this code has set.
std::string errors(int code, const MPI_Status* statuses, int number) {
  std::string text;
  for (int i = 0; i < number; ++i) {
    const int error = statuses[i].MPI_ERROR;
    text += " " + (error == 77 ? std::string("as before") : check::class_name(error));
  }
  return returned(code) == "MPI_SUCCESS" && text.find("ERR") != std::string::npos
             ? text + " though it returned none"
             : text;
}

void one_by_one(MPI_Comm comm, const Which& which) {
  for (const char* const call : {"Wait", "Test", "Waitany", "Testany"}) {
    check::section(call);
    const std::string name = std::string(call) + ", " + which.name;
    Messages messages(comm, which);
    for (int turn = 0; turn < kCount; ++turn) {
      MPI_Status status{};
      status.MPI_ERROR = 77;
      int flag = 0, index = turn, code = MPI_SUCCESS;
      MPI_Request* const requests = messages.requests;
      MPI_Status* const told = turn == 0 ? MPI_STATUS_IGNORE : &status;
      if (call == std::string("Wait")) code = MPI_Wait(&requests[turn], told);
      if (call == std::string("Test")) code = MPI_Test(&requests[turn], &flag, told);
      if (call == std::string("Waitany")) code = MPI_Waitany(kCount, requests, &index, told);
      if (call == std::string("Testany")) code = MPI_Testany(kCount, requests, &index, &flag, told);
      check::note("flag %d, index %d, error field%s, tag %d, left %s", flag, index,
                  errors(code, &status, 1).c_str(), turn == 0 ? -1 : status.MPI_TAG,
                  messages.left().c_str());
      tell(name, code);
    }
    messages.end(name);
  }
}

void all_at_once(MPI_Comm comm, const Which& which) {
  for (const bool ignored : {false, true}) {
    if (ignored && kIgnoringDiffers && which.name != kNone.name) continue;
    for (const bool waits : {true, false}) {
      check::section(waits ? "Waitall" : "Testall");
      const std::string name = std::string(waits ? "Waitall" : "Testall") + ", " + which.name +
                               (ignored ? ", statuses ignored" : "");
      Messages messages(comm, which);
      MPI_Status statuses[kCount];
      prepare(statuses);
      MPI_Status* const told = ignored ? MPI_STATUSES_IGNORE : statuses;
      int flag = 0;
      const int code = waits ? MPI_Waitall(kCount, messages.requests, told)
                             : MPI_Testall(kCount, messages.requests, &flag, told);
      check::note("flag %d, error fields%s, left %s", flag, errors(code, statuses, kCount).c_str(),
                  messages.left().c_str());
      tell(name, code);
      messages.end(name);
    }
  }
}

void some_at_a_time(MPI_Comm comm, const Which& which) {
  for (const bool ignored : {false, true}) {
    for (const bool waits : {true, false}) {
      check::section(waits ? "Waitsome" : "Testsome");
      const std::string name = std::string(waits ? "Waitsome" : "Testsome") + ", " + which.name +
                               (ignored ? ", statuses ignored" : "");
      Messages messages(comm, which);
      for (int turn = 0; turn < kCount; ++turn) {
        MPI_Status statuses[kCount];
        prepare(statuses);
        MPI_Status* const told = ignored ? MPI_STATUSES_IGNORE : statuses;
        int outcount = -1, indices[kCount];
        const int code = waits ? MPI_Waitsome(kCount, messages.requests, &outcount, indices, told)
                               : MPI_Testsome(kCount, messages.requests, &outcount, indices, told);
        const int number = outcount == MPI_UNDEFINED ? 0 : outcount;
        std::string places;
        for (int i = 0; i < number; ++i) places += " " + std::to_string(indices[i]);
        check::note("indices%s, error fields%s, left %s", places.c_str(),
                    errors(code, statuses, number).c_str(), messages.left().c_str());
        tell(name, code);
        if (outcount == MPI_UNDEFINED) break;
      }
      messages.end(name);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  check::init(argc, argv);
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  CHECK_MPI(MPI_Comm_create_errhandler(count, &handler));
  for (MPI_Comm each : {MPI_COMM_WORLD, MPI_COMM_SELF, comm}) {
    CHECK_MPI(MPI_Comm_set_errhandler(each, handler));
  }
  std::vector<const Which*> all = {&kNone, &kOne, &kTwo, &kBesidePlain, &kPlainFirst, &kAll};
#ifndef OPEN_MPI
  all.push_back(&kStarted);
#endif
  for (const Which* which : all) {
    one_by_one(comm, *which);
    all_at_once(comm, *which);
    some_at_a_time(comm, *which);
  }
  CHECK_MPI(MPI_Errhandler_free(&handler));
  CHECK_MPI(MPI_Comm_free(&comm));
  return check::finish();
}
