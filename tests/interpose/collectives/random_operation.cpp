#include "random_operation.hpp"

#include <map>

#include "check.hpp"
#include "random_side.hpp"

namespace random_collectives {
namespace {

bool is_alltoall(Function f) {
  return f <= Function::kAlltoallw ||
         (f >= Function::kNeighborAlltoall && f <= Function::kNeighborAlltoallw);
}

/// Numbers the parts that are between the same two.
void number_edges(std::vector<Part>& parts) {
  std::map<std::pair<int, int>, int> seen;
  for (Part& part : parts) part.edge = seen[{part.source, part.destination}]++;
  for (Part& part : parts) part.alike = seen[{part.source, part.destination}];
}

/// Calls that move bytes as they are.
class Exchange final : public Operation {
 public:
  Exchange(const Call& call, Comm& comm, Shapes& shapes, Draw draw, bool on_device)
      : Operation(call), comm_(comm) {
    std::vector<Part> sent, received;
    if (is_alltoall(call.function) || is_allgather(call.function)) {
      list_all(sent, received);
    } else {
      list_rooted(sent, received);
    }
    const auto make = [&](std::vector<Part>& parts, int side, bool is_one) {
      const Memory memory = draw_memory(draw, on_device);
      return std::make_unique<Side>(this->call(), shapes, draw, memory, call.unit[side],
                                    std::move(parts), has_counts(call.function) && !is_one);
    };
    const int side = comm.side_of(check::rank());
    send_ = make(sent, side, is_allgather(call.function) || call.function == Function::kGatherv);
    receive_ = make(received, comm.is_inter() ? 1 - side : 0, call.function == Function::kScatterv);
  }

 protected:
  void prepare(int round) override;
  void call_mpi(MPI_Request& request) override;
  void free_types() override {
    send_->free_types();
    receive_->free_types();
  }
  std::string compare(int round) override {
    const std::string of_send = send_->check_unchanged();
    if (!of_send.empty()) return "send buffer: " + of_send;
    const std::string of_receive = receive_->check_received(round, comm_.edges);
    return of_receive.empty() ? "" : "receive buffer: " + of_receive;
  }

 private:
  void list_all(std::vector<Part>& sent, std::vector<Part>& received) const;
  void list_rooted(std::vector<Part>& sent, std::vector<Part>& received) const;
  void call_all(MPI_Request& request, const void* from);
  void call_neighbours(MPI_Request& request);
  void call_rooted(MPI_Request& request, const void* from, void* to);
  [[nodiscard]] bool is_root() const { return call().root == check::rank(); }

  Comm& comm_;
  std::unique_ptr<Side> send_, receive_;
};

/// Alltoall, allgather, and those of neighbours.
void Exchange::list_all(std::vector<Part>& sent, std::vector<Part>& received) const {
  const int me = check::rank();
  const auto rank = static_cast<std::size_t>(comm_.rank_of(me));
  const bool neighbours = is_neighbourly(call().function);
  const std::vector<int>& sources = neighbours ? comm_.sources[rank] : comm_.peers(me);
  const std::vector<int>& destinations = neighbours ? comm_.destinations[rank] : comm_.peers(me);
  const bool to_all = is_allgather(call().function);
  for (const int source : sources) {
    received.push_back({source, to_all ? kNone : me, source == kNone, 0, 1});
  }
  if (!to_all) number_edges(received);
  if (call().is_in_place) return;
  if (to_all) {
    sent.push_back({me, kNone, false, 0, 1});
  } else {
    for (const int destination : destinations) {
      sent.push_back({me, destination, destination == kNone, 0, 1});
    }
    number_edges(sent);
  }
}

void Exchange::list_rooted(std::vector<Part>& sent, std::vector<Part>& received) const {
  const int me = check::rank(), root = call().root;
  const bool takes_part = !comm_.is_inter() || comm_.side_of(me) != comm_.side_of(root);
  const bool in_place = is_root() && call().is_in_place;
  switch (call().function) {
    case Function::kBcast:
      if (is_root()) {
        sent.push_back({root, kNone, false, 0, 1});
      } else if (takes_part) {
        received.push_back({root, kNone, false, 0, 1});
      }
      break;
    case Function::kGather:
    case Function::kGatherv:
      if (takes_part && !in_place) sent.push_back({me, kNone, false, 0, 1});
      if (is_root()) {
        for (const int peer : comm_.peers(me)) received.push_back({peer, kNone, false, 0, 1});
      }
      break;
    default:  // scatter
      if (is_root()) {
        for (const int peer : comm_.peers(me)) sent.push_back({kNone, peer, false, 0, 1});
      }
      if (takes_part && !in_place) received.push_back({kNone, me, false, 0, 1});
  }
}

void Exchange::prepare(int round) {
  send_->write(round);
  receive_->clear();
  if (!call().is_in_place) return;
  Buffer& buffer = receive_->buffer();
  for (std::size_t b = 0; b < receive_->parts().size(); ++b) {
    const Part& part = receive_->parts()[b];
    const int me = check::rank();
    if (is_alltoall(call().function)) {
      buffer.expect(b, call().message(round, me, part.source, part.edge));
    } else if (part.source == me) {
      buffer.expect(b, call().message(round, me, part.destination, part.edge));
    }
  }
  buffer.write();
}

void Exchange::call_mpi(MPI_Request& request) {
  const bool in_place = call().is_in_place;
  if (is_neighbourly(call().function)) {
    call_neighbours(request);
  } else if (is_alltoall(call().function) || is_allgather(call().function)) {
    call_all(request, in_place ? MPI_IN_PLACE : send_->address);
  } else {
    const bool scatters =
        call().function == Function::kScatter || call().function == Function::kScatterv;
    call_rooted(request, in_place && is_root() && !scatters ? MPI_IN_PLACE : send_->address,
                in_place && is_root() && scatters ? MPI_IN_PLACE : receive_->address);
  }
}

void Exchange::call_all(MPI_Request& request, const void* from) {
  Side &s = *send_, &r = *receive_;
  MPI_Comm comm = comm_.handle;
  const int sent = s.counts[0];  // of an allgather
  switch (call().function) {
    case Function::kAlltoall:
      CALL_MPI(Alltoall, Ialltoall, from, s.count, s.type, r.address, r.count, r.type, comm);
      break;
    case Function::kAlltoallv:
      CALL_MPI(Alltoallv, Ialltoallv, from, s.counts.data(), s.displacements.data(), s.type,
               r.address, r.counts.data(), r.displacements.data(), r.type, comm);
      break;
    case Function::kAlltoallw:
      CALL_MPI(Alltoallw, Ialltoallw, from, s.counts.data(), s.byte_displacements.data(),
               s.types.data(), r.address, r.counts.data(), r.byte_displacements.data(),
               r.types.data(), comm);
      break;
    case Function::kAllgather:
      CALL_MPI(Allgather, Iallgather, from, s.count, s.type, r.address, r.count, r.type, comm);
      break;
    default:
      CALL_MPI(Allgatherv, Iallgatherv, from, sent, s.type, r.address, r.counts.data(),
               r.displacements.data(), r.type, comm);
  }
}

void Exchange::call_neighbours(MPI_Request& request) {
  Side &s = *send_, &r = *receive_;
  MPI_Comm comm = comm_.handle;
  switch (call().function) {
    case Function::kNeighborAlltoall:
      CALL_MPI(Neighbor_alltoall, Ineighbor_alltoall, s.address, s.count, s.type, r.address,
               r.count, r.type, comm);
      break;
    case Function::kNeighborAlltoallv:
      CALL_MPI(Neighbor_alltoallv, Ineighbor_alltoallv, s.address, s.counts.data(),
               s.displacements.data(), s.type, r.address, r.counts.data(), r.displacements.data(),
               r.type, comm);
      break;
    case Function::kNeighborAlltoallw:
      CALL_MPI(Neighbor_alltoallw, Ineighbor_alltoallw, s.address, s.counts.data(),
               s.offsets.data(), s.types.data(), r.address, r.counts.data(), r.offsets.data(),
               r.types.data(), comm);
      break;
    case Function::kNeighborAllgather:
      CALL_MPI(Neighbor_allgather, Ineighbor_allgather, s.address, s.count, s.type, r.address,
               r.count, r.type, comm);
      break;
    default:
      CALL_MPI(Neighbor_allgatherv, Ineighbor_allgatherv, s.address, s.counts[0], s.type, r.address,
               r.counts.data(), r.displacements.data(), r.type, comm);
  }
}

void Exchange::call_rooted(MPI_Request& request, const void* from, void* to) {
  Side &s = *send_, &r = *receive_;
  MPI_Comm comm = comm_.handle;
  const int root = root_argument(call(), comm_);
  const int sent = s.counts[0];
  const int received = r.counts[0];
  switch (call().function) {
    case Function::kBcast: {
      Side& only = is_root() ? s : r;
      CALL_MPI(Bcast, Ibcast, only.address, only.count, only.type, root, comm);
      break;
    }
    case Function::kGather:
      CALL_MPI(Gather, Igather, from, s.count, s.type, to, r.count, r.type, root, comm);
      break;
    case Function::kGatherv:
      CALL_MPI(Gatherv, Igatherv, from, sent, s.type, to, r.counts.data(), r.displacements.data(),
               r.type, root, comm);
      break;
    case Function::kScatter:
      CALL_MPI(Scatter, Iscatter, from, s.count, s.type, to, r.count, r.type, root, comm);
      break;
    default:
      CALL_MPI(Scatterv, Iscatterv, from, s.counts.data(), s.displacements.data(), s.type, to,
               received, r.type, root, comm);
  }
}

}  // namespace

void Operation::begin(MPI_Request& request) {
  prepare(round_++);
#if MPI_VERSION >= 4
  if (call_.mode == Mode::kPersistent) {
    if (request == MPI_REQUEST_NULL) call_mpi(request);
    CHECK_MPI(MPI_Start(&request));
    return;
  }
#endif
  call_mpi(request);
  if (call_.frees_types) free_types();
}

std::string Operation::check() { return compare(round_ - 1); }

std::unique_ptr<Operation> make_operation(const Call& call, Comm& comm, Shapes& shapes, Draw draw,
                                          bool on_device) {
  if (is_reduction(call.function)) return make_reduction(call, comm, shapes, draw, on_device);
  return std::make_unique<Exchange>(call, comm, shapes, draw, on_device);
}

Memory draw_memory(Draw& draw, bool on_device) {
  const int percent = draw.number(1, 100);
  if (on_device && percent <= 75) return Memory::kDevice;
  if (percent <= 80) return Memory::kHeap;
  return percent <= 90 ? Memory::kShared : percent <= 95 ? Memory::kStatic : Memory::kStack;
}

int root_argument(const Call& call, const Comm& comm) {
  if (comm.is_inter() && comm.side_of(check::rank()) == comm.side_of(call.root)) {
    return call.root == check::rank() ? MPI_ROOT : MPI_PROC_NULL;
  }
  return comm.rank_of(call.root);
}

}  // namespace random_collectives
