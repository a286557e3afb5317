#include "interpose/examine.hpp"

#include <new>

#include "exchange/engine.hpp"
#include "settings/log.hpp"
#include "strake/error.hpp"

namespace strake::interpose {
int raise(MPI_Comm comm, int code) {
  if (comm == MPI_COMM_NULL) comm = MPI_COMM_WORLD;
  if (comm != MPI_COMM_WORLD || exchange::in_world())
    mpi::real_mpi().MPI_Comm_call_errhandler(comm, code);
  return code;
}

int caught(MPI_Comm comm) {
  try {
    throw;
  } catch (const MpiError& error) {
    return error.code();  // the system has raised it
  } catch (const OutOfMemory& error) {
    log::warn("{}", error.what());
    return raise(comm, MPI_ERR_NO_MEM);
  } catch (const Error& error) {
    log::warn("{}", error.what());
    return raise(comm, MPI_ERR_OTHER);
  } catch (const std::bad_alloc& error) {
    log::warn("{}", error.what());
    return raise(comm, MPI_ERR_NO_MEM);
  }
}

bool can_leave(const Examined& found, const std::exception& error) noexcept {
  const bool memory = dynamic_cast<const OutOfMemory*>(&error) != nullptr ||
                      dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
  if (!memory || !found.typed.place.in_host_memory() || found.typed.mixed) return false;
  log::info("{} bytes are left to the MPI library: {}", found.bytes, error.what());
  return true;
}

bool resolve(void* buffer, std::int64_t count, exchange::TypeRecord& record, Examined& result,
             bool* kept) {
  if (!record.decodable()) {
    result.reason = Reason::NotDecodable;
    return false;
  }
  exchange::ShapePtr shape = record.shape(count, kept);
  result.bytes = shape->size_bytes();
  if (result.bytes == 0) {
    result.reason = Reason::Empty;
    return false;
  }
  if (!plausible(buffer, shape->layout().bounds().begin)) {
    result.reason = Reason::BadArguments;
    return false;
  }
  result.lowest = shape->layout().bounds().begin;
  result.typed = {std::move(shape), static_cast<std::byte*>(buffer), {}, false};
  if (device_backend() != nullptr) {
    result.typed.mixed = !exchange::one_place(result.typed.shape->layout(), result.typed.address,
                                              result.typed.place);
  }
  return true;
}

/// [bytes] Up to here a message comes in one piece.
constexpr std::int64_t kOnePiece = 512;

void examine_shape(Direction direction, Style style, void* buffer, std::int64_t count,
                   MPI_Datatype type, exchange::TypeRecord& record, Examined& result) {
  bool kept = false;
  if (!resolve(buffer, count, record, result, &kept)) return;
  exchange::Shape& shape = *result.typed.shape;
  const exchange::Choice choice = exchange::choose(
      {direction, shape.dense(), result.typed.place, result.bytes, shape.block_count(),
       shape.spread(), style == Style::Nonblocking, shape.pitch()});
  result.method = result.typed.mixed ? Method::Pack : choice.method;
  result.reason = choice.reason;
  if (result.method == Method::System && direction == Direction::Receive && record.uneven()) {
    const bool free = choice.reason != Reason::Forced && result.typed.place.in_host_memory();
    result.as_bytes = shape.dense();
    if (!result.as_bytes && free && result.bytes >= kOnePiece) result.method = Method::Pack;
  }
  if (result.method != Method::System) result.reason = Reason::None;
  if (kept && device_backend() == nullptr) {
    remember(direction, style, type, count, result, &shape);
  }
}

}  // namespace strake::interpose
