#include "made_up.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "machine/pitch.hpp"

namespace strake::report_test {
namespace {

using machine::Result;

constexpr const char* kLibrary = "Open MPI 4.1.4";

class Maker {
 public:
  explicit Maker(double speed) : speed_(speed) {}

  void add(const std::string& name, std::int64_t bytes, std::int64_t block, std::int64_t pitch,
           std::int64_t count, double seconds, double limit = 0, const std::string& mpi = {}) {
    Result result;
    result.name = name;
    result.mpi = mpi;
    result.bytes = bytes;
    result.block = block;
    result.pitch = pitch;
    result.count = count;
    result.median = seconds / speed_ * noise_(random_);
    result.p10 = 0.97 * result.median;
    // One in seven is doubtful.
    result.p90 = (results.size() % 7 == 0 ? 1.4 : 1.06) * result.median;
    result.samples = 50;
    result.iid = results.size() % 9 != 0;
    result.tries = result.iid ? 1 : 10;
    result.limit = limit;
    results.push_back(result);
  }

  std::vector<Result> results;

 private:
  double speed_;
  std::mt19937 random_{42};
  std::uniform_real_distribution<double> noise_{0.97, 1.03};
};

void add_packs(Maker& maker, const std::string& place, double latency, double full_rate,
               double per_block) {
  for (const char* operation : {"pack", "unpack"}) {
    const double slower = operation[0] == 'u' ? 1.15 : 1;
    for (std::int64_t bytes = 256; bytes <= 64 << 20; bytes *= 16)
      for (std::int64_t block = 4; block <= std::min<std::int64_t>(bytes, 4096); block *= 4)
        for (const auto pitch : {machine::PitchClass::Near, machine::PitchClass::Sparse})
          maker.add(fmt::format("{}/{}/box", operation, place), bytes, block,
                    machine::host_pitch(pitch, block), 0,
                    slower * (latency + static_cast<double>(bytes) / full_rate +
                              static_cast<double>(bytes / block) * per_block *
                                  (pitch == machine::PitchClass::Sparse ? 2.5 : 1)));
  }
}

void add_messages(Maker& maker) {
  for (const char* way : {"node", "net"}) {
    const bool far = way[1] == 'e';
    for (std::int64_t bytes = 1; bytes <= 16 << 20; bytes *= 4) {
      const auto n = static_cast<double>(bytes);
      const bool large = bytes > 8192;
      const double alpha = (large ? 4e-6 : 0.6e-6) * (far ? 3 : 1);
      const double rate = (large ? 11e9 : 4e9) / (far ? 2 : 1);
      maker.add(fmt::format("mpi/{}/host", way), bytes, 0, 0, 0, alpha + n / rate, 0, kLibrary);
      for (std::int64_t pairs = 1; pairs <= 8 && !far; pairs *= 2)
        maker.add("mpi/node/pairs", bytes, 0, 0, pairs,
                  alpha + n * std::max(1 / rate, large ? static_cast<double>(pairs) / 33e9 : 0), 0,
                  kLibrary);
      if (bytes >= 64)
        for (std::int64_t block = 4; block <= std::min<std::int64_t>(bytes, 4096); block *= 4)
          for (const auto& [by, seconds_per_block] :
               {std::pair("system", 6e-9), std::pair("pack", 2e-9)})
            maker.add(fmt::format("mpi/{}/{}/box", way, by), bytes, block, 2 * block, 0,
                      alpha + n / rate + n / static_cast<double>(block) * seconds_per_block, 0,
                      kLibrary);
    }
  }
}

/// Rate of copies between a GPU and a memory, its own or the host's. [bytes/s]
double rate_of(const std::string& name) {
  if (name == "device-local") return 2e12;
  return name.find("pageable") != std::string::npos ? 20e9 : 55e9;
}

void add_gpus(Maker& maker, int gpus) {
  const double pcie = 63e9;
  for (std::int64_t bytes = 64; bytes <= 64 << 20; bytes *= 4) {
    const auto n = static_cast<double>(bytes);
    maker.add("copy/device-to-pinned", bytes, 0, 0, 0, 8e-6 + n / 55e9, pcie);
    maker.add("copy/pinned-to-device", bytes, 0, 0, 0, 8e-6 + n / 55.3e9, pcie);
    for (const char* name : {"pageable-to-device", "device-to-pageable", "pinned-to-device",
                             "device-to-pinned", "device-local"})
      maker.add(std::string("gpu/copy/") + name, bytes, 0, 0, 0, 4e-6 + n / rate_of(name),
                std::string(name) == "device-local" ? 0 : pcie);
  }
  for (int from = 0; from < gpus; ++from)
    for (int to = 0; to < gpus; ++to)
      for (const char* kind : {"", "/push"})
        if (from != to)
          for (const std::int64_t bytes : {1 << 16, 1 << 22, 1 << 28})
            maker.add(fmt::format("gpu/peer/{}-{}{}", from, to, kind), bytes, 0, 0, 0,
                      3e-6 + static_cast<double>(bytes) / (*kind == 0 ? 395e9 : 370e9), 478e9);
  add_packs(maker, "device", 6e-6, 1.4e12, 2e-13);
  add_packs(maker, "one-shot", 7e-6, 50e9, 3e-12);
  double microseconds = 1.4;
  for (const char* name : {"memcpy-async", "memcpy3d-peer-async", "launch", "event-record",
                           "event-query", "stream-synchronize", "ipc-open", "malloc", "free"}) {
    for (const std::int64_t threads : {1, 8})
      maker.add(std::string("gpu/call/") + name, 0, 0, 0, threads,
                1e-6 * microseconds * static_cast<double>(threads));
    microseconds *= 1.9;
  }
}

}  // namespace

machine::Profile made_up(const std::string& host, int gpus, double speed) {
  Maker maker(speed);
  for (std::int64_t bytes = 64; bytes <= 64 << 20; bytes *= 4)
    for (int from = 0; from < 2; ++from)
      for (int to = 0; to < 2; ++to)
        maker.add(fmt::format("copy/numa/{}-{}/flushed", from, to), bytes, 0, 0, 0,
                  2e-8 + static_cast<double>(bytes) / (from == to ? 14e9 : 8e9));
  add_packs(maker, "cpu", 3e-8, 12e9, 1.1e-9);
  add_messages(maker);
  for (const char* name : {"thread-wake", "flag-round-trip", "page-fault"})
    maker.add(std::string("cpu/call/") + name, 0, 0, 0, 0, 2e-7 * name[0] / 100.0);
  if (gpus > 0) add_gpus(maker, gpus);
  machine::Profile profile;
  profile.key = fmt::format("cpu: 2 x Example <9000> & co; gpu: {} x Example", gpus);
  profile.host = host;
  profile.date = "2025-11-21T09:30:00Z";
  profile.results = std::move(maker.results);
  profile.aware = {{kLibrary, false}};
  return profile;
}

std::string json_of(const machine::Profile& profile) {
  nlohmann::ordered_json json;
  json["version"] = 1;
  json["key"] = profile.key;
  json["host"] = profile.host;
  json["date"] = profile.date;
  json["strake"] = "0.1.0";
  json["machine"] = {{"sockets", 2}, {"gpus", {{{"name", "Example"}, {"uuid", "GPU-0"}}}}};
  json["gpu_aware"] = nlohmann::ordered_json::array();
  for (const auto& aware : profile.aware)
    json["gpu_aware"].push_back({{"mpi", aware.mpi}, {"aware", aware.aware}});
  json["results"] = nlohmann::ordered_json::array();
  for (const Result& result : profile.results) {
    nlohmann::ordered_json item;
    item["name"] = result.name;
    if (!result.mpi.empty()) item["mpi"] = result.mpi;
    for (const auto& [name, value] :
         {std::pair("bytes", result.bytes), std::pair("block", result.block),
          std::pair("pitch", result.pitch), std::pair("count", result.count)})
      if (value > 0) item[name] = value;
    item["median"] = result.median;
    item["p10"] = result.p10;
    item["p90"] = result.p90;
    item["samples"] = result.samples;
    item["iid"] = result.iid;
    item["tries"] = result.tries;
    if (result.limit > 0) item["limit"] = result.limit;
    json["results"].push_back(item);
  }
  return json.dump(1);
}

}  // namespace strake::report_test
