#include <dlfcn.h>
#include <mpi.h>

#include <cstdio>
#include <limits>
#include <string>

#include "grid/device_packed.hpp"
#include "strake/error.hpp"

namespace bench {
namespace {

class PackedMpiContender final : public PackedContender {
 public:
  PackedMpiContender(const RankBox& box, const HaloShape& shape, Where buffers)
      : PackedContender(box, shape, buffers), requests_(2 * messages().size(), MPI_REQUEST_NULL) {
    for (const Message& message : messages())
      if (message.cells > std::numeric_limits<int>::max())
        throw strake::InvalidArgument("a message of " + std::to_string(message.cells) +
                                      " doubles is too long for MPI_Isend");
  }
  void exchange() override {
    MPI_Request* request = requests_.data();
    for (const Message& message : messages())
      MPI_Irecv(message.in, static_cast<int>(message.cells), MPI_DOUBLE, message.peer, kTag,
                MPI_COMM_WORLD, request++);
    pack();
    synchronize();
    for (const Message& message : messages())
      MPI_Isend(message.out, static_cast<int>(message.cells), MPI_DOUBLE, message.peer, kTag,
                MPI_COMM_WORLD, request++);
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
    unpack();
    synchronize();
  }

 private:
  static constexpr int kTag = 27;
  std::vector<MPI_Request> requests_;
};

// Open MPI and MPICH have the function as an extension, if at all.
bool mpi_takes_device_memory() {
  using Query = int (*)();
  const auto query = reinterpret_cast<Query>(dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support"));
  return query != nullptr && query() == 1;
}

}  // namespace

std::unique_ptr<Contender> make_packed_pinned(const RankBox& box, const HaloShape& shape) {
  return std::make_unique<PackedMpiContender>(box, shape, Where::Pinned);
}

std::unique_ptr<Contender> make_packed_aware(const RankBox& box, const HaloShape& shape) {
  if (!all_ranks(mpi_takes_device_memory())) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
      std::fprintf(stderr, "messages of device memory are left out: the MPI library takes none\n");
    return nullptr;
  }
  return std::make_unique<PackedMpiContender>(box, shape, Where::Device);
}

}  // namespace bench
