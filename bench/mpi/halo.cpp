#include "mpi/halo.hpp"

namespace bench {

RankBox::RankBox(int rank, int ranks) {
  MPI_Dims_create(ranks, 3, dims_.data());
  at_ = {rank / (dims_[1] * dims_[2]), rank / dims_[2] % dims_[1], rank % dims_[2]};
}

int RankBox::neighbour(const Triple& direction, int sign) const {
  const auto xyz = [](const Triple& zyx) { return strake::Index3{zyx[2], zyx[1], zyx[0]}; };
  const strake::Direction d = direction_of(direction);
  const strake::Index3 counts = xyz(dims_);
  return static_cast<int>(
      strake::number_of(*strake::neighbour(xyz(at_), sign < 0 ? -d : d, counts), counts));
}

Halo::Halo(const RankBox& box, const HaloShape& shape)
    : box_(box), shape_(shape), size_(shape.edge + 2 * shape.radius) {
  for (int q = 0; q < shape.quantities; ++q) {
    arrays_.emplace_back(std::int64_t{8} * size_ * size_ * size_, shape_.memory);
  }
  for (const strake::Direction d : strake::kDirections) {
    const Triple direction{d.z, d.y, d.x};
    const Triple back{-d.z, -d.y, -d.x};
    ways_.push_back({d.number(), direction, box.neighbour(direction, 1),
                     box.neighbour(direction, -1), type_of(part(direction, false)),
                     type_of(part(back, true))});
  }
}

Halo::Part Halo::part(const HaloShape& shape, const Triple& direction, bool ghost) {
  const std::int64_t first = shape.radius;
  const std::int64_t end = first + shape.edge;
  const strake::Box interior{{first, first, first}, {end, end, end}};
  const strake::Direction d = direction_of(direction);
  const strake::Box cells =
      ghost ? strake::ghosts(interior, d, shape.radius) : strake::border(interior, d, shape.radius);
  Part made{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    made.starts[2 - axis] = static_cast<int>(cells.lower[axis]);
    made.sizes[2 - axis] = static_cast<int>(cells.extent(static_cast<int>(axis)));
  }
  return made;
}

Datatype Halo::type_of(const Part& part) const {
  Datatype type = subarray(Triple{size_, size_, size_}, part.sizes, part.starts, MPI_DOUBLE);
  MPI_Datatype handle = type.get();
  MPI_Type_commit(&handle);
  return type;
}

std::int64_t Halo::bytes_sent() const {
  std::int64_t bytes = 0;
  for (const Way& way : ways_) {
    MPI_Count size = 0;
    MPI_Type_size_x(way.send.get(), &size);
    bytes += size * shape_.quantities;
  }
  return bytes;
}

// By the cell's place in the whole periodic grid: a ghost's number is that of the cell it stands
// for.
double Halo::number(const Triple& cell, int quantity, int epoch) const {
  std::int64_t n = epoch;
  for (std::size_t d = 0; d < 3; ++d) {
    const std::int64_t all = std::int64_t{box_.dims()[d]} * shape_.edge;
    n = n * all + (std::int64_t{box_.at()[d]} * shape_.edge + cell[d] - shape_.radius + all) % all;
  }
  return static_cast<double>(n * shape_.quantities + quantity);
}

template <typename Visit>
void Halo::for_each_cell(Visit&& visit) const {
  for (int q = 0; q < shape_.quantities; ++q) {
    auto* value = reinterpret_cast<double*>(array(q));
    for (int z = 0; z < size_; ++z) {
      for (int y = 0; y < size_; ++y) {
        for (int x = 0; x < size_; ++x) visit(Triple{z, y, x}, q, *value++);
      }
    }
  }
}

void Halo::fill(int epoch) {
  for_each_cell([&](const Triple& cell, int quantity, double& value) {
    bool inside = true;
    for (const int c : cell) inside &= c >= shape_.radius && c < shape_.radius + shape_.edge;
    value = inside ? number(cell, quantity, epoch) : -1;
  });
}

std::int64_t Halo::wrong_cells(int epoch) const {
  std::int64_t wrong = 0;
  for_each_cell([&](const Triple& cell, int quantity, const double& value) {
    wrong += value != number(cell, quantity, epoch);
  });
  return wrong;
}

}  // namespace bench
