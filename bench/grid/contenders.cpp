#include "grid/contenders.hpp"

#include <mpi.h>

#include "grid/not_fused.hpp"
#include "mpi/halo_forms.hpp"
#include "mpi/numbers.hpp"
#include "strake/error.hpp"
#include "strake/grid.hpp"

namespace bench {
namespace {

class GridContender : public Contender {
 public:
  GridContender(const RankBox& box, const HaloShape& shape)
      : grid_(MPI_COMM_WORLD, BlockCells(box, shape).extent(),
              {.radius = shape.radius, .periodic = {true, true, true}, .counts = box.counts()}) {
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
    for (const Transfer& transfer : transfers_of(box, shape)) {
      const auto cells = static_cast<std::size_t>(transfer.sent.size() * shape.quantities);
      messages_.push_back({transfer, std::vector<double>(cells), std::vector<double>(cells)});
    }
    requests_.resize(2 * messages_.size());
  }
  void exchange() override {
    MPI_Request* request = requests_.data();
    for (Message& m : messages_)
      MPI_Irecv(m.in.data(), static_cast<int>(m.in.size()), MPI_DOUBLE, m.way.from, m.way.code,
                MPI_COMM_WORLD, request++);
    for (Message& m : messages_) {
      double* packed = m.out.data();
      for_each_row(m.way.sent, [&](double* row, int length) {
        for (int x = 0; x < length; ++x) packed[x] = row[x];
        packed += length;
      });
      MPI_Isend(m.out.data(), static_cast<int>(m.out.size()), MPI_DOUBLE, m.way.to, m.way.code,
                MPI_COMM_WORLD, request++);
    }
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
    for (Message& m : messages_) {
      const double* packed = m.in.data();
      for_each_row(m.way.ghosts, [&](double* row, int length) {
        for (int x = 0; x < length; ++x) row[x] = packed[x];
        packed += length;
      });
    }
  }

 private:
  struct Message {
    Transfer way;
    std::vector<double> out;
    std::vector<double> in;
  };
  template <typename Visit>
  void for_each_row(const strake::Box& part, Visit&& visit) const {
    const std::int64_t size = halo_.shape().size();
    for (int q = 0; q < halo_.shape().quantities; ++q) {
      for (std::int64_t z = part.lower[2]; z < part.upper[2]; ++z)
        for (std::int64_t y = part.lower[1]; y < part.upper[1]; ++y)
          visit(halo_.array(q) + (z * size + y) * size + part.lower[0],
                static_cast<int>(part.extent(0)));
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
