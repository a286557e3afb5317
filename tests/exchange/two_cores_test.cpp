// A program that links Strake's library, under the interposer: each core advances what the other
// one has in flight. Two ranks that share no memory; their devices are held up, so that nothing
// leaves in the call that starts it.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <vector>

#include "../interpose/support/memory.hpp"
#include "place.hpp"
#include "strake/exchange.hpp"
#include "world.hpp"

namespace strake {
namespace {

constexpr std::int64_t kBytes = 4096;
constexpr int kTag = 5;

bool is_by_itself() { return ranks() != 2 || std::getenv("TEST_PRELOADED") == nullptr; }

/// Both ranks send each other an array.
class Swap {
 public:
  Swap() {
    ExchangePart part;
    (void)part.array(place(), kBytes);
    (void)part.array(place(), kBytes);
    part.send(1 - rank(), 0, 0, Layout::dense(kBytes));
    part.receive(1 - rank(), 0, 1, Layout::dense(kBytes));
    exchange_ = Exchange(MPI_COMM_WORLD, part);
    set(static_cast<char>(rank() + 1));
  }
  void set(char value) {
    const std::vector<char> all(kBytes, value);
    test_memory::copy(out_.data(), all.data(), kBytes);
  }
  void start() {
    std::byte* const bases[] = {out_.data(), in_.data()};
    exchange_.start(bases);
  }
  void wait() { exchange_.wait(); }
  [[nodiscard]] std::vector<char> received() const {
    std::vector<char> all(kBytes);
    test_memory::copy(all.data(), in_.data(), kBytes);
    return all;
  }

 private:
  SharedArray out_{kBytes, place()};
  SharedArray in_{kBytes, place()};
  Exchange exchange_;
};

/// Whether `done()` has come true within ten seconds.
template <typename Done>
bool soon(const Done& done) {
  constexpr std::chrono::seconds kLong{10};
  const auto begin = std::chrono::steady_clock::now();
  while (!done())
    if (std::chrono::steady_clock::now() - begin > kLong) return false;
  return true;
}

TEST(TwoCores, a_test_of_a_message_advances_an_exchange) {
  if (is_by_itself()) GTEST_SKIP() << "needs two ranks and the interposer";
  Swap swap;
  int told = 0;
  if (rank() == 0) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(&told, 1, MPI_INT, 1, kTag, MPI_COMM_WORLD, &request);
    test_memory::hold_up();
    swap.start();
    test_memory::let_go();
    int flag = 0;
    const bool came = soon([&] {
      MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
      return flag != 0;
    });
    EXPECT_TRUE(came) << "the exchange has not moved";
    swap.wait();
  } else {
    swap.start();
    swap.wait();
    told = 1;
    MPI_Send(&told, 1, MPI_INT, 0, kTag, MPI_COMM_WORLD);
  }
  EXPECT_EQ(swap.received(), std::vector<char>(kBytes, static_cast<char>(2 - rank())));
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST(TwoCores, a_wait_for_an_exchange_advances_a_message) {
  if (is_by_itself()) GTEST_SKIP() << "needs two ranks and the interposer";
  Swap swap;
  MPI_Datatype strided = MPI_DATATYPE_NULL;
  MPI_Type_vector(8, 16, 32, MPI_BYTE, &strided);
  MPI_Type_commit(&strided);
  SharedArray array(kBytes, place());
  const std::vector<char> all(kBytes, static_cast<char>(rank() + 7));
  test_memory::copy(array.data(), all.data(), kBytes);
  if (rank() == 0) {
    MPI_Request request = MPI_REQUEST_NULL;
    test_memory::hold_up();
    MPI_Isend(array.data(), 1, strided, 1, kTag, MPI_COMM_WORLD, &request);
    test_memory::let_go();
    swap.start();
    swap.wait();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    int flag = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(array.data(), 1, strided, 0, kTag, MPI_COMM_WORLD, &request);
    const bool came = soon([&] {
      MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
      return flag != 0;
    });
    EXPECT_TRUE(came) << "the message has not left";
    swap.start();
    swap.wait();
    if (!came) MPI_Wait(&request, MPI_STATUS_IGNORE);
    std::vector<char> got(kBytes);
    test_memory::copy(got.data(), array.data(), kBytes);
    EXPECT_EQ(got[0], 7);
    EXPECT_EQ(got[16], 8);
  }
  MPI_Type_free(&strided);
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace
}  // namespace strake
