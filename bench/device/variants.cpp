#include "device/variants.hpp"

#include <utility>

#include "device/kernels.hpp"
#include "support/sampling.hpp"

namespace bench {
namespace {

/// Names in the first column, numbers in all others.
std::vector<strake::TextTable::Column> columns_of_numbers(std::size_t count) {
  std::vector<strake::TextTable::Column> columns(count, {strake::TextTable::Align::Right});
  columns[0] = {.gap = 0};
  return columns;
}

}  // namespace

Variant empty_variant(cudaStream_t stream, int calls) {
  return {
      "empty kernel", stream, 0, calls, true, [stream](int) { check(launch_empty(stream)); }, ""};
}

Variant copy_variant(cudaStream_t stream, const Memory& to, const Memory& from, int calls) {
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

std::vector<Times> measure_in_turns(const Harness& harness, const std::vector<Variant>& variants,
                                    int rounds) {
  constexpr int kAlone = 3;
  std::vector<Plan> plans;  // of each variant in a row, and then alone
  for (const Variant& variant : variants) {
    plans.push_back({variant.calls, rounds});
    plans.push_back({1, kAlone * rounds});
  }
  auto samples = sample_by_turns(
      plans, {rounds, 1}, [&](std::size_t which, const Plan& part, std::vector<double>& to) {
        const Variant& variant = variants[which / 2];
        check(cudaSetDevice(variant.device));
        if (which % 2 == 0)
          return to.push_back(
              harness.device_sample(part.calls, variant.stream, variant.held, variant.enqueue));
        int call = 0;
        const auto alone = [&] {
          variant.enqueue(call++);
          check(cudaStreamSynchronize(variant.stream));
        };
        take_samples(part, alone, to);
      });
  std::vector<Times> times;
  for (std::size_t i = 0; i < samples.size(); i += 2)
    times.push_back({std::move(samples[i]), std::move(samples[i + 1])});
  check(cudaSetDevice(0));
  return times;
}

TitledTable::TitledTable(std::string title, strake::TextTable::Row headings)
    : title_(std::move(title)), rows_(columns_of_numbers(headings.size())) {
  add(std::move(headings));
}

void TitledTable::print(std::FILE* file) const {
  if (rows_.has_entries()) std::fprintf(file, "\n%s\n%s", title_.c_str(), rows_.text().c_str());
}

std::string number(double value, int digits) {
  char text[32];
  (void)std::snprintf(text, sizeof(text), "%.*f", digits, value);
  return text;
}

}  // namespace bench
