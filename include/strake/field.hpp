/// \file  Fields of a grid: how far a stencil reaches, where in its cell a field is, and handles by
/// which calls name fields. Source: dissertation 4 (the stencil library).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "strake/api.hpp"
#include "strake/box.hpp"
#include "strake/view.hpp"

namespace strake {

/// How many cells a stencil reaches, by direction: ghost cells are as deep there, and a direction
/// of 0 is not exchanged.
class Radius {
 public:
  /// Cells on the two sides of an axis.
  struct Sides {
    constexpr Sides(int both = 0) noexcept : below(both), above(both) {}  // NOLINT(*-explicit-*)
    constexpr Sides(int its_below, int its_above) noexcept : below(its_below), above(its_above) {}
    int below;
    int above;
  };

  /// `all` cells in each of the 26 directions.
  constexpr Radius(int all = 0) noexcept { fill(all); }  // NOLINT(*-explicit-*)
  /// Stencils that reach along the axes only.
  [[nodiscard]] static constexpr Radius faces(int cells) noexcept { return Radius(cells).faces(); }
  /// By axis, or by axis and side; an axis that is not given has none: `Radius::sides({2, 1}, 1)`
  /// is 2 cells below and 1 above along x, and 1 on both sides along y. Directions along several
  /// axes are as deep along each axis.
  [[nodiscard]] static constexpr Radius sides(Sides x, Sides y = {}, Sides z = {}) noexcept {
    const std::array<Sides, 3> all = {x, y, z};
    Radius made;
    for (const Direction d : kDirections)
      for (std::size_t axis = 0; axis < 3; ++axis)
        if (const int side = d.components()[axis]; side != 0)
          made.cells_[static_cast<std::size_t>(d.number())][axis] =
              side < 0 ? all[axis].below : all[axis].above;
    return made;
  }
  /// Without the directions along several axes.
  [[nodiscard]] constexpr Radius faces() const noexcept {
    Radius made = *this;
    for (const Direction d : kDirections)
      if (d.order() > 1) made.set(d, 0);
    return made;
  }
  constexpr Radius& set(Direction d, int cells) noexcept {
    for (std::size_t axis = 0; axis < 3; ++axis)
      cells_[static_cast<std::size_t>(d.number())][axis] = d.components()[axis] != 0 ? cells : 0;
    return *this;
  }
  /// How deep the ghost cells in a direction are along each axis; 0 along those that it does not go
  /// along.
  [[nodiscard]] constexpr const std::array<int, 3>& depths(Direction d) const noexcept {
    return cells_[static_cast<std::size_t>(d.number())];
  }
  /// The deepest of depths(), or 0: the direction is not exchanged.
  [[nodiscard]] constexpr int at(Direction d) const noexcept {
    int deepest = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (d.components()[axis] == 0) continue;
      const int cells = depths(d)[axis];
      if (cells == 0) return 0;
      if (deepest == 0 || cells > deepest) deepest = cells;
    }
    return deepest;
  }
  friend constexpr bool operator==(const Radius&, const Radius&) = default;

 private:
  constexpr void fill(int all) noexcept {
    for (const Direction d : kDirections) set(d, all);
  }
  std::array<std::array<int, 3>, kDirectionNumbers> cells_{};
};

/// Staggering of a field: along each axis at cell centres, or (true) on the faces normal to it. An
/// open axis has one more face than cells; the last rank owns it.
struct At {
  bool x = false;
  bool y = false;
  bool z = false;
  /// By axis, whether the field is on the faces.
  [[nodiscard]] constexpr std::array<bool, 3> on_faces() const noexcept { return {x, y, z}; }
};
inline constexpr At cell{};
inline constexpr At face_x{true, false, false};
inline constexpr At face_y{false, true, false};
inline constexpr At face_z{false, false, true};
inline constexpr At node{true, true, true};

struct FieldOptions {
  At at = cell;
  std::optional<Radius> radius{};
  bool next = true;  ///< a second buffer, for Grid::swap(): the next values, or the previous
};

/// The type of a field's elements, for those who know it at run time only.
struct ElementType {
  std::int64_t bytes = 0;      ///< of an element
  const char* name = nullptr;  ///< of its numbers, as VTK files have it: "Float64"; null: no number
  int components = 1;          ///< how many of these numbers an element has
};

/// A user's arrays that hold a field on one subgrid. The memory is the subgrid's: of the host, or
/// of its device. It stays the user's, and must outlive the grid.
template <typename T>
struct Adopted {
  static_assert(!std::is_const_v<T>, "an exchange writes into the array: it can't be const");
  T* first = nullptr;         ///< the cell at the lower corner of Grid::stored()
  T* next = nullptr;          ///< as `first`, of a second buffer, for Grid::swap(); null: none
  std::int64_t stride_y = 0;  ///< [elements] between rows; 0: as long as a row of stored()
  std::int64_t stride_z = 0;  ///< [elements] between planes; 0: as many rows as stored() has
};

/// A field's memory on one subgrid, whatever its type.
struct FieldMemory {
  std::byte* first = nullptr;  ///< the cell at the lower corner of `stored`; null: no cells
  std::int64_t stride_y = 0;   ///< [bytes]
  std::int64_t stride_z = 0;   ///< [bytes]
  Box owned;
  Box stored;
};

class Grid;

/// A field of a grid, whatever its type. A plain handle; valid as long as the grid.
class STRAKE_API FieldHandle {
 public:
  /// No field: calls with it \throw InvalidArgument
  FieldHandle() noexcept = default;
  [[nodiscard]] int number() const noexcept { return number_; }
  [[nodiscard]] const std::string& name() const;
  [[nodiscard]] const ElementType& type() const;
  /// Where the current values are (or those that the next swap() makes the current ones).
  /// \throws InvalidArgument  this rank has no such subgrid, or the field no second buffer
  [[nodiscard]] FieldMemory memory(bool next = false, int subgrid = 0) const;
  struct Data;  ///< the library's own

 protected:
  friend class Grid;
  explicit FieldHandle(Data* data, int number) noexcept : data_(data), number_(number) {}
  [[nodiscard]] std::byte* origin(bool next, int subgrid) const;
  [[nodiscard]] std::array<std::int64_t, 2> strides_bytes(int subgrid) const;
  [[nodiscard]] const Box& owned_region(int subgrid) const;
  [[nodiscard]] const Box& stored_region(int subgrid) const;

  [[nodiscard]] const Data& data() const;

  Data* data_ = nullptr;
  int number_ = -1;
};

/// A field of elements of type T. Calls \throw InvalidArgument  this rank has no such subgrid
template <typename T>
class Field : public FieldHandle {
 public:
  /// No field, as FieldHandle().
  Field() noexcept = default;
  /// The current values, at their address until the next Grid::swap().
  [[nodiscard]] View<T> view(int subgrid = 0) const { return made(false, subgrid); }
  /// The buffer that the next swap() makes the current one. The buffer may be written at any
  /// time; after a swap() it has the previous values. \throws InvalidArgument  it has none
  [[nodiscard]] View<T> next(int subgrid = 0) const { return made(true, subgrid); }

 private:
  friend class Grid;
  using FieldHandle::FieldHandle;
  [[nodiscard]] View<T> made(bool next, int subgrid) const {
    const auto size = static_cast<std::int64_t>(sizeof(T));
    const auto strides = strides_bytes(subgrid);
    return {reinterpret_cast<T*>(origin(next, subgrid)), strides[0] / size, strides[1] / size,
            owned_region(subgrid), stored_region(subgrid)};
  }
};

/// The fields that a call is for: all of the grid, or those that are named.
class Fields {
 public:
  /// All.
  Fields() noexcept = default;
  // NOLINTBEGIN(*-explicit-*)
  Fields(const FieldHandle& one) : all_(false), named_{one} {}
  Fields(std::initializer_list<FieldHandle> named) : all_(false), named_(named) {}
  Fields(std::span<const FieldHandle> named) : all_(false), named_(named.begin(), named.end()) {}
  Fields(const std::vector<FieldHandle>& named) : all_(false), named_(named) {}
  template <typename T>
  Fields(const std::vector<Field<T>>& named) : all_(false), named_(named.begin(), named.end()) {}
  // NOLINTEND(*-explicit-*)
  [[nodiscard]] bool all() const noexcept { return all_; }
  [[nodiscard]] std::span<const FieldHandle> named() const noexcept { return named_; }

 private:
  bool all_ = true;
  std::vector<FieldHandle> named_;
};

}  // namespace strake
