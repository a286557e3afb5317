/// \file  One rank of a periodic 3D halo exchange, in plain MPI.
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "halo_types.hpp"

/// One rank of the job: its place in the process grid, its neighbours, its types.
class Halo {
 public:
  Halo(const Block& block, MPI_Comm comm) : block_(block) {
    int size = 0;
    MPI_Comm_size(comm, &size);
    MPI_Dims_create(size, 3, dims_.data());
    const int periodic[] = {1, 1, 1};
    MPI_Cart_create(comm, 3, dims_.data(), periodic, 0, &cart_);
    int rank = 0;
    MPI_Comm_rank(cart_, &rank);
    MPI_Cart_coords(cart_, rank, 3, coords_.data());
    for (const Direction& direction : directions_) {
      std::array<int, 3> there;
      for (std::size_t axis = 0; axis < 3; ++axis) there[axis] = coords_[axis] + direction[axis];
      neighbours_.push_back(0);
      MPI_Cart_rank(cart_, there.data(), &neighbours_.back());
    }
  }
  Halo(const Halo&) = delete;
  Halo& operator=(const Halo&) = delete;
  ~Halo() {
    free_types();
    MPI_Comm_free(&cart_);
  }

  void make_types() {
    for (const Direction& direction : directions_) {
      sends_.push_back(make_region(block_, direction, false));
      ghosts_.push_back(make_region(block_, direction, true));
    }
  }
  void free_types() {
    for (Region& region : sends_) MPI_Type_free(&region.type);
    for (Region& region : ghosts_) MPI_Type_free(&region.type);
    sends_.clear();
    ghosts_.clear();
  }

  /// The message that leaves in direction i carries tag i; from the neighbour in direction i comes
  /// the one that left in the opposite direction. So messages keep apart where one rank is the
  /// neighbour on several sides.
  void exchange(double* cells) {
    const int count = static_cast<int>(directions_.size());
    std::vector<MPI_Request> requests(2 * directions_.size());
    for (int i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      MPI_Irecv(cells + ghosts_[at].offset, 1, ghosts_[at].type, neighbours_[at], count - 1 - i,
                cart_, &requests[at]);
    }
    for (int i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      MPI_Isend(cells + sends_[at].offset, 1, sends_[at].type, neighbours_[at], i, cart_,
                &requests[directions_.size() + at]);
    }
    MPI_Waitall(2 * count, requests.data(), MPI_STATUSES_IGNORE);
  }

  [[nodiscard]] int packed_bytes() const {
    int total = 0;
    for (const Region& region : sends_) {
      int bytes = 0;
      MPI_Pack_size(1, region.type, cart_, &bytes);
      total += bytes;
    }
    return total;
  }
  /// Packs every send region, one after the other. Returns the bytes that it took.
  int pack(const double* cells, void* packed, int size) const {
    int position = 0;
    for (const Region& region : sends_) {
      MPI_Pack(cells + region.offset, 1, region.type, packed, size, &position, cart_);
    }
    return position;
  }

  /// Fills the interior with what each cell must hold, and the ghost cells with what none may hold.
  void fill(std::vector<double>& cells, int generation) const {
    for_each_cell([&](std::size_t at, double value, bool ghost) { cells[at] = ghost ? -1 : value; },
                  generation);
  }
  /// Counts the cells, ghost cells and interior, that do not hold what they must.
  [[nodiscard]] long long count_wrong(const std::vector<double>& cells, int generation) const {
    long long wrong = 0;
    for_each_cell(
        [&](std::size_t at, double value, bool) {
          if (cells[at] == value) return;
          if (wrong++ == 0) {
            std::fprintf(
                stderr,
                "halo3d: cell %zu of the block at (%d, %d, %d) holds %.0f instead of %.0f\n", at,
                coords_[0], coords_[1], coords_[2], cells[at], value);
          }
        },
        generation);
    return wrong;
  }
  [[nodiscard]] const std::array<int, 3>& dims() const { return dims_; }

 private:
  /// The value encodes field, global coordinate and generation; every one below 2^53 is exact in a
  /// double.
  template <typename Visit>
  void for_each_cell(Visit visit, int generation) const {
    const int side = block_.side();
    const auto global = [&](std::size_t axis, int local) {
      const std::int64_t length = static_cast<std::int64_t>(dims_[axis]) * block_.n;
      return (static_cast<std::int64_t>(coords_[axis]) * block_.n + local - block_.radius +
              length) %
             length;
    };
    const auto outside = [&](int local) {
      return local < block_.radius || local >= block_.radius + block_.n;
    };
    const std::int64_t length_x = static_cast<std::int64_t>(dims_[2]) * block_.n;
    const std::int64_t length_y = static_cast<std::int64_t>(dims_[1]) * block_.n;
    const std::int64_t length_z = static_cast<std::int64_t>(dims_[0]) * block_.n;
    std::size_t at = 0;
    for (int q = 0; q < block_.quantities; ++q) {
      for (int z = 0; z < side; ++z) {
        for (int y = 0; y < side; ++y) {
          const std::int64_t row =
              ((q * length_z + global(0, z)) * length_y + global(1, y)) * length_x;
          const bool row_outside = outside(z) || outside(y);
          for (int x = 0; x < side; ++x) {
            visit(at++, static_cast<double>(4 * (row + global(2, x)) + generation),
                  row_outside || outside(x));
          }
        }
      }
    }
  }

  Block block_;
  MPI_Comm cart_ = MPI_COMM_NULL;
  std::array<int, 3> dims_{};
  std::array<int, 3> coords_{};
  std::vector<Direction> directions_ = all_directions();
  std::vector<int> neighbours_;
  std::vector<Region> sends_;
  std::vector<Region> ghosts_;
};
