// Time of choosing a transport, as JSON lines: for a message of elements whose choice was made
// before, of 10,000 different ones; for elements that are new; and for a message by itself. Every
// kept choice is compared with the one made anew.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "exchange/choice/choice.hpp"
#include "machine/profile.hpp"
#include "measure/summary.hpp"
#include "measure/timing.hpp"
#include "mpi/elements.hpp"
#include "strake/layout.hpp"

namespace strake::bench {
namespace {

using exchange::Choice;
using machine::Message;
using machine::MessageDirection;

constexpr std::size_t kKeys = 10000;

machine::Result result(std::string name, std::int64_t bytes, std::int64_t block, std::int64_t pitch,
                       double median) {
  machine::Result made;
  made.mpi = name.starts_with("mpi/") ? exchange::mpi_library() : std::string();
  made.name = std::move(name);
  made.bytes = bytes;
  made.block = block;
  made.pitch = pitch;
  made.median = median;
  return made;
}

/// As many points as a full measurement has.
machine::Profile made_up_profile() {
  machine::Profile profile;
  profile.key = machine::machine_key();
  std::mt19937 random(1);
  std::lognormal_distribution<double> noise(0, 0.3);
  for (std::int64_t bytes = 64; bytes <= 64 << 20; bytes *= 4) {
    const double time = 1e-6 + static_cast<double>(bytes) * 1e-10;
    for (const char* name : {"copy/device-to-pinned", "copy/pinned-to-device", "mpi/node/host",
                             "mpi/node/device", "mpi/net/host", "mpi/net/device"}) {
      profile.results.push_back(result(name, bytes, 0, 0, time * noise(random)));
    }
    for (const char* name :
         {"pack/cpu/box", "unpack/cpu/box", "pack/device/box", "unpack/device/box",
          "pack/one-shot/box", "unpack/one-shot/box", "mpi/node/system/box", "mpi/net/system/box",
          "mpi/node/pack/box", "mpi/net/pack/box", "mpi/node/shared/box"}) {
      for (const std::int64_t block : {1, 4, 8, 16, 64, 256, 1024, 4096}) {
        for (const std::int64_t ratio : {2, 16}) {
          profile.results.push_back(
              result(name, bytes, block, ratio * block, time * noise(random)));
        }
      }
    }
  }
  return profile;
}

std::vector<Message> random_messages(std::size_t count, MemoryKind kind, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Message> made;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t block = std::int64_t{1} << random() % 13;
    const std::int64_t blocks = 2 + static_cast<std::int64_t>(random() % 100000);
    const std::int32_t device = kind == MemoryKind::Host ? -1 : 0;
    made.push_back({static_cast<MessageDirection>(random() % 2),
                    false,
                    {kind, device},
                    block * blocks,
                    blocks,
                    Spread::Near,
                    random() % 2 == 0,
                    block * (2 + static_cast<std::int64_t>(random() % 20))});
  }
  return made;
}

/// Nanoseconds per message of `choose`.
template <typename One, typename Choose>
double time_all(const std::vector<One>& messages, Choose&& choose) {
  const auto all = [&] {
    unsigned sum = 0;
    for (const One& message : messages) sum += static_cast<unsigned>(choose(message).transport);
    asm volatile("" : : "r"(sum));
  };
  return measure::time_calls(1, all) * 1e9 / static_cast<double>(messages.size());
}

void print(const char* name, const std::vector<double>& samples) {
  const measure::Summary ns = measure::summarize(samples);
  fmt::print(R"({{"benchmark":"lookup","case":"{}","unit":"-ns","median":{:.2f},"p10":{:.2f},)"
             R"("p90":{:.2f},"samples":{}}})"
             "\n",
             name, ns.median, ns.p10, ns.p90, ns.count);
}

bool same(Choice a, Choice b) {
  return a.transport == b.transport && a.reason == b.reason && a.shares == b.shares;
}

/// A message's elements, in the form that choices are kept with.
struct Asked {
  Message message;
  std::shared_ptr<mpi::Elements> elements;
  [[nodiscard]] Choice choose() const {
    return exchange::choose(*elements, message.direction, message.place, message.nonblocking);
  }
};

std::vector<Asked> asked(const std::vector<Message>& messages) {
  std::vector<Asked> made;
  for (const Message& message : messages) {
    const std::vector<Dim> dims = {{message.blocks, message.pitch}};
    made.push_back(
        {message, std::make_shared<mpi::Elements>(Layout::box(0, message.mean_block(), dims))});
    made.back().message.spread = made.back().elements->spread();
  }
  return made;
}

int run(bool quick) {
  const auto messages = random_messages(kKeys, MemoryKind::Device, 1);
  auto known = asked(messages);
  const auto choose_kept = [](const Asked& one) { return one.choose(); };
  const auto choose_anew = [](const Message& message) { return exchange::choose(message); };
  (void)time_all(random_messages(200, MemoryKind::Device, 2), choose_anew);  // first uses
  std::vector<double> first;
  // In pieces, as samples: a choice is made for the first time only once.
  for (std::size_t at = 0; at < known.size(); at += 100) {
    const auto begin = known.begin() + static_cast<std::ptrdiff_t>(at);
    first.push_back(time_all(std::vector<Asked>(begin, begin + 100), choose_kept));
  }
  print("first_time", first);
  for (const Asked& one : known) {
    if (!same(one.choose(), exchange::choose(one.message))) {
      fmt::print(stderr, "a kept choice for {} bytes in {} blocks differs from a new one\n",
                 one.message.bytes, one.message.blocks);
      return 1;
    }
  }
  std::shuffle(known.begin(), known.end(), std::mt19937(3));
  std::vector<double> kept;
  for (int i = 0; i < (quick ? 5 : 200); ++i) kept.push_back(time_all(known, choose_kept));
  print("kept_10000", kept);
  for (const MemoryKind kind : {MemoryKind::Host, MemoryKind::Device}) {
    const auto others = random_messages(kKeys, kind, 4);
    std::vector<double> anew;
    for (int i = 0; i < (quick ? 3 : 50); ++i) anew.push_back(time_all(others, choose_anew));
    print(kind == MemoryKind::Host ? "anew_host" : "anew_device", anew);
  }
  return 0;
}

}  // namespace
}  // namespace strake::bench

int main(int argc, char** argv) {
  bool quick = false;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) != "--quick") {
      fmt::print(stderr, "usage: {} [--quick]\n", argv[0]);
      return 2;
    }
    quick = true;
  }
  // Before the first setting is read: the profile that this process is to find.
  std::string path = "/tmp/strake-lookup-XXXXXX";
  const int file = mkstemp(path.data());
  if (file < 0) {
    fmt::print(stderr, "no temporary file\n");
    return 1;
  }
  close(file);
  strake::machine::write_compact(strake::bench::made_up_profile(), path);
  setenv("STRAKE_PROFILE", path.c_str(), 1);
  // All three methods for device memory are in question.
  setenv("STRAKE_GPU_AWARE", "yes", 1);
  const bool found = strake::machine::this_machine() != nullptr;
  std::remove(path.c_str());
  if (!found) {
    fmt::print(stderr, "the profile was not found\n");
    return 1;
  }
  return strake::bench::run(quick);
}
