/// \file  Collective calls whose blocks have more elements than an int counts, where the library
/// has the _c forms (MPI 4); else one element of more bytes. Rank 0 sends to the last one. Memory
/// that is never written costs nothing: it is mapped, not allocated.
#include <sys/mman.h>

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "check.hpp"

namespace {

constexpr std::int64_t kBytes = (std::int64_t{1} << 31) + 4096;
/// A datatype of as many bytes, in rows with gaps.
constexpr int kRow = 1024, kPitch = 1032, kRows = kBytes / kRow;
constexpr std::int64_t kRoom = std::int64_t{kRows} * kPitch;
constexpr char kGuard = 'x';

/// Bytes of a block that are not zero, and tell it from others of its call.
constexpr std::array<std::int64_t, 5> kMarked = {0, kBytes / 2, (std::int64_t{1} << 31) - 1,
                                                 std::int64_t{1} << 31, kBytes - 1};

/// A buffer, whose block begins behind a guard and has one at its end.
class Buffer {
 public:
  Buffer() {
    data_ = static_cast<char*>(mmap(nullptr, kRoom + 2 * kFront, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    CHECK(data_ != MAP_FAILED);
  }
  ~Buffer() { munmap(data_, kRoom + 2 * kFront); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  [[nodiscard]] char* block() const { return data_ + kFront; }

 private:
  static constexpr std::int64_t kFront = 4096;
  char* data_ = nullptr;
};

/// Where byte `i` of a block lies.
std::int64_t place(std::int64_t i, bool rows) { return rows ? i / kRow * kPitch + i % kRow : i; }

bool sends() { return check::rank() == 0; }
bool receives() { return check::rank() == check::size() - 1; }

/// Runs `call(sent, received)`, and looks at what has come.
template <typename Call>
void exchange(const char* section, char mark, bool rows, const Call& call) {
  check::section(section);
  const Buffer sent, received;
  char* const end = received.block() + place(kBytes - 1, rows) + 1;
  if (sends())
    for (const std::int64_t i : kMarked) sent.block()[place(i, rows)] = mark;
  if (receives()) received.block()[-1] = *end = kGuard;
  call(sent.block(), received.block());
  if (!receives()) return;
  for (const std::int64_t i : kMarked) {
    CHECK_EQ(received.block()[place(i, rows)], mark);
    if (i + 1 < kBytes && i + 1 != kMarked[3]) CHECK_EQ(received.block()[place(i + 1, rows)], 0);
  }
  CHECK_EQ(received.block()[-1], kGuard);
  CHECK_EQ(*end, kGuard);
}

template <typename Count>
std::vector<Count> only(int rank, bool here, Count count) {
  std::vector<Count> counts(static_cast<std::size_t>(check::size()), 0);
  if (here) counts[static_cast<std::size_t>(rank)] = count;
  return counts;
}

#if MPI_VERSION < 4
MPI_Datatype rows() {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  CHECK_MPI(MPI_Type_vector(kRows, kRow, kPitch, MPI_BYTE, &type));
  CHECK_MPI(MPI_Type_commit(&type));
  return type;
}

void all() {
  MPI_Datatype type = rows();
  const std::vector<MPI_Datatype> types(static_cast<std::size_t>(check::size()), type);
  const std::vector<int> places(types.size(), 0);
  const std::vector<int> to = only(check::size() - 1, sends(), 1), from = only(0, receives(), 1);
  exchange("MPI_Alltoallw", 'a', true, [&](const char* sent, char* received) {
    CHECK_MPI(MPI_Alltoallw(sent, to.data(), places.data(), types.data(), received, from.data(),
                            places.data(), types.data(), MPI_COMM_WORLD));
  });
  CHECK_MPI(MPI_Type_free(&type));
}

void neighbours(MPI_Comm ring) {
  MPI_Datatype type = rows();
  const MPI_Aint at = 0;
  const int to = sends() ? 1 : 0, from = receives() ? 1 : 0;
  exchange("MPI_Ineighbor_alltoallw", 'b', true, [&](const char* sent, char* received) {
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK_MPI(MPI_Ineighbor_alltoallw(sent, &to, &at, &type, received, &from, &at, &type, ring,
                                      &request));
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
  });
  CHECK_MPI(MPI_Type_free(&type));
}
#else
void all() {
  const std::vector<MPI_Count> to = only<MPI_Count>(check::size() - 1, sends(), kBytes),
                               from = only<MPI_Count>(0, receives(), kBytes);
  const std::vector<MPI_Aint> at(to.size(), 0);
  exchange("MPI_Alltoallv_c", 'c', false, [&](const char* sent, char* received) {
    CHECK_MPI(MPI_Alltoallv_c(sent, to.data(), at.data(), MPI_BYTE, received, from.data(),
                              at.data(), MPI_BYTE, MPI_COMM_WORLD));
  });
}

void neighbours(MPI_Comm ring) {
  const MPI_Aint at = 0;
  const MPI_Count to = sends() ? kBytes : 0, from = receives() ? kBytes : 0;
  exchange("MPI_Neighbor_alltoallv_c", 'd', false, [&](const char* sent, char* received) {
    CHECK_MPI(
        MPI_Neighbor_alltoallv_c(sent, &to, &at, MPI_BYTE, received, &from, &at, MPI_BYTE, ring));
  });
}
#endif

/// Each rank sends to the one before it, so that rank 0 sends to the last.
MPI_Comm make_ring() {
  const int to = check::previous(), from = check::next();
  MPI_Comm ring = MPI_COMM_NULL;
  CHECK_MPI(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &from, MPI_UNWEIGHTED, 1, &to,
                                           MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &ring));
  return ring;
}

}  // namespace

int main(int argc, char** argv) {
  check::init(argc, argv);
  const bool is_all = std::string_view(argv[1]) == "all";
  MPI_Comm ring = make_ring();
  is_all ? all() : neighbours(ring);
  CHECK_MPI(MPI_Comm_free(&ring));
  return check::finish();
}
