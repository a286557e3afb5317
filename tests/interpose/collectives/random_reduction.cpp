// Collective calls that compute: of ints, by MPI's operations and by one that is not commutative.
#include <algorithm>

#include "check.hpp"
#include "random_operation.hpp"

namespace random_collectives {
namespace {

void apply_affine(void* lower, void* both, int* length, MPI_Datatype* /*type*/) {
  const int* const in = static_cast<const int*>(lower);
  int* const to = static_cast<int*>(both);
  for (int i = 0; i < *length; ++i) to[i] = affine(in[i], to[i]);
}

/// The operation of its own is kept as long as the program runs.
MPI_Op handle(Operator op) {
  static MPI_Op own = MPI_OP_NULL;
  if (op != Operator::kAffine) return op == Operator::kSum ? MPI_SUM : MPI_MAX;
  if (own == MPI_OP_NULL) CHECK_MPI(MPI_Op_create(apply_affine, 0, &own));
  return own;
}

class Reduction final : public Operation {
 public:
  Reduction(const Call& call, const Comm& comm, Shapes& shapes, Draw draw, bool on_device)
      : Operation(call), comm_(comm), me_(check::rank()) {
    const std::vector<int>& group = comm.own_group(me_);
    for (std::size_t i = 0; i < group.size(); ++i) {
      parts_.push_back(call.function == Function::kReduceScatter ? call.ints_of(group[i])
                                                                 : call.ints);
      if (static_cast<int>(i) < comm.rank_of(me_)) first_ += parts_.back();
    }
    given_ = scatters() ? 0 : call.ints;
    for (const int part : parts_) given_ += scatters() ? part : 0;
    got_ = scatters() ? parts_[static_cast<std::size_t>(comm.rank_of(me_))] : call.ints;
    const auto make = [&](int ints) {
      Shape shape;
      shape.element_bytes = shape.leaf_bytes = sizeof(int);
      return std::make_unique<Buffer>(std::vector<Block>{{shapes.build(shape), ints, 0}},
                                      draw_memory(draw, on_device));
    };
    send_ = make(given_);
    receive_ = make(is_in_place() ? given_ : got_);
  }

 protected:
  void prepare(int round) override {
    std::vector<int> mine;
    for (int i = 0; i < given_; ++i) mine.push_back(call().value(round, me_, i));
    for (Buffer* const each : {send_.get(), receive_.get()}) {
      each->expect_poison();
      if (each == send_.get() || is_in_place()) each->expect(0, mine);
      each->write();
    }
  }
  void call_mpi(MPI_Request& request) override;
  std::string compare(int round) override;

 private:
  [[nodiscard]] bool scatters() const {
    return call().function == Function::kReduceScatter ||
           call().function == Function::kReduceScatterBlock;
  }
  [[nodiscard]] bool is_in_place() const {
    return call().is_in_place && (call().function != Function::kReduce || call().root == me_);
  }
  /// The ranks whose values this one gets, in order.
  [[nodiscard]] std::vector<int> given_by() const;

  const Comm& comm_;
  int me_;
  std::vector<int> parts_;  ///< ints by rank, of those that scatter
  int first_ = 0;           ///< of this rank's part
  int given_ = 0, got_ = 0;
  std::unique_ptr<Buffer> send_, receive_;
};

void Reduction::call_mpi(MPI_Request& request) {
  const void* const from = is_in_place() ? MPI_IN_PLACE : send_->data();
  void* const to = receive_->data();
  const MPI_Op op = handle(call().op);
  MPI_Comm comm = comm_.handle;
  const int count = call().ints;
  switch (call().function) {
    case Function::kReduce:
      CALL_MPI(Reduce, Ireduce, from, to, count, MPI_INT, op, root_argument(call(), comm_), comm);
      break;
    case Function::kAllreduce:
      CALL_MPI(Allreduce, Iallreduce, from, to, count, MPI_INT, op, comm);
      break;
    case Function::kReduceScatter:
      CALL_MPI(Reduce_scatter, Ireduce_scatter, from, to, parts_.data(), MPI_INT, op, comm);
      break;
    case Function::kReduceScatterBlock:
      CALL_MPI(Reduce_scatter_block, Ireduce_scatter_block, from, to, count, MPI_INT, op, comm);
      break;
    case Function::kScan:
      CALL_MPI(Scan, Iscan, from, to, count, MPI_INT, op, comm);
      break;
    default:
      CALL_MPI(Exscan, Iexscan, from, to, count, MPI_INT, op, comm);
  }
}

std::vector<int> Reduction::given_by() const {
  const std::vector<int>& all = comm_.peers(me_);
  switch (call().function) {
    case Function::kReduce:
      // On an intercommunicator the root gets the values of the other group.
      return call().root == me_ ? all : std::vector<int>{};
    case Function::kScan:
      return {all.begin(), all.begin() + comm_.rank_of(me_) + 1};
    case Function::kExscan:
      return {all.begin(), all.begin() + comm_.rank_of(me_)};
    default:
      return all;
  }
}

std::string Reduction::compare(int round) {
  send_->read();
  const std::string of_send = send_->difference();
  if (!of_send.empty()) return "send buffer: " + of_send;
  receive_->read();
  const std::vector<int> ranks = given_by();
  if (ranks.empty() && call().function == Function::kExscan) {
    receive_->expect_anything(0);  // undefined on the first rank
  } else if (!ranks.empty()) {
    receive_->expect_poison();
    // MPI does not say what is past this rank's part after a call in place.
    if (is_in_place()) receive_->expect_anything(0);
    std::vector<int> result;
    for (int i = 0; i < got_; ++i) {
      const int at = scatters() ? first_ + i : i;
      int value = call().value(round, ranks[0], at);
      for (std::size_t r = 1; r < ranks.size(); ++r) {
        value = combine(call().op, value, call().value(round, ranks[r], at));
      }
      result.push_back(value);
    }
    receive_->expect(0, result);
  }
  const std::string of_receive = receive_->difference();
  return of_receive.empty() ? "" : "receive buffer: " + of_receive;
}

}  // namespace

std::unique_ptr<Operation> make_reduction(const Call& call, const Comm& comm, Shapes& shapes,
                                          Draw draw, bool on_device) {
  return std::make_unique<Reduction>(call, comm, shapes, draw, on_device);
}

}  // namespace random_collectives
