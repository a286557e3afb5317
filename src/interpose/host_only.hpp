/// \file  Wrappers of functions that are passed on, but for buffers in a device's memory that the
/// MPI library does not reach: those are refused, where the library would end the program.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <tuple>
#include <type_traits>

#include "interpose/calls.hpp"
#include "interpose/passed.hpp"
#include "interpose/staging.hpp"

namespace strake::interpose {

/// Where the errors of a function are raised.
enum class RaisedOn : std::uint8_t { World, Comm, Window, File };

struct HostOnly {
  Kind kind;
  RaisedOn raised_on = RaisedOn::World;
  int handle = 0;  ///< the place of that handle among the arguments; negative: from their end
  bool makes_request = false;  ///< its last argument
};
inline constexpr HostOnly kExternalOnHost{kExternal};
inline constexpr HostOnly kOneSidedOnHost{kOneSided, RaisedOn::Window, -1};
inline constexpr HostOnly kOneSidedRequestOnHost{kOneSided, RaisedOn::Window, -2, true};
inline constexpr HostOnly kWindowOnHost{kBlocking, RaisedOn::Comm, -2};
inline constexpr HostOnly kAttachedOnHost{kLocal, RaisedOn::Window, 0};
inline constexpr HostOnly kFileOnHost{kLocal, RaisedOn::File, 0};
inline constexpr HostOnly kFileTogetherOnHost{kBlocking, RaisedOn::File, 0};
inline constexpr HostOnly kFileRequestOnHost{kFile, RaisedOn::File, 0, true};
inline constexpr HostOnly kPartitionedOnHost{kPartitioned, RaisedOn::Comm, -3, true};

/// Whether any of `count` elements at `buffer` lies in a device's memory. `type` may be no
/// datatype.
[[nodiscard]] bool lies_in_device(const void* buffer, std::int64_t count, MPI_Datatype type);
/// Logs that `function` was given a buffer which the MPI library does not reach. Returns the error.
int refuse_device(Wrapped function) noexcept;

/// Whether a buffer lies in a device's memory; `next` are the arguments behind it.
template <typename... Next>
bool buffer_in_device(const void* buffer, Next... next) {
  const auto all = std::tie(next...);
  if constexpr (sizeof...(next) >= 1) {
    // A count, or a size; or a handle, which is never 0.
    using Number = std::remove_cvref_t<std::tuple_element_t<0, decltype(all)>>;
    if constexpr (std::is_integral_v<Number>) {
      if (std::get<0>(all) == 0) return false;
      if constexpr (sizeof...(next) >= 2) {
        using Type = std::remove_cvref_t<std::tuple_element_t<1, decltype(all)>>;
        if constexpr (std::is_same_v<Type, MPI_Datatype>)
          return lies_in_device(buffer, std::get<0>(all), std::get<1>(all));
      }
    }
  }
  return classify(buffer).kind == MemoryKind::Device;
}

inline bool any_in_device() { return false; }
template <typename First, typename... Rest>
bool any_in_device(First first, Rest... rest) {
  if constexpr (std::is_same_v<First, void*> || std::is_same_v<First, const void*>) {
    if (buffer_in_device(first, rest...)) return true;
  }
  return any_in_device(rest...);
}

template <const HostOnly& what, typename... Args>
[[gnu::noinline]] int refuse(Wrapped function, Args... args) {
  const auto all = std::tie(args...);
  constexpr int kCount = sizeof...(args);
  constexpr auto kHandle =
      static_cast<std::size_t>(what.handle < 0 ? kCount + what.handle : what.handle);
  const Inside inside;
  const int code = refuse_device(function);
  if constexpr (what.makes_request) *std::get<kCount - 1>(all) = MPI_REQUEST_NULL;
  if constexpr (what.raised_on == RaisedOn::World) {
    return raise(MPI_COMM_WORLD, code);
  } else if constexpr (what.raised_on == RaisedOn::Comm) {
    return raise(std::get<kHandle>(all), code);
  } else if constexpr (what.raised_on == RaisedOn::Window) {
    real_mpi().MPI_Win_call_errhandler(std::get<kHandle>(all), code);
  } else {
    real_mpi().MPI_File_call_errhandler(std::get<kHandle>(all), code);
  }
  return code;
}

/// The whole wrapper of such a function.
template <const HostOnly& what, typename Real, typename... Args>
int pass_from_host(Wrapped function, Real real, Args... args) {
  if (device_is_out_of_reach() && t_depth == 0 && !g_disabled) [[unlikely]] {
    bool refused = false;
    const int code = guarded(MPI_COMM_WORLD, [&] {
      refused = any_in_device(args...);
      return MPI_SUCCESS;
    });
    if (code != MPI_SUCCESS) return code;
    if (refused) return refuse<what>(function, args...);
  }
  return pass<what.kind>(real, args...);
}

}  // namespace strake::interpose
