/// \file  All forms of a collective, one after the other, on buffers that may lie in a device's
/// memory: what the buffers hold afterwards is noted, gaps and all.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "check.hpp"
#include "memory.hpp"

namespace forms {

constexpr int kInts = 4096;  // of each buffer
using Buffer = test_memory::Buffer<int>;

/// Buffers for the calls: `out` is sent, `in` received.
struct Buffers {
  Buffer out{kInts};
  Buffer in{kInts};
  int turn = 0;

  void fill() {
    ++turn;
    std::vector<int> values(kInts);
    for (int i = 0; i < kInts; ++i)
      values[static_cast<std::size_t>(i)] = 1 + (check::rank() * 131 + i * 7 + turn) % 97;
    out.set(values);
    for (int i = 0; i < kInts; ++i)
      values[static_cast<std::size_t>(i)] = 1 + (check::rank() * 37 + i * 5 + turn) % 89;
    in.set(values);
  }
  static std::uint64_t hash(const std::vector<int>& values) {
    std::uint64_t sum = 14695981039346656037U;
    for (const int value : values) sum = (sum ^ static_cast<unsigned>(value)) * 1099511628211U;
    return sum;
  }
  void note(const char* name, const char* form) {
    const std::uint64_t sent = hash(out.get());
    const std::uint64_t received = hash(in.get());
    check::note("%s %s %016llx %016llx", name, form, static_cast<unsigned long long>(sent),
                static_cast<unsigned long long>(received));
  }
};

/// Completes a request, each time by the next function that can. MPICH's MPI_Testall must not be
/// given a persistent collective repeatedly.
inline void complete(MPI_Request* request, bool is_persistent) {
  static int next = 0;
  int flag = 0, index = 0, done = 0, indices[1] = {};
  const int way = next++ % 9;
  switch (way == 5 && is_persistent ? 4 : way) {
    case 0:
      CHECK_MPI(MPI_Wait(request, MPI_STATUS_IGNORE));
      break;
    case 1:
      CHECK_MPI(MPI_Waitall(1, request, MPI_STATUSES_IGNORE));
      break;
    case 2:
      CHECK_MPI(MPI_Waitany(1, request, &index, MPI_STATUS_IGNORE));
      break;
    case 3:
      CHECK_MPI(MPI_Waitsome(1, request, &done, indices, MPI_STATUSES_IGNORE));
      break;
    case 4:
      while (flag == 0) CHECK_MPI(MPI_Test(request, &flag, MPI_STATUS_IGNORE));
      break;
    case 5:
      while (flag == 0) CHECK_MPI(MPI_Testall(1, request, &flag, MPI_STATUSES_IGNORE));
      break;
    case 6:
      while (flag == 0) CHECK_MPI(MPI_Testany(1, request, &index, &flag, MPI_STATUS_IGNORE));
      break;
    case 7:
      while (done == 0) CHECK_MPI(MPI_Testsome(1, request, &done, indices, MPI_STATUSES_IGNORE));
      break;
    default: {
      MPI_Status status;
      while (flag == 0) CHECK_MPI(MPI_Request_get_status(*request, &flag, &status));
      CHECK_MPI(MPI_Wait(request, MPI_STATUS_IGNORE));
    }
  }
}

/// Whether the library's persistent collectives can be relied on. MPICH 4.0 lets go of a derived
/// datatype each time that one is complete, though it has taken hold of it once; and between more
/// than two ranks it starts some a second time with memory that it freed the first time.
inline bool has_persistent([[maybe_unused]] bool named_type) {
#ifdef MPICH_NUMVERSION
  return named_type && check::size() <= 2;
#else
  return MPI_VERSION >= 4;
#endif
}

template <class Blocking, class Nonblocking, class Persistent>
void run(Buffers& buffers, bool named_type, const char* name, const Blocking& blocking,
         const Nonblocking& nonblocking, const Persistent& persistent) {
  check::section(name);
  buffers.fill();
  CHECK_MPI(blocking());
  buffers.note(name, "blocking");

  buffers.fill();
  MPI_Request request = MPI_REQUEST_NULL;
  CHECK_MPI(nonblocking(&request));
  complete(&request, false);
  CHECK(request == MPI_REQUEST_NULL);
  buffers.note(name, "nonblocking");

  if (has_persistent(named_type)) {
    CHECK_MPI(persistent(&request));
    for (int i = 0; i < 2; ++i) {
      buffers.fill();
      CHECK_MPI(i == 0 ? MPI_Start(&request) : MPI_Startall(1, &request));
      complete(&request, true);
      buffers.note(name, "persistent");
    }
    CHECK_MPI(MPI_Request_free(&request));
  }
}

#if MPI_VERSION >= 4
#define PERSISTENT(name, ...) MPI_##name##_init(__VA_ARGS__, MPI_INFO_NULL, request)
#else
#define PERSISTENT(name, ...) (request != nullptr ? MPI_SUCCESS : MPI_ERR_REQUEST)
#endif
/// MPI_`name`, MPI_I`lower` and MPI_`name`_init with these arguments.
#define FORMS(named_type, what, name, lower, ...)                               \
  run(                                                                          \
      buffers, named_type, what, [&] { return MPI_##name(__VA_ARGS__); },       \
      [&](MPI_Request* request) { return MPI_I##lower(__VA_ARGS__, request); }, \
      [&]([[maybe_unused]] MPI_Request* request) { return PERSISTENT(name, __VA_ARGS__); })
#define ALL_FORMS(...) FORMS(true, __VA_ARGS__)
#define TYPE_FORMS(...) FORMS(false, __VA_ARGS__)  // with a derived datatype

/// Counts and displacements of blocks with gaps between them, the last block first; one is empty.
struct Blocks {
  std::vector<int> counts, at, bytes;
  explicit Blocks(int blocks, int extent = 1) {
    // Open MPI 4.1: MPI_Alltoallw on one rank ignores displacements.
    for (int i = 0; i < blocks; ++i) {
      counts.push_back(blocks > 2 && i == 1 ? 0 : 3);
      at.push_back(blocks == 1 ? 0 : (blocks - 1 - i) * 5 + 1);
      bytes.push_back(at.back() * extent * 4);
    }
  }
};

/// Three of every six integers, in the wrong order, from `first` on.
inline MPI_Datatype listed_type(int first) {
  const int lengths[] = {1, 1, 1}, at[] = {first + 3, first, first + 1};
  MPI_Datatype listed = MPI_DATATYPE_NULL, made = MPI_DATATYPE_NULL;
  CHECK_MPI(MPI_Type_indexed(3, lengths, at, MPI_INT, &listed));
  CHECK_MPI(MPI_Type_create_resized(listed, 4 * first, 24, &made));
  CHECK_MPI(MPI_Type_free(&listed));
  CHECK_MPI(MPI_Type_commit(&made));
  return made;
}
inline MPI_Datatype& gapped_type() {
  static MPI_Datatype known = listed_type(0);
  return known;
}

}  // namespace forms
