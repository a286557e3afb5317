/// \file  A Fortran entry point: it turns its addresses into the C wrapper's arguments, by the type
/// of each, and calls the wrapper. special.hpp has the functions for which types are not enough.
#pragma once

#include <mpi.h>

#include <concepts>
#include <cstddef>
#include <string>
#include <type_traits>

#include "interpose/fortran/convert.hpp"
#include "interpose/fortran/strings.hpp"

namespace strake::interpose::fortran {

/// One argument of a C function, for the time of the call.
/// By value: an integer of the same width in Fortran, or a handle.
template <class T>
class Argument {
 public:
  explicit Argument(void* fortran) : fortran_(fortran) {}
  [[nodiscard]] T value() const {
    if constexpr (std::is_pointer_v<T>) {
      return to_c<T>(*static_cast<const MPI_Fint*>(fortran_));
    } else {
      static_assert(std::is_integral_v<T>);
      return *static_cast<const T*>(fortran_);
    }
  }

 private:
  void* fortran_;
};

template <class T>
requires std::is_void_v<T>
class Argument<T*> {
 public:
  explicit Argument(void* fortran) : fortran_(fortran) {}
  [[nodiscard]] T* value() const { return buffer(fortran_); }

 private:
  void* fortran_;
};

/// Counts, positions, flags, ranks: in place.
template <class T>
requires std::integral<T> &&(!std::same_as<std::remove_const_t<T>, char>)class Argument<T*> {
 public:
  explicit Argument(void* fortran) : fortran_(fortran) {}
  [[nodiscard]] T* value() const {
    if constexpr (std::is_same_v<T, const int>) {
      return integers(fortran_);
    } else {
      return static_cast<T*>(fortran_);
    }
  }

 private:
  void* fortran_;
};

/// A handle that the call sets or changes. (special.hpp has the functions with lists of handles.)
template <class T>
requires std::is_pointer_v<T> &&(!std::is_const_v<T>)class Argument<T*> {
 public:
  explicit Argument(void* fortran) : handle_(fortran, 1) {}
  [[nodiscard]] T* value() { return handle_.data(); }

 private:
  Handles<T> handle_;
};

template <>
class Argument<MPI_Status*> {
 public:
  explicit Argument(void* fortran) : status_(fortran, 1) {}
  [[nodiscard]] MPI_Status* value() { return status_.data(); }

 private:
  Statuses status_;
};

template <>
class Argument<const MPI_Status*> {
 public:
  explicit Argument(void* fortran) {
    PMPI_Status_f2c(static_cast<const MPI_Fint*>(fortran), &status_);
  }
  [[nodiscard]] const MPI_Status* value() const { return &status_; }

 private:
  MPI_Status status_{};
};

/// A character argument, whose length comes by value after ierror.
template <>
class Argument<const char*> {
 public:
  Argument(void* fortran, std::size_t length) : text_(text(fortran, length)) {}
  [[nodiscard]] const char* value() const { return text_.c_str(); }

 private:
  std::string text_;
};

template <class T>
[[nodiscard]] Argument<T> argument(void* fortran, std::same_as<std::size_t> auto... length) {
  if constexpr (std::is_same_v<T, const char*>) {
    return Argument<T>(fortran, length...);
  } else {
    return Argument<T>(fortran);
  }
}

/// mpi_f08's ierror is optional: its address is null when the caller left it out.
inline void report(int code, MPI_Fint* ierror) {
  if (ierror != nullptr) {
    *ierror = code;
  }
}

template <class>
using Address = void*;

/// call(address of each argument, address of ierror, length of the one character argument if any)
/// for one C function.
template <auto function>
struct Entry;

template <class... Parameters, int (*function)(Parameters...)>
struct Entry<function> {
  static void call(Address<Parameters>... fortran, MPI_Fint* ierror,
                   std::same_as<std::size_t> auto... length) {
    // The arguments live until the wrapper has returned; their destructors then write back what it
    // changed.
    report(function(argument<Parameters>(fortran, length...).value()...), ierror);
  }
};

}  // namespace strake::interpose::fortran
