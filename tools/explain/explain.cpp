#include "explain.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <new>
#include <nlohmann/json.hpp>
#include <utility>

#include "colour.hpp"
#include "command/wrap.hpp"
#include "device/backend.hpp"
#include "expression/parser.hpp"
#include "measure/summary.hpp"
#include "measure/timing.hpp"
#include "settings/counted.hpp"
#include "strake/copy.hpp"
#include "strake/error.hpp"
#include "verdict.hpp"

namespace strake::explain {
namespace {

/// Copies that move more bytes, or touch more memory, are not measured: that would take too long.
constexpr std::int64_t kMostMoved = std::int64_t{128} << 20;
constexpr std::int64_t kMostTouched = std::int64_t{512} << 20;

constexpr const char* kNoDevice = "no device here";

/// The core looks for a device only in a process that uses a device runtime, so this process starts
/// one.
int device_count() {
  if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL) == nullptr) return 0;
  const DeviceBackend* backend = device_backend();
  return backend == nullptr ? 0 : backend->device_count();
}

/// Upper bound of the memory that a layout's bytes touch, plus as many dense bytes.
std::int64_t most_touched(const Layout& layout) {
  const std::int64_t page = sysconf(_SC_PAGESIZE);
  // A block may begin and end in the middle of a page.
  const std::int64_t by_blocks = layout.size_bytes() + layout.block_count() * 2 * page;
  return layout.size_bytes() + std::min(layout.bounds().size(), by_blocks);
}

bool is_measured(const Layout& layout) {
  const std::int64_t memory = sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
  return layout.size_bytes() > 0 && layout.size_bytes() <= kMostMoved &&
         most_touched(layout) <= std::min(kMostTouched, memory / 4);
}

/// Memory within a layout's bounds. Pages without bytes of the layout use no memory.
class Strided {
 public:
  /// Touches the layout's bytes, so that no page is missing when they are measured.
  explicit Strided(const Layout& layout) : bounds_(layout.bounds()) {
    void* memory = mmap(nullptr, size(), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    // Huge pages would also use memory between the blocks.
    if (bounds_.size() > kMostTouched) madvise(memory, size(), MADV_NOHUGEPAGE);
    memory_ = static_cast<std::byte*>(memory);
    layout.for_each_block([this](std::int64_t offset, std::int64_t length) {
      std::fill_n(base() + offset, length, std::byte{1});
    });
  }
  ~Strided() { munmap(memory_, size()); }
  Strided(const Strided&) = delete;
  Strided& operator=(const Strided&) = delete;
  [[nodiscard]] std::byte* base() const noexcept { return memory_ - bounds_.begin; }

 private:
  [[nodiscard]] std::size_t size() const noexcept {
    return static_cast<std::size_t>(bounds_.size());
  }
  ByteRange bounds_;
  std::byte* memory_ = nullptr;
};

/// Median time of a run, of at least 5 and at most 1000 runs in about 0.2 s (fewer than 5 where
/// they take a second), after one to warm up. [µs]
double median_us(const CopyPlan& plan, std::byte* to, const std::byte* from) {
  const auto run = [&] { plan.run(to, from); };
  run();
  std::vector<double> seconds;
  const measure::Stopwatch since_begin;
  while (seconds.size() < 1000 && since_begin.seconds() < (seconds.size() < 5 ? 1 : 0.2))
    seconds.push_back(measure::time_calls(1, run));
  return 1e6 * measure::summarize(std::move(seconds)).median;
}

/// Nothing if that would take too much time or memory.
std::optional<double> measured_us(const CopyPlan& plan, const Layout& layout, bool pack) {
  if (!is_measured(layout)) return std::nullopt;
  try {
    const Strided strided(layout);
    const Strided packed(Layout::dense(layout.size_bytes()));
    return pack ? median_us(plan, packed.base(), strided.base())
                : median_us(plan, strided.base(), packed.base());
  } catch (const std::bad_alloc&) {  // the extent is more than can be mapped here
    return std::nullopt;
  }
}

CopyChoice choose(const Layout& layout, bool pack, Place from, Place to, int devices) {
  CopyChoice choice{pack ? "pack" : "unpack", from.kind, to.kind, {}, false, std::nullopt};
  if (devices == 0 && (from.kind != MemoryKind::Host || to.kind != MemoryKind::Host)) {
    choice.description = kNoDevice;
    return choice;
  }
  const Layout dense = Layout::dense(layout.size_bytes());
  try {
    const CopyPlan plan = pack ? CopyPlan::compile(dense, to, layout, from)
                               : CopyPlan::compile(layout, to, dense, from);
    choice.description = plan.description();
    choice.available = true;
    if (from.kind == MemoryKind::Host && to.kind == MemoryKind::Host)
      choice.measured_us = measured_us(plan, layout, pack);
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
  Explanation out{expression, question.count, expression::parse(expression), {}, {}, {}, {},
                  {},         false};
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
  out.one_pair = question.from || question.to;
  out.profile = machine::state_of(machine::located_here());
  out.verdict = verdict_of(out.layout);
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
  json["profile"] = to_json(explanation.profile);
  json["verdict"] = explanation.verdict;
  return json;
}

std::string to_text(const Explanation& explanation) {
  const Layout& layout = explanation.layout;
  std::string text = explanation.expression;
  if (explanation.count != 1) text += fmt::format("  x {}", explanation.count);
  text += fmt::format("\n  layout    {}\n", command::wrapped(layout.to_string(), 12, 12));
  text += fmt::format("  blocks    {}\n", layout.block_count());
  text += fmt::format("  bytes     {} (lb {}, extent {})\n", layout.size_bytes(),
                      explanation.type.lb, explanation.type.extent());
  text += fmt::format("  metadata  {}\n", counted(layout.metadata_bytes(), "byte"));
  for (const CopyChoice& copy : explanation.copies) {
    // A copy that lacks its device is worth a line only if it was asked for.
    if (copy.description == kNoDevice && !explanation.one_pair) continue;
    text += fmt::format("  {:6} {:>6} -> {:6}  {}", copy.operation, name_of(copy.from),
                        name_of(copy.to), copy.description);
    if (copy.measured_us) text += "; " + time_text(*copy.measured_us, layout.size_bytes());
    text += '\n';
  }
  if (explanation.messages) text += to_text(*explanation.messages);
  text += fmt::format("  profile   {}\n", command::wrapped(explanation.profile.sentence, 12, 12));
  constexpr const char* kMeasure = "mpirun -n 2 strake measure --quick";
  if (const std::string remedy = explanation.profile.remedy(kMeasure); !remedy.empty())
    text += fmt::format("            -> {}\n", remedy);
  constexpr const char* kHead = "Verdict:";
  const std::string verdict = fmt::format("{} {}.", kHead, explanation.verdict);
  return text + "  " + coloured(kHead, Colour::Bold, stdout) +
         command::wrapped(verdict, 2, 2).substr(std::strlen(kHead)) + "\n";
}

}  // namespace strake::explain
