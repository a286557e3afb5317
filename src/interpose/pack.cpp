// MPI_Pack and MPI_Unpack: one copy, straight between the user's two buffers.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "copy/plan_impl.hpp"
#include "exchange/transport/mixed.hpp"
#include "interpose/examine.hpp"
#include "interpose/recent_copies.hpp"
#include "interpose/summary.hpp"
#include "mpi/peers.hpp"
#include "strake/error.hpp"

namespace strake::interpose {
namespace {

using Clock = std::chrono::steady_clock;

std::int64_t nanoseconds_since(Clock::time_point begin) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count();
}

/// For the summary, Strake measures how long the MPI library takes for the same elements: once for
/// each type and count, at most this large, and only for packing, into memory of Strake's. Where an
/// MPI library has a fault, unpacking could overwrite other memory. [bytes]
constexpr std::int64_t kMaxSampled = 16 << 20;

/// Runs the copy by `copy()`; returns the time that it saves against the MPI library, which packs
/// into `scratch` by `pass_on(scratch)`. [ns]
template <typename Copy, typename PassOn>
std::int64_t run_sampled(mpi::Elements& elements, Copy&& copy, PassOn&& pass_on) {
  copy();
  // An MPI library may fail on elements that begin before the buffer's address.
  if (elements.size_bytes() > kMaxSampled || elements.layout().bounds().begin < 0) return 0;
  std::atomic<std::int64_t>& sample = exchange::plans_of(elements).saved_ns;
  std::int64_t saved_ns = sample.load(std::memory_order_relaxed);
  if (saved_ns != exchange::Plans::kNotSampled) {
    record_saved(saved_ns);
    return saved_ns;
  }
  std::vector<std::byte> scratch;
  try {
    scratch.resize(static_cast<std::size_t>(elements.size_bytes()));
  } catch (const std::bad_alloc&) {
    return 0;
  }
  auto begin = Clock::now();
  pass_on(scratch);
  const std::int64_t library_ns = nanoseconds_since(begin);
  begin = Clock::now();
  copy();  // once more: the MPI library, too, found the bytes in the caches
  saved_ns = library_ns - nanoseconds_since(begin);
  sample.store(saved_ns, std::memory_order_relaxed);
  return saved_ns;
}

/// A contiguous type in a process without a device. It is not passed on: looking the type up has
/// already taken as long as the MPI library takes beyond the copy. False: to be passed on.
template <typename Count>
bool copy_adjacent(const Call<Count>& call, const mpi::TypeRecord& record) {
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(record.size_bytes(), std::int64_t{call.count}, &bytes) || bytes == 0 ||
      !call.fits(bytes) || address_of(call.typed, 0) < kFirstPage) {
    return false;
  }
  Recent& last = remember(call, bytes);
  last.least = kFirstPage;
  remember_adjacent(last);
  run_kept(call.direction, last, call.typed, call.packed, call.position);
  return true;
}

/// Refuses a packed buffer that is too small, where MPICH would pack or unpack past its end, in
/// memory that it can't reach.
/// \throws MpiError  after raising the error
template <typename Count>
void refuse_short(const Call<Count>& call, std::int64_t bytes) {
  if (!mpi::quirks::kPackOverruns) return;
  if (call.packed == nullptr || call.position == nullptr) return;
  if (call.size < 0 || *call.position < 0) return;
  raise(call.comm, MPI_ERR_TRUNCATE);
  throw MpiError("a buffer of " + std::to_string(call.size) + " bytes has no room for " +
                     std::to_string(bytes) + " from " + std::to_string(*call.position) + " on",
                 MPI_ERR_TRUNCATE);
}

/// Finds the record of a call's datatype. Null: the call is to be passed on, as `found` says.
template <typename Count>
mpi::TypeRecord* find_record(const Call<Count>& call, Found& found) {
  const mpi::InUse in_use = mpi::use_type(call.type, call.count, Use::Other);
  mpi::TypeRecord* const record = in_use.record;
  if (record == nullptr) {
    found = left_without_record(in_use, call.count);
    return nullptr;
  }
  if (mpi::quirks::kHandlesAreIntegers)
    (void)mpi::is_inter(call.comm);  // raises an error if it is no communicator
  if (record->ready(call.type, call.count, Use::Other)) return record;
  found.bytes = record->size_bytes() * call.count;
  found.reason = Reason::FewUses;
  return nullptr;
}

/// The memories of a call. Without a device all is host memory. `fits`: the packed buffer has room.
template <typename Count>
Places memories_of(const Call<Count>& call, const Examined& found, bool fits) {
  if (device_backend() == nullptr) return {};
  if (!fits) return {found.typed.place, classify(call.packed)};
  return places_of(call, found.typed.elements->layout().bounds(), found.bytes);
}

/// The plan of the copy between `places`. Null: there is no memory to compile it, and the MPI
/// library can pack.
template <typename Count>
const CopyPlan* plan_of(const Call<Count>& call, const Examined& found, const Places& places) {
  const bool host = places.host();
  try {
    exchange::Plans& plans = exchange::plans_of(*found.typed.elements);
    return host ? &plans.plan(call.direction, {}, {})
                : &plans.plan(call.direction, places.typed, places.packed);
  } catch (const std::exception& error) {
    if (!host || !can_leave(found, error)) throw;
    return nullptr;
  }
}

/// A copy that runs, and the time that it saves.
struct DoneCopy {
  const CopyPlan& plan;
  Transport transport;
  Places places;
  std::int64_t saved_ns = 0;  ///< against the MPI library [ns]
};

/// Remembers the copy for the next call with the same arguments.
template <typename Count>
void remember_done(const Call<Count>& call, const Examined& found, const DoneCopy& done) {
  const mpi::Elements& elements = *found.typed.elements;
  Recent& last = remember(call, found.bytes);
  // The first byte of the elements must not lie in the first page.
  last.bounds = elements.layout().bounds();
  const std::int64_t begin = last.bounds.begin;
  last.least =
      begin < std::int64_t{kFirstPage} ? kFirstPage - static_cast<std::uintptr_t>(begin) : 1;
  last.first = elements.layout().offset();
  last.saved_ns =
      static_cast<std::int32_t>(std::clamp<std::int64_t>(done.saved_ns, INT32_MIN, INT32_MAX));
  last.plan = &done.plan;
  last.transport = done.transport;
  last.places = done.places;
  const bool host = done.places.host();
  const cpu::Op* const op = CopyPlanAccess::cpu_op(done.plan);
  // A larger copy may be run by several threads.
  if (host && elements.dense() && found.bytes <= cpu::kSecondLevelBytes) {
    remember_adjacent(last);
  } else if (host && op != nullptr) {
    last.at_once = AtOnce::Op;
    last.op = op;
  }
}

/// Runs the copy by its plan, and ends the call. `pass_on` as in run_sampled; `keep`: the copy may
/// be remembered.
template <typename Count, typename PassOn>
void run_plan(const Call<Count>& call, const Examined& found, DoneCopy done, bool keep,
              PassOn&& pass_on) {
  const auto copy = [&] { call.run(done.plan); };
  const bool packs = call.direction == MessageDirection::Send && call.typed != nullptr;
  if (done.places.host() && packs && summary_wanted()) {
    done.saved_ns = run_sampled(*found.typed.elements, copy, pass_on);
  } else {
    copy();
  }
  // Not with MPI_BOTTOM: absolute addresses may be of another kind of memory the next time.
  if (keep && call.typed != nullptr) remember_done(call, found, done);
  call.finish(done.transport, found.bytes);
}

/// The general case. `pass_on` as in run_sampled. False: the call is to be passed on.
template <typename Count, typename PassOn>
bool run_first(const Call<Count>& call, PassOn&& pass_on) {
  Examined found;
  const auto leave = [&](Reason reason) {
    note(function_of(call.direction), Transport::Library, reason, found.bytes);
    return false;
  };
  if (call.count <= 0) return leave(call.count == 0 ? Reason::Empty : Reason::BadArguments);
  mpi::TypeRecord* const record = find_record(call, found);
  if (record == nullptr) return leave(found.reason);
  if (record->contiguous() && device_backend() == nullptr) {
    return copy_adjacent(call, *record) || leave(Reason::Contiguous);
  }
  bool kept = false;
  if (!resolve(call.typed, call.count, *record, found, &kept)) return leave(found.reason);
  const Typed& typed = found.typed;
  const bool fits = call.fits(found.bytes);
  const Places places = memories_of(call, found, fits);
  if (!reachable(places.packed)) return leave(Reason::NoKernels);
  const bool host = places.host() && !typed.mixed;
  if (!fits && !host) refuse_short(call, found.bytes);
  if (!fits) return leave(Reason::BadArguments);
  if (host && record->contiguous()) return leave(Reason::Contiguous);

  if (typed.mixed) {
    exchange::copy_mixed(call.direction, typed.elements->layout(), typed.address,
                         call.packed + *call.position, ByteRange::all());
    call.finish(Transport::Pack, found.bytes);
    return true;
  }
  const CopyPlan* const plan = plan_of(call, found, places);
  if (plan == nullptr) return leave(Reason::OutOfMemory);
  const Transport transport = host                      ? Transport::Pack
                              : places.packed.on_host() ? Transport::OneShot
                                                        : Transport::Device;
  run_plan(call, found, {*plan, transport, places}, kept, pass_on);
  return true;
}

template <typename Count>
int run_any(const Call<Count>& call) {
  if (const std::optional<int> code = run_again(call)) return *code;
  const auto pass_on = [&] { return call.pass_on(); };
  const auto sample = [&](std::vector<std::byte>& scratch) {
    Count position = 0;
    Call<Count> other = call;
    other.packed = scratch.data();
    other.size = static_cast<Count>(scratch.size());
    other.position = &position;
    other.pass_on();
  };
  return boundary(call.comm, pass_on,
                  [&] { return run_first(call, sample) ? MPI_SUCCESS : pass_on(); });
}

template <typename Count>
Call<Count> packing(const void* in, Count count, MPI_Datatype type, void* out, Count size,
                    Count* position, MPI_Comm comm) {
  return {MessageDirection::Send,
          count,
          static_cast<std::byte*>(const_cast<void*>(in)),
          type,
          static_cast<std::byte*>(out),
          size,
          position,
          comm};
}

template <typename Count>
Call<Count> unpacking(const void* in, Count size, Count* position, void* out, Count count,
                      MPI_Datatype type, MPI_Comm comm) {
  return {MessageDirection::Receive,
          count,
          static_cast<std::byte*>(out),
          type,
          static_cast<std::byte*>(const_cast<void*>(in)),
          size,
          position,
          comm};
}

// pack_any and unpack_any have the arguments of MPI's functions, so that calling them is a jump (a
// tail call).
template <typename... Arguments>
[[gnu::noinline]] int pack_any(Arguments... arguments) {
  return run_any(packing(arguments...));
}
template <typename... Arguments>
[[gnu::noinline]] int unpack_any(Arguments... arguments) {
  return run_any(unpacking(arguments...));
}

template <typename Real, typename... Arguments>
[[gnu::always_inline]] inline int pack(Function /*function*/, Real /*real*/,
                                       Arguments... arguments) {
  return run_at_once(packing(arguments...), [&] { return pack_any(arguments...); });
}
template <typename Real, typename... Arguments>
[[gnu::always_inline]] inline int unpack(Function /*function*/, Real /*real*/,
                                         Arguments... arguments) {
  return run_at_once(unpacking(arguments...), [&] { return unpack_any(arguments...); });
}

}  // namespace
}  // namespace strake::interpose

// The wrappers of the functions that mpi/functions.def gives to this file.
#include "interpose/wrappers/pack.hpp"
