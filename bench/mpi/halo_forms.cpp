#include "mpi/halo_forms.hpp"

#include <memory>

namespace bench {
namespace {

// One tag for each message that a rank sends: two neighbours may be the same rank.
int tag_of(const Transfer& transfer, int quantity) { return 27 * quantity + transfer.code; }

// Calls visit(types, their transfer, the field's array, tag) for each message.
template <typename Visit>
void for_each_message(const Halo& halo, Visit&& visit) {
  for (int q = 0; q < halo.shape().quantities; ++q) {
    for (const Halo::Types& types : halo.transfers())
      visit(types, types.transfer, halo.array(q), tag_of(types.transfer, q));
  }
}

// Requests that go with the form that uses them.
class Requests {
 public:
  explicit Requests(const Halo& halo)
      : all_(2 * halo.transfers().size() * static_cast<std::size_t>(halo.shape().quantities),
             MPI_REQUEST_NULL) {}
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;
  ~Requests() {
    for (MPI_Request& request : all_) {
      if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
    }
  }
  [[nodiscard]] MPI_Request* data() { return all_.data(); }
  [[nodiscard]] int count() const { return static_cast<int>(all_.size()); }

 private:
  std::vector<MPI_Request> all_;
};

std::function<void()> p2p(const Halo& halo) {
  return [&halo, requests = std::make_shared<Requests>(halo)] {
    MPI_Request* next = requests->data();
    for_each_message(
        halo, [&](const Halo::Types& types, const Transfer& transfer, double* array, int tag) {
          MPI_Irecv(array, 1, types.receive.get(), transfer.from, tag, MPI_COMM_WORLD, next++);
        });
    for_each_message(
        halo, [&](const Halo::Types& types, const Transfer& transfer, double* array, int tag) {
          MPI_Isend(array, 1, types.send.get(), transfer.to, tag, MPI_COMM_WORLD, next++);
        });
    MPI_Waitall(requests->count(), requests->data(), MPI_STATUSES_IGNORE);
  };
}

std::function<void()> persistent(const Halo& halo) {
  const auto requests = std::make_shared<Requests>(halo);
  MPI_Request* next = requests->data();
  for_each_message(
      halo, [&](const Halo::Types& types, const Transfer& transfer, double* array, int tag) {
        MPI_Recv_init(array, 1, types.receive.get(), transfer.from, tag, MPI_COMM_WORLD, next++);
      });
  for_each_message(
      halo, [&](const Halo::Types& types, const Transfer& transfer, double* array, int tag) {
        MPI_Send_init(array, 1, types.send.get(), transfer.to, tag, MPI_COMM_WORLD, next++);
      });
  return [requests] {
    MPI_Startall(requests->count(), requests->data());
    MPI_Waitall(requests->count(), requests->data(), MPI_STATUSES_IGNORE);
  };
}

std::function<void()> sendrecv(const Halo& halo) {
  return [&halo] {
    for_each_message(
        halo, [](const Halo::Types& types, const Transfer& transfer, double* array, int tag) {
          MPI_Sendrecv(array, 1, types.send.get(), transfer.to, tag, array, 1, types.receive.get(),
                       transfer.from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        });
  };
}

// A graph communicator whose edges are the transfers, and the arguments of its calls. Where several
// edges lead to one rank, MPI pairs them in the order in which both ranks name them: that of the
// transfers.
class Neighbourhood {
 public:
  explicit Neighbourhood(const Halo& halo)
      : counts_(halo.transfers().size(), 1), displacements_(halo.transfers().size(), 0) {
    std::vector<int> from;
    std::vector<int> to;
    for (const Halo::Types& types : halo.transfers()) {
      from.push_back(types.transfer.from);
      to.push_back(types.transfer.to);
      receives_.push_back(types.receive.get());
      sends_.push_back(types.send.get());
    }
    const auto degree = static_cast<int>(halo.transfers().size());
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degree, from.data(), MPI_UNWEIGHTED, degree,
                                   to.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph_);
  }
  Neighbourhood(const Neighbourhood&) = delete;
  Neighbourhood& operator=(const Neighbourhood&) = delete;
  ~Neighbourhood() { MPI_Comm_free(&graph_); }
  void exchange(double* array) const {
    MPI_Neighbor_alltoallw(array, counts_.data(), displacements_.data(), sends_.data(), array,
                           counts_.data(), displacements_.data(), receives_.data(), graph_);
  }

 private:
  MPI_Comm graph_ = MPI_COMM_NULL;
  std::vector<int> counts_;
  std::vector<MPI_Aint> displacements_;
  std::vector<MPI_Datatype> sends_;
  std::vector<MPI_Datatype> receives_;
};

std::function<void()> neighbourhood(const Halo& halo) {
  return [&halo, graph = std::make_shared<const Neighbourhood>(halo)] {
    for (int q = 0; q < halo.shape().quantities; ++q) graph->exchange(halo.array(q));
  };
}

}  // namespace

const std::vector<HaloForm>& halo_forms() {
  static const std::vector<HaloForm> forms = {{"p2p", p2p},
                                              {"persistent", persistent},
                                              {"sendrecv", sendrecv},
                                              {"neighbourhood", neighbourhood}};
  return forms;
}

}  // namespace bench
