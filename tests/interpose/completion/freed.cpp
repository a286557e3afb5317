/// \file  MPI_Request_free on active requests, many at once: what is in flight arrives, by calls
/// that the program makes for other reasons.
#include <chrono>

#include "described.hpp"

namespace {

constexpr int kDone = 20000;  ///< tag of the message that follows all others

/// Message `seed` in a buffer, for comparison.
std::vector<std::byte> filled(const Described& type, std::uint64_t seed) {
  Image image(type, 1);
  image.fill(seed);
  return image.memory();
}

/// A few MPI calls after another, none of them about `in`, until all of its messages are there.
/// Nobody is told when a freed receive is.
bool arrive(std::vector<Image>& in, const Described& type, std::uint64_t first_seed) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  std::size_t there = 0;
  while (there < in.size() && std::chrono::steady_clock::now() < end) {
    int flag = 0;
    CHECK_MPI(MPI_Iprobe(MPI_ANY_SOURCE, kDone + 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_Barrier(MPI_COMM_SELF));
    while (there < in.size() && in[there].memory() == filled(type, first_seed + there)) ++there;
  }
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (!in[i].holds(first_seed + i)) return false;
  }
  return true;
}

/// \{ Active requests, of which the program gives up the handles.
void free_it(MPI_Request& request) {
  CHECK(request != MPI_REQUEST_NULL);
  CHECK_MPI(MPI_Request_free(&request));
  CHECK(request == MPI_REQUEST_NULL);
}
void receive_and_free(Image& in, const Described& type, int tag, bool persistent) {
  MPI_Request request = MPI_REQUEST_NULL;
  auto* const post = persistent ? MPI_Recv_init : MPI_Irecv;
  CHECK_MPI(post(in.data(), 1, type.type, check::previous(), tag, MPI_COMM_WORLD, &request));
  if (persistent) CHECK_MPI(MPI_Start(&request));
  free_it(request);
}
void send_and_free(Image& out, const Described& type, int tag, bool persistent) {
  MPI_Request request = MPI_REQUEST_NULL;
  auto* const post = persistent ? MPI_Send_init : MPI_Isend;
  CHECK_MPI(post(out.data(), 1, type.type, check::next(), tag, MPI_COMM_WORLD, &request));
  if (persistent) CHECK_MPI(MPI_Start(&request));
  free_it(request);
}
/// \}

std::vector<Image> images(const Described& type, int count) {
  std::vector<Image> all;
  for (int i = 0; i < count; ++i) all.emplace_back(type, 1);
  return all;
}

void receives(const Described& type, int count, bool persistent) {
  check::section(persistent ? "active persistent receives" : "active receives");
  std::vector<Image> in = images(type, count);
  Image out(type, 1);
  for (int i = 0; i < count; ++i) {
    receive_and_free(in[static_cast<std::size_t>(i)], type, i, persistent);
  }
  for (int i = 0; i < count; ++i) {
    out.fill(static_cast<std::uint64_t>(100 + i));
    MPI_Request send = MPI_REQUEST_NULL;
    CHECK_MPI(MPI_Isend(out.data(), 1, type.type, check::next(), i, MPI_COMM_WORLD, &send));
    CHECK_MPI(MPI_Wait(&send, MPI_STATUS_IGNORE));
  }
  CHECK_MPI(MPI_Sendrecv(nullptr, 0, MPI_INT, check::next(), kDone, nullptr, 0, MPI_INT,
                         check::previous(), kDone, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK(arrive(in, type, 100));
  MPI_Barrier(MPI_COMM_WORLD);
}

/// The receiver posts its receives last message first, so that the sends are active for long.
void sends(const Described& type, int count, bool persistent) {
  check::section(persistent ? "active persistent sends" : "active sends");
  std::vector<Image> out = images(type, count);
  Image in(type, 1);
  for (int i = 0; i < count; ++i) {
    Image& image = out[static_cast<std::size_t>(i)];
    image.fill(static_cast<std::uint64_t>(100 + i));
    send_and_free(image, type, i, persistent);
  }
  for (int i = count; i-- > 0;) {
    in.poison();
    CHECK_MPI(
        MPI_Recv(in.data(), 1, type.type, check::previous(), i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(in.holds(static_cast<std::uint64_t>(100 + i)));
  }
  MPI_Barrier(MPI_COMM_WORLD);  // the send buffers may go: every receiver has its data
}

/// Both ends of one message are freed, and the type as well.
void both(Described type, int count, bool persistent) {
  check::section(persistent ? "both ends, persistent" : "both ends");
  std::vector<Image> in = images(type, count), out = images(type, count);
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    receive_and_free(in[at], type, i, persistent);
    out[at].fill(100 + at);
  }
  for (int i = 0; i < count; ++i) {
    send_and_free(out[static_cast<std::size_t>(i)], type, i, persistent);
  }
  type.release();
  CHECK(arrive(in, type, 100));
  MPI_Barrier(MPI_COMM_WORLD);
}

/// Freed requests among others that are completed: neither disturbs the other.
void among_others(const Described& type, int count) {
  check::section("freed ones among others");
  std::vector<Image> in = images(type, count), out = images(type, count);
  std::vector<MPI_Request> requests;
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (i % 2 == 0) {
      receive_and_free(in[at], type, i, i % 4 == 0);
    } else {
      requests.push_back(MPI_REQUEST_NULL);
      CHECK_MPI(MPI_Irecv(in[at].data(), 1, type.type, check::previous(), i, MPI_COMM_WORLD,
                          &requests.back()));
    }
  }
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    out[at].fill(100 + at);
    if (i % 3 == 0) {
      send_and_free(out[at], type, i, i % 2 == 0);
    } else {
      requests.push_back(MPI_REQUEST_NULL);
      CHECK_MPI(MPI_Isend(out[at].data(), 1, type.type, check::next(), i, MPI_COMM_WORLD,
                          &requests.back()));
    }
  }
  CHECK_MPI(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
  for (int i = 1; i < count; i += 2) {
    CHECK(in[static_cast<std::size_t>(i)].holds(static_cast<std::uint64_t>(100 + i)));
  }
  CHECK(arrive(in, type, 100));
  MPI_Barrier(MPI_COMM_WORLD);
}

void all() {
  const Described small = describe::small(), medium = describe::medium(), large = describe::large();
  for (const bool persistent : {false, true}) {
    for (const Described* type : {&small, &medium, &large}) {
      receives(*type, 1, persistent);
      sends(*type, 1, persistent);
    }
    receives(small, 1000, persistent);
    receives(medium, 100, persistent);
    receives(large, 8, persistent);
    sends(small, 1000, persistent);
    sends(medium, 100, persistent);
    sends(large, 8, persistent);
    both(describe::small(), 1000, persistent);
    both(describe::large(), 8, persistent);
  }
  for (const Described* type : {&small, &medium, &large}) among_others(*type, 24);
}

}  // namespace

int main(int argc, char** argv) {
  check::init(argc, argv);
  all();
  return check::finish();
}
