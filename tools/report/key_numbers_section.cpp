// The numbers that people quote of a machine.
#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "report/html.hpp"
#include "report/sections.hpp"
#include "report/units.hpp"

namespace strake::report {
namespace {

using machine::Result;

/// One number: of the results of this name, the one whose block, and then size, is the nearest.
struct Wanted {
  const char* words;
  const char* name;
  std::int64_t bytes = INT64_MAX;  ///< the largest
  std::int64_t block = 0;
};

constexpr std::int64_t kHalo = 1 << 20;  // a large face of a halo, still in a core's cache

constexpr Wanted kWanted[] = {
    {"Memory: copy by one core, caches flushed", "copy/cpu/flushed"},
    {"Packing on the CPU", "pack/cpu/box", kHalo, 8},
    {"Packing on the CPU", "pack/cpu/box", kHalo, 64},
    {"Packing on a GPU", "pack/device/box", 64 * kHalo, 8},
    {"Packing on a GPU", "pack/device/box", 64 * kHalo, 64},
    {"GPU memory: copy", "gpu/copy/device-local"},
    {"GPU: launch of a kernel, and wait", "gpu/call/launch-and-wait/stream"},
    {"From GPU to GPU", "gpu/peer/0-1"},
    {"Host link: pinned memory to GPU", "gpu/copy/pinned-to-device"},
    {"Host link: GPU to pinned memory", "gpu/copy/device-to-pinned"},
    {"MPI latency within a node", "mpi/node/host", 1},
    {"MPI bandwidth within a node", "mpi/node/host"},
    {"MPI latency between nodes", "mpi/net/host", 1},
    {"MPI bandwidth between nodes", "mpi/net/host"},
};

/// Blocks of half and twice the wanted length will do.
bool takes(const Wanted& wanted, const Result& result) {
  if (wanted.block == 0) return result.block == 0;
  return 2 * result.block >= wanted.block && result.block <= 2 * wanted.block &&
         pitch_class(result) == PitchClass::Near;
}

const Result* find(const machine::Profile& profile, const std::string& library,
                   const Wanted& wanted) {
  const auto distance = [&](const Result& result) {
    return std::pair(std::abs(result.block - wanted.block), std::abs(result.bytes - wanted.bytes));
  };
  const Result* best = nullptr;
  for (const Result& result : profile.results)
    if (result.name == wanted.name && result.median > 0 && takes(wanted, result) &&
        (result.mpi.empty() || result.mpi == library) &&
        (best == nullptr || distance(result) < distance(*best)))
      best = &result;
  return best;
}

/// "12.3 GB/s", or a time of what moves next to nothing.
std::string value_text(const Result& result, const Wanted& wanted) {
  const bool latency = wanted.bytes == 1 || !moves_bytes(result);
  return latency ? time_text(result.median) : rate_text(rate_of(result));
}

std::string row_of_number(Profiles profiles, const std::string& library, const Wanted& wanted) {
  std::string cells;
  const Result* shown_result = nullptr;
  for (const Shown& shown : profiles) {
    const Result* result = find(shown.profile, library, wanted);
    if (result == nullptr) {
      cells += "<td></td><td></td>";
      continue;
    }
    if (shown_result == nullptr) shown_result = result;
    const bool latency = wanted.bytes == 1 || !moves_bytes(*result);
    const auto bytes = static_cast<double>(result->bytes);
    std::string spread =
        latency ? spread_text(*result)
                : rate_text(bytes / result->p90) + " to " + rate_text(bytes / result->p10);
    if (!latency && result->limit > 0)
      spread += ", " + share_text(rate_of(*result), result->limit) + " of the limit";
    if (doubtful(*result)) spread += ", doubtful";
    cells += cell(value_text(*result, wanted), fmt::format("{:.9g} s", result->median),
                  doubtful(*result) ? "doubtful" : "value") +
             cell(spread);
  }
  if (shown_result == nullptr) return {};
  const std::string shape = shape_text(*shown_result);
  std::string words = wanted.words;
  if (shown_result->block > 0)
    words += ", blocks of " + bytes_text(static_cast<double>(shown_result->block));
  return "<tr><th>" + escaped(words) + "</th>" + cells +
         cell(shown_result->name + (shape.empty() ? "" : ", " + shape) +
              (shown_result->mpi.empty() ? "" : ", " + shown_result->mpi)) +
         "</tr>\n";
}

}  // namespace

std::string key_numbers(Profiles profiles) {
  std::vector<std::string> libraries;
  for (const Shown& shown : profiles)
    for (const std::string& library : libraries_of(shown.profile))
      if (std::find(libraries.begin(), libraries.end(), library) == libraries.end())
        libraries.push_back(library);
  std::string rows;
  for (const Wanted& wanted : kWanted) {
    if (std::string_view(wanted.name).starts_with("mpi/"))
      for (const std::string& library : libraries) rows += row_of_number(profiles, library, wanted);
    else
      rows += row_of_number(profiles, "", wanted);
  }
  std::vector<std::string> head = {"number"};
  for (const Shown& shown : profiles) {
    head.push_back(profiles.size() > 1 ? shown.label : "median");
    head.emplace_back("10 % to 90 %");
  }
  head.emplace_back("measured as");
  return section("key-numbers", "The numbers that people quote",
                 "Each is the median of one result; the last column says of which.",
                 rows.empty() ? rows : table("quoted", head, rows));
}

}  // namespace strake::report
