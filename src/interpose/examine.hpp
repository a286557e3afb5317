/// \file  From a call's arguments to what is to be done about them.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "copy/device_backend.hpp"
#include "exchange/events.hpp"
#include "exchange/method.hpp"
#include "exchange/staging.hpp"
#include "exchange/types.hpp"
#include "interpose/boundary.hpp"

namespace strake::interpose {

using exchange::Direction;
using exchange::Function;
using exchange::Method;
using exchange::Reason;
using exchange::Typed;

/// The typed bytes of a call, and how they should travel.
struct Examined {
  Method method = Method::System;
  Reason reason = Reason::None;
  std::int64_t bytes = 0;  ///< 0 where not known
  Typed typed;             ///< set unless the method is System
};

/// Finds the typed bytes and where they lie. False where they are the system's business; `result`
/// then says why.
bool resolve(void* buffer, std::int64_t count, exchange::TypeRecord& record, Examined& result);
/// The general case of `examine`.
void examine_shape(Direction direction, void* buffer, std::int64_t count,
                   exchange::TypeRecord& record, Examined& result);

/// ~10 ns for contiguous host memory in a process without a device.
inline Examined examine(Direction direction, const void* buffer, std::int64_t count,
                        MPI_Datatype type) {
  Examined result;
  exchange::TypeRecord* record = exchange::find_type(type);
  if (record == nullptr) {
    result.reason = Reason::UnknownType;
  } else if (count <= 0) {
    result.reason = count == 0 ? Reason::Empty : Reason::BadArguments;
  } else if (record->contiguous() && device_backend() == nullptr) {
    result.reason = Reason::Contiguous;
    result.bytes = record->size_bytes() * count;
  } else {
    examine_shape(direction, const_cast<void*>(buffer), count, *record, result);
  }
  return result;
}

/// Counts what was decided.
inline void note(Function function, Method method, Reason reason, std::int64_t bytes) noexcept {
  exchange::record({function, method, reason, bytes});
}

}  // namespace strake::interpose
