/// \file  Sizes and offsets past 2^31: types whose parts lie GiB apart, and where the library has
/// them (MPI 4) the _c calls with large counts. Memory that is never touched costs nothing: it is
/// mapped, not allocated.
#include <sys/mman.h>

#include "described.hpp"

namespace {

/// Zeroed memory that takes up pages only where it is written.
class Mapping {
 public:
  explicit Mapping(std::size_t bytes) : bytes_(bytes) {
    data_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(data_ != MAP_FAILED);
  }
  ~Mapping() { munmap(data_, bytes_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  int* at(std::size_t byte) { return reinterpret_cast<int*>(static_cast<char*>(data_) + byte); }

 private:
  std::size_t bytes_;
  void* data_ = nullptr;
};

constexpr std::size_t kGiB = std::size_t{1} << 30;

/// Three blocks, 3 GiB apart: offsets need 64 bits.
void far_apart() {
  check::section("blocks 3 GiB apart");
  constexpr int kInts = 1000;
  Mapping out(7 * kGiB), in(7 * kGiB);
  for (std::size_t b = 0; b < 3; ++b)
    for (int i = 0; i < kInts; ++i)
      out.at(3 * kGiB * b)[i] = static_cast<int>(b) * kInts + i + check::rank();
  MPI_Datatype type = MPI_DATATYPE_NULL;
  CHECK_MPI(MPI_Type_create_hvector(3, kInts, static_cast<MPI_Aint>(3 * kGiB), MPI_INT, &type));
  CHECK_MPI(MPI_Type_commit(&type));
  for (const bool nonblocking : {false, true}) {
    if (nonblocking) {
      MPI_Request requests[2];
      CHECK_MPI(MPI_Irecv(in.at(0), 1, type, check::previous(), 1, MPI_COMM_WORLD, &requests[0]));
      CHECK_MPI(MPI_Isend(out.at(0), 1, type, check::next(), 1, MPI_COMM_WORLD, &requests[1]));
      CHECK_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    } else {
      CHECK_MPI(MPI_Sendrecv(out.at(0), 1, type, check::next(), 1, in.at(0), 1, type,
                             check::previous(), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    for (std::size_t b = 0; b < 3; ++b)
      for (int i = 0; i < kInts; ++i) {
        CHECK_EQ(in.at(3 * kGiB * b)[i], static_cast<int>(b) * kInts + i + check::previous());
        in.at(3 * kGiB * b)[i] = -1;
      }
  }
  std::vector<int> packed(3 * kInts);
  int position = 0;
  CHECK_MPI(MPI_Pack(out.at(0), 1, type, packed.data(), 12 * kInts, &position, MPI_COMM_WORLD));
  CHECK_EQ(position, 12 * kInts);
  for (int i = 0; i < 3 * kInts; ++i)
    CHECK_EQ(packed[static_cast<std::size_t>(i)], i + check::rank());
  CHECK_MPI(MPI_Type_free(&type));
}

/// A type longer than 2 GiB, sent twice: the second element starts past 2^32.
void long_extent() {
  check::section("extent past 2^32");
  Mapping memory(6 * kGiB);
  *memory.at(0) = 11 + check::rank();
  *memory.at(5 * kGiB) = 22 + check::rank();
  MPI_Datatype type = MPI_DATATYPE_NULL;
  CHECK_MPI(MPI_Type_create_resized(MPI_INT, 0, static_cast<MPI_Aint>(5 * kGiB), &type));
  CHECK_MPI(MPI_Type_commit(&type));
  int in[2] = {-1, -1};
  CHECK_MPI(MPI_Sendrecv(memory.at(0), 2, type, check::next(), 2, in, 2, MPI_INT, check::previous(),
                         2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK_EQ(in[0], 11 + check::previous());
  CHECK_EQ(in[1], 22 + check::previous());
  CHECK_MPI(MPI_Type_free(&type));
}

#if MPI_VERSION >= 4
/// The large-count forms of ordinary transfers.
void large_count_calls() {
  check::section("_c calls");
  constexpr int kCount = 2;
  const Described type = describe::medium();
  Image out(type, kCount), in(type, kCount);
  out.fill(4);
  MPI_Status status{};
  MPI_Count count = -1;
  const auto check_received = [&] {
    CHECK(in.holds(4));
    CHECK_MPI(MPI_Get_count_c(&status, type.type, &count));
    CHECK_EQ(count, kCount);
    CHECK_MPI(MPI_Get_elements_c(&status, type.type, &count));
    CHECK_EQ(count, kCount * type.size() / 4);
    in.poison();
  };
  MPI_Request requests[2];
  CHECK_MPI(MPI_Irecv_c(in.data(), kCount, type.type, check::previous(), 3, MPI_COMM_WORLD,
                        &requests[0]));
  CHECK_MPI(
      MPI_Isend_c(out.data(), kCount, type.type, check::next(), 3, MPI_COMM_WORLD, &requests[1]));
  CHECK_MPI(MPI_Wait(&requests[0], &status));
  check_received();
  CHECK_MPI(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
  CHECK_MPI(MPI_Sendrecv_c(out.data(), kCount, type.type, check::next(), 3, in.data(), kCount,
                           type.type, check::previous(), 3, MPI_COMM_WORLD, &status));
  check_received();
  CHECK_MPI(
      MPI_Issend_c(out.data(), kCount, type.type, check::next(), 3, MPI_COMM_WORLD, &requests[0]));
  CHECK_MPI(
      MPI_Recv_c(in.data(), kCount, type.type, check::previous(), 3, MPI_COMM_WORLD, &status));
  check_received();
  CHECK_MPI(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
  CHECK_MPI(MPI_Send_init_c(out.data(), kCount, type.type, check::next(), 3, MPI_COMM_WORLD,
                            &requests[0]));
  CHECK_MPI(MPI_Recv_init_c(in.data(), kCount, type.type, check::previous(), 3, MPI_COMM_WORLD,
                            &requests[1]));
  CHECK_MPI(MPI_Startall(2, requests));
  CHECK_MPI(MPI_Wait(&requests[1], &status));
  check_received();
  CHECK_MPI(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
  CHECK_MPI(MPI_Request_free(&requests[0]));
  CHECK_MPI(MPI_Request_free(&requests[1]));
  MPI_Message message = MPI_MESSAGE_NULL;
  CHECK_MPI(
      MPI_Isend_c(out.data(), kCount, type.type, check::next(), 3, MPI_COMM_WORLD, &requests[0]));
  CHECK_MPI(MPI_Mprobe(check::previous(), 3, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
  CHECK_MPI(MPI_Mrecv_c(in.data(), kCount, type.type, &message, &status));
  check_received();
  CHECK_MPI(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
}

/// Packed with 64-bit positions; and a type made by a _c constructor, packed by the ordinary call.
void large_count_packs() {
  constexpr int kCount = 2, kBlocks = 100;
  const Described type = describe::medium();
  Image out(type, kCount), in(type, kCount);
  out.fill(4);
  MPI_Count bytes = 0, position = 0;
  CHECK_MPI(MPI_Pack_size_c(kCount, type.type, MPI_COMM_WORLD, &bytes));
  std::vector<std::byte> packed(static_cast<std::size_t>(bytes));
  CHECK_MPI(
      MPI_Pack_c(out.data(), kCount, type.type, packed.data(), bytes, &position, MPI_COMM_WORLD));
  CHECK_EQ(position, kCount * type.size());
  position = 0;
  CHECK_MPI(
      MPI_Unpack_c(packed.data(), bytes, &position, in.data(), kCount, type.type, MPI_COMM_WORLD));
  CHECK(in.holds(4));
  Described made = describe::hvector(kBlocks, 3, 20, describe::integer());
  made.release();
  CHECK_MPI(MPI_Type_create_hvector_c(kBlocks, 3, 20, MPI_INT, &made.type));
  made.owned = true;
  made = describe::commit(std::move(made));
  Image large_out(made, 1), large_in(made, 1);
  large_out.fill(5);
  CHECK_MPI(MPI_Sendrecv(large_out.data(), 1, made.type, check::next(), 4, large_in.data(), 1,
                         made.type, check::previous(), 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK(large_in.holds(5));
}

/// More elements than an int counts, in one message from rank 0 to the last. The sender's bytes are
/// the zero page; only the receiver needs memory, a little more than 2 GiB.
void past_int_count() {
  check::section("2^31 + 5 elements");
  const MPI_Count count = (MPI_Count{1} << 31) + 5;
  if (check::rank() == check::size() - 1 || check::rank() == 0) {
    MPI_Request send = MPI_REQUEST_NULL;
    Mapping zeros(static_cast<std::size_t>(count));
    if (check::rank() == 0)
      CHECK_MPI(
          MPI_Isend_c(zeros.at(0), count, MPI_BYTE, check::size() - 1, 5, MPI_COMM_WORLD, &send));
    if (check::rank() == check::size() - 1) {
      Mapping in(static_cast<std::size_t>(count) + 16);
      char* const end = reinterpret_cast<char*>(in.at(0)) + count;
      end[-1] = end[0] = 'x';
      MPI_Status status{};
      CHECK_MPI(MPI_Recv_c(in.at(0), count, MPI_BYTE, 0, 5, MPI_COMM_WORLD, &status));
      MPI_Count received = -1;
      CHECK_MPI(MPI_Get_count_c(&status, MPI_BYTE, &received));
      CHECK_EQ(received, count);
      int narrow = 0;
      CHECK_MPI(MPI_Get_count(&status, MPI_BYTE, &narrow));
      CHECK_EQ(narrow, MPI_UNDEFINED);
      CHECK_EQ(end[-1], 0);
      CHECK_EQ(end[0], 'x');
    }
    CHECK_MPI(MPI_Wait(&send, MPI_STATUS_IGNORE));
  }
}
#endif

}  // namespace

int main(int argc, char** argv) {
  check::init(argc, argv);
  far_apart();
  long_extent();
#if MPI_VERSION >= 4
  large_count_calls();
  large_count_packs();
  if (check::size() == 2) past_int_count();  // seconds long: once is enough
#endif
  return check::finish();
}
