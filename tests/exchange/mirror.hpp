/// \file  A field of a grid, where the host reaches it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "strake/copy.hpp"
#include "strake/memory.hpp"
#include "strake/view.hpp"

namespace strake {

/// Host copy of all stored cells of a view; load() and store() copy from and to its memory.
template <typename T>
class Mirror {
 public:
  explicit Mirror(const View<T>& of)
      : of_(of), values_(static_cast<std::size_t>(of.stored().size())) {
    const Box& stored = of.stored();
    const std::int64_t row = stored.extent(0), plane = row * stored.extent(1);
    view_ = {values_.data() - stored.lower[0] - stored.lower[1] * row - stored.lower[2] * plane,
             row, plane, of.owned(), stored};
    if (stored.empty()) return;
    const auto size = static_cast<std::int64_t>(sizeof(T));
    const Dim dims[] = {{stored.extent(2), of.stride(2) * size},
                        {stored.extent(1), of.stride(1) * size}};
    there_ = Layout::box(0, row * size, dims);
    first_ = reinterpret_cast<std::byte*>(&of(stored.lower[0], stored.lower[1], stored.lower[2]));
    place_ = classify(first_);
    load();
  }
  void load() {
    CopyPlan::compile(here(), Place{}, there_, place_)
        .run(reinterpret_cast<std::byte*>(values_.data()), first_);
  }
  void store() {
    CopyPlan::compile(there_, place_, here(), Place{})
        .run(first_, reinterpret_cast<const std::byte*>(values_.data()));
  }
  [[nodiscard]] const View<T>& view() const { return view_; }

 private:
  [[nodiscard]] Layout here() const { return Layout::dense(there_.size_bytes()); }
  View<T> of_;
  View<T> view_;
  std::vector<T> values_;
  Layout there_;
  std::byte* first_ = nullptr;
  Place place_;
};

}  // namespace strake
