#include "machine/costs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "strake/error.hpp"

namespace strake::machine {
namespace {

/// So many bytes that fixed costs no longer count: a curve goes on at its last rate.
constexpr std::int64_t kMany = std::int64_t{1} << 40;
/// gpu/fetch reads words of so many bytes.
constexpr double kWord = 4;
constexpr std::string_view kFetches = "gpu/fetch/peer/";

}  // namespace

ExchangeParts::ExchangeParts(const Profile& profile, std::string_view mpi)
    : packs(profile, mpi, Reach::Net, kMany) {
  const auto put = [](Named<double>& parts, const std::string& name, double value, bool least) {
    double& known = parts.try_emplace(name, value).first->second;
    known = least ? std::min(known, value) : std::max(known, value);
  };
  for (const Result& result : profile.results) {
    if ((!result.mpi.empty() && result.mpi != mpi) || !(result.median > 0)) continue;
    if (!result.doubtful.empty()) continue;
    const std::string& name = result.name;
    const auto bytes = static_cast<double>(result.bytes);
    if (name.ends_with("/pairs") && result.count > 0) {
      put(shared, name, result.median / (bytes * static_cast<double>(result.count)), true);
    } else if (name.starts_with("gpu/fan/")) {
      put(shared, name, result.median / bytes, true);
    } else if (name.starts_with(kFetches)) {
      // At the longest pitch each word is alone in what is fetched for it.
      put(words, name, result.median / (bytes / kWord), false);
    } else if (result.bytes == 0) {
      if (result.count <= 1) calls[name] = result.median;
    } else if (!curves.contains(name)) {
      curves[name] = profile.curve(name, result.mpi);
      const auto is_dense = [](const Result& r) { return r.block == 0; };
      Curve dense = profile.curve(name, result.mpi, is_dense);
      if (!dense.empty()) curves[name + "/dense"] = std::move(dense);
    }
  }
}

std::string ExchangeParts::pair_like(int from, int to) const {
  std::string best = fmt::format("{}-{}", from, to);
  const auto copy = curves.find("gpu/peer/" + best);
  if (copy == curves.end()) return best;
  const auto bytes = static_cast<double>(kMany);
  double least = std::numeric_limits<double>::infinity();
  for (auto it = words.lower_bound(kFetches); it != words.end(); ++it) {
    const std::string_view name = it->first;
    if (!name.starts_with(kFetches)) break;
    if (!name.ends_with("/read")) continue;
    const std::string pair(name.substr(kFetches.size(), name.rfind('/') - kFetches.size()));
    const auto other = curves.find("gpu/peer/" + pair);
    if (other == curves.end()) continue;
    const double unlike = std::abs(std::log2(other->second.time(bytes) / copy->second.time(bytes)));
    if (other == copy || unlike < least) {
      least = other == copy ? -1 : unlike;
      best = pair;
    }
  }
  return best;
}

Costs::Costs(const ExchangeParts& parts, const Shape& shape)
    : parts_(parts), shape_(shape), bytes_(static_cast<double>(shape.bytes)) {
  if (shape.bytes <= 0 || shape.block <= 0 || shape.pitch < 0) {
    throw InvalidArgument(fmt::format("a transfer of {} bytes in blocks of {} every {}",
                                      shape.bytes, shape.block, shape.pitch));
  }
}

template <typename Value>
const Value* Costs::find(const ExchangeParts::Named<Value>& parts, const std::string& name) {
  const auto found = parts.find(name);
  if (found != parts.end()) return &found->second;
  if (lacking_.empty()) lacking_ = name;
  return nullptr;
}

double Costs::known(double seconds, const std::string& name) {
  if (!std::isnan(seconds)) return seconds;
  if (lacking_.empty()) lacking_ = name;
  return 0;
}

double Costs::call(const std::string& name) {
  const double* seconds = find(parts_.calls, name);
  return seconds != nullptr ? *seconds : 0;
}

double Costs::fixed(const std::string& name) {
  const Curve* curve = find(parts_.curves, name);
  return curve != nullptr ? known(curve->time(1), name) : 0;
}

double Costs::rest(const std::string& name) {
  const Curve* curve = find(parts_.curves, name);
  if (curve == nullptr) return 0;
  const auto block = static_cast<double>(shape_.block);
  return std::max(known(curve->time(bytes_, block) - curve->time(1, block), name), 0.0);
}

double Costs::share(const std::string& name) {
  const Curve* curve = find(parts_.curves, name);
  constexpr auto kAll = static_cast<double>(kMany);
  return curve != nullptr ? known(curve->time(kAll), name) / kAll * bytes_ : 0;
}

double Costs::shared(const std::string& name) {
  const double* per_byte = find(parts_.shared, name);
  return per_byte != nullptr ? *per_byte * bytes_ : 0;
}

double Costs::read_blocks(const std::string& name, double dense) {
  const double* word = find(parts_.words, name);
  if (word == nullptr) return 0;
  // The first word of a block takes what it takes alone, each byte behind it what dense ones take.
  const double block = std::min(static_cast<double>(shape_.block), bytes_);
  const double behind = std::max(block - kWord, 0.0) * dense / bytes_;
  return std::max(bytes_ / block * (*word + behind), dense);
}

double Costs::packing(MessageDirection direction, Transport transport, const char* memory) {
  for (const char* operation : {"pack", "unpack"})
    (void)find(parts_.curves, fmt::format("{}/{}/box", operation, memory));
  const bool alone = transport == Transport::Pack;
  const std::int64_t block = std::min(shape_.block, shape_.bytes);
  Message message;
  message.direction = direction;
  message.place.kind = alone ? MemoryKind::Host : MemoryKind::Device;
  message.blocks = (alone ? shape_.bytes : kMany) / block;
  message.bytes = message.blocks * block;
  message.pitch = shape_.pitch > 0 ? shape_.pitch : 2 * block;
  const auto all = parts_.packs.parts(transport, message);
  const char* operation = direction == MessageDirection::Send ? "pack" : "unpack";
  const double end = all ? all->end : std::numeric_limits<double>::quiet_NaN();
  return known(end, fmt::format("{}/{}/box", operation, memory)) * bytes_ /
         static_cast<double>(message.bytes);
}

}  // namespace strake::machine
