/// \file  A grid for jacobi3d in plain MPI: memory of its own, one datatype a face, Isend, Irecv,
/// Waitall. Of Strake this grid uses only the types of regions and views.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "strake/view.hpp"

/// A rank's part of a periodic grid of doubles, one ghost cell deep, wherever its memory is.
class MpiBox {
 public:
  MpiBox(MPI_Comm comm, const strake::Index3& extent) {
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
    stored_ = owned_;
    for (std::size_t a = 0; a < 3; ++a) {
      --stored_.lower[a];
      ++stored_.upper[a];
    }
    for (std::size_t a = 0; a < 3; ++a) add_faces(a);
  }
  MpiBox(const MpiBox&) = delete;
  MpiBox& operator=(const MpiBox&) = delete;
  ~MpiBox() { MPI_Comm_free(&cart_); }

  /// \{ As of a strake::Grid: a rank has one subgrid.
  [[nodiscard]] strake::Box interior(int /*subgrid*/ = 0) const {
    strake::Box made = owned_;
    for (std::size_t a = 0; a < 3; ++a) {
      ++made.lower[a];
      made.upper[a] = std::max(made.lower[a], made.upper[a] - 1);
    }
    return made;
  }
  /// Slabs around the interior.
  [[nodiscard]] std::vector<strake::Box> exterior(int /*subgrid*/ = 0) const {
    const strake::Box inner = interior();
    if (inner.empty()) return {owned_};
    std::vector<strake::Box> boxes;
    strake::Box rest = owned_;
    for (std::size_t a = 3; a-- > 0;) {
      strake::Box low = rest, high = rest;
      low.upper[a] = rest.lower[a] = inner.lower[a];
      high.lower[a] = rest.upper[a] = inner.upper[a];
      boxes.insert(boxes.end(), {low, high});
    }
    return boxes;
  }
  /// \}

 protected:
  /// All ranks send one way, and receive from the other side: layers of cells, without those at
  /// their rims.
  struct Face {
    int to, from, tag;
    strake::Box sent, ghosts;
  };
  [[nodiscard]] MPI_Comm cart() const { return cart_; }
  [[nodiscard]] const std::vector<Face>& faces() const { return faces_; }
  [[nodiscard]] const strake::Box& stored() const { return stored_; }
  /// A view of all stored cells, which lie at `cells`, x fastest.
  [[nodiscard]] strake::View<double> view_of(double* cells) const {
    const std::int64_t y = stored_.extent(0), z = y * stored_.extent(1);
    double* const origin = cells - (stored_.lower[0] + stored_.lower[1] * y + stored_.lower[2] * z);
    return {origin, y, z, owned_, stored_};
  }

 private:
  void add_faces(std::size_t axis) {
    const std::int64_t first = owned_.lower[axis], end = owned_.upper[axis];
    for (const int side : {-1, 1}) {
      Face face{};
      face.tag = static_cast<int>(faces_.size());
      MPI_Cart_shift(cart_, 2 - static_cast<int>(axis), side, &face.from, &face.to);
      face.sent = layer(axis, side < 0 ? first : end - 1);
      face.ghosts = layer(axis, side < 0 ? end : first - 1);
      faces_.push_back(face);
    }
  }
  [[nodiscard]] strake::Box layer(std::size_t axis, std::int64_t at) const {
    strake::Box made = owned_;
    made.lower[axis] = at;
    made.upper[axis] = at + 1;
    return made;
  }

  MPI_Comm cart_ = MPI_COMM_NULL;
  strake::Box owned_, stored_;
  std::vector<Face> faces_;
};

/// A grid in host memory.
class MpiGrid : public MpiBox {
 public:
  MpiGrid(MPI_Comm comm, const strake::Index3& extent) : MpiBox(comm, extent) {
    for (const Face& face : faces())
      types_.push_back({datatype_of(face.sent), datatype_of(face.ghosts)});
    for (auto& buffer : buffers_) buffer.resize(static_cast<std::size_t>(stored().size()));
  }
  ~MpiGrid() {
    for (Types& types : types_) {
      MPI_Type_free(&types.sent);
      MPI_Type_free(&types.ghosts);
    }
  }

  [[nodiscard]] strake::View<double> view() { return view_of(buffers_[0].data()); }
  [[nodiscard]] strake::View<double> next() { return view_of(buffers_[1].data()); }
  void swap() { buffers_[0].swap(buffers_[1]); }

  struct Ghosts {
    std::array<MPI_Request, 12> requests;
    void wait() { MPI_Waitall(12, requests.data(), MPI_STATUSES_IGNORE); }
  };
  [[nodiscard]] Ghosts exchange() {
    Ghosts ghosts;
    double* const cells = buffers_[0].data();
    MPI_Request* request = ghosts.requests.data();
    for (std::size_t f = 0; f < faces().size(); ++f)
      MPI_Irecv(cells, 1, types_[f].ghosts, faces()[f].from, faces()[f].tag, cart(), request++);
    for (std::size_t f = 0; f < faces().size(); ++f)
      MPI_Isend(cells, 1, types_[f].sent, faces()[f].to, faces()[f].tag, cart(), request++);
    return ghosts;
  }

 private:
  struct Types {
    MPI_Datatype sent, ghosts;
  };
  [[nodiscard]] MPI_Datatype datatype_of(const strake::Box& cells) const {
    std::array<int, 3> sizes{}, parts{}, starts{};
    for (int a = 0; a < 3; ++a) {
      const auto axis = static_cast<std::size_t>(a);
      sizes[2 - axis] = static_cast<int>(stored().extent(a));
      parts[2 - axis] = static_cast<int>(cells.extent(a));
      starts[2 - axis] = static_cast<int>(cells.lower[axis] - stored().lower[axis]);
    }
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_create_subarray(3, sizes.data(), parts.data(), starts.data(), MPI_ORDER_C, MPI_DOUBLE,
                             &type);
    MPI_Type_commit(&type);
    return type;
  }

  std::vector<Types> types_;
  std::array<std::vector<double>, 2> buffers_;
};
