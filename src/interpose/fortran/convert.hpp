/// \file  From the addresses that Fortran passes to the arguments of the C functions, and back.
/// A handle is an INTEGER in Fortran (also inside mpi_f08's derived types, whose one member it is);
/// a LOGICAL's true is the integer 1, so that C's flags need no translation; a status is
/// kStatusIntegers integers in every dialect.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "interpose/fortran/sentinels.hpp"

namespace strake::interpose::fortran {

static_assert(sizeof(MPI_Fint) == sizeof(int), "integers and logicals are passed on in place");

/// MPI_STATUS_SIZE of the Fortran dialects: the whole C status, as integers.
inline constexpr int kStatusIntegers = sizeof(MPI_Status) / sizeof(MPI_Fint);
static_assert(sizeof(MPI_Status) % sizeof(MPI_Fint) == 0);

/// The C handle of a Fortran handle. Where C's handles are integers, both are the same.
template <class Handle>
[[nodiscard]] Handle to_c(MPI_Fint handle) {
  if constexpr (std::is_integral_v<Handle>) {
    return handle;
  } else if constexpr (std::is_same_v<Handle, MPI_Comm>) {
    return PMPI_Comm_f2c(handle);
  } else if constexpr (std::is_same_v<Handle, MPI_Datatype>) {
    return PMPI_Type_f2c(handle);
  } else if constexpr (std::is_same_v<Handle, MPI_Request>) {
    return PMPI_Request_f2c(handle);
  } else if constexpr (std::is_same_v<Handle, MPI_Message>) {
    return PMPI_Message_f2c(handle);
  } else if constexpr (std::is_same_v<Handle, MPI_Op>) {
    return PMPI_Op_f2c(handle);
  } else if constexpr (std::is_same_v<Handle, MPI_Group>) {
    return PMPI_Group_f2c(handle);
  } else if constexpr (std::is_same_v<Handle, MPI_Info>) {
    return PMPI_Info_f2c(handle);
  } else if constexpr (std::is_same_v<Handle, MPI_Errhandler>) {
    return PMPI_Errhandler_f2c(handle);
  } else if constexpr (std::is_same_v<Handle, MPI_Win>) {
    return PMPI_Win_f2c(handle);
#if STRAKE_MPI_SESSIONS
  } else if constexpr (std::is_same_v<Handle, MPI_Session>) {
    return PMPI_Session_f2c(handle);
#endif
  } else {
    static_assert(std::is_same_v<Handle, MPI_File>, "a kind of handle without a conversion");
    return PMPI_File_f2c(handle);
  }
}

template <class Handle>
[[nodiscard]] MPI_Fint to_fortran(Handle handle) {
  if constexpr (std::is_integral_v<Handle>) {
    return handle;
  } else if constexpr (std::is_same_v<Handle, MPI_Comm>) {
    return PMPI_Comm_c2f(handle);
  } else if constexpr (std::is_same_v<Handle, MPI_Datatype>) {
    return PMPI_Type_c2f(handle);
  } else if constexpr (std::is_same_v<Handle, MPI_Request>) {
    return PMPI_Request_c2f(handle);
  } else if constexpr (std::is_same_v<Handle, MPI_Message>) {
    return PMPI_Message_c2f(handle);
  } else if constexpr (std::is_same_v<Handle, MPI_Win>) {
    return PMPI_Win_c2f(handle);
#if STRAKE_MPI_SESSIONS
  } else if constexpr (std::is_same_v<Handle, MPI_Session>) {
    return PMPI_Session_c2f(handle);
#endif
  } else {
    static_assert(std::is_same_v<Handle, MPI_File>, "a kind of handle without a conversion");
    return PMPI_File_c2f(handle);
  }
}

/// `count` values for the time of a call, on the stack if they are few.
template <class T>
class Scratch {
 public:
  explicit Scratch(int count) {
    if (count > kInline) {
      heap_.resize(static_cast<std::size_t>(count));
    }
  }
  [[nodiscard]] T* data() noexcept { return heap_.empty() ? inline_.data() : heap_.data(); }
  T& operator[](int i) noexcept { return data()[i]; }

 private:
  /// A halo exchange's requests: 26 neighbours, a send and a receive each.
  static constexpr int kInline = 52;
  std::array<T, kInline> inline_;
  std::vector<T> heap_;
};

/// A list of handles that the call only reads.
template <class Handle>
class HandleList {
 public:
  HandleList(const void* fortran, int count) : handles_(count) {
    for (int i = 0; i < count; ++i) {
      handles_[i] = to_c<Handle>(static_cast<const MPI_Fint*>(fortran)[i]);
    }
  }
  [[nodiscard]] Handle* data() noexcept { return handles_.data(); }

 private:
  Scratch<Handle> handles_;
};

/// Handles that the call sets, changes or both. A variable that only receives a handle may have any
/// value before the call, which may give a null pointer. If that is still null after the call, the
/// variable is left alone. Equal values are not written back: the caller may have passed a
/// constant.
template <class Handle>
class Handles {
 public:
  Handles(void* fortran, int count)
      : fortran_(static_cast<MPI_Fint*>(fortran)), count_(count), handles_(fortran, count) {}
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;
  ~Handles() {
    for (int i = 0; i < count_; ++i) {
      const Handle handle = data()[i];
      if (!mpi::quirks::kHandlesAreIntegers && handle == Handle{}) {
        continue;
      }
      if (const MPI_Fint value = to_fortran(handle); value != fortran_[i]) {
        fortran_[i] = value;
      }
    }
  }
  [[nodiscard]] Handle* data() noexcept { return handles_.data(); }

 private:
  MPI_Fint* fortran_;
  int count_;
  HandleList<Handle> handles_;
};

/// Statuses that the call may fill. They start with Fortran's own values, so that members that the
/// call doesn't set (such as MPI_ERROR) survive.
class Statuses {
 public:
  Statuses(void* fortran, int count)
      : fortran_(ignores_statuses(fortran) ? nullptr : static_cast<MPI_Fint*>(fortran)),
        count_(fortran_ == nullptr ? 0 : count),
        now_(count_) {
    for (int i = 0; i < count_; ++i) {
      PMPI_Status_f2c(fortran_ + i * kStatusIntegers, now_.data() + i);
    }
  }
  Statuses(const Statuses&) = delete;
  Statuses& operator=(const Statuses&) = delete;
  ~Statuses() {
    for (int i = 0; i < count_; ++i) {
      PMPI_Status_c2f(now_.data() + i, fortran_ + i * kStatusIntegers);
    }
  }
  [[nodiscard]] MPI_Status* data() noexcept {
    return fortran_ == nullptr ? MPI_STATUSES_IGNORE : now_.data();
  }

 private:
  MPI_Fint* fortran_;
  int count_;
  Scratch<MPI_Status> now_;
};

}  // namespace strake::interpose::fortran
