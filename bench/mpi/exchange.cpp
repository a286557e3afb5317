// Halo exchange of a periodic grid of doubles with all 26 neighbours: Irecv, Isend, Waitall of
// subarrays.
#include <array>
#include <cstdio>
#include <vector>

#include "mpi/datatype.hpp"
#include "mpi/environment.hpp"
#include "mpi/paired_sampling.hpp"
#include "support/buffer.hpp"
#include "support/options.hpp"
#include "support/report.hpp"

namespace {

using namespace bench;
using Triple = std::array<int, 3>;  // z, y, x

// The job's ranks as a periodic box, x fastest.
class RankBox {
 public:
  RankBox(int rank, int ranks) {
    MPI_Dims_create(ranks, 3, dims_.data());
    at_ = {rank / (dims_[1] * dims_[2]), rank / dims_[2] % dims_[1], rank % dims_[2]};
  }
  [[nodiscard]] Triple dims() const { return dims_; }
  [[nodiscard]] Triple at() const { return at_; }
  [[nodiscard]] int neighbour(const Triple& direction) const {
    int rank = 0;
    for (std::size_t d = 0; d < 3; ++d) {
      rank = rank * dims_[d] + (at_[d] + direction[d] + dims_[d]) % dims_[d];
    }
    return rank;
  }

 private:
  Triple dims_{};
  Triple at_{};
};

struct Neighbour {
  int rank;
  int send_tag;
  int receive_tag;
  Datatype send;
  Datatype receive;
};

class Halo {
 public:
  Halo(const RankBox& box, int interior, int radius)
      : box_(box),
        interior_(interior),
        radius_(radius),
        size_(interior + 2 * radius),
        data_(std::int64_t{8} * size_ * size_ * size_) {
    for (int code = 0; code < 27; ++code) {
      const Triple direction{code / 9 - 1, code / 3 % 3 - 1, code % 3 - 1};
      if (code == 13) continue;  // the grid itself
      // What goes in one direction is received from the opposite one: the sender's direction is the
      // tag.
      neighbours_.push_back({box.neighbour(direction), code, 26 - code, part(direction, false),
                             part(direction, true)});
    }
    requests_.resize(2 * neighbours_.size());
  }

  void exchange() {
    std::size_t r = 0;
    for (const Neighbour& n : neighbours_) {
      MPI_Irecv(data_.data(), 1, n.receive.get(), n.rank, n.receive_tag, MPI_COMM_WORLD,
                &requests_[r++]);
    }
    for (const Neighbour& n : neighbours_) {
      MPI_Isend(data_.data(), 1, n.send.get(), n.rank, n.send_tag, MPI_COMM_WORLD, &requests_[r++]);
    }
    MPI_Waitall(static_cast<int>(r), requests_.data(), MPI_STATUSES_IGNORE);
  }

  // Interior points hold their number in the whole grid, ghosts -1.
  void fill() {
    for_each_point([&](const Triple& p, double& value) {
      bool inside = true;
      for (const int c : p) inside &= c >= radius_ && c < radius_ + interior_;
      value = inside ? number(p) : -1;
    });
  }

  [[nodiscard]] std::int64_t wrong_points() {
    std::int64_t wrong = 0;
    for_each_point([&](const Triple& p, double& value) { wrong += value != number(p); });
    return wrong;
  }

  [[nodiscard]] std::int64_t bytes_sent() const {
    std::int64_t bytes = 0;
    for (const Neighbour& n : neighbours_) {
      MPI_Count size = 0;
      MPI_Type_size_x(n.send.get(), &size);
      bytes += size;
    }
    return bytes;
  }

 private:
  [[nodiscard]] Datatype part(const Triple& direction, bool ghost) const {
    const Triple sizes{size_, size_, size_};
    Triple subsizes{};
    Triple starts{};
    for (std::size_t d = 0; d < 3; ++d) {
      subsizes[d] = direction[d] == 0 ? interior_ : radius_;
      starts[d] = direction[d] < 0    ? (ghost ? 0 : radius_)
                  : direction[d] == 0 ? radius_
                                      : (ghost ? radius_ + interior_ : interior_);
    }
    Datatype type = subarray(sizes, subsizes, starts, MPI_DOUBLE);
    MPI_Datatype handle = type.get();
    MPI_Type_commit(&handle);
    return type;
  }

  // The number of the point in the whole periodic grid that local point p stands for.
  [[nodiscard]] double number(const Triple& p) const {
    std::int64_t n = 0;
    for (std::size_t d = 0; d < 3; ++d) {
      const std::int64_t all = std::int64_t{box_.dims()[d]} * interior_;
      n = n * all + (std::int64_t{box_.at()[d]} * interior_ + p[d] - radius_ + all) % all;
    }
    return static_cast<double>(n);
  }

  template <typename Visit>
  void for_each_point(Visit&& visit) {
    auto* value = reinterpret_cast<double*>(data_.data());
    for (int z = 0; z < size_; ++z) {
      for (int y = 0; y < size_; ++y) {
        for (int x = 0; x < size_; ++x) visit({z, y, x}, *value++);
      }
    }
  }

  const RankBox& box_;
  int interior_;
  int radius_;
  int size_;
  Buffer data_;
  std::vector<Neighbour> neighbours_;
  std::vector<MPI_Request> requests_;
};

// Each sample is the slowest rank's. Ranks that disagree about the number of samples would be a
// fault of this program.
std::vector<double> slowest_rank(std::vector<double> samples) {
  MPI_Allreduce(MPI_IN_PLACE, samples.data(), static_cast<int>(samples.size()), MPI_DOUBLE, MPI_MAX,
                MPI_COMM_WORLD);
  return samples;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Options options =
      bench::parse_options(argc, argv, "Halo exchange with 26 neighbours on any number of ranks");
  const bench::Environment mpi(&argc, &argv);
  const bench::Report report("exchange", mpi.ranks(), mpi.library());
  const RankBox box(mpi.rank(), mpi.ranks());
  std::int64_t wrong = 0;
  for (const int interior :
       options.quick ? std::vector<int>{8} : std::vector<int>{32, 64, 128, 256}) {
    for (const int radius : {1, 3}) {
      const std::string name = std::to_string(interior) + "^3_r" + std::to_string(radius);
      if (options.list && mpi.rank() == 0) std::puts(name.c_str());
      if (options.list || !options.selects(name)) continue;
      Halo halo(box, interior, radius);
      halo.fill();
      halo.exchange();
      std::int64_t here = halo.wrong_points();
      MPI_Allreduce(MPI_IN_PLACE, &here, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
      wrong += here;
      if (here != 0) {
        if (mpi.rank() == 0) {
          std::fprintf(stderr, "%s: %lld wrong points\n", name.c_str(),
                       static_cast<long long>(here));
        }
        continue;
      }
      const auto samples = slowest_rank(sample_together(options.budget, [&] { halo.exchange(); }));
      if (mpi.rank() == 0) {
        report.line(name, summarize(to_microseconds(samples)), "-us",
                    {{"op", "exchange"}, {"bytes_per_rank", halo.bytes_sent()}});
      }
    }
  }
  return wrong == 0 ? 0 : 1;
}
