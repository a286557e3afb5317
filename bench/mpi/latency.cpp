// Times of small messages between two ranks, host memory: nothing here can be made faster, so this
// shows the cost of an interposer. send_recv is half a round trip; the other cases are whole calls:
// exchanges, messages to the rank itself or to nobody, collectives.
#include <array>
#include <cstdio>
#include <cstring>
#include <functional>

#include "mpi/environment.hpp"
#include "mpi/paired_sampling.hpp"
#include "support/options.hpp"
#include "support/report.hpp"

namespace {

using namespace bench;

constexpr int kTag = 3;
constexpr int kMaxBytes = 1024;

struct Measurement {
  std::string name;
  double calls_per_body;  // what the body's time is divided by
  std::function<void()> body;
};

// Both directions of a message; each rank counts up what it got, so that a lost or stale message
// shows.
struct Buffers {
  std::array<char, kMaxBytes> out{};
  std::array<char, kMaxBytes> in{};
};

Measurement send_recv(Buffers& b, int bytes, int rank) {
  return {"send_recv_" + std::to_string(bytes) + "B", 2, [&b, bytes, rank] {
            if (rank == 0) {
              MPI_Send(b.out.data(), bytes, MPI_BYTE, 1, kTag, MPI_COMM_WORLD);
              MPI_Recv(b.in.data(), bytes, MPI_BYTE, 1, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            } else {
              MPI_Recv(b.in.data(), bytes, MPI_BYTE, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
              MPI_Send(b.out.data(), bytes, MPI_BYTE, 0, kTag, MPI_COMM_WORLD);
            }
          }};
}

Measurement isend_irecv_waitall(Buffers& b, int rank) {
  return {"isend_irecv_waitall_8B", 1, [&b, rank] {
            MPI_Request requests[2];
            MPI_Irecv(b.in.data(), 8, MPI_BYTE, 1 - rank, kTag, MPI_COMM_WORLD, &requests[0]);
            MPI_Isend(b.out.data(), 8, MPI_BYTE, 1 - rank, kTag, MPI_COMM_WORLD, &requests[1]);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
          }};
}

Measurement sendrecv(Buffers& b, int rank) {
  return {"sendrecv_8B", 1, [&b, rank] {
            MPI_Sendrecv(b.out.data(), 8, MPI_BYTE, 1 - rank, kTag, b.in.data(), 8, MPI_BYTE,
                         1 - rank, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
          }};
}

// A message of a rank to itself: the calls alone, without the way from core to core.
Measurement to_itself(Buffers& b, MPI_Datatype type, const std::string& name) {
  return {"self_irecv_isend_waitall_" + name, 1, [&b, type] {
            MPI_Request requests[2];
            MPI_Irecv(b.in.data(), 1, type, 0, kTag, MPI_COMM_SELF, &requests[0]);
            MPI_Isend(b.out.data(), 1, type, 0, kTag, MPI_COMM_SELF, &requests[1]);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
          }};
}

// Whether each kind of message brings the peer's bytes, and only as many as were sent.
bool check(Buffers& b, int rank) {
  bool right = true;
  int seed = 1;
  for (const Measurement& m :
       {send_recv(b, 8, rank), isend_irecv_waitall(b, rank), sendrecv(b, rank)}) {
    b.in.fill('.');
    b.out.fill(static_cast<char>(seed + rank));
    m.body();
    std::array<char, 9> expected;
    expected.fill(static_cast<char>(seed + 1 - rank));
    expected[8] = '.';
    right &= std::memcmp(b.in.data(), expected.data(), expected.size()) == 0;
    seed += 2;
  }
  int sum = 0;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return right && sum == 1;
}

}  // namespace

int main(int argc, char** argv) {
  bench::Options options =
      bench::parse_options(argc, argv, "Small contiguous messages and collectives of two ranks");
  // 100 round trips or more a sample: single ones vary more than the difference that is looked for.
  options.budget.sample_seconds = options.quick ? 50e-6 : 500e-6;
  bench::Environment mpi(&argc, &argv);
  mpi.require_ranks(2);
  const int rank = mpi.rank();
  const bench::Report report("latency", mpi.ranks(), mpi.library());
  Buffers b;
  double value = 1;
  double sum = 0;
  if (!check(b, rank)) {
    std::fprintf(stderr, "latency: rank %d got wrong bytes\n", rank);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Datatype strided = MPI_DATATYPE_NULL;
  MPI_Type_vector(4, 1, 4, MPI_DOUBLE, &strided);
  MPI_Type_commit(&strided);
  const Measurement measurements[] = {
      send_recv(b, 0, rank),
      send_recv(b, 8, rank),
      send_recv(b, 1024, rank),
      isend_irecv_waitall(b, rank),
      sendrecv(b, rank),
      to_itself(b, MPI_DOUBLE, "8B"),
      to_itself(b, strided, "vector_4x8B"),
      {"send_to_nobody", 1,
       [&] { MPI_Send(b.out.data(), 8, MPI_BYTE, MPI_PROC_NULL, kTag, MPI_COMM_WORLD); }},
      {"barrier", 1, [] { MPI_Barrier(MPI_COMM_WORLD); }},
      {"allreduce_8B", 1,
       [&] { MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); }}};
  for (const Measurement& m : measurements) {
    if (options.list && rank == 0) std::puts(m.name.c_str());
    if (options.list || !options.selects(m.name)) continue;
    const auto us = scaled(sample_together(options.budget, m.body), 1e6 / m.calls_per_body);
    if (rank == 0) report.line(m.name, summarize(us), "-us", {{"op", "call"}});
  }
  MPI_Type_free(&strided);
  return 0;
}
