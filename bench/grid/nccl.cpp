#include "grid/nccl.hpp"

#include <dlfcn.h>
#include <mpi.h>

#include <cstddef>
#include <cstdio>
#include <string>

#include "grid/device.hpp"
#include "strake/error.hpp"

namespace bench {

// As in nccl.h. These have been the same since NCCL 2.7, which brought ncclSend.
using NcclResult = int;  // ncclResult_t
using NcclComm = void*;  // ncclComm_t
constexpr NcclResult kSuccess = 0;
constexpr int kInt8 = 0;  // ncclDataType_t
struct NcclUniqueId {
  char internal[128];
};

struct NcclFunctions {
  NcclResult (*get_unique_id)(NcclUniqueId*);
  NcclResult (*comm_init_rank)(NcclComm*, int ranks, NcclUniqueId, int rank);
  NcclResult (*comm_destroy)(NcclComm);
  NcclResult (*group_start)();
  NcclResult (*group_end)();
  NcclResult (*send)(const void*, std::size_t count, int type, int peer, NcclComm, cudaStream_t);
  NcclResult (*receive)(void*, std::size_t count, int type, int peer, NcclComm, cudaStream_t);
  const char* (*error_string)(NcclResult);

  void require(NcclResult result, const char* what) const {
    if (result != kSuccess) throw strake::Error(std::string(what) + ": " + error_string(result));
  }
};

namespace {

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

// The library stays loaded. Null if there is none, or a function is missing.
const NcclFunctions* functions() {
  static const NcclFunctions* const found = []() -> const NcclFunctions* {
    static NcclFunctions all{};
    void* const library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    const bool complete =
        library != nullptr && find(library, "ncclGetUniqueId", all.get_unique_id) &&
        find(library, "ncclCommInitRank", all.comm_init_rank) &&
        find(library, "ncclCommDestroy", all.comm_destroy) &&
        find(library, "ncclGroupStart", all.group_start) &&
        find(library, "ncclGroupEnd", all.group_end) && find(library, "ncclSend", all.send) &&
        find(library, "ncclRecv", all.receive) &&
        find(library, "ncclGetErrorString", all.error_string);
    return complete ? &all : nullptr;
  }();
  return found;
}

// Says why, on one rank.
std::unique_ptr<NcclCommunicator> left_out(const char* why) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) std::fprintf(stderr, "NCCL is left out: %s\n", why);
  return nullptr;
}

}  // namespace

std::unique_ptr<NcclCommunicator> NcclCommunicator::join() {
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const NcclFunctions* const nccl = functions();
  if (!all_ranks(nccl != nullptr)) return left_out("libnccl.so.2 was not found");
  if (!all_ranks(ranks <= devices())) return left_out("ranks share a device");
  NcclUniqueId id{};
  const bool has_id = rank != 0 || nccl->get_unique_id(&id) == kSuccess;
  if (!all_ranks(has_id)) return left_out("ncclGetUniqueId failed");
  MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD);
  NcclComm communicator = nullptr;
  const NcclResult result = nccl->comm_init_rank(&communicator, ranks, id, rank);
  std::unique_ptr<NcclCommunicator> joined;
  if (result == kSuccess) joined.reset(new NcclCommunicator(*nccl, communicator));
  if (!all_ranks(result == kSuccess)) return left_out("ncclCommInitRank failed");
  return joined;
}

NcclCommunicator::~NcclCommunicator() {
  const NcclResult result = functions_.comm_destroy(communicator_);
  if (result != kSuccess)
    std::fprintf(stderr, "ncclCommDestroy: %s\n", functions_.error_string(result));
}

void NcclCommunicator::group_start() const {
  functions_.require(functions_.group_start(), "ncclGroupStart");
}

void NcclCommunicator::group_end() const {
  functions_.require(functions_.group_end(), "ncclGroupEnd");
}

void NcclCommunicator::send(const void* from, std::int64_t bytes, int peer,
                            cudaStream_t stream) const {
  functions_.require(
      functions_.send(from, static_cast<std::size_t>(bytes), kInt8, peer, communicator_, stream),
      "ncclSend");
}

void NcclCommunicator::receive(void* to, std::int64_t bytes, int peer, cudaStream_t stream) const {
  functions_.require(
      functions_.receive(to, static_cast<std::size_t>(bytes), kInt8, peer, communicator_, stream),
      "ncclRecv");
}

}  // namespace bench
