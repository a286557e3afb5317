// Collective operations of all ranks of the job, on host or device buffers.
#include <algorithm>
#include <string>

#include "buffer.hpp"
#include "cases.hpp"
#include "data.hpp"
#include "mpi/real_mpi.hpp"

namespace strake::measure {
namespace {

/// One collective over and over, after all have met.
class Collective : public Instance {
 public:
  Collective(const Job& job, const Device& device, std::int64_t send_bytes,
             std::int64_t receive_bytes)
      : job_(job),
        device_(device),
        outgoing_(send_bytes, device),
        incoming_(receive_bytes, device) {
    for (int rank = 0; rank < job.size(); ++rank) all_.push_back(rank);
  }

  double run(std::int64_t iterations) final {
    device_.use();
    job_.meet(all_);
    return time_calls(iterations, [this] { once(); });
  }

  void verify() final {
    incoming_.download();
    check(incoming_.host());
  }

 protected:
  virtual void once() = 0;
  /// \throws WrongData  what came is not what was sent
  virtual void check(const std::byte* received) const = 0;
  [[nodiscard]] int rank() const { return job_.rank(); }
  [[nodiscard]] int size() const { return job_.size(); }
  [[nodiscard]] MPI_Comm comm() const { return job_.comm(); }
  [[nodiscard]] void* outgoing() const { return outgoing_.data(); }
  [[nodiscard]] void* incoming() const { return incoming_.data(); }
  void fill_outgoing(std::int64_t bytes) const {
    fill_pattern(outgoing_.host(), bytes, rank());
    outgoing_.upload();
  }
  [[nodiscard]] const Buffer& outgoing_buffer() const { return outgoing_; }

 private:
  const Job& job_;
  Device device_;
  std::vector<int> all_;
  Buffer outgoing_;
  Buffer incoming_;
};

class Barrier final : public Collective {
 public:
  Barrier(const Job& job, const Device& device, std::int64_t /*bytes*/)
      : Collective(job, device, 0, 0) {}

 private:
  void check(const std::byte* /*received*/) const override {}  // moves no data
  void once() override { mpi::check(PMPI_Barrier(comm()), "MPI_Barrier"); }
};

/// The root goes round, so that no rank runs ahead of the others.
class Broadcast final : public Collective {
 public:
  Broadcast(const Job& job, const Device& device, std::int64_t bytes)
      : Collective(job, device, bytes, bytes), bytes_(bytes) {
    fill_outgoing(bytes);
  }

 private:
  void check(const std::byte* received) const override {
    if (last_root_ != rank()) expect_pattern(received, bytes_, last_root_);
  }
  void once() override {
    last_root_ = next_root_;
    next_root_ = (next_root_ + 1) % size();
    mpi::check(PMPI_Bcast(last_root_ == rank() ? outgoing() : incoming(), static_cast<int>(bytes_),
                          MPI_BYTE, last_root_, comm()),
               "MPI_Bcast");
  }
  std::int64_t bytes_;
  int next_root_ = 0;
  int last_root_ = 0;
};

/// Sums of doubles.
class Allreduce final : public Collective {
 public:
  Allreduce(const Job& job, const Device& device, std::int64_t bytes)
      : Collective(job, device, bytes, bytes), count_(static_cast<int>(bytes / 8)) {
    auto* const mine = reinterpret_cast<double*>(outgoing_buffer().host());
    for (int i = 0; i < count_; ++i) mine[i] = value(rank(), i);
    outgoing_buffer().upload();
  }

 private:
  void check(const std::byte* received) const override {
    for (int i = 0; i < count_; ++i) {
      double sum = 0;
      for (int other = 0; other < size(); ++other) sum += value(other, i);
      // Whole numbers far below 2^53: exact in any order.
      if (numbers(received)[i] == sum) continue;
      throw WrongData("sum " + std::to_string(i) + " is " + std::to_string(numbers(received)[i]) +
                      ", not " + std::to_string(sum));
    }
  }
  static const double* numbers(const std::byte* data) {
    return reinterpret_cast<const double*>(data);
  }
  static double value(int rank, int i) { return (rank + 1) * 1000.0 + i % 1000; }
  void once() override {
    mpi::check(PMPI_Allreduce(outgoing(), incoming(), count_, MPI_DOUBLE, MPI_SUM, comm()),
               "MPI_Allreduce");
  }
  int count_;
};

class Allgather final : public Collective {
 public:
  Allgather(const Job& job, const Device& device, std::int64_t bytes)
      : Collective(job, device, bytes, bytes * job.size()), bytes_(bytes) {
    fill_outgoing(bytes);
  }

 private:
  void check(const std::byte* received) const override {
    for (int other = 0; other < size(); ++other) {
      expect_pattern(received + other * bytes_, bytes_, other);
    }
  }
  void once() override {
    const int count = static_cast<int>(bytes_);
    mpi::check(PMPI_Allgather(outgoing(), count, MPI_BYTE, incoming(), count, MPI_BYTE, comm()),
               "MPI_Allgather");
  }
  std::int64_t bytes_;
};

class Alltoall final : public Collective {
 public:
  Alltoall(const Job& job, const Device& device, std::int64_t bytes)
      : Collective(job, device, bytes * job.size(), bytes * job.size()), bytes_(bytes) {
    fill_outgoing(bytes * size());
  }

 private:
  void check(const std::byte* received) const override {
    for (int other = 0; other < size(); ++other) {
      expect_pattern(received + other * bytes_, bytes_, other, rank() * bytes_);
    }
  }
  void once() override {
    const int count = static_cast<int>(bytes_);
    mpi::check(PMPI_Alltoall(outgoing(), count, MPI_BYTE, incoming(), count, MPI_BYTE, comm()),
               "MPI_Alltoall");
  }
  std::int64_t bytes_;
};

template <typename Kind>
Case collective_case(const Job& job, const Device& device, const char* name, std::int64_t bytes,
                     bool quick) {
  Case made;
  made.name = std::string("mpi/collective/") + (device.driver == nullptr ? "" : "device/") + name;
  made.bytes = bytes;
  made.count = job.size();
  made.quick = quick;
  made.scope = Scope::Job;
  made.make = [&job, device, bytes] { return std::make_unique<Kind>(job, device, bytes); };
  return made;
}

}  // namespace

void add_collectives(const Job& job, const Device& device, std::vector<Case>& cases,
                     const std::function<bool(std::string_view)>& works) {
  if (job.size() < 2) return;
  const auto add = [&]<typename Kind>(const char* name, std::int64_t bytes, bool quick) {
    if (works(name)) cases.push_back(collective_case<Kind>(job, device, name, bytes, quick));
  };
  add.operator()<Barrier>("barrier", 0, true);
  // Bytes that one rank sends (to each other rank, for alltoall): a number, a halo, a field.
  for (const std::int64_t bytes : {8, 1 << 10, 64 << 10, 1 << 20}) {
    const bool middle = bytes == 64 << 10;
    add.operator()<Broadcast>("broadcast", bytes, middle || bytes == 8);
    add.operator()<Allreduce>("allreduce", bytes, middle || bytes == 8);
    // In a large job, the bytes that one rank gathers outgrow its memory.
    constexpr std::int64_t kMostBytes = 64 << 20;
    if (bytes * job.size() > kMostBytes) continue;
    add.operator()<Allgather>("allgather", bytes, middle);
    add.operator()<Alltoall>("alltoall", bytes, middle);
  }
}

}  // namespace strake::measure
