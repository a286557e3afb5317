/// \file  Collectives of neighbours with many edges between two ranks, and between two groups of
/// ranks: blocks of no bytes, short ones, long ones, and more than go together; of bytes and of
/// columns; blocking, nonblocking and persistent calls between barriers, and calls that repeat.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "check.hpp"

namespace {

/// Each rank has so many edges to the rank `hop` after it.
struct Edges {
  int hop;
  int times;
};

/// The blocks of a call: block i of a rank has sizes[(rank + i) % …] bytes, every `stride`-th of
/// its buffer.
struct Sizes {
  std::vector<int> bytes;
  int stride;
};

std::byte value(int turn, int from, int edge, int at) {
  return static_cast<std::byte>(turn * 31 + from * 59 + edge * 7 + at);
}

/// One side of the buffers: its blocks lie one after the other.
class Side {
 public:
  /// \param ranks  of the sender, by block
  /// \param edges  the number of the block among the sender's ones, by block
  Side(const Sizes& sizes, const std::vector<int>& ranks, const std::vector<int>& edges)
      : ranks_(ranks), edges_(edges), stride_(sizes.stride) {
    MPI_Aint at = 0;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const auto pick = static_cast<std::size_t>(ranks[i] + edges[i]) % sizes.bytes.size();
      bytes_.push_back(sizes.bytes[pick]);
      counts.push_back(1);
      places.push_back(at);
      at += MPI_Aint{sizes.bytes[pick]} * stride_;
      MPI_Datatype type = MPI_DATATYPE_NULL;
      CHECK_MPI(MPI_Type_vector(bytes_.back(), 1, stride_, MPI_BYTE, &type));
      CHECK_MPI(MPI_Type_commit(&type));
      types.push_back(type);
    }
    memory_.resize(static_cast<std::size_t>(at) + 1);
  }
  ~Side() {
    for (MPI_Datatype& type : types) MPI_Type_free(&type);
  }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  void fill(int turn) {
    for_each([&](std::size_t block, int i, std::byte& byte) {
      byte = value(turn, ranks_[block], edges_[block], i);
    });
  }
  void clear() { memory_.assign(memory_.size(), std::byte{0xEE}); }
  /// Whether each block holds what its sender sent, and the gaps are as they were.
  bool holds(int turn) {
    std::vector<std::byte> expected(memory_.size(), std::byte{0xEE});
    memory_.swap(expected);
    fill(turn);
    memory_.swap(expected);
    return memory_ == expected;
  }
  std::byte* data() { return memory_.data(); }

  std::vector<int> counts;
  std::vector<MPI_Aint> places;
  std::vector<MPI_Datatype> types;

 private:
  template <typename Act>
  void for_each(const Act& act) {
    for (std::size_t block = 0; block < ranks_.size(); ++block)
      for (int i = 0; i < bytes_[block]; ++i)
        act(block, i, memory_[static_cast<std::size_t>(places[block] + MPI_Aint{i} * stride_)]);
  }
  std::vector<int> ranks_, edges_, bytes_;
  int stride_;
  std::vector<std::byte> memory_;
};

class Graph {
 public:
  explicit Graph(const std::vector<Edges>& all) {
    const int size = check::size(), rank = check::rank();
    std::vector<int> from, to;
    int edge = 0;
    for (const auto& [hop, times] : all) {
      for (int i = 0; i < times; ++i, ++edge) {
        to.push_back((rank + hop) % size);
        senders_.push_back(rank);
        from.push_back((rank + size - hop % size) % size);
        numbers_.push_back(edge);
      }
    }
    sources_ = from;
    CHECK_MPI(MPI_Dist_graph_create_adjacent(
        MPI_COMM_WORLD, static_cast<int>(from.size()), from.data(), MPI_UNWEIGHTED,
        static_cast<int>(to.size()), to.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm_));
  }
  ~Graph() { MPI_Comm_free(&comm_); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  void exchange(const Sizes& sizes);

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::vector<int> senders_, sources_, numbers_;
};

void Graph::exchange(const Sizes& sizes) {
  Side sent(sizes, senders_, numbers_), received(sizes, sources_, numbers_);
  Side other(sizes, sources_, numbers_);
  const auto blocking = [&](int turn) {
    sent.fill(turn);
    received.clear();
    CHECK_MPI(MPI_Neighbor_alltoallw(sent.data(), sent.counts.data(), sent.places.data(),
                                     sent.types.data(), received.data(), received.counts.data(),
                                     received.places.data(), received.types.data(), comm_));
    CHECK(received.holds(turn));
  };
  for (int turn = 0; turn < 3; ++turn) blocking(turn);
  // Half of the ranks wait in a barrier for the other half, which waits for their messages.
  for (int turn = 3; turn < 6; ++turn) {
    sent.fill(turn);
    other.clear();
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK_MPI(MPI_Ineighbor_alltoallw(sent.data(), sent.counts.data(), sent.places.data(),
                                      sent.types.data(), other.data(), other.counts.data(),
                                      other.places.data(), other.types.data(), comm_, &request));
    const bool waits_first = (check::rank() + turn) % 2 == 0;
    if (waits_first) CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (!waits_first) CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(other.holds(turn));
    blocking(turn);
  }
#if MPI_VERSION >= 4
  MPI_Request request = MPI_REQUEST_NULL;
  CHECK_MPI(MPI_Neighbor_alltoallw_init(sent.data(), sent.counts.data(), sent.places.data(),
                                        sent.types.data(), other.data(), other.counts.data(),
                                        other.places.data(), other.types.data(), comm_,
                                        MPI_INFO_NULL, &request));
  for (int turn = 6; turn < 8; ++turn) {
    sent.fill(turn);
    other.clear();
    CHECK_MPI(MPI_Start(&request));
    if (check::rank() % 2 == 0) CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    if (check::rank() % 2 != 0) CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(other.holds(turn));
  }
  CHECK_MPI(MPI_Request_free(&request));
#endif
}

}  // namespace

int main(int argc, char** argv) {
  check::init(argc, argv);
  const std::vector<Edges> graphs[] = {
      {{1, 2}, {2, 2}, {3, 2}},
      {{1, 1}, {2, 1}, {3, 1}, {0, 1}},
      {{2, 40}, {1, 1}},  // more bytes than go together
  };
  const Sizes all[] = {{{8}, 1},       {{0}, 1},          {{0, 8, 512, 1024, 1025, 3000}, 1},
                       {{512, 40}, 3}, {{1024, 1000}, 1}, {{2000, 70000, 1}, 2}};
  for (const auto& edges : graphs) {
    check::section("a graph");
    Graph graph(edges);
    for (const Sizes& sizes : all) graph.exchange(sizes);
  }
  return check::finish();
}
