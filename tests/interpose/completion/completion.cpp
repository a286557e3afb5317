/// \file  Every call that completes requests, with derived types among contiguous, null and
/// inactive ones.
#include "described.hpp"

namespace {

constexpr int kMessages = 5;

/// A ring: to the next rank and from the one before (oneself, with one rank); a few types per
/// round.
class Round {
 public:
  explicit Round(int seed) : seed_(static_cast<std::uint64_t>(seed)) {
    types_.push_back(describe::small());
    types_.push_back(describe::commit(describe::contiguous(3, describe::integer())));
    types_.push_back(describe::large());
    types_.push_back(describe::medium());
    types_.push_back(describe::commit(describe::vector(5, 3, -7, describe::byte())));
    for (int i = 0; i < kMessages; ++i) {
      in_.emplace_back(type(i), 1 + i % 2);
      out_.emplace_back(type(i), 1 + i % 2);
      out_.back().fill(seed_ * 10 + static_cast<std::uint64_t>(i));
    }
    to_ = (check::rank() + 1) % check::size();
    from_ = (check::rank() + check::size() - 1) % check::size();
  }

  /// Receives first, then sends, then a null request, then an inactive persistent one.
  std::vector<MPI_Request> start() {
    std::vector<MPI_Request> requests(2 * kMessages + 2, MPI_REQUEST_NULL);
    for (int i = 0; i < kMessages; ++i)
      CHECK_MPI(MPI_Irecv(image(in_, i).data(), 1 + i % 2, type(i).type, from_, i, MPI_COMM_WORLD,
                          &requests[static_cast<std::size_t>(i)]));
    for (int i = 0; i < kMessages; ++i) {
      auto* const isend = i % 2 == 0 ? MPI_Isend : MPI_Issend;
      CHECK_MPI(isend(image(out_, i).data(), 1 + i % 2, type(i).type, to_, i, MPI_COMM_WORLD,
                      &requests[static_cast<std::size_t>(kMessages + i)]));
    }
    CHECK_MPI(MPI_Recv_init(&unused_, 1, types_[0].type, from_, 99, MPI_COMM_WORLD,
                            &requests[2 * kMessages + 1]));
    return requests;
  }

  void check_status(int index, MPI_Status& status) {
    int cancelled = 1;
    CHECK_MPI(MPI_Test_cancelled(&status, &cancelled));
    CHECK_EQ(cancelled, 0);
    if (index >= kMessages) return;  // a send's status says nothing more
    CHECK_EQ(status.MPI_SOURCE, from_);
    CHECK_EQ(status.MPI_TAG, index);
    int count = -1;
    CHECK_MPI(MPI_Get_count(&status, type(index).type, &count));
    CHECK_EQ(count, 1 + index % 2);
    CHECK_MPI(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK_EQ(count, (1 + index % 2) * type(index).size());
  }

  void check_data() {
    for (int i = 0; i < kMessages; ++i)
      CHECK(image(in_, i).holds(seed_ * 10 + static_cast<std::uint64_t>(i)));
  }

  /// All are done: only the persistent one is left, and it is freed here.
  void end(std::vector<MPI_Request>& requests) {
    for (std::size_t i = 0; i + 1 < requests.size(); ++i) CHECK(requests[i] == MPI_REQUEST_NULL);
    CHECK(requests.back() != MPI_REQUEST_NULL);
    CHECK_MPI(MPI_Request_free(&requests.back()));
    CHECK(requests.back() == MPI_REQUEST_NULL);
    check_data();
  }

 private:
  Described& type(int i) { return types_[static_cast<std::size_t>(i)]; }
  static Image& image(std::vector<Image>& images, int i) {
    return images[static_cast<std::size_t>(i)];
  }

  std::uint64_t seed_;
  std::vector<Described> types_;
  std::vector<Image> in_, out_;
  int to_ = 0, from_ = 0;
  int unused_ = 0;
};

int count_of(const std::vector<MPI_Request>& requests) { return static_cast<int>(requests.size()); }

void wait_each() {
  check::section("Wait");
  Round round(1);
  auto requests = round.start();
  for (std::size_t i = requests.size() - 1; i-- > 0;) {
    MPI_Status status{};
    const bool null = requests[i] == MPI_REQUEST_NULL;
    CHECK_MPI(MPI_Wait(&requests[i], &status));
    if (!null) round.check_status(static_cast<int>(i), status);
    if (null) CHECK_EQ(status.MPI_SOURCE, MPI_ANY_SOURCE);
  }
  round.end(requests);
}

void waitall() {
  check::section("Waitall");
  Round round(2);
  auto requests = round.start();
  std::vector<MPI_Status> statuses(requests.size());
  CHECK_MPI(MPI_Waitall(count_of(requests), requests.data(), statuses.data()));
  for (int i = 0; i < 2 * kMessages; ++i)
    round.check_status(i, statuses[static_cast<std::size_t>(i)]);
  for (std::size_t i = 2 * kMessages; i < requests.size(); ++i) {  // the empty status
    CHECK_EQ(statuses[i].MPI_SOURCE, MPI_ANY_SOURCE);
    CHECK_EQ(statuses[i].MPI_TAG, MPI_ANY_TAG);
    int count = -1;
    CHECK_MPI(MPI_Get_count(&statuses[i], MPI_BYTE, &count));
    CHECK_EQ(count, 0);
  }
  round.end(requests);

  Round ignoring(3);
  requests = ignoring.start();
  CHECK_MPI(MPI_Waitall(count_of(requests), requests.data(), MPI_STATUSES_IGNORE));
  ignoring.end(requests);
}

void waitany() {
  check::section("Waitany");
  Round round(4);
  auto requests = round.start();
  std::vector<int> seen(requests.size(), 0);
  for (int done = 0; done < 2 * kMessages; ++done) {
    MPI_Status status{};
    int index = -1;
    CHECK_MPI(MPI_Waitany(count_of(requests), requests.data(), &index, &status));
    if (index < 0 || index >= 2 * kMessages) return CHECK_EQ(index, 0);
    ++seen[static_cast<std::size_t>(index)];
    round.check_status(index, status);
  }
  for (std::size_t i = 0; i < 2 * kMessages; ++i) CHECK_EQ(seen[i], 1);
  int index = 0;
  MPI_Status status{};
  CHECK_MPI(MPI_Waitany(count_of(requests), requests.data(), &index, &status));
  CHECK_EQ(index, MPI_UNDEFINED);
  CHECK_EQ(status.MPI_SOURCE, MPI_ANY_SOURCE);
  round.end(requests);
}

void waitsome() {
  check::section("Waitsome");
  Round round(5);
  auto requests = round.start();
  std::vector<int> indices(requests.size());
  std::vector<MPI_Status> statuses(requests.size());
  int done = 0;
  while (done < 2 * kMessages) {
    int out = -1;
    CHECK_MPI(
        MPI_Waitsome(count_of(requests), requests.data(), &out, indices.data(), statuses.data()));
    if (out <= 0) return CHECK_EQ(out, 1);
    for (std::size_t i = 0; i < static_cast<std::size_t>(out); ++i) {
      round.check_status(indices[i], statuses[i]);
      CHECK(requests[static_cast<std::size_t>(indices[i])] == MPI_REQUEST_NULL);
    }
    done += out;
  }
  int out = 0;
  CHECK_MPI(
      MPI_Waitsome(count_of(requests), requests.data(), &out, indices.data(), MPI_STATUSES_IGNORE));
  CHECK_EQ(out, MPI_UNDEFINED);
  round.end(requests);
}

void test_each() {
  check::section("Test");
  Round round(6);
  auto requests = round.start();
  int left = 2 * kMessages;
  while (left > 0)
    for (int i = 0; i < 2 * kMessages; ++i) {
      MPI_Request& request = requests[static_cast<std::size_t>(i)];
      if (request == MPI_REQUEST_NULL) continue;
      MPI_Status status{};
      int flag = 0;
      CHECK_MPI(MPI_Test(&request, &flag, &status));
      if (!flag) continue;
      round.check_status(i, status);
      --left;
    }
  int flag = 0;
  MPI_Request null = MPI_REQUEST_NULL;
  CHECK_MPI(MPI_Test(&null, &flag, MPI_STATUS_IGNORE));
  CHECK_EQ(flag, 1);
  CHECK_MPI(MPI_Test(&requests.back(), &flag, MPI_STATUS_IGNORE));  // inactive: true at once
  CHECK_EQ(flag, 1);
  round.end(requests);
}

void testall() {
  check::section("Testall");
  Round round(7);
  auto requests = round.start();
  std::vector<MPI_Status> statuses(requests.size());
  int flag = 0;
  while (!flag) CHECK_MPI(MPI_Testall(count_of(requests), requests.data(), &flag, statuses.data()));
  for (int i = 0; i < 2 * kMessages; ++i)
    round.check_status(i, statuses[static_cast<std::size_t>(i)]);
  round.end(requests);
}

void testany() {
  check::section("Testany");
  Round round(8);
  auto requests = round.start();
  int done = 0;
  while (done < 2 * kMessages) {
    int index = -1, flag = 0;
    MPI_Status status{};
    CHECK_MPI(MPI_Testany(count_of(requests), requests.data(), &index, &flag, &status));
    CHECK(flag || index == MPI_UNDEFINED);
    if (!flag) continue;
    if (index < 0) return CHECK_EQ(index, 0);
    round.check_status(index, status);
    ++done;
  }
  int index = 0, flag = 0;
  CHECK_MPI(MPI_Testany(count_of(requests), requests.data(), &index, &flag, MPI_STATUS_IGNORE));
  CHECK_EQ(index, MPI_UNDEFINED);
  CHECK_EQ(flag, 1);
  round.end(requests);
}

void testsome() {
  check::section("Testsome");
  Round round(9);
  auto requests = round.start();
  std::vector<int> indices(requests.size());
  std::vector<MPI_Status> statuses(requests.size());
  int done = 0;
  while (done < 2 * kMessages) {
    int out = -1;
    CHECK_MPI(
        MPI_Testsome(count_of(requests), requests.data(), &out, indices.data(), statuses.data()));
    if (out < 0) return CHECK_EQ(out, 0);
    for (std::size_t i = 0; i < static_cast<std::size_t>(out); ++i)
      round.check_status(indices[i], statuses[i]);
    done += out;
  }
  int out = 0;
  CHECK_MPI(
      MPI_Testsome(count_of(requests), requests.data(), &out, indices.data(), MPI_STATUSES_IGNORE));
  CHECK_EQ(out, MPI_UNDEFINED);
  round.end(requests);
}

/// Request_get_status completes nothing: the request is still there, and says the same again.
void get_status() {
  check::section("Request_get_status");
  Round round(10);
  auto requests = round.start();
  for (int i = 0; i < 2 * kMessages; ++i) {
    MPI_Request& request = requests[static_cast<std::size_t>(i)];
    for (int repeat = 0; repeat < 2; ++repeat) {
      int flag = 0;
      MPI_Status status{};
      while (!flag) CHECK_MPI(MPI_Request_get_status(request, &flag, &status));
      CHECK(request != MPI_REQUEST_NULL);
      round.check_status(i, status);
    }
    MPI_Status status{};
    CHECK_MPI(MPI_Wait(&request, &status));
    round.check_status(i, status);
  }
  int flag = 0;
  MPI_Status status{};
  CHECK_MPI(MPI_Request_get_status(MPI_REQUEST_NULL, &flag, &status));
  CHECK_EQ(flag, 1);
  CHECK_EQ(status.MPI_SOURCE, MPI_ANY_SOURCE);
  round.end(requests);
}

#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
/// MPI_Request_get_status for several requests: messages, a null one and an inactive one.
void get_status_of_several() {
  check::section("Request_get_status_all, _any, _some");
  constexpr int kActive = 2 * kMessages;
  Round round(11);
  auto requests = round.start();
  const int count = count_of(requests);
  std::vector<MPI_Status> statuses(requests.size());
  std::vector<int> indices(requests.size());
  MPI_Status status{};
  int flag = 0, index = -1, out = 0;
  // MPICH 5 makes no progress in the others.
  for (int i = 0; i < kActive; ++i) {
    for (flag = 0; !flag;)
      CHECK_MPI(
          MPI_Request_get_status(requests[static_cast<std::size_t>(i)], &flag, MPI_STATUS_IGNORE));
  }
  CHECK_MPI(MPI_Request_get_status_any(count, requests.data(), &index, &flag, &status));
  CHECK_EQ(flag, 1);
  round.check_status(index, status);
  CHECK_MPI(
      MPI_Request_get_status_some(count, requests.data(), &out, indices.data(), statuses.data()));
  CHECK_EQ(out, kActive);
  for (int i = 0; i < out; ++i)
    round.check_status(indices[static_cast<std::size_t>(i)], statuses[static_cast<std::size_t>(i)]);
  CHECK_MPI(MPI_Request_get_status_all(count, requests.data(), &flag, statuses.data()));
  CHECK_EQ(flag, 1);
  for (int i = 0; i < kActive; ++i) round.check_status(i, statuses[static_cast<std::size_t>(i)]);
  CHECK_MPI(MPI_Waitall(count, requests.data(), MPI_STATUSES_IGNORE));
  CHECK_MPI(MPI_Request_get_status_any(count, requests.data(), &index, &flag, &status));
  CHECK(flag == 1 && index == MPI_UNDEFINED);
  CHECK_MPI(MPI_Request_get_status_some(count, requests.data(), &out, indices.data(),
                                        MPI_STATUSES_IGNORE));
  CHECK_EQ(out, MPI_UNDEFINED);
  round.end(requests);
}
#endif

/// No requests at all, or only null ones.
void empty_arrays() {
  check::section("empty arrays");
  std::vector<MPI_Request> nulls(3, MPI_REQUEST_NULL);
  std::vector<int> indices(3);
  for (const int count : {0, 3}) {
    int index = 0, flag = 0, out = 0;
    CHECK_MPI(MPI_Waitall(count, nulls.data(), MPI_STATUSES_IGNORE));
    CHECK_MPI(MPI_Waitany(count, nulls.data(), &index, MPI_STATUS_IGNORE));
    CHECK_EQ(index, MPI_UNDEFINED);
    CHECK_MPI(MPI_Waitsome(count, nulls.data(), &out, indices.data(), MPI_STATUSES_IGNORE));
    CHECK_EQ(out, MPI_UNDEFINED);
    CHECK_MPI(MPI_Testall(count, nulls.data(), &flag, MPI_STATUSES_IGNORE));
    CHECK_EQ(flag, 1);
    index = flag = out = 0;
    CHECK_MPI(MPI_Testany(count, nulls.data(), &index, &flag, MPI_STATUS_IGNORE));
    CHECK_EQ(index, MPI_UNDEFINED);
    CHECK_EQ(flag, 1);
    CHECK_MPI(MPI_Testsome(count, nulls.data(), &out, indices.data(), MPI_STATUSES_IGNORE));
    CHECK_EQ(out, MPI_UNDEFINED);
  }
}

/// A request freed while active: the data arrives all the same.
void free_active_sends() {
  if (check::size() == 1) return;  // MPICH 4.0 loses a message to oneself when its request is freed
  check::section("Request_free of active sends");
  const Described types[] = {describe::small(), describe::medium(), describe::large()};
  const int to = (check::rank() + 1) % check::size();
  const int from = (check::rank() + check::size() - 1) % check::size();
  std::vector<Image> out, in;
  for (const Described& type : types) {
    const auto seed = 100 + out.size();
    out.emplace_back(type, 1);
    in.emplace_back(type, 1);
    out.back().fill(seed);
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK_MPI(MPI_Isend(out.back().data(), 1, type.type, to, static_cast<int>(seed), MPI_COMM_WORLD,
                        &request));
    CHECK_MPI(MPI_Request_free(&request));
    CHECK(request == MPI_REQUEST_NULL);
  }
  // Backwards, so that the first cannot hide behind the order of arrival.
  for (std::size_t i = 3; i-- > 0;) {
    CHECK_MPI(MPI_Recv(in[i].data(), 1, types[i].type, from, static_cast<int>(100 + i),
                       MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(in[i].holds(100 + i));
  }
  MPI_Barrier(MPI_COMM_WORLD);  // the send buffers may go: every receiver has its data
}

/// A receive freed while active still receives.
void free_active_receive() {
  check::section("Request_free of an active receive");
  const Described type = describe::medium();
  const int to = (check::rank() + 1) % check::size();
  const int from = (check::rank() + check::size() - 1) % check::size();
  Image out(type, 1), in(type, 1);
  out.fill(7);
  MPI_Request request = MPI_REQUEST_NULL;
  CHECK_MPI(MPI_Irecv(in.data(), 1, type.type, from, 5, MPI_COMM_WORLD, &request));
  CHECK_MPI(MPI_Request_free(&request));
  CHECK(request == MPI_REQUEST_NULL);
  CHECK_MPI(MPI_Send(out.data(), 1, type.type, to, 5, MPI_COMM_WORLD));
  // A later message from the same rank has arrived, and every rank has got that far; calls that may
  // wait do the rest, which takes a device its time.
  MPI_Sendrecv(nullptr, 0, MPI_INT, to, 6, nullptr, 0, MPI_INT, from, 6, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  for (int i = 0; i < 100; ++i) {
    CHECK_MPI(MPI_Barrier(MPI_COMM_SELF));
    if (test_memory::on_device()) usleep(1000);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(in.holds(7));
}

#if MPI_VERSION >= 4
/// A partitioned request that is complete beside a receive that is not: MPICH's MPI_Testall, which
/// a wait may call meanwhile, fails on that.
void partitioned() {
  check::section("partitioned requests beside others");
  if (check::size() < 2 || check::rank() > 1) return;
  constexpr int kParts = 2;
  constexpr int kPart = 100;
  const Described type = describe::medium();
  std::vector<int> parts(kParts * kPart, check::rank());
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  for (int turn = 0; turn < 3; ++turn) {
    Image image(type, 1);
    if (check::rank() == 0) {
      image.fill(8);
      CHECK_MPI(MPI_Psend_init(parts.data(), kParts, kPart, MPI_INT, 1, 1, MPI_COMM_WORLD,
                               MPI_INFO_NULL, &requests[0]));
      CHECK_MPI(MPI_Start(&requests[0]));
      for (int part = 0; part < kParts; ++part) CHECK_MPI(MPI_Pready(part, requests[0]));
      CHECK_MPI(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
      usleep(50000);
      CHECK_MPI(MPI_Send(image.data(), 1, type.type, 1, 2, MPI_COMM_WORLD));
    } else {
      CHECK_MPI(MPI_Precv_init(parts.data(), kParts, kPart, MPI_INT, 0, 1, MPI_COMM_WORLD,
                               MPI_INFO_NULL, &requests[0]));
      CHECK_MPI(MPI_Start(&requests[0]));
      CHECK_MPI(MPI_Irecv(image.data(), 1, type.type, 0, 2, MPI_COMM_WORLD, &requests[1]));
      CHECK_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
      CHECK_EQ(parts.back(), 0);
      CHECK(image.holds(8));
    }
    CHECK_MPI(MPI_Request_free(&requests[0]));
  }
}
#endif

}  // namespace

int main(int argc, char** argv) {
  check::init(argc, argv);
  wait_each();
  waitall();
  waitany();
  waitsome();
  test_each();
  testall();
  testany();
  testsome();
  get_status();
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
  get_status_of_several();
#endif
  empty_arrays();
  free_active_sends();
  free_active_receive();
#if MPI_VERSION >= 4
  partitioned();
#endif
  return check::finish();
}
