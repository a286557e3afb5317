#include "mpi/wire.hpp"

#include <dlfcn.h>

#include <climits>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <unordered_map>

#include "mpi/job.hpp"
#include "mpi/quirks.hpp"
#include "mpi/real_mpi.hpp"
#include "state/process_state.hpp"

namespace strake::mpi {
namespace {

/// How far the last byte is moved: a cache line, so that no library takes the hole for padding.
constexpr std::int64_t kHole = 64;
/// Number of types kept for reuse. Creating one costs about a microsecond.
constexpr std::size_t kKept = 256;

/// Whether Open MPI's messages go by ob1.
bool uses_ob1() noexcept {
  static const bool answer = [] {
    // The selected point-to-point layer is a table of functions. The first function's name, or that
    // of its shared object, has the name of the layer.
    void* const* table = static_cast<void* const*>(find_real("mca_pml"));
    Dl_info info;
    if (table == nullptr || dladdr(*table, &info) == 0) return true;
    const auto names_ob1 = [](const char* text) {
      return text != nullptr && std::strstr(text, "pml_ob1") != nullptr;
    };
    return names_ob1(info.dli_fname) || names_ob1(info.dli_sname);
  }();
  return answer;
}

bool may_overrun(std::int64_t bytes) noexcept {
  return quirks::kLongMessagesOverrun && bytes <= INT_MAX && uses_ob1();
}

/// Whether ob1 may fetch a send of so many bytes.
bool may_be_fetched(std::int64_t bytes, int to, MPI_Comm comm) noexcept {
  // The smallest eager limit of ob1's transports within a node: shorter sends are never fetched,
  // except those to the process itself, whatever the size of the receive.
  constexpr std::int64_t kEager = 1024;
  if (bytes <= 1 || !may_overrun(bytes)) return false;
  if (bytes > kEager) return true;
  if (comm == MPI_COMM_NULL) return false;  // the send itself is refused
  int self = MPI_PROC_NULL;
  return real_mpi().MPI_Comm_rank(comm, &self) == MPI_SUCCESS && self == to;
}

/// Whether UCX may use shared memory, if it is MPICH's transport.
bool shares_memory() noexcept {
  static const bool answer = [] {
    const char* transports = std::getenv("UCX_TLS");
    if (transports == nullptr) return true;
    const bool excluded = transports[0] == '^';  // a list of those that it may not use
    const std::string list = std::string(",") + (transports + (excluded ? 1 : 0)) + ",";
    for (const char* one : {",all,", ",sm,", ",shm,", ",mm,", ",posix,", ",sysv,"}) {
      if (list.find(one) != std::string::npos) return !excluded;
    }
    return excluded;
  }();
  return answer;
}

/// Whether a message is faster with a hole in it. Over a network contiguous messages are faster.
bool hole_is_faster(std::int64_t bytes) noexcept {
  constexpr std::int64_t kFromBytes = 32 << 10;
  if (!quirks::kHolesAreFasterWithinNode || bytes < kFromBytes || bytes > INT_MAX) return false;
  static const bool on_this_node = on_one_node().value_or(false);
  return on_this_node && shares_memory();
}

/// Whether a send of so many bytes may have its last byte apart.
bool may_split(std::int64_t bytes) noexcept {
  return (bytes > 1 && may_overrun(bytes)) || hole_is_faster(bytes);
}

bool split_send(std::int64_t bytes, int to, MPI_Comm comm) noexcept {
  return may_be_fetched(bytes, to, comm) || hole_is_faster(bytes);
}

bool split_receive(std::int64_t bytes) noexcept { return may_overrun(bytes); }

MPI_Datatype make_split(std::int64_t first) {
  const RealMpi& real = real_mpi();
  const int lengths[] = {static_cast<int>(first), 1};
  const MPI_Aint places[] = {0, static_cast<MPI_Aint>(first + kHole)};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  check(real.MPI_Type_create_hindexed(2, lengths, places, MPI_BYTE, &type),
        "MPI_Type_create_hindexed");
  check(real.MPI_Type_commit(&type), "MPI_Type_commit");
  return type;
}

MPI_Datatype make_long(std::int64_t bytes) {
  const RealMpi& real = real_mpi();
  constexpr std::int64_t kPiece = std::int64_t{1} << 30;
  MPI_Datatype piece = MPI_DATATYPE_NULL;
  check(real.MPI_Type_contiguous(static_cast<int>(kPiece), MPI_PACKED, &piece),
        "MPI_Type_contiguous");
  const int lengths[] = {static_cast<int>(bytes / kPiece), static_cast<int>(bytes % kPiece)};
  const MPI_Aint places[] = {0, static_cast<MPI_Aint>(bytes / kPiece * kPiece)};
  const MPI_Datatype types[] = {piece, MPI_PACKED};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  check(real.MPI_Type_create_struct(2, lengths, places, types, &type), "MPI_Type_create_struct");
  check(real.MPI_Type_free(&piece), "MPI_Type_free");
  check(real.MPI_Type_commit(&type), "MPI_Type_commit");
  return type;
}

/// Split types by their first length.
struct Kept {
  std::mutex mutex;
  std::unordered_map<std::int64_t, MPI_Datatype> types;
};
Kept& kept_types() { return ProcessState::part<Kept>(); }

/// The type of `first` bytes, a hole and one byte; `kept` unless there are too many of them.
MPI_Datatype split_type(std::int64_t first, bool& kept) {
  auto& [mutex, types] = kept_types();
  const std::lock_guard lock(mutex);
  const auto found = types.find(first);
  kept = true;
  if (found != types.end()) return found->second;
  const MPI_Datatype made = make_split(first);
  kept = types.size() < kKept;
  if (kept) types.emplace(first, made);
  return made;
}

}  // namespace

Wire::Wire(std::int64_t bytes, std::int64_t split) : count_(static_cast<int>(bytes)) {
  if (split > 0) {
    bool kept = false;
    type_ = split_type(split, kept);
    own_ = !kept;
    count_ = 1;
  } else if (bytes > INT_MAX) {
    type_ = make_long(bytes);
    own_ = true;
    count_ = 1;
  }
}

// Device memory is left in one piece: a GPU-aware library copies it as such.
Wire::Wire(MemoryKind memory, std::int64_t bytes)
    : Wire(bytes, memory != MemoryKind::Device && split_receive(bytes) ? bytes : 0) {}
Wire::Wire(MemoryKind memory, std::int64_t bytes, int to, MPI_Comm comm)
    : Wire(bytes, memory != MemoryKind::Device && split_send(bytes, to, comm) ? bytes - 1 : 0) {}

Wire::~Wire() {
  if (own_) real_mpi().MPI_Type_free(&type_);
}

void free_wire_types() noexcept {
  auto& [mutex, types] = kept_types();
  const std::lock_guard lock(mutex);
  for (auto& [first, type] : types) real_mpi().MPI_Type_free(&type);
  types.clear();
}

void prepare_send(MemoryKind memory, std::byte* data, std::int64_t bytes) noexcept {
  if (memory != MemoryKind::Device && may_split(bytes)) data[bytes - 1 + kHole] = data[bytes - 1];
}

}  // namespace strake::mpi
