// MPI_Pack and MPI_Unpack: one copy, straight between the user's two buffers.
#include <chrono>
#include <cstddef>

#include "interpose/examine.hpp"
#include "interpose/summary.hpp"

namespace strake::interpose {
namespace {

using Clock = std::chrono::steady_clock;

std::int64_t nanoseconds_since(Clock::time_point begin) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count();
}

/// What the system would have taken can only be known by asking it: once per shape and direction,
/// when a summary is wanted. Both are timed warm; packing or unpacking again changes nothing.
constexpr std::int64_t kMaxSampled = 16 << 20;

template <typename Ours, typename Theirs>
void run_sampled(Direction direction, exchange::Shape& shape, Ours&& ours, Theirs&& theirs) {
  ours();
  exchange::Shape::Sample& sample = shape.sample(direction);
  if (sample.system_ns.load(std::memory_order_relaxed) < 0) {
    if (shape.size_bytes() > kMaxSampled) return;
    auto begin = Clock::now();
    theirs();
    const std::int64_t system_ns = nanoseconds_since(begin);
    begin = Clock::now();
    ours();
    sample.own_ns.store(nanoseconds_since(begin), std::memory_order_relaxed);
    sample.system_ns.store(system_ns, std::memory_order_relaxed);
    return;
  }
  exchange::record_saved(sample.system_ns.load(std::memory_order_relaxed) -
                         sample.own_ns.load(std::memory_order_relaxed));
}

/// Packs (Send) or unpacks (Receive) at `*position` of `packed`. False: the system's business.
template <typename Count, typename Theirs>
bool move(Function function, Direction direction, void* typed_buffer, Count count,
          MPI_Datatype type, std::byte* packed, Count packed_size, Count* position, MPI_Comm comm,
          Theirs&& theirs) {
  Examined found;
  const auto leave = [&](Reason reason) {
    note(function, Method::System, reason, found.bytes);
    return false;
  };
  exchange::TypeRecord* record = exchange::find_type(type);
  if (record == nullptr) return leave(Reason::UnknownType);
  if (count <= 0) return leave(count == 0 ? Reason::Empty : Reason::BadArguments);
  const bool device = device_backend() != nullptr;
  if (record->contiguous() && !device) return leave(Reason::Contiguous);
  if (!resolve(typed_buffer, count, *record, found)) return leave(found.reason);
  if (comm == MPI_COMM_NULL || packed == nullptr || position == nullptr || *position < 0 ||
      found.bytes > static_cast<std::int64_t>(packed_size) - static_cast<std::int64_t>(*position)) {
    return leave(Reason::BadArguments);
  }
  packed += *position;
  const Typed& typed = found.typed;
  Place packed_place;
  if (device) packed_place = classify(packed);
  const auto cpu = [](Place place) {
    return place.kind == MemoryKind::Host || place.kind == MemoryKind::Pinned;
  };
  const bool host = cpu(typed.place) && cpu(packed_place) && !typed.mixed;
  if (host && typed.shape->dense()) return leave(Reason::Contiguous);

  Method method = host ? Method::Pack : packed_place.on_host() ? Method::OneShot : Method::Device;
  if (typed.mixed) {
    exchange::copy_mixed(direction, typed.shape->layout(), typed.address, packed, ByteRange::all());
    method = Method::Pack;
  } else {
    const CopyPlan& plan = host ? typed.shape->plan(direction, {}, {})
                                : typed.shape->plan(direction, typed.place, packed_place);
    const auto ours = [&] {
      direction == Direction::Send ? plan.run(packed, typed.address)
                                   : plan.run(typed.address, packed);
    };
    if (host && summary_wanted()) {
      run_sampled(direction, *typed.shape, ours, theirs);
    } else {
      ours();
    }
  }
  *position += static_cast<Count>(found.bytes);
  note(function, method, Reason::None, found.bytes);
  return true;
}

template <typename Real, typename Count>
int pack(Real real, const void* in, Count count, MPI_Datatype type, void* out, Count size,
         Count* position, MPI_Comm comm) {
  const auto theirs = [&] { return real(in, count, type, out, size, position, comm); };
  const auto sample = [&] {
    Count at = *position;
    real(in, count, type, out, size, &at, comm);
  };
  return boundary(comm, theirs, [&] {
    return move(Function::MPI_Pack, Direction::Send, const_cast<void*>(in), count, type,
                static_cast<std::byte*>(out), size, position, comm, sample)
               ? MPI_SUCCESS
               : theirs();
  });
}

template <typename Real, typename Count>
int unpack(Real real, const void* in, Count size, Count* position, void* out, Count count,
           MPI_Datatype type, MPI_Comm comm) {
  const auto theirs = [&] { return real(in, size, position, out, count, type, comm); };
  const auto sample = [&] {
    Count at = *position;
    real(in, size, &at, out, count, type, comm);
  };
  return boundary(comm, theirs, [&] {
    return move(Function::MPI_Unpack, Direction::Receive, out, count, type,
                static_cast<std::byte*>(const_cast<void*>(in)), size, position, comm, sample)
               ? MPI_SUCCESS
               : theirs();
  });
}

}  // namespace
}  // namespace strake::interpose

using namespace strake::interpose;

STRAKE_MPI int MPI_Pack(const void* in, int count, MPI_Datatype type, void* out, int size,
                        int* position, MPI_Comm comm) {
  return pack(next().MPI_Pack, in, count, type, out, size, position, comm);
}

STRAKE_MPI int MPI_Unpack(const void* in, int size, int* position, void* out, int count,
                          MPI_Datatype type, MPI_Comm comm) {
  return unpack(next().MPI_Unpack, in, size, position, out, count, type, comm);
}

// The external32 form has a byte order of its own: the system's business.
STRAKE_MPI int MPI_Pack_external(const char representation[], const void* in, int count,
                                 MPI_Datatype type, void* out, MPI_Aint size, MPI_Aint* position) {
  return next().MPI_Pack_external(representation, in, count, type, out, size, position);
}

STRAKE_MPI int MPI_Unpack_external(const char representation[], const void* in, MPI_Aint size,
                                   MPI_Aint* position, void* out, int count, MPI_Datatype type) {
  return next().MPI_Unpack_external(representation, in, size, position, out, count, type);
}

#if STRAKE_MPI_LARGE_COUNTS
STRAKE_MPI int MPI_Pack_c(const void* in, MPI_Count count, MPI_Datatype type, void* out,
                          MPI_Count size, MPI_Count* position, MPI_Comm comm) {
  return pack(next().MPI_Pack_c, in, count, type, out, size, position, comm);
}

STRAKE_MPI int MPI_Unpack_c(const void* in, MPI_Count size, MPI_Count* position, void* out,
                            MPI_Count count, MPI_Datatype type, MPI_Comm comm) {
  return unpack(next().MPI_Unpack_c, in, size, position, out, count, type, comm);
}
#endif
