/// \file  quiet [--device] messages | sends | persistent
/// Once a program's first messages have gone, the interposer allocates no memory for the next ones.
/// Preloaded beside it is count_allocations.cpp, which counts.
#include <strake/mpix.h>

#include <chrono>
#include <set>
#include <thread>

#include "described.hpp"

namespace {

/// The interposer's allocations, where they are counted.
class Counted {
 public:
  Counted()
      : start_(reinterpret_cast<bool (*)()>(dlsym(RTLD_DEFAULT, "count_allocations_start"))),
        now_(reinterpret_cast<std::uint64_t (*)()>(dlsym(RTLD_DEFAULT, "count_allocations_now"))) {
    if (std::getenv("TEST_PRELOADED") != nullptr) CHECK(start_ != nullptr && now_ != nullptr);
  }
  void start() {
    if (start_ != nullptr) CHECK(start_());
  }
  /// Since start(). \param otherwise  where none are counted
  [[nodiscard]] std::uint64_t now(std::uint64_t otherwise) const {
    return now_ != nullptr ? now_() : otherwise;
  }

 private:
  bool (*start_)();
  std::uint64_t (*now_)();
};

/// The first messages need memory: else nothing is counted at all. `round()` runs often.
template <typename Round>
void quiet_after_first(Round&& round) {
  constexpr int kFirst = 20;
  constexpr int kThen = 60;
  Counted counted;
  counted.start();
  for (int i = 0; i < kFirst; ++i) round(i);
  CHECK(counted.now(1) > 0);
  MPI_Barrier(MPI_COMM_WORLD);
  counted.start();
  for (int i = 0; i < kThen; ++i) round(kFirst + i);
  CHECK_EQ(counted.now(0), std::uint64_t{0});
}

/// Ranks that meet later have messages that go another way than the first ones.
void find_each_other() {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  CHECK_MPI(MPI_Type_contiguous(2, MPI_INT, &type));
  CHECK_MPI(MPIX_Type_commit_comm(&type, MPI_COMM_WORLD));
  CHECK_MPI(MPIX_Type_free_comm(&type, MPI_COMM_WORLD));
}

/// Several sizes, of which the first are complete on return and the last are not.
class Exchange {
 public:
  static constexpr int kMessages = 9;
  Exchange() {
    for (int i = 0; i < kMessages; ++i) {
      out_.emplace_back(type(i), 1);
      in_.emplace_back(type(i), 1);
      out_.back().fill(static_cast<std::uint64_t>(i));
    }
  }
  [[nodiscard]] const Described& type(int i) const { return types_[i % 3]; }
  void* in(int i) { return in_[static_cast<std::size_t>(i)].data(); }
  void* out(int i) { return out_[static_cast<std::size_t>(i)].data(); }
  void check() {
    for (int i = 0; i < kMessages; ++i) {
      CHECK(in_[static_cast<std::size_t>(i)].holds(static_cast<std::uint64_t>(i)));
    }
  }

  /// Receives, then sends.
  void start(MPI_Request* requests, decltype(&MPI_Isend) send = MPI_Isend) {
    for (int i = 0; i < kMessages; ++i) {
      CHECK_MPI(
          MPI_Irecv(in(i), 1, type(i).type, check::previous(), i, MPI_COMM_WORLD, &requests[i]));
    }
    for (int i = 0; i < kMessages; ++i) {
      CHECK_MPI(send(out(i), 1, type(i).type, check::next(), i, MPI_COMM_WORLD,
                     &requests[kMessages + i]));
    }
  }

 private:
  Described types_[3] = {describe::small(), describe::medium(), describe::large()};
  std::vector<Image> out_, in_;
};

void messages() {
  constexpr int kRequests = 2 * Exchange::kMessages;
  Exchange exchange;
  MPI_Request requests[kRequests];
  MPI_Status statuses[kRequests];
  // As much is in flight at once as ever will be: a synchronous send is never complete on return.
  exchange.start(requests, MPI_Issend);
  CHECK_MPI(MPI_Waitall(kRequests, requests, statuses));
  check::section("Waitall");
  quiet_after_first([&](int turn) {
    exchange.start(requests);
    CHECK_MPI(MPI_Waitall(kRequests, requests, turn % 2 == 0 ? MPI_STATUSES_IGNORE : statuses));
  });
  exchange.check();
  check::section("Wait");
  Counted counted;
  const auto wait_each = [&] {
    exchange.start(requests);
    for (MPI_Request& request : requests) CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
  };
  wait_each();
  counted.start();
  for (int turn = 0; turn < 200; ++turn) wait_each();
  CHECK_EQ(counted.now(0), std::uint64_t{0});
  exchange.check();
}

/// Sends that are complete on return hold no memory until they are waited for.
void sends() {
  check::section("sends that are complete on return");
  constexpr int kBatch = 100;
  constexpr int kBatches = 200;
  const Described type = describe::small();
  Image out(type, 1), in(type, 1);
  out.fill(3);
  std::vector<MPI_Request> requests;
  requests.reserve(std::size_t{kBatch} * kBatches);
  Counted counted;
  for (int batch = 0; batch < kBatches; ++batch) {
    // The first batch is the first messages of the program.
    if (batch < 2) counted.start();
    for (int i = 0; i < kBatch; ++i) {
      if (check::rank() == 0) {
        requests.push_back(MPI_REQUEST_NULL);
        CHECK_MPI(MPI_Isend(out.data(), 1, type.type, 1, 1, MPI_COMM_WORLD, &requests.back()));
      } else {
        CHECK_MPI(MPI_Recv(in.data(), 1, type.type, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      }
    }
    MPI_Barrier(MPI_COMM_WORLD);  // not more at a time than the library takes at once
    if (batch == 0) CHECK(counted.now(1) > 0);
  }
  if (check::rank() == 0) {
    // A library that is busy gives some a request of their own: these may hold memory until then.
    const std::size_t own = std::set<MPI_Request>(requests.begin(), requests.end()).size() - 1;
    CHECK(own < requests.size() / 2);
    constexpr std::size_t kForOne = 3;
    CHECK(counted.now(0) <= kForOne * own);
  }
  for (std::size_t i = 0; i < requests.size(); i += kBatch) {
    CHECK_MPI(MPI_Waitall(kBatch, &requests[i], MPI_STATUSES_IGNORE));
  }
  if (check::rank() == 1) CHECK(in.holds(3));
}

/// Persistent requests, receives first. `init` makes the sends.
void make_persistent(Exchange& exchange, MPI_Request* requests, decltype(&MPI_Send_init) init) {
  constexpr int kMessages = Exchange::kMessages;
  for (int i = 0; i < kMessages; ++i) {
    CHECK_MPI(MPI_Recv_init(exchange.in(i), 1, exchange.type(i).type, check::previous(), i,
                            MPI_COMM_WORLD, &requests[i]));
    CHECK_MPI(init(exchange.out(i), 1, exchange.type(i).type, check::next(), i, MPI_COMM_WORLD,
                   &requests[kMessages + i]));
  }
}

/// As much is in flight at once as ever will be: a synchronous send is not complete before its
/// receiver, which is late, receives.
void start_most(Exchange& exchange) {
  constexpr int kMessages = Exchange::kMessages;
  constexpr int kRequests = 2 * kMessages;
  MPI_Request requests[kRequests];
  make_persistent(exchange, requests, MPI_Ssend_init);
  for (int turn = 0; turn < 4; ++turn) {
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_MPI(MPI_Startall(kMessages, requests + kMessages));
    const bool late = check::rank() % 2 == turn / 2;
    if (late) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    CHECK_MPI(MPI_Startall(kMessages, requests));
    if (turn % 2 == 0) {
      CHECK_MPI(MPI_Waitall(kRequests, requests, MPI_STATUSES_IGNORE));
    } else {
      for (MPI_Request& request : requests) CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
  }
  for (MPI_Request& request : requests) CHECK_MPI(MPI_Request_free(&request));
}

void persistent() {
  constexpr int kRequests = 2 * Exchange::kMessages;
  Exchange exchange;
  start_most(exchange);
  MPI_Request requests[kRequests];
  make_persistent(exchange, requests, MPI_Send_init);
  // Both rounds together, as persistent requests may have all memory from the start.
  Counted counted;
  const auto round = [&](int turn) {
    if (turn % 2 == 0) {
      for (MPI_Request& request : requests) CHECK_MPI(MPI_Start(&request));
      for (MPI_Request& request : requests) CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else {
      CHECK_MPI(MPI_Startall(kRequests, requests));
      CHECK_MPI(MPI_Waitall(kRequests, requests, MPI_STATUSES_IGNORE));
    }
  };
  check::section("persistent requests, first rounds");
  for (int turn = 0; turn < 20; ++turn) round(turn);
  MPI_Barrier(MPI_COMM_WORLD);
  check::section("persistent requests");
  counted.start();
  for (int turn = 0; turn < 200; ++turn) round(turn);
  CHECK_EQ(counted.now(0), std::uint64_t{0});
  exchange.check();
  for (MPI_Request& request : requests) CHECK_MPI(MPI_Request_free(&request));
}

}  // namespace

int main(int argc, char** argv) {
  check::init(argc, argv);
  const std::string part = argc > 1 ? argv[argc - 1] : "";
  if (part == "messages") {
    find_each_other();
    messages();
  } else if (part == "sends") {
    sends();
  } else if (part == "persistent") {
    find_each_other();
    persistent();
  } else {
    check::fail(__FILE__, __LINE__, "no such part: " + part);
  }
  return check::finish();
}
