// Halo exchange with 26 neighbours, by messages on two communicators with the graph of the
// neighbours: one that was made with reorder=0, and one with reorder=1. Both in one job, by turns.
// The ranks are a box, and a row (slabs). Every ghost cell is checked on both.
#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "mpi/environment.hpp"
#include "mpi/halo.hpp"
#include "mpi/paired_sampling.hpp"
#include "support/options.hpp"
#include "support/report.hpp"

namespace {

using namespace bench;

/// A communicator with the graph of a periodic box of all ranks, its edges weighted by bytes.
class BoxGraph {
 public:
  BoxGraph(const HaloShape& shape, const RankBox& box, bool reorder) {
    std::vector<int> to;
    std::vector<int> from;
    std::vector<int> weights;
    for (const Transfer& transfer : transfers_of(box, shape)) {
      to.push_back(transfer.to);
      from.push_back(transfer.from);
      weights.push_back(static_cast<int>(transfer.sent.size()));
    }
    const auto degree = static_cast<int>(to.size());
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degree, from.data(), weights.data(), degree,
                                   to.data(), weights.data(), MPI_INFO_NULL, reorder ? 1 : 0,
                                   &comm_);
    MPI_Comm_rank(comm_, &rank_);
  }
  ~BoxGraph() { MPI_Comm_free(&comm_); }
  BoxGraph(const BoxGraph&) = delete;
  BoxGraph& operator=(const BoxGraph&) = delete;
  [[nodiscard]] MPI_Comm comm() const { return comm_; }
  [[nodiscard]] int rank() const { return rank_; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
};

/// One exchange of all fields by messages on the communicator of a graph.
class GraphExchange {
 public:
  GraphExchange(const BoxGraph& graph, const HaloShape& shape, const std::array<int, 3>& counts)
      : comm_(graph.comm()), halo_(RankBox(graph.rank(), counts), shape) {}
  void run() {
    requests_.clear();
    for (int quantity = 0; quantity < halo_.shape().quantities; ++quantity) {
      double* const array = halo_.array(quantity);
      for (const Halo::Types& types : halo_.transfers())
        MPI_Irecv(array, 1, types.receive.get(), types.transfer.from, types.transfer.code, comm_,
                  &requests_.emplace_back());
      for (const Halo::Types& types : halo_.transfers())
        MPI_Isend(array, 1, types.send.get(), types.transfer.to, types.transfer.code, comm_,
                  &requests_.emplace_back());
    }
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
  }
  /// Whether all ranks got all ghost cells.
  bool is_right(int epoch) {
    halo_.fill(epoch);
    run();
    return all_ranks(halo_.wrong_cells(epoch) == 0);
  }

 private:
  MPI_Comm comm_;
  Halo halo_;
  std::vector<MPI_Request> requests_;
};

struct OrderedCase {
  std::string name;
  HaloShape shape;
  std::array<int, 3> counts;  ///< of ranks
};

bool measure(const OrderedCase& one, const Environment& mpi, const Budget& budget,
             const Report& report) {
  const RankBox box(mpi.rank(), one.counts);
  const BoxGraph given(one.shape, box, false);
  const BoxGraph anew(one.shape, box, true);
  GraphExchange in_given_order(given, one.shape, one.counts);
  GraphExchange placed_anew(anew, one.shape, one.counts);
  bool right = in_given_order.is_right(1) && placed_anew.is_right(2);
  const auto both = sample_both(
      budget, [&] { in_given_order.run(); }, [&] { placed_anew.run(); });
  const std::vector<double> kept = scaled(slowest_rank(both[0]), 1e6);
  const std::vector<double> moved = scaled(slowest_rank(both[1]), 1e6);
  right = in_given_order.is_right(3) && placed_anew.is_right(4) && right;
  if (mpi.rank() != 0) return right;
  const Summary before = summarize(kept);
  const Summary after = summarize(moved);
  report.line(one.name, after, "-us",
              {{"op", std::string("exchange")},
               {"reorder_0_us", before.median},
               {"ratio", before.median / after.median},
               {"right", std::string(right ? "yes" : "no")}});
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options =
      parse_options(argc, argv, "Halo exchange on communicators with reorder=0 and reorder=1", {});
  const Environment mpi(&argc, &argv);
  const Report report("reorder", mpi.ranks(), mpi.library());
  bool right = true;
  const std::vector<int> edges =
      options.quick ? std::vector<int>{8} : std::vector<int>{16, 32, 64, 128};
  for (const bool slabs : {false, true}) {
    for (const int edge : edges) {
      OrderedCase one;
      one.name = std::to_string(edge) + "^3_r1" + (slabs ? "_slabs" : "");
      one.shape.edge = edge;
      one.counts = slabs ? std::array{1, 1, mpi.ranks()} : RankBox(0, mpi.ranks()).counts();
      if (options.list && mpi.rank() == 0) std::puts(one.name.c_str());
      if (options.list || !options.selects(one.name)) continue;
      right = measure(one, mpi, options.budget, report) && right;
    }
  }
  return right ? 0 : 1;
}
