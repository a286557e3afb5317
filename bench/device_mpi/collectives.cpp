// Collective calls of 256 KiB a rank by four ranks: in host memory, in device memory by hand
// (copied to pinned memory, and back), and in device memory. Every element is checked before and
// after the timing. Without Strake, and with an MPI library that is not GPU-aware, run it with
// --filter /host,/by_hand.
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "device_mpi/collective_calls.hpp"
#include "device_mpi/device.hpp"
#include "mpi/environment.hpp"
#include "mpi/paired_sampling.hpp"
#include "support/options.hpp"

namespace {

using namespace bench;

constexpr std::int64_t kShareBytes = std::int64_t{Members::kDoubles} * 8;
// Strake's trials of each way end in the warm-up.
constexpr Rounds kTimed = {200, 260};
constexpr Rounds kQuick = {5, 3};

/// Memory that a call reads, and memory that it writes, a share each.
class InAndOut {
 public:
  virtual ~InAndOut() = default;
  virtual void put(const std::vector<double>& in, const std::vector<double>& out) = 0;
  [[nodiscard]] virtual std::vector<double> out() const = 0;
  virtual void run(const CollectiveCall& call, const Members& members) = 0;
};

class OnHost : public InAndOut {
 public:
  void put(const std::vector<double>& in, const std::vector<double>& out) override {
    in_ = in;
    out_ = out;
  }
  [[nodiscard]] std::vector<double> out() const override { return out_; }
  void run(const CollectiveCall& call, const Members& members) override {
    call.call(members, in_.data(), out_.data());
  }

 private:
  std::vector<double> in_;
  std::vector<double> out_;
};

class OnDevice : public InAndOut {
 public:
  void put(const std::vector<double>& in, const std::vector<double>& out) override {
    in_.write(in.data());
    out_.write(out.data());
    check(cudaDeviceSynchronize());
  }
  [[nodiscard]] std::vector<double> out() const override {
    const auto* const from = out_.doubles();
    std::vector<double> host(Members::kDoubles);
    check(cudaMemcpy(host.data(), from, kShareBytes, cudaMemcpyDefault));
    return host;
  }
  void run(const CollectiveCall& call, const Members& members) override {
    call.call(members, in_.doubles(), out_.doubles());
  }

 protected:
  DeviceMemory in_{Where::Device, kShareBytes};
  DeviceMemory out_{Where::Device, kShareBytes};
};

/// Copies as much as the call reads and writes. Gaps between blocks that are written are copied,
/// too, from what the last call left.
class ByHand : public OnDevice {
 public:
  void put(const std::vector<double>& in, const std::vector<double>& out) override {
    OnDevice::put(in, out);
    pinned_out_.write(out.data());
  }
  void run(const CollectiveCall& call, const Members& members) override {
    copy(pinned_in_, in_, call.reads(members.rank()));
    call.call(members, pinned_in_.doubles(), pinned_out_.doubles());
    copy(out_, pinned_out_, call.writes(members.rank()));
  }

 private:
  static void copy(const DeviceMemory& to, const DeviceMemory& from, int doubles) {
    const auto bytes = static_cast<std::size_t>(doubles) * sizeof(double);
    if (bytes > 0) check(cudaMemcpy(to.data(), from.data(), bytes, cudaMemcpyDefault));
  }

  DeviceMemory pinned_in_{Where::Pinned, kShareBytes};
  DeviceMemory pinned_out_{Where::Pinned, kShareBytes};
};

struct Way {
  const char* name;
  InAndOut* memory;
};

std::string name_of(const CollectiveCall& call, const char* way) {
  return std::string(call.name) + "/" + way;
}

/// Elements of this rank that are wrong after a call.
std::int64_t wrong_elements(const CollectiveCall& call, InAndOut& memory, const Members& members,
                            int epoch) {
  std::vector<double> in(Members::kDoubles);
  for (int i = 0; i < Members::kDoubles; ++i)
    in[static_cast<std::size_t>(i)] = sent_by(members.rank(), i, epoch);
  memory.put(in, std::vector<double>(Members::kDoubles, kUntouched));
  memory.run(call, members);
  const std::vector<double> out = memory.out();
  const int written = call.writes(members.rank());
  std::int64_t wrong = 0;
  for (int i = 0; i < Members::kDoubles; ++i) {
    const double expected = i < written ? call.expected(members, i, epoch) : kUntouched;
    wrong += out[static_cast<std::size_t>(i)] == expected ? 0 : 1;
  }
  return wrong;
}

bool all_right(const CollectiveCall& call, const std::vector<Way>& ways, const Members& members,
               int epoch) {
  bool right = true;
  for (const Way& way : ways) {
    if (all_ranks(wrong_elements(call, *way.memory, members, epoch) == 0)) continue;
    right = false;
    if (members.rank() == 0)
      std::fprintf(stderr, "%s: elements are wrong\n", name_of(call, way.name).c_str());
  }
  return right;
}

/// Whether all elements were right, before and after the timing; rank 0 reports if so.
bool measure_call(const CollectiveCall& call, const std::vector<Way>& ways, const Rounds& rounds,
                  const Members& members, const Report& report) {
  if (!all_right(call, ways, members, 0)) return false;
  auto seconds = sample_by_turns(std::vector<Plan>(ways.size(), Plan{1, rounds.count}), rounds,
                                 [&](std::size_t which, const Plan&, std::vector<double>& to) {
                                   MPI_Barrier(MPI_COMM_WORLD);
                                   const auto run = [&] { ways[which].memory->run(call, members); };
                                   to.push_back(time_calls(1, run));
                                 });
  if (!all_right(call, ways, members, 1)) return false;
  for (std::size_t i = 0; i < ways.size(); ++i) {
    const Summary us = summarize(to_microseconds(slowest_rank(std::move(seconds[i]))));
    std::vector<Field> fields = {{"op", std::string(call.name)},
                                 {"way", std::string(ways[i].name)},
                                 {"bytes_per_rank", kShareBytes},
                                 {"device", device_name()}};
    for (Field& field : method_fields()) fields.push_back(field);
    if (members.rank() == 0) report.line(name_of(call, ways[i].name), us, "-us", fields);
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Options options = bench::parse_options(
      argc, argv, "Collective calls of 256 KiB a rank in host memory, by hand, in device memory");
  if (options.list) {
    for (const bench::CollectiveCall& call : bench::collective_calls())
      for (const char* way : {"host", "by_hand", "device"}) std::puts(name_of(call, way).c_str());
    return 0;
  }
  bench::require_device();
  const bench::Environment mpi(&argc, &argv);
  mpi.require_ranks(bench::Members::kRanks);
  bench::use_device(mpi.rank());
  const bench::Report report("device_mpi_collectives", mpi.ranks(), mpi.library());
  const bench::Members members;
  OnHost on_host;
  ByHand by_hand;
  OnDevice on_device;
  bool right = true;
  for (const bench::CollectiveCall& call : bench::collective_calls()) {
    std::vector<Way> ways;
    for (const Way& way : {Way{"host", &on_host}, {"by_hand", &by_hand}, {"device", &on_device}})
      if (options.selects(name_of(call, way.name))) ways.push_back(way);
    right &= measure_call(call, ways, options.quick ? kQuick : kTimed, members, report);
  }
  return right ? 0 : 1;
}
