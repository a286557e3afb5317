#include "grid/contenders.hpp"

#include <mpi.h>

#include <array>

#include "grid/not_fused.hpp"
#include "grid/numbers.hpp"
#include "mpi/halo_forms.hpp"
#include "strake/error.hpp"
#include "strake/grid.hpp"

namespace bench {
namespace {

class GridContender : public Contender {
 public:
  GridContender(const RankBox& box, const HaloShape& shape)
      : grid_(MPI_COMM_WORLD, extent_of(box, shape),
              {.radius = shape.radius,
               .periodic = {true, true, true},
               .counts = {box.dims()[2], box.dims()[1], box.dims()[0]}}) {
    for (int q = 0; q < shape.quantities; ++q)
      fields_.push_back(grid_.add<double>("q" + std::to_string(q), {.next = false}));
  }
  void exchange() override { grid_.exchange().wait(); }
  void fill(int epoch) override {
    for (std::size_t q = 0; q < fields_.size(); ++q) {
      const auto view = fields_[q].view();
      for_each_cell(view.stored(), [&](auto i, auto j, auto k) { view(i, j, k) = -1; });
      for_each_cell(view.owned(), [&](auto i, auto j, auto k) {
        view(i, j, k) = number({i, j, k}, q, epoch);
      });
    }
  }
  [[nodiscard]] std::int64_t wrong_cells(int epoch) const override {
    std::int64_t wrong = 0;
    for (std::size_t q = 0; q < fields_.size(); ++q) {
      const auto view = fields_[q].view();
      for_each_cell(view.stored(), [&](auto i, auto j, auto k) {
        wrong += view(i, j, k) != number({i, j, k}, q, epoch);
      });
    }
    return wrong;
  }

 protected:
  [[nodiscard]] const std::vector<strake::Field<double>>& fields() const { return fields_; }

 private:
  static std::array<std::int64_t, 3> extent_of(const RankBox& box, const HaloShape& shape) {
    const std::int64_t edge = shape.edge;
    return {box.dims()[2] * edge, box.dims()[1] * edge, box.dims()[0] * edge};
  }
  [[nodiscard]] double number(const strake::Index3& cell, std::size_t quantity, int epoch) const {
    return grid_number(cell, grid_.extent(), quantity, fields_.size(), epoch);
  }

  strake::Grid grid_;
  std::vector<strake::Field<double>> fields_;
};

class NotFusedContender final : public GridContender {
 public:
  NotFusedContender(const RankBox& box, const HaloShape& shape)
      : GridContender(box, shape), exchanges_(fields(), box, shape, {}) {}
  void exchange() override { exchanges_.exchange(); }

 private:
  NotFused exchanges_;
};

/// A contender whose blocks are a program's own.
class HaloContender : public Contender {
 public:
  HaloContender(const RankBox& box, const HaloShape& shape) : halo_(box, shape) {}
  void fill(int epoch) override { halo_.fill(epoch); }
  [[nodiscard]] std::int64_t wrong_cells(int epoch) const override {
    return halo_.wrong_cells(epoch);
  }

 protected:
  Halo halo_;
};

class SubarrayContender final : public HaloContender {
 public:
  SubarrayContender(const RankBox& box, const HaloShape& shape)
      : HaloContender(box, shape), exchange_(halo_forms().front().prepare(halo_)) {}
  void exchange() override { exchange_(); }

 private:
  std::function<void()> exchange_;
};

class PackedContender final : public HaloContender {
 public:
  PackedContender(const RankBox& box, const HaloShape& shape) : HaloContender(box, shape) {
    for (const Way& way : halo_.ways()) {
      const Triple& d = way.direction;
      Message message{
          way.to, way.from, way.code, halo_.part(d, false), halo_.part({-d[0], -d[1], -d[2]}, true),
          {},     {}};
      const Triple& sizes = message.sent.sizes;
      const auto cells = static_cast<std::size_t>(sizes[0]) * static_cast<std::size_t>(sizes[1]) *
                         static_cast<std::size_t>(sizes[2]);
      message.out.resize(cells * static_cast<std::size_t>(shape.quantities));
      message.in.resize(message.out.size());
      messages_.push_back(std::move(message));
    }
    requests_.resize(2 * messages_.size());
  }
  void exchange() override {
    MPI_Request* request = requests_.data();
    for (Message& m : messages_)
      MPI_Irecv(m.in.data(), static_cast<int>(m.in.size()), MPI_DOUBLE, m.from, m.tag,
                MPI_COMM_WORLD, request++);
    for (Message& m : messages_) {
      double* packed = m.out.data();
      for_each_row(m.sent, [&](double* row, int length) {
        for (int x = 0; x < length; ++x) packed[x] = row[x];
        packed += length;
      });
      MPI_Isend(m.out.data(), static_cast<int>(m.out.size()), MPI_DOUBLE, m.to, m.tag,
                MPI_COMM_WORLD, request++);
    }
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
    for (Message& m : messages_) {
      const double* packed = m.in.data();
      for_each_row(m.ghosts, [&](double* row, int length) {
        for (int x = 0; x < length; ++x) row[x] = packed[x];
        packed += length;
      });
    }
  }

 private:
  struct Message {
    int to;
    int from;
    int tag;
    Halo::Part sent;
    Halo::Part ghosts;
    std::vector<double> out;
    std::vector<double> in;
  };
  template <typename Visit>
  void for_each_row(const Halo::Part& part, Visit&& visit) const {
    const auto size = static_cast<std::int64_t>(halo_.size());
    for (int q = 0; q < halo_.quantities(); ++q) {
      auto* const cells = reinterpret_cast<double*>(halo_.array(q));
      for (int z = part.starts[0]; z < part.starts[0] + part.sizes[0]; ++z)
        for (int y = part.starts[1]; y < part.starts[1] + part.sizes[1]; ++y)
          visit(cells + (z * size + y) * size + part.starts[2], part.sizes[2]);
    }
  }

  std::vector<Message> messages_;
  std::vector<MPI_Request> requests_;
};

template <typename Kind>
std::unique_ptr<Contender> make(const RankBox& box, const HaloShape& shape) {
  return std::make_unique<Kind>(box, shape);
}

}  // namespace

// grid: a strake::Grid. grid, not fused: one exchange a direction and field instead, all started
// and then waited for. subarray: one message a direction and field, of a subarray. packed: loops
// pack all fields of a direction into one buffer, and unpack them.
const std::vector<ContenderKind>& contender_kinds() {
  static const std::vector<ContenderKind> kinds = {{"grid", make<GridContender>},
                                                   {"grid, not fused", make<NotFusedContender>},
                                                   {"subarray", make<SubarrayContender>},
                                                   {"packed", make<PackedContender>}};
  return kinds;
}

}  // namespace bench
