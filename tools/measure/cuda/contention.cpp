/// \file  Packing and the application's own work at the same time: a pack kernel and the copy
/// engine, each against a kernel that fills the multiprocessors and against copies in both
/// directions, either one first. Sources: Jenkins et al. 4.4, table 3.
#include "measure/cuda/cases.hpp"
#include "measure/cuda/traffic.hpp"

namespace strake::measure::cuda {
namespace {

// As in the paper: 262,144 blocks of 8 bytes at a pitch of 64.
constexpr std::int64_t kBlocks = 262144;
constexpr std::int64_t kBlock = 8;
constexpr std::int64_t kPitch = 64;
constexpr std::int64_t kPacked = kBlocks * kBlock;
// The user's work takes about as long as packing does by the copy engine: some 100 us.
constexpr std::int64_t kAdded = std::int64_t{24} << 20;  // floats
constexpr std::int64_t kCopied = 8 * kMiB;
// The second task begins when the first has its first blocks on the device. Packing is on a stream
// behind the one that starts it, some 5 us more.
constexpr int kAfterUser = 2;
constexpr int kAfterPack = 4;

enum class User { Add, ToDevice, ToHost };
constexpr const char* kUserNames[] = {"sm", "to-device", "to-host"};
enum class Timed { Pack, User, Total };
constexpr const char* kTimedNames[] = {"pack", "user", "total"};

Task user_task(User user) {
  if (user == User::Add) {
    // Bytes of zero are floats of zero: 0 + 0 = 0, over what was there.
    const SharedBuffer a = make_buffer({Kind::Device}, kAdded * 4);
    const SharedBuffer c = make_buffer({Kind::Device}, kAdded * 4);
    check(cudaMemset(a->data(), 0, kAdded * 4));
    c->fill(kSeed);
    return {{0,
             [=](cudaStream_t stream) {
               check(launch_add(c->as<float>(), a->as<const float>(), a->as<const float>(), kAdded,
                                stream));
             }},
            [=] {
              float last = 1;
              check(cudaMemcpy(&last, c->as<float>() + kAdded - 1, sizeof last, cudaMemcpyDefault));
              if (last != 0) throw WrongData("vector add: 0 + 0 is not 0");
              c->fill(kSeed);
            }};
  }
  const Where host{Kind::Pinned};
  const Where device{Kind::Device};
  const bool down = user == User::ToHost;
  const Move move(down ? host : device, down ? device : host, kCopied, kSeed);
  return {copy_lane(0, move), [move] { move.verify("the user's copy"); }};
}

/// To mapped host memory by the kernel (one-shot) as by the engine: the paper's pack goes to the
/// host.
Task pack_task(CopyVariant variant) {
  const SharedBuffer spread = make_buffer({Kind::Device}, kBlocks * kPitch);
  const SharedBuffer dense = make_buffer({Kind::Pinned}, kPacked);
  spread->fill(kSeed);
  dense->fill(~kSeed);
  DeviceCopier& strake = strake_copier(0);
  const Dim dim{kBlocks, kPitch};
  const std::shared_ptr<DevicePlan> plan =
      strake.compile(Layout::dense(kPacked), {MemoryKind::Pinned, 0},
                     Layout::box(0, kBlock, {&dim, 1}), {MemoryKind::Device, 0}, variant);
  const std::shared_ptr<Queue> queue = strake_backend(0).make_queue(0);
  Lane lane{0, [=](cudaStream_t) {
              plan->enqueue_untracked(*queue, dense->data(), spread->data(), ByteRange::all());
            }};
  lane.legacy = true;  // the queue's stream is ordered by the legacy one
  return {std::move(lane), [=] {
            dense->expect(kPacked, {}, kSeed, {kBlock, kPitch, nullptr}, "packing");
            dense->fill(~kSeed);
          }};
}

std::unique_ptr<Instance> make_alone(const Task& task) {
  HeldOptions one_by_one;
  one_by_one.before = [] {};
  return together({task}, std::move(one_by_one));
}

std::unique_ptr<Instance> make_contended(CopyVariant variant, User user, bool user_first,
                                         Timed timed_part) {
  Task pack = pack_task(variant);
  Task work = user_task(user);
  if (user_first) {
    pack.lane.delay_events = kAfterUser;
  } else {
    work.lane.delay_events = kAfterPack;
  }
  const int pack_lane = user_first ? 1 : 0;
  HeldOptions options;
  options.before = [] {};  // one pair at a time: the order holds for each
  if (timed_part == Timed::Pack) options.timed_lane = pack_lane;
  if (timed_part == Timed::User) options.timed_lane = 1 - pack_lane;
  std::vector<Task> tasks = {pack, work};
  if (user_first) std::swap(tasks[0], tasks[1]);
  return together(std::move(tasks), std::move(options));
}

}  // namespace

void add_contention(Cases& cases) {
  const struct {
    const char* name;
    CopyVariant variant;
  } kVariants[] = {{"kernel", CopyVariant::Kernel}, {"engine", CopyVariant::Engine}};
  for (const auto& variant : kVariants) {
    Case& added = add(cases, std::string("gpu/contention/alone/") + variant.name, kPacked,
                      [v = variant.variant] { return make_alone(pack_task(v)); });
    added.block = kBlock;
    added.pitch = kPitch;
  }
  for (const User user : {User::Add, User::ToDevice, User::ToHost}) {
    const std::string user_name = kUserNames[static_cast<int>(user)];
    const std::int64_t user_bytes = user == User::Add ? 3 * 4 * kAdded : kCopied;
    add(cases, "gpu/contention/alone/" + user_name, user_bytes,
        [=] { return make_alone(user_task(user)); });
    for (const auto& variant : kVariants) {
      for (const bool user_first : {true, false}) {
        for (const Timed part : {Timed::Pack, Timed::User, Timed::Total}) {
          const std::int64_t bytes = part == Timed::Pack   ? kPacked
                                     : part == Timed::User ? user_bytes
                                                           : kPacked + user_bytes;
          add(cases,
              std::string("gpu/contention/") + variant.name + "/" + user_name +
                  (user_first ? "/user-first/" : "/pack-first/") +
                  kTimedNames[static_cast<int>(part)],
              bytes,
              [=, v = variant.variant] { return make_contended(v, user, user_first, part); });
        }
      }
    }
  }
}

}  // namespace strake::measure::cuda
