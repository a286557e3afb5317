#include "heat3d/stencils.hpp"

#include "strake/stencil.hpp"

namespace {

template <typename Taps>
class HeatOf : public HeatStencil {
 public:
  explicit HeatOf(const strake::Stencil<Taps>& stencil) : stencil_(stencil) {}

  [[nodiscard]] int reach() const override { return strake::Stencil<Taps>::reach(0); }
  void apply(std::span<const std::int32_t> bricks,
             const strake::BrickView<const double, BrickShape>& from,
             const strake::BrickView<double, BrickShape>& to) const override {
    stencil_.template apply<double, BrickShape>(bricks, from, to);
  }
  void apply(const strake::Box& cells, const Array& from, const Array& to) const override {
    stencil_.template apply<double>({cells.lower, cells.upper}, from.origin, to.origin,
                                    from.strides);
  }

 private:
  strake::Stencil<Taps> stencil_;
};

template <typename Taps>
std::unique_ptr<HeatStencil> heat_of(const strake::Stencil<Taps>& stencil) {
  return std::make_unique<HeatOf<Taps>>(stencil);
}

}  // namespace

// The coefficients are positive, and those of all points have the sum 1: a cell's value stays
// between the least and the greatest one around it.
std::unique_ptr<HeatStencil> stencil_of(int points) {
  switch (points) {
    case 13:
      return heat_of(strake::star<3, 2>(0.4, 0.07, 0.03));
    case 25:
      return heat_of(strake::star<3, 4>(0.4, 0.05, 0.03, 0.015, 0.005));
    case 27:
      return heat_of(strake::box<3, 1>(0.3, 0.05, 0.02, 0.02));
    case 125:
      return heat_of(
          strake::box<3, 2>(0.1, 0.03, 0.015, 0.01, 0.01, 0.006, 0.005, 0.004, 0.003, 0.002));
    default:
      return heat_of(strake::star<3, 1>(0.4, 0.1));
  }
}

int reach_of(int points) { return stencil_of(points)->reach(); }
