// Messages from and to buffers that come and go: one allocation after the other, often at the same
// address, and more of them at a time than are shared.
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "described.hpp"

namespace {

int peer() { return check::size() - 1 - check::rank(); }

/// Both ways at once, from buffer to buffer.
void exchange(Image& out, Image& in, const Described& type, std::uint64_t seed) {
  out.fill(seed + static_cast<std::uint64_t>(check::rank()));
  in.poison();
  MPI_Request requests[2];
  CHECK_MPI(MPI_Irecv(in.data(), 1, type.type, peer(), 1, MPI_COMM_WORLD, &requests[0]));
  CHECK_MPI(MPI_Isend(out.data(), 1, type.type, peer(), 1, MPI_COMM_WORLD, &requests[1]));
  CHECK_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  CHECK(in.holds(seed + static_cast<std::uint64_t>(peer())));
  CHECK(out.holds(seed + static_cast<std::uint64_t>(check::rank())));
}

void pass() {
  const Described types[] = {describe::medium(), describe::large()};
  check::section("one after the other");
  for (std::uint64_t turn = 0; turn < 20; ++turn) {
    const Described& type = types[turn % 2];
    Image out(type, 1), in(type, 1);
    for (std::uint64_t again = 0; again < 4; ++again) exchange(out, in, type, 10 * turn + again);
  }
  check::section("many at a time");
  constexpr int kBuffers = 80;
  std::vector<std::unique_ptr<Image>> out, in;
  for (int i = 0; i < kBuffers; ++i) {
    out.push_back(std::make_unique<Image>(types[0], 1));
    in.push_back(std::make_unique<Image>(types[0], 1));
  }
  for (int turn = 0; turn < 3; ++turn) {
    for (int i = 0; i < kBuffers; ++i) {
      const auto at = static_cast<std::size_t>(i);
      exchange(*out[at], *in[at], types[0], static_cast<std::uint64_t>(1000 + kBuffers * turn + i));
    }
    out[3] = std::make_unique<Image>(types[0], 1);  // and one of them anew
  }
}

/// The memory of a message is freed, and other memory is at its address, while a message is on its
/// way that lies behind it.
void renew() {
  check::section("other memory at the same address");
  const Described type = describe::large();
  constexpr int kElements = 4;  // more than a piece of cuMemMap, and more behind it
  Image out(type, kElements), in(type, kElements);
  const auto extent = static_cast<std::size_t>(type.extent);
  for (std::uint64_t turn = 0; turn < 12; ++turn) {
    const std::uint64_t mine = 100 + turn + static_cast<std::uint64_t>(check::rank());
    const std::uint64_t theirs = 100 + turn + static_cast<std::uint64_t>(peer());
    out.fill(mine);
    in.poison();
    auto* const from = static_cast<std::byte*>(out.data());
    auto* const to = static_cast<std::byte*>(in.data());
    MPI_Request requests[4];
    CHECK_MPI(MPI_Isend(from + 3 * extent, 1, type.type, peer(), 2, MPI_COMM_WORLD, &requests[0]));
    if (turn % 3 == 2) out.renew();
    CHECK_MPI(MPI_Isend(from, 3, type.type, peer(), 1, MPI_COMM_WORLD, &requests[1]));
    CHECK_MPI(MPI_Irecv(to, 3, type.type, peer(), 1, MPI_COMM_WORLD, &requests[2]));
    CHECK_MPI(MPI_Irecv(to + 3 * extent, 1, type.type, peer(), 2, MPI_COMM_WORLD, &requests[3]));
    CHECK_MPI(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
    CHECK(in.holds(theirs));
    CHECK(out.holds(mine));
  }
}

/// How many mappings of a stand-in's memory this process has, its own and other ranks'.
int standin_mappings() {
  std::ifstream maps("/proc/self/maps");
  int found = 0;
  for (std::string line; std::getline(maps, line);)
    found += line.find("memfd:standin") != std::string::npos ? 1 : 0;
  return found;
}

/// Ranks that have read a peer's memory do not keep it open after it is freed.
void let_go() {
  check::section("let go");
  const Described type = describe::medium();
  const auto few = [&] {
    Image out(type, 1), in(type, 1);
    for (std::uint64_t turn = 0; turn < 6; ++turn) exchange(out, in, type, turn);
    MPI_Barrier(MPI_COMM_WORLD);
    return standin_mappings();
  };
  const int before = few();
  {
    constexpr std::size_t kBuffers = 20;
    std::vector<std::unique_ptr<Image>> images;
    for (std::size_t i = 0; i < 2 * kBuffers; ++i)
      images.push_back(std::make_unique<Image>(type, 1));
    for (std::size_t i = 0; i < kBuffers; ++i) {
      for (std::uint64_t turn = 0; turn < 3; ++turn)
        exchange(*images[2 * i], *images[2 * i + 1], type, turn);
    }
    // The sources at least, as the CPU and as the program knows them, twice: here and there.
    constexpr int kAll = 4 * static_cast<int>(kBuffers);
    if (std::getenv("TEST_SHARED_DEVICE") != nullptr) CHECK(standin_mappings() >= before + kAll);
  }
  constexpr int kSome = 12;  // of what is still in use, or in a pool
  CHECK(few() <= before + kSome);
}

/// The number of open mappings of other ranks' memory does not grow with the messages.
void many_messages() {
  check::section("many messages");
  const char* const wanted = std::getenv("TEST_MESSAGES");
  const int messages = wanted != nullptr ? std::atoi(wanted) : 500;
  const Described type = describe::medium();
  auto out = std::make_unique<Image>(type, 20), in = std::make_unique<Image>(type, 20);
  const auto move = [&] {
    MPI_Request requests[2];
    CHECK_MPI(MPI_Irecv(in->data(), 1, type.type, peer(), 1, MPI_COMM_WORLD, &requests[0]));
    CHECK_MPI(MPI_Isend(out->data(), 1, type.type, peer(), 1, MPI_COMM_WORLD, &requests[1]));
    CHECK_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  };
  int mappings = 0;
  std::size_t in_use = 0;
  constexpr int kEach = 25;  // so often one is anew, and what came is looked at
  for (int i = 0; i < messages; ++i) {
    move();
    if (i % kEach != 0) continue;
    if (i == kEach) {
      mappings = standin_mappings();
      in_use = test_memory::device_bytes_in_use();
    }
    out = std::make_unique<Image>(type, 20);
    out->fill(static_cast<std::uint64_t>(i + check::rank()));
    in->poison();
    move();
    CHECK(in->holds(static_cast<std::uint64_t>(i + peer()), type.bytes.size()));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  constexpr int kFew = 40;  // a piece of cuMemMap has one of its own
  CHECK(standin_mappings() <= mappings + kFew);
  constexpr std::size_t kMuch = std::size_t{64} << 20;
  // Other programs use the device, too, unless this run has it for itself.
  if (wanted != nullptr) CHECK(test_memory::device_bytes_in_use() <= in_use + kMuch);
}

/// A send that nobody waits for, right before its rank ends MPI.
void leave(Image& out, const Described& type) {
  check::section("freed before the end");
  MPI_Barrier(MPI_COMM_WORLD);
  if (check::rank() == 0) {
    out.fill(1);
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK_MPI(MPI_Isend(out.data(), 1, type.type, peer(), 1, MPI_COMM_WORLD, &request));
    CHECK_MPI(MPI_Request_free(&request));
  } else {
    usleep(20'000);
    CHECK_MPI(MPI_Recv(out.data(), 1, type.type, peer(), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(out.holds(1));
  }
}

}  // namespace

int main(int argc, char** argv) {
  check::init(argc, argv);
  let_go();
  pass();
  renew();
  many_messages();
  Described type = describe::large();
  Image out(type, 1);
  Image in(type, 1);
  for (std::uint64_t turn = 0; turn < 4; ++turn) exchange(out, in, type, turn);
  out.poison();
  leave(out, type);
  type.release();
  return check::finish();
}
