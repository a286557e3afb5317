/// \file  Host memory in a process that uses a device: the driver is not asked about it for each
/// message, and still no memory of a device is taken for it.
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>
#include <vector>

#include "check.hpp"

namespace {

constexpr std::size_t kRoom = std::size_t{1} << 20;
constexpr int kCount = 40;

int peer() { return check::size() - 1 - check::rank(); }

/// Memory that is not of the heap.
int* host_memory() {
  void* const memory =
      mmap(nullptr, kRoom, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(memory != MAP_FAILED);
  return static_cast<int*>(memory);
}

/// Dense elements, or every second one.
enum class Form { Dense, Strided };

class Pairs {
 public:
  explicit Pairs(Form form, int count = kCount)
      : count_(static_cast<std::size_t>(count)), stride_(form == Form::Dense ? 1 : 2) {
    CHECK_MPI(MPI_Type_vector(count, 1, static_cast<int>(stride_), MPI_INT, &type_));
    CHECK_MPI(MPI_Type_commit(&type_));
  }
  ~Pairs() { MPI_Type_free(&type_); }
  Pairs(const Pairs&) = delete;
  Pairs& operator=(const Pairs&) = delete;

  /// From `out` of the peer to `in`, by calls of both styles.
  void exchange(const int* out, int* in) const {
    MPI_Request requests[2];
    CHECK_MPI(MPI_Irecv(in, 1, type_, peer(), 1, MPI_COMM_WORLD, &requests[0]));
    CHECK_MPI(MPI_Isend(out, 1, type_, peer(), 1, MPI_COMM_WORLD, &requests[1]));
    CHECK_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK_MPI(MPI_Sendrecv(out, 1, type_, peer(), 2, in, 1, type_, peer(), 2, MPI_COMM_WORLD,
                           MPI_STATUS_IGNORE));
  }
  [[nodiscard]] std::size_t span() const { return count_ * stride_; }
  [[nodiscard]] int expected(std::size_t i, int first) const {
    return i % stride_ == 0 && i <= (count_ - 1) * stride_ ? first + static_cast<int>(i) : -1;
  }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  std::size_t count_;
  std::size_t stride_;
};

/// Between any two kinds of memory.
void copy(int* to, const int* from, std::size_t count) {
  if (test_memory::on_device()) {
    test_memory::copy(to, from, count * sizeof(int));
  } else {
    std::copy_n(from, count, to);
  }
}

/// Exchanges `first` + 0, 1, 2, … in memory of any kind, and looks at what came.
void exchange_and_check(const Pairs& pairs, int* out, int* in, int first) {
  std::vector<int> values(pairs.span());
  std::iota(values.begin(), values.end(), first + 1000 * check::rank());
  copy(out, values.data(), values.size());
  std::fill(values.begin(), values.end(), -1);
  copy(in, values.data(), values.size());
  pairs.exchange(out, in);
  copy(values.data(), in, values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    CHECK_EQ(values[i], pairs.expected(i, first + 1000 * peer()));
}

void the_driver_is_left_alone(Form form, int count = kCount) {
  check::section("host memory that was used before");
  const Pairs pairs(form, count);
  int* const out = host_memory();
  int* const in = host_memory();
  // Device memory of the same type comes between.
  test_memory::Buffer<int> there(pairs.span());
  test_memory::Buffer<int> back(pairs.span());
  exchange_and_check(pairs, there.data(), back.data(), 5);
  for (int i = 0; i < 100; ++i) exchange_and_check(pairs, out, in, i);
  exchange_and_check(pairs, there.data(), back.data(), 6);
  for (int i = 0; i < 5; ++i) pairs.exchange(out, in);
  const long before = test_memory::driver_uses();
  for (int i = 0; i < 1000; ++i) pairs.exchange(out, in);
  CHECK_EQ(test_memory::driver_uses() - before, 0L);
  munmap(out, kRoom);
  munmap(in, kRoom);
}

void device_memory_takes_the_place(Form form) {
  check::section("device memory where host memory was");
  const Pairs pairs(form);
  int* const out = host_memory();
  int* const in = host_memory();
  const std::size_t bytes = pairs.span() * sizeof(int);
  for (int i = 0; i < 100; ++i) exchange_and_check(pairs, out, in, i);
  test_memory::allocate_at(out, bytes);
  exchange_and_check(pairs, out, in, 7);
  test_memory::allocate_at(in, bytes);
  exchange_and_check(pairs, out, in, 8);
  for (int i = 0; i < 10; ++i) exchange_and_check(pairs, out, in, i);
}

/// One message of two arrays by their addresses, of which the second becomes the device's.
void a_later_block_is_the_devices() {
  check::section("device memory behind host memory, under MPI_BOTTOM");
  int* first = host_memory();
  int* second = host_memory();
  int* const in = host_memory();
  if (first > second) std::swap(first, second);
  std::array<MPI_Aint, 2> addresses;
  MPI_Get_address(first, &addresses[0]);
  MPI_Get_address(second, &addresses[1]);
  MPI_Datatype type = MPI_DATATYPE_NULL;
  CHECK_MPI(MPI_Type_create_hindexed_block(2, kCount, addresses.data(), MPI_INT, &type));
  CHECK_MPI(MPI_Type_commit(&type));
  const auto exchange = [&](int value) {
    const std::vector<int> values(kCount, value + check::rank());
    copy(first, values.data(), values.size());
    copy(second, values.data(), values.size());
    MPI_Request request;
    CHECK_MPI(MPI_Irecv(in, 2 * kCount, MPI_INT, peer(), 1, MPI_COMM_WORLD, &request));
    CHECK_MPI(MPI_Send(MPI_BOTTOM, 1, type, peer(), 1, MPI_COMM_WORLD));
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (int i = 0; i < 2 * kCount; ++i) CHECK_EQ(in[i], value + peer());
  };
  for (int i = 0; i < 100; ++i) exchange(i);
  test_memory::allocate_at(second, kCount * sizeof(int));
  for (int i = 0; i < 100; ++i) exchange(i);
  MPI_Type_free(&type);
}

}  // namespace

int main(int argc, char** argv) {
  check::init(argc, argv);
  for (const Form form : {Form::Dense, Form::Strided}) {
    the_driver_is_left_alone(form);
    device_memory_takes_the_place(form);
  }
  the_driver_is_left_alone(Form::Dense, 5000);  // as long as messages by shared memory
  a_later_block_is_the_devices();
  return check::finish();
}
