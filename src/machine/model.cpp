#include "machine/model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "machine/pitch.hpp"

namespace strake::machine {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

constexpr int kLogNear = 1;
constexpr int kLogSparse = 4;
constexpr int kLogFar = 11;
static_assert(kNearRatio == 1 << kLogNear && kSparseRatio == 1 << kLogSparse &&
              kFarPitch == 1 << kLogFar);
constexpr double kLogShort = 4;  // of 16 bytes: few such blocks lie in two lines

/// Time that a nonblocking message in device memory takes beyond MPI for its operation and
/// generalised request (about 1 us on the machines that were measured). A message in host memory
/// needs neither: it has the MPI library's own request. [s]
constexpr double kOperation = 1e-6;

MessageDirection opposite(MessageDirection direction) noexcept {
  return direction == MessageDirection::Send ? MessageDirection::Receive : MessageDirection::Send;
}

double time_of(const Curve& curve, double bytes, double block = 0) noexcept {
  return curve.empty() ? kUnknown : std::exp2(curve.log_time(bytes, block));
}

bool known(double time) noexcept { return !std::isnan(time); }

/// The ratio of pitch and block, without the shift of measured pitches. 0: no pitch.
double log_ratio(std::int64_t pitch, double log_block, bool host) noexcept {
  const bool shifted = host && log_block >= std::log2(kLeastShifted);
  const std::int64_t more = shifted ? kHostShift : 0;
  return pitch > more ? std::log2(static_cast<double>(pitch - more)) - log_block : 0;
}

/// Whether the message is of rows that nearly touch. The MPI library moves them much faster than
/// the curves say, which were measured at twice the distance: 512 KiB in rows of 2 KiB every 2064 B
/// took 20 us, packed 28; of 296 B every 320 B 18, packed 20 (Zen 5). By the curves it would be 65
/// and 29 us.
bool rows_nearly_touch(const Message& message) noexcept {
  constexpr std::int64_t kRow = 128;
  const std::int64_t mean_block = message.mean_block();
  return mean_block > kRow && message.pitch != 0 && 4 * message.pitch < 5 * mean_block;
}

std::string joined(std::initializer_list<std::string_view> parts) {
  std::string name;
  for (const std::string_view part : parts) (name += name.empty() ? "" : "/") += part;
  return name;
}

}  // namespace

Model::Strided Model::strided(const Profile& profile, std::string_view name, std::string_view mpi) {
  const auto curve = [&](PitchClass pitch) {
    return profile.curve(name, mpi, [pitch](const Result& r) { return pitch_class(r) == pitch; });
  };
  return {curve(PitchClass::Near), curve(PitchClass::Sparse), curve(PitchClass::Far),
          curve(PitchClass::Aligned)};
}

Model::Layouts Model::layouts(const Profile& profile, std::string_view what, std::string_view by,
                              std::string_view mpi) {
  const auto named = [&](std::string_view kind) { return joined({what, by, kind}); };
  // Only lists with the pitch of MPI's measured lists: a list's own pitch is not known.
  const auto near = [](const Result& r) { return pitch_class(r) == PitchClass::Near; };
  Layouts layouts{strided(profile, named("box"), mpi), profile.curve(named("transpose"), mpi),
                  profile.curve(named("indexed"), mpi, near)};
  if (layouts.listed.empty()) layouts.listed = profile.curve(named("blocks"), mpi, near);
  return layouts;
}

Model::Model(const Profile& profile, std::string_view mpi, Reach link, std::int64_t chunk)
    : piece_(std::log2(static_cast<double>(chunk))) {
  const char* operations[] = {"pack", "unpack"};  // Send, Receive
  const char* directions[] = {"copy/device-to-pinned", "copy/pinned-to-device"};
  for (int i = 0; i < 2; ++i) {
    cpu_[i] = layouts(profile, operations[i], "cpu", {});
    device_[i] = layouts(profile, operations[i], "device", {});
    one_shot_[i] = layouts(profile, operations[i], "one-shot", {});
    copy_[i] = profile.curve(directions[i]);
    copy_piece_[i] = machine::time_of(copy_[i], piece_);
  }
  const std::string way = link == Reach::Node ? "mpi/node" : "mpi/net";
  mpi_host_ = profile.curve(joined({way, "host"}), mpi);
  mpi_packed_ = profile.curve(joined({way, "packed"}), mpi);
  // Older profiles have one curve for both.
  if (mpi_packed_.empty()) mpi_packed_ = mpi_host_;
  mpi_device_ = profile.curve(joined({way, "device"}), mpi);
  system_ = layouts(profile, way, "system", mpi);
  packed_ = layouts(profile, way, "pack", mpi);
  shared_ = layouts(profile, way, "shared", mpi);
}

Model::Query::Query(const Message& asked) noexcept
    : message(asked),
      bytes(std::log2(static_cast<double>(std::max<std::int64_t>(asked.bytes, 1)))),
      block(bytes - std::log2(static_cast<double>(std::max<std::int64_t>(asked.blocks, 1)))),
      host(asked.place.in_host_memory()),
      ratio(log_ratio(asked.pitch, block, host)) {}

double Model::time_beyond_sparse(const Strided& curves, const Query& query, double bytes) noexcept {
  const double pitch = query.block + query.ratio;
  // The number of cache lines sets the time of short blocks. So take the measured time of as many
  // blocks at the same pitch, although the measured ones are longer.
  const double more = std::max(0.0, std::min(query.ratio - kLogSparse, kLogShort - query.block));
  const double measured_at = query.block + more + kLogSparse;
  const Curve& far = curves.far_for(query.message.pitch);
  const bool reaches_far = !far.empty() && measured_at < kLogFar;
  const double weight =
      reaches_far ? std::clamp((pitch - measured_at) / (kLogFar - measured_at), 0.0, 1.0) : 0;
  if (weight == 1) return machine::time_of(far, bytes, query.block);
  if (weight == 0) return machine::time_of(curves.sparse, bytes + more, query.block + more);
  const double sparse = curves.sparse.log_time(bytes + more, query.block + more);
  return std::exp2(sparse + weight * (far.log_time(bytes, query.block) - sparse));
}

const Curve& Model::Strided::far_for(std::int64_t pitch) const noexcept {
  const Curve& best = is_aligned(pitch) ? aligned : far;
  return !best.empty() ? best : (&best == &far ? aligned : far);
}

double Model::time_of(const Strided& curves, const Query& query, double bytes) noexcept {
  if (query.ratio > kLogSparse && query.host) return time_beyond_sparse(curves, query, bytes);
  const double weight = std::clamp((query.ratio - kLogNear) / (kLogSparse - kLogNear), 0.0, 1.0);
  if (curves.near.empty() || (weight == 1 && !curves.sparse.empty())) {
    return machine::time_of(curves.sparse, bytes, query.block);
  }
  const double near = curves.near.log_time(bytes, query.block);
  if (weight == 0 || curves.sparse.empty()) return std::exp2(near);
  const double sparse = curves.sparse.log_time(bytes, query.block);
  const double same_block = near + weight * (sparse - near);
  if (!query.host) return std::exp2(same_block);
  // Interpolate also between as many blocks at the same pitch, of the lengths measured there, which
  // touch the same lines and pages. The mean of both results is nearer than either, and one noisy
  // point counts for less.
  const double longer = query.ratio - kLogNear;
  const double shorter = query.ratio - kLogSparse;
  const double at_near = curves.near.log_time(bytes + longer, query.block + longer);
  const double at_sparse = curves.sparse.log_time(bytes + shorter, query.block + shorter);
  return std::exp2((same_block + at_near + weight * (at_sparse - at_near)) / 2);
}

double Model::time_of(const Layouts& curves, const Query& query, double bytes) noexcept {
  if (!query.message.dense && query.message.pitch == 0) {
    return machine::time_of(curves.listed, bytes, query.block);
  }
  if (query.message.spread != Spread::Transpose) return time_of(curves.box, query, bytes);
  // On a device the order of the blocks does not matter, since all are in flight at once. On a CPU
  // it does.
  if (!curves.transpose.empty() || query.host) {
    return machine::time_of(curves.transpose, bytes, query.block);
  }
  return time_of(curves.box, query, bytes);
}

double Model::staged_end(const Query& query, MessageDirection direction) const noexcept {
  const auto at = static_cast<std::size_t>(direction);
  const double copy = machine::time_of(copy_[at], query.bytes);
  if (query.message.dense) return copy;  // one copy, straight to or from the user's bytes
  const double kernel = time_of(device_[at], query, query.bytes);
  if (query.bytes <= piece_) return kStagedOrder + copy + kernel;
  // One piece is copied while the next is packed. So after the first piece only the slower of the
  // two counts.
  const double kernel_piece = time_of(device_[at], query, piece_);
  const double more_kernel = kernel - kernel_piece;
  const double more_copy = copy - copy_piece_[at];
  return known(more_kernel) && known(more_copy) ? kStagedOrder + kernel_piece + copy_piece_[at] +
                                                      std::max({more_kernel, more_copy, 0.0})
                                                : kUnknown;
}

double Model::end(Transport transport, const Query& query,
                  MessageDirection direction) const noexcept {
  const auto at = static_cast<std::size_t>(direction);
  const double operation = query.message.nonblocking ? kOperation : 0;
  switch (transport) {
    case Transport::Library:
      return 0;
    case Transport::Pack:
    case Transport::Shared:
    case Transport::Direct:
      return kPacked + time_of(cpu_[at], query, query.bytes);
    case Transport::Device:
      return operation + time_of(device_[at], query, query.bytes);
    case Transport::OneShot:
      // Contiguous bytes are copied by engine either way.
      return operation + (query.message.dense ? machine::time_of(copy_[at], query.bytes)
                                              : time_of(one_shot_[at], query, query.bytes));
    case Transport::Staged:
      return operation + staged_end(query, direction);
    case Transport::Self:
    case Transport::Put:
    case Transport::Engine:
      break;  // of planned exchanges
  }
  return kUnknown;
}

double Model::other_end(Transport transport, const Query& query) const noexcept {
  const MessageDirection other = opposite(query.message.direction);
  if (transport != Transport::OneShot && transport != Transport::Staged)
    return end(transport, query, other);
  // Packed bytes in host memory are the same whichever way they came, or go on.
  const double one_shot = end(Transport::OneShot, query, other);
  const double staged = end(Transport::Staged, query, other);
  return known(one_shot) && known(staged) ? std::min(one_shot, staged)
                                          : (known(staged) ? staged : one_shot);
}

double Model::packed(const Query& query) const noexcept {
  return query.message.dense ? kUnknown : time_of(packed_, query, query.bytes);
}

double Model::shared(const Query& query) const noexcept {
  return query.message.dense ? kUnknown : time_of(shared_, query, query.bytes);
}

double Model::wire(Transport transport, const Query& query) const noexcept {
  if (transport == Transport::Device) return machine::time_of(mpi_device_, query.bytes);
  if (transport == Transport::Pack) {
    // The measured time of whole messages, less that of both ends, which were measured alone.
    const double rest = packed(query) - end(transport, query, MessageDirection::Send) -
                        end(transport, query, MessageDirection::Receive);
    if (known(rest)) return std::max(rest, 0.0);
  }
  if (transport != Transport::Library) return machine::time_of(mpi_packed_, query.bytes);
  if (query.message.dense) {
    return machine::time_of(query.host ? mpi_host_ : mpi_device_, query.bytes);
  }
  // strake measure does not measure how the MPI library moves strided device memory.
  return query.host ? time_of(system_, query, query.bytes) : kUnknown;
}

double Model::whole(Transport transport, const Query& query) const noexcept {
  if (transport == Transport::Shared) return shared(query);
  if (transport == Transport::Pack) {
    const double measured = packed(query);
    if (known(measured)) return measured;
  }
  return end(transport, query, query.message.direction) + wire(transport, query) +
         other_end(transport, query);
}

bool Model::carries(Transport transport, const Query& query) noexcept {
  switch (transport) {
    case Transport::Library:
      return true;
    case Transport::Pack:
    case Transport::Shared:
      return query.host;
    case Transport::Device:
    case Transport::OneShot:
    case Transport::Staged:
      return !query.host;
    default:
      return false;
  }
}

std::optional<Model::Parts> Model::parts(Transport transport,
                                         const Message& message) const noexcept {
  const Query query(message);
  if (transport == Transport::Shared || !carries(transport, query)) return std::nullopt;
  const double here = end(transport, query, message.direction);
  const double there = other_end(transport, query);
  if (!known(here) || !known(there)) return std::nullopt;
  const double by_mpi = wire(transport, query);
  return Parts{here, there, known(by_mpi) ? std::optional(by_mpi) : std::nullopt};
}

std::optional<double> Model::time(Transport transport, const Message& message) const noexcept {
  const Query query(message);
  const double seconds = carries(transport, query) ? whole(transport, query) : kUnknown;
  return known(seconds) ? std::optional(seconds) : std::nullopt;
}

std::optional<Transport> Model::choose_host(const Query& query) const noexcept {
  const double system = wire(Transport::Library, query);
  const double packed = whole(Transport::Pack, query);
  if (!known(system) || !known(packed)) return std::nullopt;
  if (query.message.mean_block() > kPackMaxMeanBlock || rows_nearly_touch(query.message))
    return Transport::Library;
  return packed < kWorthPacking * system ? Transport::Pack : Transport::Library;
}

std::optional<Transport> Model::choose_device(const Query& query,
                                              const Options& options) const noexcept {
  const MessageDirection direction = query.message.direction;
  Transport staging =
      query.message.bytes <= options.one_shot_limit ? Transport::OneShot : Transport::Staged;
  double here = 0;
  if (options.one_shot_limit == 0) {
    // The wire time is the same for both.
    const double staged = end(Transport::Staged, query, direction);
    const double one_shot = end(Transport::OneShot, query, direction);
    if (!known(staged) || !known(one_shot)) return std::nullopt;
    staging = one_shot < staged ? Transport::OneShot : Transport::Staged;
    here = std::min(one_shot, staged);
  }
  if (options.one_shot_limit != 0) here = end(staging, query, direction);
  if (!known(here)) return std::nullopt;
  if (!options.gpu_aware) return staging;
  const double by_host = here + wire(staging, query) + other_end(staging, query);
  const Transport direct = query.message.dense ? Transport::Library : Transport::Device;
  const double by_device = whole(direct, query);
  if (!known(by_host) || !known(by_device)) return std::nullopt;
  if (by_host < by_device) return staging;
  return direct;
}

std::optional<Transport> Model::choose(const Message& message,
                                       const Options& options) const noexcept {
  const Query query(message);
  return query.host ? choose_host(query) : choose_device(query, options);
}

std::optional<bool> Model::shares(const Message& message, Transport otherwise) const noexcept {
  const Query query(message);
  const double by_sharing = query.host ? shared(query) : kUnknown;
  if (!known(by_sharing) || rows_nearly_touch(message)) return std::nullopt;
  const double without = whole(otherwise, query);
  return known(without) ? std::optional(by_sharing < kWorthSharing * without) : std::nullopt;
}

}  // namespace strake::machine
