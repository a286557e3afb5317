// A message waits for work that the default stream holds when the message is started, and not for
// later work: a wait ends though the stream is held up.
#include <vector>

#include "check.hpp"
#include "memory.hpp"

namespace {

using Bytes = test_memory::Buffer<unsigned char>;

constexpr unsigned char kBefore = 0xee;
constexpr int kBlock = 64;

int peer() { return check::size() - 1 - check::rank(); }

/// Blocks of 64 bytes, and gaps as long.
class Blocks {
 public:
  explicit Blocks(int count) : count_(count) {
    CHECK_MPI(MPI_Type_vector(count, kBlock, 2 * kBlock, MPI_BYTE, &type_));
    CHECK_MPI(MPI_Type_commit(&type_));
  }
  ~Blocks() { MPI_Type_free(&type_); }
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;
  [[nodiscard]] MPI_Datatype type() const { return type_; }
  [[nodiscard]] std::size_t bytes() const { return std::size_t{2 * kBlock} * count_; }
  /// Whether the blocks have that value, and the gaps what was there before.
  [[nodiscard]] bool hold(Bytes& buffer, unsigned char value) const {
    const std::vector<unsigned char>& all = buffer.get();
    for (std::size_t i = 0; i < bytes(); ++i) {
      if (all[i] != (i / kBlock % 2 == 0 ? value : kBefore)) return false;
    }
    return true;
  }

 private:
  int count_;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

enum class How { Blocking, Nonblocking, Persistent };

/// Both ways, between ranks that hold their streams up meanwhile, or do not.
void exchange(const Blocks& blocks, Bytes& out, Bytes& in, How how, bool held) {
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  if (how == How::Blocking) {
    CHECK_MPI(MPI_Sendrecv(out.data(), 1, blocks.type(), peer(), 1, in.data(), 1, blocks.type(),
                           peer(), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    return;
  }
  if (how == How::Persistent) {
    CHECK_MPI(MPI_Recv_init(in.data(), 1, blocks.type(), peer(), 1, MPI_COMM_WORLD, &requests[0]));
    CHECK_MPI(MPI_Send_init(out.data(), 1, blocks.type(), peer(), 1, MPI_COMM_WORLD, &requests[1]));
    CHECK_MPI(MPI_Startall(2, requests));
  } else {
    CHECK_MPI(MPI_Irecv(in.data(), 1, blocks.type(), peer(), 1, MPI_COMM_WORLD, &requests[0]));
    CHECK_MPI(MPI_Isend(out.data(), 1, blocks.type(), peer(), 1, MPI_COMM_WORLD, &requests[1]));
  }
  if (held) test_memory::hold_up();
  CHECK_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  if (held) test_memory::let_go();
  for (MPI_Request& request : requests) {
    if (request != MPI_REQUEST_NULL) CHECK_MPI(MPI_Request_free(&request));
  }
}

/// The bytes that are sent come late, and so do some that the receive overwrites.
void come_before(const Blocks& blocks, How how, unsigned char value) {
  Bytes out(blocks.bytes()), in(blocks.bytes());
  for (int turn = 0; turn < 3; ++turn) {
    const auto sent = static_cast<unsigned char>(value + turn);
    test_memory::set_late(out.data(), static_cast<unsigned char>(sent + check::rank()),
                          blocks.bytes());
    test_memory::set_late(in.data(), kBefore, blocks.bytes());
    exchange(blocks, out, in, how, false);
    test_memory::finish_work();
    CHECK(blocks.hold(in, static_cast<unsigned char>(sent + peer())));
  }
}

void come_after(const Blocks& blocks, How how, unsigned char value) {
  Bytes out(blocks.bytes(), static_cast<unsigned char>(value + check::rank()));
  Bytes in(blocks.bytes(), kBefore);
  exchange(blocks, out, in, how, false);  // takes the memory that it needs
  for (int turn = 0; turn < 3; ++turn) {
    in.fill(kBefore);
    exchange(blocks, out, in, how, true);
    test_memory::finish_work();
    CHECK(blocks.hold(in, static_cast<unsigned char>(value + peer())));
  }
}

}  // namespace

int main(int argc, char** argv) {
  check::init(argc, argv);
  unsigned char value = 1;
  for (const int count : {4, 32, 4096, 32768}) {
    const Blocks blocks(count);
    for (const How how : {How::Blocking, How::Nonblocking, How::Persistent}) {
      check::section("work before");
      come_before(blocks, how, value += 4);
      if (how == How::Blocking) continue;
      check::section("work after");
      come_after(blocks, how, value += 4);
    }
  }
  return check::finish();
}
