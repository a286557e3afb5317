#include "device/ways.hpp"

#include <algorithm>
#include <utility>

#include "device/kernels.hpp"
#include "support/sampling.hpp"

namespace bench {

Way empty_way(cudaStream_t stream, int calls) {
  return {
      "empty kernel", stream, 0, calls, true, [stream](int) { check(launch_empty(stream)); }, ""};
}

Way copy_way(cudaStream_t stream, const Memory& to, const Memory& from, int calls) {
  return {"contiguous copy",
          stream,
          0,
          calls,
          true,
          [stream, &to, &from](int) {
            check(cudaMemcpyAsync(to.data(), from.data(), static_cast<std::size_t>(to.size()),
                                  cudaMemcpyDeviceToDevice, stream));
          },
          ""};
}

std::vector<Times> measure_in_turns(const Harness& harness, const std::vector<Way>& ways,
                                    int rounds) {
  constexpr int kAlone = 3;
  std::vector<Times> times(ways.size());
  for (int round = -1; round < rounds; ++round) {
    for (std::size_t i = 0; i < ways.size(); ++i) {
      const Way& way = ways[i];
      check(cudaSetDevice(way.device));
      const double in_a_row = harness.device_sample(way.calls, way.stream, way.held, way.enqueue);
      // The first round warms up.
      if (round >= 0) times[i].in_a_row.push_back(in_a_row);
      for (int call = 0; call < kAlone; ++call) {
        const double alone = time_calls(1, [&] {
          way.enqueue(call);
          check(cudaStreamSynchronize(way.stream));
        });
        if (round >= 0) times[i].alone.push_back(alone);
      }
    }
  }
  check(cudaSetDevice(0));
  return times;
}

TextTable::TextTable(std::string title, std::vector<std::string> headings)
    : title_(std::move(title)), rows_{std::move(headings)} {}

void TextTable::print(std::FILE* file) const {
  if (rows_.size() == 1) return;
  std::vector<std::size_t> widths(rows_[0].size());
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::fprintf(file, "\n%s\n", title_.c_str());
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const int width = static_cast<int>(widths[i]);
      std::fprintf(file, i == 0 ? "%-*s" : "  %*s", width, row[i].c_str());
    }
    std::fprintf(file, "\n");
  }
}

std::string number(double value, int digits) {
  char text[32];
  (void)std::snprintf(text, sizeof(text), "%.*f", digits, value);
  return text;
}

}  // namespace bench
