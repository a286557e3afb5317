/// \file  Types whose blocks lie in host memory and in device memory (absolute addresses): every
/// block comes from, and goes to, where it lies.
#include "check.hpp"

namespace {

constexpr int kElements = 1000;
constexpr int kGapBegin = 500, kGapEnd = 600;  // of the host's elements, left out

/// Both arrays, and the type of all but the gap.
struct Arrays {
  std::vector<int> host = std::vector<int>(kElements, -1);
  test_memory::Buffer<int> device{kElements, -1};
  MPI_Datatype type = MPI_DATATYPE_NULL;

  Arrays() {
    MPI_Aint at[3];
    CHECK_MPI(MPI_Get_address(host.data(), &at[0]));
    CHECK_MPI(MPI_Get_address(device.data(), &at[1]));
    CHECK_MPI(MPI_Get_address(host.data() + kGapEnd, &at[2]));
    const int lengths[] = {kGapBegin, kElements, kElements - kGapEnd};
    CHECK_MPI(MPI_Type_create_hindexed(3, lengths, at, MPI_INT, &type));
    CHECK_MPI(MPI_Type_commit(&type));
  }
  ~Arrays() { MPI_Type_free(&type); }
  Arrays(const Arrays&) = delete;
  Arrays& operator=(const Arrays&) = delete;

  void fill(int seed) {
    std::vector<int> values(kElements);
    for (int i = 0; i < kElements; ++i) {
      const auto at = static_cast<std::size_t>(i);
      host[at] = seed + i;
      values[at] = 2 * seed + i;
    }
    device.set(values);
  }
  bool hold(int seed) {
    const std::vector<int>& values = device.get();
    for (int i = 0; i < kElements; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const bool gap = i >= kGapBegin && i < kGapEnd;
      if (host[at] != (gap ? -1 : seed + i) || values[at] != 2 * seed + i) return false;
    }
    return true;
  }
};

void travels(const char* name, int seed, int (*send)(MPI_Datatype), int (*receive)(MPI_Datatype)) {
  check::section(name);
  Arrays arrays;
  if (check::rank() == 0) {
    arrays.fill(seed);
    CHECK_MPI(send(arrays.type));
  } else if (check::rank() == 1) {
    CHECK_MPI(receive(arrays.type));
    CHECK(arrays.hold(seed));
  }
}

int finished(int code, MPI_Request request, bool persistent) {
  if (code == MPI_SUCCESS && persistent) code = MPI_Start(&request);
  if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (code == MPI_SUCCESS && persistent) code = MPI_Request_free(&request);
  return code;
}

int recv(MPI_Datatype type) {
  return MPI_Recv(MPI_BOTTOM, 1, type, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
int send(MPI_Datatype type) { return MPI_Send(MPI_BOTTOM, 1, type, 1, 1, MPI_COMM_WORLD); }

}  // namespace

int main(int argc, char** argv) {
  check::init(argc, argv);
  travels("Send, Recv", 1000, send, recv);
  travels(
      "Isend, Irecv", 2000,
      [](MPI_Datatype type) {
        MPI_Request request = MPI_REQUEST_NULL;
        const int code = MPI_Isend(MPI_BOTTOM, 1, type, 1, 1, MPI_COMM_WORLD, &request);
        return finished(code, request, false);
      },
      [](MPI_Datatype type) {
        MPI_Request request = MPI_REQUEST_NULL;
        const int code = MPI_Irecv(MPI_BOTTOM, 1, type, 0, 1, MPI_COMM_WORLD, &request);
        return finished(code, request, false);
      });
  travels(
      "Send_init, Recv_init", 3000,
      [](MPI_Datatype type) {
        MPI_Request request = MPI_REQUEST_NULL;
        const int code = MPI_Send_init(MPI_BOTTOM, 1, type, 1, 1, MPI_COMM_WORLD, &request);
        return finished(code, request, true);
      },
      [](MPI_Datatype type) {
        MPI_Request request = MPI_REQUEST_NULL;
        const int code = MPI_Recv_init(MPI_BOTTOM, 1, type, 0, 1, MPI_COMM_WORLD, &request);
        return finished(code, request, true);
      });
  return check::finish();
}
