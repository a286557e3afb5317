#include "support/report.hpp"

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

namespace bench {
namespace {

std::string host_cpu() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
  }
  return "unknown";
}

// The shared object of an interposer in this process, as the loader mapped it.
std::string loaded_interposer() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::size_t path = line.find('/');
    if (path != std::string::npos && line.find("/libstrake-mpi", path) != std::string::npos) {
      return line.substr(line.rfind('/') + 1);
    }
  }
  return "";
}

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace

Report::Report(std::string benchmark, int ranks, std::string mpi_version)
    : benchmark_(std::move(benchmark)),
      ranks_(ranks),
      mpi_version_(std::move(mpi_version)),
      host_cpu_(host_cpu()),
      git_(environment("BENCH_GIT")),
      interposer_(loaded_interposer()) {}

void Report::line(const std::string& name, const Summary& summary, const std::string& unit,
                  const std::vector<Field>& fields) const {
  nlohmann::ordered_json json;
  json["benchmark"] = benchmark_;
  json["name"] = name;
  json["median"] = summary.median;
  json["p10"] = summary.p10;
  json["p90"] = summary.p90;
  json["samples"] = summary.count;
  json["unit"] = unit;
  for (const auto& [key, value] : fields) {
    std::visit([&json, &key = key](const auto& v) { json[key] = v; }, value);
  }
  json["ranks"] = ranks_;
  json["mpi"] = mpi_version_;
  json["git"] = git_;
  json["host_cpu"] = host_cpu_;
  json["interposer"] = interposer_;
  std::cout << json.dump() << std::endl;
}

}  // namespace bench
