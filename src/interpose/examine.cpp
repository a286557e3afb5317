#include "interpose/examine.hpp"

namespace strake::interpose {
namespace {

/// No buffer begins below this: a null pointer with a small offset is an argument for the system to
/// refuse.
constexpr std::uintptr_t kFirstPage = 4096;

}  // namespace

int raise(MPI_Comm comm, int code) noexcept {
  mpi::real_mpi().MPI_Comm_call_errhandler(comm == MPI_COMM_NULL ? MPI_COMM_WORLD : comm, code);
  return code;
}

bool resolve(void* buffer, std::int64_t count, exchange::TypeRecord& record, Examined& result) {
  if (!record.decodable()) {
    result.reason = Reason::NotDecodable;
    return false;
  }
  exchange::ShapePtr shape = record.shape(count);
  result.bytes = shape->size_bytes();
  if (result.bytes == 0) {
    result.reason = Reason::Empty;
    return false;
  }
  const auto lowest = reinterpret_cast<std::uintptr_t>(buffer) +
                      static_cast<std::uintptr_t>(shape->layout().bounds().begin);
  if (lowest < kFirstPage) {
    result.reason = Reason::BadArguments;
    return false;
  }
  result.typed = {std::move(shape), static_cast<std::byte*>(buffer), {}, false};
  if (device_backend() != nullptr) {
    result.typed.mixed = !exchange::one_place(result.typed.shape->layout(), result.typed.address,
                                              result.typed.place);
  }
  return true;
}

void examine_shape(Direction direction, void* buffer, std::int64_t count,
                   exchange::TypeRecord& record, Examined& result) {
  if (!resolve(buffer, count, record, result)) return;
  const exchange::Shape& shape = *result.typed.shape;
  const exchange::Choice choice = exchange::choose(
      {direction, shape.dense(), result.typed.place, result.bytes, shape.block_count()});
  result.method = result.typed.mixed ? Method::Pack : choice.method;
  result.reason = choice.reason;
}

}  // namespace strake::interpose
