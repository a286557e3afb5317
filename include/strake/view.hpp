/// \file  How code on the host and on devices sees a field of a grid: by global coordinates.
#pragma once

#include <array>
#include <cstdint>

#include "strake/api.hpp"
#include "strake/box.hpp"

#if defined(__CUDACC__)
#include <cstdio>
#define STRAKE_VIEW_HOST_DEVICE __host__ __device__
#else
#define STRAKE_VIEW_HOST_DEVICE
#endif
#define STRAKE_VIEW_FN STRAKE_VIEW_HOST_DEVICE constexpr

/// Whether View::operator() checks its coordinates, as View::at() does. Define it as 1 or 0, the
/// same in all sources of a program. By default 1 in sources for the host that are compiled neither
/// with optimisation nor with NDEBUG.
#ifndef STRAKE_CHECK_VIEWS
#if defined(NDEBUG) || defined(__OPTIMIZE__) || defined(__CUDACC__)
#define STRAKE_CHECK_VIEWS 0
#else
#define STRAKE_CHECK_VIEWS 1
#endif
#endif

namespace strake {

/// View::at() calls this for a cell that is not in the box that the view stores.
/// \throws InvalidArgument  always; the message names the cell and the box
[[noreturn]] STRAKE_API void throw_not_stored(const Box& stored, const Index3& at);

/// A field on one of a rank's subgrids, ghosts included. A plain value of 120 bytes, passed to
/// kernels by value. Valid until the grid's next swap(), and as long as the grid.
template <typename T>
class View {
 public:
  constexpr View() noexcept = default;
  /// \param origin  where cell (0, 0, 0) is, or would be; strides are in elements
  STRAKE_VIEW_FN View(T* origin, std::int64_t stride_y, std::int64_t stride_z, const Box& owned,
                      const Box& stored) noexcept
      : origin_(origin), stride_y_(stride_y), stride_z_(stride_z), owned_(owned), stored_(stored) {}

  /// The element at global coordinates, which are in stored(). Others are the caller's fault, which
  /// is found if STRAKE_CHECK_VIEWS is 1, as by at().
  [[nodiscard]] STRAKE_VIEW_FN T& operator()(std::int64_t i, std::int64_t j = 0,
                                             std::int64_t k = 0) const
      noexcept(STRAKE_CHECK_VIEWS == 0) {
#if STRAKE_CHECK_VIEWS
    return at(i, j, k);
#else
    return element(i, j, k);
#endif
  }
  /// The element at global coordinates, always checked.
  /// \throws InvalidArgument  the coordinates are not in stored(); the message names both. A kernel
  /// prints the message, and ends by a trap, which is an error of the device.
  [[nodiscard]] STRAKE_VIEW_FN T& at(std::int64_t i, std::int64_t j = 0, std::int64_t k = 0) const {
    if (!stored_.contains(i, j, k)) refuse({i, j, k});
    return element(i, j, k);
  }
  /// The elements that the subgrid owns.
  [[nodiscard]] STRAKE_VIEW_FN Box owned() const noexcept { return owned_; }
  /// The owned elements and their ghosts.
  [[nodiscard]] STRAKE_VIEW_FN Box stored() const noexcept { return stored_; }
  /// The distance of neighbours along an axis. [elements]
  [[nodiscard]] STRAKE_VIEW_FN std::int64_t stride(int axis) const noexcept {
    return axis == 0 ? 1 : axis == 1 ? stride_y_ : stride_z_;
  }

 private:
  [[nodiscard]] STRAKE_VIEW_FN T& element(std::int64_t i, std::int64_t j,
                                          std::int64_t k) const noexcept {
    // Row first: compilers then compute its address outside of loops over i.
    return origin_[j * stride_y_ + k * stride_z_ + i];
  }
  STRAKE_VIEW_HOST_DEVICE void refuse(const Index3& at) const {
#if defined(__CUDA_ARCH__)
    const auto text = [](std::int64_t value) { return static_cast<long long>(value); };
    printf(
        "strake: cell (%lld, %lld, %lld) of a view that stores [%lld, %lld) x [%lld, %lld) x "
        "[%lld, %lld)\n",
        text(at[0]), text(at[1]), text(at[2]), text(stored_.lower[0]), text(stored_.upper[0]),
        text(stored_.lower[1]), text(stored_.upper[1]), text(stored_.lower[2]),
        text(stored_.upper[2]));
    __trap();
#else
    throw_not_stored(stored_, at);
#endif
  }

  T* origin_ = nullptr;
  std::int64_t stride_y_ = 0;
  std::int64_t stride_z_ = 0;
  Box owned_;
  Box stored_;
};

}  // namespace strake
