#include "explain.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <new>
#include <utility>

#include "copy/device_backend.hpp"
#include "expression/parser.hpp"
#include "strake/copy.hpp"
#include "strake/error.hpp"

namespace strake::explain {
namespace {

/// Larger ones are not measured: the buffers would take too long to touch.
constexpr std::int64_t kLargestMeasured = std::int64_t{128} << 20;

/// The core looks for a device only in a process that has a device runtime; this one has none of
/// its own accord.
int device_count() {
  if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL) == nullptr) return 0;
  const DeviceBackend* backend = device_backend();
  return backend == nullptr ? 0 : backend->device_count();
}

struct Free {
  void operator()(std::byte* memory) const noexcept {
    ::operator delete[](memory, std::align_val_t{64});
  }
};
using Buffer = std::unique_ptr<std::byte[], Free>;

/// Touched, so that no page is missing when it is measured.
Buffer make_buffer(std::int64_t bytes) {
  const auto size = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
  Buffer buffer(static_cast<std::byte*>(::operator new[](size, std::align_val_t{64})));
  std::fill_n(buffer.get(), size, std::byte{1});
  return buffer;
}

/// Median time of a run, of at least 5 and at most 1000 runs in about 0.2 s, after one to warm up.
/// [µs]
double median_us(const CopyPlan& plan, std::byte* to, const std::byte* from) {
  using Clock = std::chrono::steady_clock;
  plan.run(to, from);
  std::vector<double> times;
  const auto begin = Clock::now();
  while (times.size() < 5 ||
         (times.size() < 1000 && Clock::now() - begin < std::chrono::milliseconds(200))) {
    const auto before = Clock::now();
    plan.run(to, from);
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - before).count());
  }
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2),
                   times.end());
  return times[times.size() / 2];
}

CopyChoice choose(const Layout& layout, bool pack, Place from, Place to, int devices) {
  CopyChoice choice{pack ? "pack" : "unpack", from.kind, to.kind, {}, false, std::nullopt};
  if (devices == 0 && (from.kind != MemoryKind::Host || to.kind != MemoryKind::Host)) {
    choice.description = "no device here";
    return choice;
  }
  const Layout dense = Layout::dense(layout.size_bytes());
  try {
    const CopyPlan plan = pack ? CopyPlan::compile(dense, to, layout, from)
                               : CopyPlan::compile(layout, to, dense, from);
    choice.description = plan.description();
    choice.available = true;
    const ByteRange bounds = layout.bounds();
    if (from.kind != MemoryKind::Host || to.kind != MemoryKind::Host ||
        bounds.size() > kLargestMeasured || layout.size_bytes() > kLargestMeasured ||
        layout.size_bytes() == 0) {
      return choice;
    }
    const Buffer strided = make_buffer(bounds.size());
    const Buffer packed = make_buffer(layout.size_bytes());
    std::byte* base = strided.get() - bounds.begin;
    choice.measured_us =
        pack ? median_us(plan, packed.get(), base) : median_us(plan, base, packed.get());
  } catch (const Unsupported& error) {
    choice.description = error.what();
  }
  return choice;
}

const char* kind_name(Layout::Kind kind) {
  switch (kind) {
    case Layout::Kind::Empty:
      return "empty";
    case Layout::Kind::Box:
      return "box";
    case Layout::Kind::Blocks:
      return "blocks";
    case Layout::Kind::Repeat:
      return "repeat";
    case Layout::Kind::Sequence:
      break;
  }
  return "sequence";
}

std::string time_text(double us, std::int64_t bytes) {
  return fmt::format("{:.2f} us measured, {:.2f} GB/s", us, static_cast<double>(bytes) / us * 1e-3);
}

}  // namespace

Explanation explain(const std::string& expression, const Question& question) {
  Explanation out{expression, question.count, expression::parse(expression), {}, {}, {}};
  out.layout = expression::layout_of(out.type, question.count);
  const int devices = device_count();
  const Place host{MemoryKind::Host, -1};
  const Place device{MemoryKind::Device, 0};
  std::vector<std::pair<Place, Place>> pairs = {
      {host, host}, {host, device}, {device, host}, {device, device}};
  const auto place_of = [](std::optional<MemoryKind> kind) {
    const MemoryKind memory = kind.value_or(MemoryKind::Host);
    return Place{memory, memory == MemoryKind::Host ? -1 : 0};
  };
  if (question.from || question.to) pairs = {{place_of(question.from), place_of(question.to)}};
  for (const auto& [from, to] : pairs) {
    for (const bool pack : {true, false})
      out.copies.push_back(choose(out.layout, pack, from, to, devices));
  }
  if (question.remote) {
    out.messages =
        messages_of(out.layout, place_of(question.from).kind, place_of(question.to).kind);
  }
  return out;
}

nlohmann::ordered_json to_json(const Explanation& explanation) {
  const Layout& layout = explanation.layout;
  nlohmann::ordered_json json;
  json["expression"] = explanation.expression;
  json["count"] = explanation.count;
  json["kind"] = kind_name(layout.kind());
  json["start"] = layout.offset();
  json["block_bytes"] = layout.kind() == Layout::Kind::Box || layout.kind() == Layout::Kind::Blocks
                            ? layout.block_bytes()
                            : 0;
  json["counts"] = nlohmann::json::array();
  json["strides"] = nlohmann::json::array();
  if (layout.kind() == Layout::Kind::Box || layout.kind() == Layout::Kind::Repeat) {
    for (const Dim& dim : layout.dims()) {
      json["counts"].push_back(dim.count);
      json["strides"].push_back(dim.stride_bytes);
    }
  }
  json["blocks"] = layout.block_count();
  json["size_bytes"] = layout.size_bytes();
  json["metadata_bytes"] = layout.metadata_bytes();
  json["lb"] = explanation.type.lb;
  json["extent"] = explanation.type.extent();
  json["copies"] = nlohmann::json::array();
  for (const CopyChoice& copy : explanation.copies) {
    nlohmann::ordered_json entry;
    entry["operation"] = copy.operation;
    entry["from"] = name_of(copy.from);
    entry["to"] = name_of(copy.to);
    entry["available"] = copy.available;
    entry["description"] = copy.description;
    if (copy.measured_us) entry["measured_us"] = *copy.measured_us;
    json["copies"].push_back(std::move(entry));
  }
  if (explanation.messages) json["remote"] = to_json(*explanation.messages);
  return json;
}

std::string to_text(const Explanation& explanation) {
  const Layout& layout = explanation.layout;
  std::string text = explanation.expression;
  if (explanation.count != 1) text += fmt::format("  x {}", explanation.count);
  text += fmt::format("\n  layout    {}\n", layout.to_string());
  text += fmt::format("  blocks    {}\n", layout.block_count());
  text += fmt::format("  bytes     {} (lb {}, extent {})\n", layout.size_bytes(),
                      explanation.type.lb, explanation.type.extent());
  text += fmt::format("  metadata  {} bytes\n", layout.metadata_bytes());
  for (const CopyChoice& copy : explanation.copies) {
    text += fmt::format("  {:6} {:>6} -> {:6}  {}", copy.operation, name_of(copy.from),
                        name_of(copy.to), copy.description);
    if (copy.measured_us) text += "; " + time_text(*copy.measured_us, layout.size_bytes());
    text += '\n';
  }
  if (explanation.messages) text += to_text(*explanation.messages);
  return text;
}

}  // namespace strake::explain
