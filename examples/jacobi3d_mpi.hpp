/// \file  What jacobi3d needs of a grid, in plain MPI: memory of its own, one datatype a face,
/// Isend, Irecv, Waitall. Of Strake it uses only the names of regions and views.
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "strake/view.hpp"

/// A periodic grid of doubles, one ghost cell deep.
class MpiGrid {
 public:
  MpiGrid(MPI_Comm comm, const strake::Index3& extent) {
    int ranks = 1;
    MPI_Comm_size(comm, &ranks);
    std::array<int, 3> counts{};  // z, y, x: MPI_Dims_create puts the most first
    MPI_Dims_create(ranks, 3, counts.data());
    for (std::size_t a = 0; a < 3; ++a) {
      if (extent[a] >= counts[2 - a]) continue;
      throw std::invalid_argument("--baseline: " + std::to_string(counts[2 - a]) + " ranks along " +
                                  "xyz"[a] + ", but only " + std::to_string(extent[a]) + " cells");
    }
    const int periodic[] = {1, 1, 1};
    MPI_Cart_create(comm, 3, counts.data(), periodic, 0, &cart_);
    int rank = 0;
    MPI_Comm_rank(cart_, &rank);
    std::array<int, 3> at{};
    MPI_Cart_coords(cart_, rank, 3, at.data());
    for (std::size_t a = 0; a < 3; ++a) {
      const std::int64_t parts = counts[2 - a];
      owned_.lower[a] = extent[a] * at[2 - a] / parts;
      owned_.upper[a] = extent[a] * (at[2 - a] + 1) / parts;
    }
    for (std::size_t a = 0; a < 3; ++a) add_faces(a);
    for (auto& buffer : buffers_) {
      buffer.resize(static_cast<std::size_t>((owned_.extent(0) + 2) * (owned_.extent(1) + 2) *
                                             (owned_.extent(2) + 2)));
    }
  }
  MpiGrid(const MpiGrid&) = delete;
  MpiGrid& operator=(const MpiGrid&) = delete;
  ~MpiGrid() {
    for (Face& face : faces_) {
      MPI_Type_free(&face.sent);
      MPI_Type_free(&face.ghosts);
    }
    MPI_Comm_free(&cart_);
  }

  [[nodiscard]] strake::View<double> view() { return view_of(buffers_[0]); }
  [[nodiscard]] strake::View<double> next() { return view_of(buffers_[1]); }
  void swap() { buffers_[0].swap(buffers_[1]); }

  struct Ghosts {
    std::array<MPI_Request, 12> requests;
    void wait() { MPI_Waitall(12, requests.data(), MPI_STATUSES_IGNORE); }
  };
  [[nodiscard]] Ghosts exchange() {
    Ghosts ghosts;
    double* const cells = buffers_[0].data();
    MPI_Request* request = ghosts.requests.data();
    for (const Face& face : faces_)
      MPI_Irecv(cells, 1, face.ghosts, face.from, face.tag, cart_, request++);
    for (const Face& face : faces_)
      MPI_Isend(cells, 1, face.sent, face.to, face.tag, cart_, request++);
    return ghosts;
  }

  [[nodiscard]] strake::Region interior() const {
    strake::Region made = owned_;
    for (std::size_t a = 0; a < 3; ++a) {
      ++made.lower[a];
      made.upper[a] = std::max(made.lower[a], made.upper[a] - 1);
    }
    return made;
  }
  /// Slabs around the interior.
  [[nodiscard]] std::vector<strake::Region> exterior() const {
    const strake::Region inner = interior();
    if (inner.empty()) return {owned_};
    std::vector<strake::Region> boxes;
    strake::Region rest = owned_;
    for (std::size_t a = 3; a-- > 0;) {
      strake::Region low = rest, high = rest;
      low.upper[a] = rest.lower[a] = inner.lower[a];
      high.lower[a] = rest.upper[a] = inner.upper[a];
      boxes.insert(boxes.end(), {low, high});
    }
    return boxes;
  }

 private:
  /// All ranks send one way, and receive from the other side.
  struct Face {
    int to, from, tag;
    MPI_Datatype sent, ghosts;
  };
  void add_faces(std::size_t axis) {
    for (const int side : {-1, 1}) {
      Face face{};
      face.tag = static_cast<int>(faces_.size());
      MPI_Cart_shift(cart_, 2 - static_cast<int>(axis), side, &face.from, &face.to);
      const int cells = static_cast<int>(owned_.extent(static_cast<int>(axis)));
      face.sent = layer(axis, side < 0 ? 1 : cells);
      face.ghosts = layer(axis, side < 0 ? cells + 1 : 0);
      faces_.push_back(face);
    }
  }
  /// One layer of cells, without those at its rim.
  [[nodiscard]] MPI_Datatype layer(std::size_t axis, int start) const {
    std::array<int, 3> sizes{}, parts{}, starts{1, 1, 1};
    for (std::size_t a = 0; a < 3; ++a) {
      parts[2 - a] = static_cast<int>(owned_.extent(static_cast<int>(a)));
      sizes[2 - a] = parts[2 - a] + 2;
    }
    parts[2 - axis] = 1;
    starts[2 - axis] = start;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_create_subarray(3, sizes.data(), parts.data(), starts.data(), MPI_ORDER_C, MPI_DOUBLE,
                             &type);
    MPI_Type_commit(&type);
    return type;
  }
  [[nodiscard]] strake::View<double> view_of(std::vector<double>& buffer) const {
    strake::Region stored = owned_;
    for (std::size_t a = 0; a < 3; ++a) {
      --stored.lower[a];
      ++stored.upper[a];
    }
    const std::int64_t y = stored.extent(0), z = y * stored.extent(1);
    double* const origin =
        buffer.data() - (stored.lower[0] + stored.lower[1] * y + stored.lower[2] * z);
    return {origin, y, z, owned_, stored};
  }

  MPI_Comm cart_ = MPI_COMM_NULL;
  strake::Region owned_;
  std::vector<Face> faces_;
  std::array<std::vector<double>, 2> buffers_;
};
