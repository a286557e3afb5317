#include "random_comms.hpp"

#include <algorithm>
#include <numeric>

#include "check.hpp"

namespace random_collectives {
namespace {

using Ranks = std::vector<int>;

std::string join(const Ranks& ranks) {
  std::string text;
  for (const int rank : ranks) text += (text.empty() ? "" : " ") + std::to_string(rank);
  return text;
}

int index_of(const Ranks& all, int value) {
  const auto found = std::find(all.begin(), all.end(), value);
  return found == all.end() ? kNone : static_cast<int>(found - all.begin());
}

Ranks everyone() {
  Ranks all(static_cast<std::size_t>(check::size()));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

class Maker {
 public:
  explicit Maker(std::uint64_t seed) : draw_(mix({seed, 1})) {}

  std::vector<Comm> make() {
    const Ranks all = everyone();
    Comm world = begun(Comm::Kind::kPlain, "MPI_Comm_dup", all);
    CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &world.handle));
    comms_.push_back(world);
    Ranks shuffled = all;
    draw_.shuffle(shuffled);
    split(shuffled);
    split(Ranks(all.rbegin(), all.rend()));
    draw_.shuffle(shuffled);
    const auto some = static_cast<std::ptrdiff_t>(draw_.index(shuffled.size()) + 1);
    split(Ranks(shuffled.begin(), shuffled.begin() + some));
    if (check::size() > 1) {
      halves(shuffled);
      draw_.shuffle(shuffled);
      halves(shuffled);
    }
    for (const int percent : {100, 60, 20}) cartesian(percent);
    graph();
    for (const bool is_balanced : {true, false}) dist_graph(is_balanced);
    return std::move(comms_);
  }

 private:
  static Comm begun(Comm::Kind kind, const std::string& text, const Ranks& members) {
    Comm made;
    made.kind = kind;
    made.text = text;
    made.groups[0] = members;
    return made;
  }

  void split(const Ranks& members) {
    Comm made = begun(Comm::Kind::kPlain, "MPI_Comm_split of " + join(members), members);
    const int rank = index_of(members, check::rank());
    CHECK_MPI(MPI_Comm_split(MPI_COMM_WORLD, rank < 0 ? MPI_UNDEFINED : 0, rank * 3, &made.handle));
    comms_.push_back(made);
  }

  /// Both parts of the world, and the intercommunicator of the two.
  void halves(const Ranks& order) {
    const auto first = static_cast<std::ptrdiff_t>(draw_.index(order.size() - 1) + 1);
    const Ranks parts[] = {{order.begin(), order.begin() + first},
                           {order.begin() + first, order.end()}};
    for (const Ranks& part : parts) split(part);
    const auto size = comms_.size();
    Comm made =
        begun(Comm::Kind::kInter,
              "MPI_Intercomm_create of " + join(parts[0]) + " | " + join(parts[1]), parts[0]);
    made.groups[1] = parts[1];
    const int side = made.side_of(check::rank());
    CHECK_MPI(MPI_Intercomm_create(comms_[size - 2 + static_cast<std::size_t>(side)].handle, 0,
                                   comms_[0].handle, parts[1 - side][0], 1, &made.handle));
    comms_.push_back(made);
  }

  /// Extents are 1 or 2 in so many of 100 cases, where a rank is its own neighbour, or has one
  /// neighbour twice.
  void cartesian(int percent_small) {
    const Comm& parent = comms_[draw_.index(2)];
    const Ranks& all = parent.groups[0];
    const int dims = draw_.number(1, 3);
    Ranks extents, periodic;
    int size = 1;
    for (int d = 0; d < dims; ++d) {
      const int most = static_cast<int>(all.size()) / size;
      const bool is_small = draw_.chance(percent_small);
      extents.push_back(is_small ? draw_.number(1, std::min(2, most))
                                 : draw_.number(std::min(3, most), most));
      periodic.push_back(draw_.chance(60) || percent_small == 100 ? 1 : 0);
      size *= extents.back();
    }
    Comm made = begun(Comm::Kind::kCartesian,
                      "MPI_Cart_create " + join(extents) + " periodic " + join(periodic),
                      Ranks(all.begin(), all.begin() + size));
    for (int rank = 0; rank < size; ++rank) {
      Ranks neighbours;
      int stride = size;
      for (int d = 0; d < dims; ++d) {
        const auto i = static_cast<std::size_t>(d);
        stride /= extents[i];
        const int at = rank / stride % extents[i];
        for (const int step : {-1, 1}) {
          const bool is_inside = at + step >= 0 && at + step < extents[i];
          const int to = (at + step + extents[i]) % extents[i];
          neighbours.push_back(is_inside || periodic[i] != 0
                                   ? all[static_cast<std::size_t>(rank + (to - at) * stride)]
                                   : kNone);
        }
      }
      made.sources.push_back(neighbours);
    }
    made.destinations = made.sources;
    CHECK_MPI(
        MPI_Cart_create(parent.handle, dims, extents.data(), periodic.data(), 0, &made.handle));
    comms_.push_back(made);
  }

  /// Both ends have an edge equally often, as neighbourhood collectives need it.
  void graph() {
    const int size = check::size();
    std::vector<Ranks> neighbours(static_cast<std::size_t>(size));
    const int edges = draw_.number(size, 3 * size);
    for (int i = 0; i < edges; ++i) {
      const int a = draw_.number(0, size - 1), b = draw_.number(0, size - 1);
      neighbours[static_cast<std::size_t>(a)].push_back(b);
      if (a != b) neighbours[static_cast<std::size_t>(b)].push_back(a);
    }
    Comm made = begun(Comm::Kind::kGraph, "MPI_Graph_create", everyone());
    Ranks ends, flat;
    for (Ranks& each : neighbours) {
      draw_.shuffle(each);
      flat.insert(flat.end(), each.begin(), each.end());
      ends.push_back(static_cast<int>(flat.size()));
      made.text += " (" + join(each) + ")";
    }
    made.sources = made.destinations = neighbours;
    CHECK_MPI(MPI_Graph_create(MPI_COMM_WORLD, size, ends.data(), flat.data(), 0, &made.handle));
    comms_.push_back(made);
  }

  /// Edges of all kinds; balanced: each rank has as many sources as destinations.
  void dist_graph(bool is_balanced) {
    const Ranks all = comms_[1].groups[0];
    const int size = check::size();
    Comm made = begun(Comm::Kind::kDistGraph, "MPI_Dist_graph_create_adjacent", all);
    made.sources.resize(all.size());
    made.destinations.resize(all.size());
    const auto add = [&](int from, int to) {
      made.destinations[static_cast<std::size_t>(from)].push_back(
          all[static_cast<std::size_t>(to)]);
      made.sources[static_cast<std::size_t>(to)].push_back(all[static_cast<std::size_t>(from)]);
    };
    if (is_balanced) {
      Ranks to = everyone();
      for (int times = draw_.number(1, 4); times > 0; --times) {
        draw_.shuffle(to);
        for (int from = 0; from < size; ++from) add(from, to[static_cast<std::size_t>(from)]);
      }
    } else {
      for (int edges = draw_.number(size, 3 * size); edges > 0; --edges) {
        const int from = draw_.number(0, size - 1);
        add(from, draw_.number(0, size - 1));
      }
    }
    for (auto* lists : {&made.sources, &made.destinations}) {
      made.text += lists == &made.sources ? " from" : " to";
      for (Ranks& each : *lists) {
        draw_.shuffle(each);
        made.text += " (" + join(each) + ")";
      }
    }
    const auto rank = static_cast<std::size_t>(made.rank_of(check::rank()));
    Ranks in, out;
    for (const int from : made.sources[rank]) in.push_back(made.rank_of(from));
    for (const int to : made.destinations[rank]) out.push_back(made.rank_of(to));
    CHECK_MPI(MPI_Dist_graph_create_adjacent(
        comms_[1].handle, static_cast<int>(in.size()), in.data(), MPI_UNWEIGHTED,
        static_cast<int>(out.size()), out.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made.handle));
    comms_.push_back(made);
  }

  Draw draw_;
  std::vector<Comm> comms_;
};

}  // namespace

bool Comm::has_equal_degrees() const {
  for (std::size_t rank = 0; rank < sources.size(); ++rank)
    if (sources[rank].size() != destinations[rank].size()) return false;
  return true;
}

bool Comm::has(int world_rank) const {
  return index_of(groups[0], world_rank) != kNone || index_of(groups[1], world_rank) != kNone;
}

int Comm::side_of(int world_rank) const { return index_of(groups[0], world_rank) < 0 ? 1 : 0; }

int Comm::rank_of(int world_rank) const { return index_of(own_group(world_rank), world_rank); }

std::vector<Comm> make_comms(std::uint64_t seed) { return Maker(seed).make(); }

void free_comms(std::vector<Comm>& comms) {
  for (Comm& comm : comms)
    if (comm.handle != MPI_COMM_NULL) CHECK_MPI(MPI_Comm_free(&comm.handle));
}

}  // namespace random_collectives
