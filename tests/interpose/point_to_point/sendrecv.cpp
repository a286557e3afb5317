/// \file  Sendrecv and Sendrecv_replace: unlike types, wildcards, MPI_PROC_NULL, oneself, statuses.
#include "described.hpp"

namespace {

void unlike_types() {
  check::section("Sendrecv of unlike types");
  const Described derived = describe::large();
  const Described dense = describe::commit(describe::contiguous(6 * 16384, describe::integer()));
  const Described other =
      describe::commit(describe::subarray(600, 700, 256, 384, 40, 50, describe::integer()));
  const Described* const types[] = {&derived, &dense, &other};
  for (const Described* out_type : types)
    for (const Described* in_type : types) {
      Image out(*out_type, 1), in(*in_type, 2);
      out.fill(1);
      MPI_Status status{};
      CHECK_MPI(MPI_Sendrecv(out.data(), 1, out_type->type, check::next(), 1, in.data(), 2,
                             in_type->type, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
      CHECK(in.holds(1, out.size_bytes()));
      CHECK_EQ(status.MPI_SOURCE, check::previous());
      CHECK_EQ(status.MPI_TAG, 1);
      int count = -1;
      CHECK_MPI(MPI_Get_count(&status, in_type->type, &count));
      CHECK_EQ(count, 1);
      MPI_Barrier(MPI_COMM_WORLD);  // wildcards
    }
}

/// A line, not a ring: the ends have nobody on one side.
void proc_null() {
  check::section("Sendrecv in a line");
  const int right = check::rank() + 1 < check::size() ? check::rank() + 1 : MPI_PROC_NULL;
  const int left = check::rank() > 0 ? check::rank() - 1 : MPI_PROC_NULL;
  for (const Described& type : {describe::small(), describe::large()}) {
    Image out(type, 1), in(type, 1);
    out.fill(2);
    MPI_Status status{};
    CHECK_MPI(MPI_Sendrecv(out.data(), 1, type.type, right, 2, in.data(), 1, type.type, left, 2,
                           MPI_COMM_WORLD, &status));
    CHECK(left == MPI_PROC_NULL ? in.untouched() : in.holds(2));
    CHECK_EQ(status.MPI_SOURCE, left);
    int count = -1;
    CHECK_MPI(MPI_Get_count(&status, type.type, &count));
    CHECK_EQ(count, left == MPI_PROC_NULL ? 0 : 1);

    out.fill(static_cast<std::uint64_t>(check::rank()));
    CHECK_MPI(
        MPI_Sendrecv_replace(out.data(), 1, type.type, right, 3, left, 3, MPI_COMM_WORLD, &status));
    CHECK(out.holds(static_cast<std::uint64_t>(left == MPI_PROC_NULL ? check::rank() : left)));
    CHECK_EQ(status.MPI_SOURCE, left);
  }
}

void replace() {
  check::section("Sendrecv_replace");
  for (const Described& type : {describe::small(), describe::medium(), describe::large()})
    for (const int count : {0, 1, 3}) {
      Image buffer(type, count);
      buffer.fill(static_cast<std::uint64_t>(check::rank()));
      MPI_Status status{};
      CHECK_MPI(MPI_Sendrecv_replace(buffer.data(), count, type.type, check::next(), 4,
                                     check::previous(), 4, MPI_COMM_WORLD, &status));
      CHECK(buffer.holds(static_cast<std::uint64_t>(check::previous())));
      CHECK_EQ(status.MPI_SOURCE, check::previous());
      CHECK_EQ(status.MPI_TAG, 4);
      int found = -1;
      CHECK_MPI(MPI_Get_count(&status, type.type, &found));
      CHECK_EQ(found, count);
    }
}

/// The reply may be shorter than the message: the rest of the buffer keeps its own data.
void shorter_reply() {
  check::section("Sendrecv_replace, shorter reply");
  const Described type = describe::medium();
  Image buffer(type, 1);
  buffer.fill(5);
  const int mine = check::rank() % 2, theirs = check::previous() % 2;
  MPI_Request request = MPI_REQUEST_NULL;
  std::vector<std::byte> ints(400);
  for (std::size_t i = 0; i < ints.size(); ++i) ints[i] = pattern(6, i);
  // Ranks of odd number send 100 integers; the others replace, and send their whole buffer.
  std::vector<std::byte> whole(static_cast<std::size_t>(type.size()));
  MPI_Status status{};
  if (mine == 0) {
    if (theirs == 0) return;  // an odd number of ranks: this one has a like neighbour
    CHECK_MPI(MPI_Sendrecv_replace(buffer.data(), 1, type.type, check::previous(), 6,
                                   check::previous(), 6, MPI_COMM_WORLD, &status));
    int count = 0;
    CHECK_MPI(MPI_Get_elements(&status, type.type, &count));
    CHECK_EQ(count, 100);
    CHECK_MPI(MPI_Get_count(&status, type.type, &count));
    CHECK_EQ(count, MPI_UNDEFINED);
    std::vector<std::byte> packed(static_cast<std::size_t>(type.size()));
    int position = 0;
    CHECK_MPI(MPI_Pack(buffer.data(), 1, type.type, packed.data(), type.size(), &position,
                       MPI_COMM_WORLD));
    for (std::size_t i = 0; i < packed.size(); ++i)
      if (packed[i] != (i < 400 ? pattern(6, i) : pattern(5, i)))
        return check::fail(__FILE__, __LINE__, "wrong byte " + std::to_string(i));
  } else {
    if (check::next() % 2 == 1) return;
    CHECK_MPI(MPI_Isend(ints.data(), 100, MPI_INT, check::next(), 6, MPI_COMM_WORLD, &request));
    CHECK_MPI(
        MPI_Recv(whole.data(), type.size(), MPI_BYTE, check::next(), 6, MPI_COMM_WORLD, &status));
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (std::size_t i = 0; i < whole.size(); ++i)
      if (whole[i] != pattern(5, i))
        return check::fail(__FILE__, __LINE__, "wrong byte " + std::to_string(i));
  }
}

/// Halo-like: both directions on a periodic line of ranks, columns of a matrix, several steps.
void halo_steps() {
  check::section("halo steps");
  constexpr int kRows = 300, kColumns = 40;
  std::vector<double> field(kRows * kColumns);
  const auto at = [&](int r, int c) -> double& {
    return field[static_cast<std::size_t>(r * kColumns + c)];
  };
  MPI_Datatype column = MPI_DATATYPE_NULL;
  CHECK_MPI(MPI_Type_vector(kRows, 1, kColumns, MPI_DOUBLE, &column));
  CHECK_MPI(MPI_Type_commit(&column));
  for (int step = 0; step < 10; ++step) {
    for (int r = 0; r < kRows; ++r)
      for (int c = 1; c + 1 < kColumns; ++c) at(r, c) = check::rank() * 1e6 + step * 1e4 + r + c;
    CHECK_MPI(MPI_Sendrecv(&at(0, 1), 1, column, check::previous(), 7, &at(0, kColumns - 1), 1,
                           column, check::next(), 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_Sendrecv(&at(0, kColumns - 2), 1, column, check::next(), 8, &at(0, 0), 1, column,
                           check::previous(), 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int r = 0; r < kRows; ++r) {
      CHECK_EQ(at(r, 0), check::previous() * 1e6 + step * 1e4 + r + kColumns - 2);
      CHECK_EQ(at(r, kColumns - 1), check::next() * 1e6 + step * 1e4 + r + 1);
    }
  }
  MPI_Type_free(&column);
}

}  // namespace

int main(int argc, char** argv) {
  check::init(argc, argv);
  unlike_types();
  proc_null();
  replace();
  shorter_reply();
  halo_steps();
  return check::finish();
}
