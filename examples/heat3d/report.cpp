#include "heat3d/report.hpp"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <optional>
#include <sstream>

#include "heat3d/world.hpp"

namespace {

std::string scientific(const std::optional<double>& checksum) {
  if (!checksum) return "-";
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.12e", *checksum);
  return text.data();
}

std::string json_of(const Options& options, const Result& result) {
  std::ostringstream line;
  const auto number = [&](const char* key, auto value) {
    line << ", \"" << key << "\": " << value;
  };
  const bool steps = !result.exchange_only;
  line << "{\"form\": \"" << name_of(result.form) << "\"";
  number("ranks", ranks_of_world());
  number("size", result.size);
  number("ghost", result.costs.ghost);
  number("stencil", steps ? std::to_string(options.points) : "null");
  number("steps", result.steps);
  number("steps_per_exchange", steps ? std::to_string(result.costs.steps) : "null");
  number("compute_us", steps ? std::to_string(result.times.compute * 1e6) : "null");
  number("pack_us", std::to_string(result.times.pack * 1e6));
  number("wait_us", std::to_string(result.times.wait * 1e6));
  number(steps ? "total_us" : "exchange_us", std::to_string(result.total * 1e6));
  number("messages", result.costs.messages);
  number("bytes", result.costs.bytes);
  line << "}\n";
  return line.str();
}

}  // namespace

void print_heading(const Options& options, const Result& first) {
  std::printf("%d rank%s of %" PRId64 "^3 cells, %d-point stencil, %" PRId64
              " steps; times: us a step\n%-7s %5s %5s %10s %10s %10s %10s %8s %10s  %s\n",
              ranks_of_world(), ranks_of_world() == 1 ? "" : "s", first.size, options.points,
              first.steps, "form", "ghost", "steps", "compute", "pack", "wait", "total", "messages",
              "bytes", "checksum");
}

void print_row(const Result& result) {
  const Costs& costs = result.costs;
  std::printf("%-7s %5d %5d %10.2f %10.2f %10.2f %10.2f %8d %10" PRId64 "  %s\n",
              name_of(result.form), costs.ghost, costs.steps, result.times.compute * 1e6,
              result.times.pack * 1e6, result.times.wait * 1e6, result.total * 1e6, costs.messages,
              costs.bytes, scientific(result.checksum).c_str());
  std::fflush(stdout);
}

void print_exchanges(const Options& options, std::span<const Result> results) {
  const auto types = std::ranges::find(results, Form::Types, &Result::form);
  const bool compared = types != results.end();
  const int width = compared ? 18 : 0;  // of checksums
  std::printf("%d rank%s of %" PRId64
              "^3 cells, exchanges of ghosts of %d cell%s; times: us an "
              "exchange%s\n%-7s %5s %9s %10s %10s %10s %8s %10s  %-*s%s\n",
              ranks_of_world(), ranks_of_world() == 1 ? "" : "s", results[0].size, options.ghost,
              options.ghost == 1 ? "" : "s", compared ? "; faster: times faster than types" : "",
              "form", "ghost", "exchanges", "exchange", "begin", "wait", "messages", "bytes", width,
              "checksum", compared ? "   faster" : "");
  for (const Result& result : results) {
    std::printf("%-7s %5d %9" PRId64 " %10.2f %10.2f %10.2f %8d %10" PRId64 "  %-*s",
                name_of(result.form), result.costs.ghost, result.steps, result.total * 1e6,
                result.times.pack * 1e6, result.times.wait * 1e6, result.costs.messages,
                result.costs.bytes, width, scientific(result.checksum).c_str());
    if (compared) std::printf(" %8.2f", types->total / std::max(result.total, 1e-12));
    std::printf("\n");
  }
  std::fflush(stdout);
}

bool append_json(const std::string& path, const Options& options, std::span<const Result> results) {
  std::ofstream file(path, std::ios::app | std::ios::binary);
  for (const Result& result : results) file << json_of(options, result);
  file.close();
  return !file.fail();
}
