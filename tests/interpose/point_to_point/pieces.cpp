/// \file  Messages that a library takes in pieces, of elements of several sizes: the two sides name
/// them by unlike types, or one of them as bytes that it has packed. (MPICH over UCX refuses a
/// piece that ends inside an element.)
#include "described.hpp"

namespace {

using describe::named;

/// Elements of one signature: as they lie in a C struct, side by side, and far apart.
struct Layouts {
  Described natural;
  Described dense;
  Described apart;
};

Layouts layouts(const Described& first, const Described& second, int extent) {
  using describe::commit, describe::resized, describe::structure;
  const auto pair = [&](MPI_Aint at, MPI_Aint whole) {
    return commit(resized(0, whole, structure({1, 1}, {0, at}, {&first, &second})));
  };
  return {pair(first.extent, extent), pair(first.extent, first.extent + second.extent),
          pair(3 * first.extent, 6 * first.extent)};
}

enum class How { Recv, Irecv, RecvInit, Mrecv, Imrecv, Sendrecv };

void message(const Described& out_type, const Described& in_type, int count, How how) {
  Image out(out_type, count), in(in_type, count);
  out.fill(static_cast<std::uint64_t>(count));
  MPI_Request receive = MPI_REQUEST_NULL, send = MPI_REQUEST_NULL;
  MPI_Status status{};
  if (how == How::Sendrecv) {
    CHECK_MPI(MPI_Sendrecv(out.data(), count, out_type.type, check::next(), 1, in.data(), count,
                           in_type.type, check::previous(), 1, MPI_COMM_WORLD, &status));
  } else {
    if (how == How::Irecv) {
      CHECK_MPI(MPI_Irecv(in.data(), count, in_type.type, check::previous(), 1, MPI_COMM_WORLD,
                          &receive));
    } else if (how == How::RecvInit) {
      CHECK_MPI(MPI_Recv_init(in.data(), count, in_type.type, check::previous(), 1, MPI_COMM_WORLD,
                              &receive));
      CHECK_MPI(MPI_Start(&receive));
    }
    CHECK_MPI(MPI_Isend(out.data(), count, out_type.type, check::next(), 1, MPI_COMM_WORLD, &send));
    if (how == How::Recv) {
      CHECK_MPI(
          MPI_Recv(in.data(), count, in_type.type, check::previous(), 1, MPI_COMM_WORLD, &status));
    } else if (how == How::Mrecv || how == How::Imrecv) {
      MPI_Message found = MPI_MESSAGE_NULL;
      CHECK_MPI(MPI_Mprobe(check::previous(), 1, MPI_COMM_WORLD, &found, &status));
      if (how == How::Mrecv) {
        CHECK_MPI(MPI_Mrecv(in.data(), count, in_type.type, &found, &status));
      } else {
        CHECK_MPI(MPI_Imrecv(in.data(), count, in_type.type, &found, &receive));
      }
    }
    if (receive != MPI_REQUEST_NULL) CHECK_MPI(MPI_Wait(&receive, &status));
    CHECK_MPI(MPI_Wait(&send, MPI_STATUS_IGNORE));
    if (how == How::RecvInit) CHECK_MPI(MPI_Request_free(&receive));
  }
  CHECK(in.holds(static_cast<std::uint64_t>(count)));
  int got = -1;
  CHECK_MPI(MPI_Get_count(&status, in_type.type, &got));
  CHECK_EQ(got, count);
}

/// The sender packs in MPI_Send from fewer bytes on than the receiver does in MPI_Irecv.
void one_side_packs(const Described& type, int count) {
  Image out(type, count), in(type, count + 50);
  out.fill(7);
  MPI_Request receive = MPI_REQUEST_NULL;
  CHECK_MPI(
      MPI_Irecv(in.data(), count + 50, type.type, check::previous(), 2, MPI_COMM_WORLD, &receive));
  CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
  CHECK_MPI(MPI_Send(out.data(), count, type.type, check::next(), 2, MPI_COMM_WORLD));
  CHECK_MPI(MPI_Wait(&receive, MPI_STATUS_IGNORE));
  CHECK(in.holds(7, out.size_bytes()));
}

#ifdef MPI_SESSION_NULL  // MPI 4, or Open MPI 5, which is MPI 3.1
void combined(const Described& out_type, const Described& in_type, int count) {
  Image out(out_type, count), in(in_type, count);
  out.fill(9);
  MPI_Request requests[2];
  CHECK_MPI(MPI_Isendrecv(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 4, in.data(), count, in_type.type,
                          check::previous(), 4, MPI_COMM_WORLD, &requests[0]));
  CHECK_MPI(
      MPI_Isend(out.data(), count, out_type.type, check::next(), 4, MPI_COMM_WORLD, &requests[1]));
  CHECK_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  CHECK(in.holds(9));
}
#endif

void replace(const Described& type, int count) {
  Image both(type, count);
  both.fill(static_cast<std::uint64_t>(check::rank()));
  CHECK_MPI(MPI_Sendrecv_replace(both.data(), count, type.type, check::next(), 3, check::previous(),
                                 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK(both.holds(static_cast<std::uint64_t>(check::previous())));
}

}  // namespace

int main(int argc, char** argv) {
  check::init(argc, argv);
  const Described real = describe::real(), integer = describe::integer();
  const Described letter = named(MPI_CHAR, 1), complex = named(MPI_C_DOUBLE_COMPLEX, 16);
  for (const Layouts& unit : {layouts(real, letter, 16), layouts(real, integer, 16),
                              layouts(complex, real, 32), layouts(complex, complex, 48)}) {
    for (const int bytes : {3000, 9000, 20'000, 33'000, 70'000, 150'000}) {
      const int count = bytes / unit.dense.size();
      check::section("unlike types");
      for (const How how :
           {How::Recv, How::Irecv, How::RecvInit, How::Mrecv, How::Imrecv, How::Sendrecv}) {
        message(unit.apart, unit.natural, count, how);
        message(unit.apart, unit.dense, count, how);
      }
      check::section("one side packs");
      one_side_packs(unit.natural, count);
#ifdef MPI_SESSION_NULL
      check::section("Isendrecv");
      if (!test_memory::on_device()) combined(unit.apart, unit.dense, count);
#endif
      check::section("Sendrecv_replace");
      if (std::getenv("TEST_PRELOADED") == nullptr) continue;  // MPICH refuses its own
      replace(unit.natural, count);
      replace(unit.dense, count);
    }
  }
  return check::finish();
}
