/// \file  Messages that their receiver copies from the sender's memory, without MPI.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <numeric>
#include <optional>
#include <thread>
#include <vector>

#include "memory/sharing/arenas.hpp"
#include "random_layouts.hpp"
#include "shared_pair.hpp"
#include "strake/error.hpp"

namespace strake::exchange::shared {
namespace {

using sharing::Arenas;
using Region = Arenas::Region;

/// An allocation that others can map, with bytes that differ.
class Allocation {
 public:
  explicit Allocation(std::int64_t bytes, int seed = 1)
      : data_(static_cast<std::byte*>(Arenas::get().allocate(bytes))), bytes_(bytes) {
    if (data_ == nullptr) throw Error("no memory for a test");
    const auto values = bytes_of(seed, bytes);
    std::memcpy(data_, values.data(), values.size());
  }
  ~Allocation() { Arenas::get().release(data_); }
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }
  [[nodiscard]] Region region() const { return *Arenas::get().find(data_, data_ + bytes_); }

 private:
  std::byte* data_;
  std::int64_t bytes_;
};

std::vector<std::byte> packed(const Layout& layout, const std::byte* base) {
  std::vector<std::byte> bytes;
  layout.for_each_block([&](std::int64_t offset, std::int64_t length) {
    bytes.insert(bytes.end(), base + offset, base + offset + length);
  });
  return bytes;
}

struct Direct : Pair {
  explicit Direct(std::size_t layouts = 256) : Pair(layouts) { connect(); }
  void tell_of(const Region& region) {
    const peers::Announcement made{zero.identity(), kJob, region.number, region.generation,
                                   region.bytes};
    ASSERT_EQ(send(made, region.descriptor), DescriptorSocket::Sent::Yes);
  }
  void share(const Region& region) {
    tell_of(region);
    one.take_announcements();
    ASSERT_TRUE(zero.is_mapped_by(1, region));
  }
  /// One that is offered.
  Lease offered(const Layout& layout, const Allocation& from, const std::byte* base) {
    const auto lease = send_segment.lease_unpacked(to_one(), layout.size_bytes());
    if (!lease) throw Error("no room for a message of a test");
    EXPECT_TRUE(send_segment.offer(*lease, from.region(), base, layout)) << layout.to_string();
    send_segment.go_live(*lease);
    return *lease;
  }
};

Layout column(std::int64_t rows) { return Layout::box(8, 16, std::vector<Dim>{{rows, 48}}); }

TEST(Direct, a_receiver_copies_from_the_senders_memory) {
  Direct pair;
  const Allocation from(1 << 20);
  pair.share(from.region());
  const Layout layout = column(2000);
  const Lease lease = pair.offered(layout, from, from.data() + 100);
  const auto delivery = pair.peer_segments.open(lease.header(), 0);
  ASSERT_TRUE(delivery);
  EXPECT_TRUE(delivery->direct());
  EXPECT_FALSE(lease.taken());
  EXPECT_FALSE(lease.take_back());  // too late
  const Layout to = Layout::box(0, 8, std::vector<Dim>{{4000, 24}});
  std::vector<std::byte> target(100'000);
  ASSERT_TRUE(delivery->copy_to(to, target.data()));
  EXPECT_EQ(packed(to, target.data()), packed(layout, from.data() + 100));
  // A receive with other room gets packed bytes.
  EXPECT_FALSE(delivery->copy_to(Layout::dense(8), target.data()));
  EXPECT_EQ(take(*delivery), packed(layout, from.data() + 100));
  std::vector<std::byte> whole;
  delivery->take_whole(500, [&](const std::byte* bytes) { whole.assign(bytes, bytes + 500); });
  EXPECT_TRUE(std::equal(whole.begin(), whole.end(), packed(layout, from.data() + 100).begin()));
  EXPECT_TRUE(lease.taken());
}

/// A message that is longer than all that a rank shares, and several at once.
TEST(Direct, offers_take_no_room_unless_they_are_packed) {
  Direct pair;
  const Allocation from(8 * kMemory);
  pair.share(from.region());
  const Layout layout = column(4 * kMemory / 48);
  ASSERT_GT(layout.size_bytes(), kMemory);
  std::vector<Lease> leases;
  for (int i = 0; i < 20; ++i) leases.push_back(pair.offered(layout, from, from.data() + 8 * i));
  EXPECT_FALSE(pair.send_segment.prepare(leases.front()));
  for (int i = 0; i < 20; ++i) {
    const auto delivery = pair.peer_segments.open(leases[static_cast<std::size_t>(i)].header(), 0);
    ASSERT_TRUE(delivery && delivery->direct());
    EXPECT_EQ(take(*delivery), packed(layout, from.data() + 8 * i));
    EXPECT_TRUE(leases[static_cast<std::size_t>(i)].taken());
  }
}

TEST(Direct, what_cannot_be_read_is_an_error_and_ends_the_send) {
  const Allocation from(1 << 20);
  const Layout layout = column(2000);
  const auto refused = [&](const Region& told, auto&& change, bool mapped = true) {
    Direct pair;
    pair.tell_of(told);
    pair.one.take_announcements();
    EXPECT_EQ(pair.zero.is_mapped_by(1, from.region()), mapped);
    EXPECT_FALSE(pair.zero.is_mapped_by(0, from.region()));
    const Lease lease = pair.offered(layout, from, from.data());
    auto table = pair.map_segment();
    change(Pair::descriptor_in(table, 0), table);
    EXPECT_THROW((void)pair.peer_segments.open(lease.header(), 0), Error);
    EXPECT_TRUE(lease.taken());
  };
  const auto nothing = [](Descriptor&, sharing::SharedMemory&) {};
  Region other = from.region();
  other.generation += 1;
  refused(other, nothing, false);
  other = from.region();
  other.number = Arenas::kRegions;
  refused(other, nothing, false);
  other = from.region();
  other.bytes += 4096;
  refused(other, nothing, false);
  const Region good = from.region();
  refused(good, [](Descriptor& descriptor, auto&) { descriptor.region.store(-1); });
  refused(good, [](Descriptor& descriptor, auto&) { descriptor.region.store(Arenas::kRegions); });
  refused(good, [](Descriptor& descriptor, auto&) { descriptor.base.store(-9); });
  refused(good, [](Descriptor& descriptor, auto&) { descriptor.base.store(1 << 20); });
  refused(good, [](Descriptor& descriptor, auto&) { descriptor.base.store(INT64_MAX); });
  refused(good, [](Descriptor& descriptor, auto&) { descriptor.bytes.store(2000); });
  refused(good, [](Descriptor& descriptor, auto&) { descriptor.layout_at.store(0); });
  refused(good, [](Descriptor& descriptor, auto&) {
    descriptor.layout_at.store(descriptor.layout_at.load() + 1);
  });
  refused(good, [](Descriptor& descriptor, auto&) { descriptor.layout_words.store(INT64_MAX); });
  refused(good, [](Descriptor& descriptor, auto&) { descriptor.layout_words.store(0); });
  refused(good, [](Descriptor& descriptor, auto&) { descriptor.layout_lo.store(7); });
  refused(good, [](Descriptor& descriptor, auto& table) {
    *reinterpret_cast<std::int64_t*>(table.data() + descriptor.layout_at.load()) = 99;
  });
  refused(good, [](Descriptor& descriptor, auto& table) {  // a layout, but another one
    reinterpret_cast<std::int64_t*>(table.data() + descriptor.layout_at.load())[1] += 8;
  });
  // A region is refused before its owner's first segment is known.
  Pair pair;
  const peers::Announcement made{pair.zero.identity(), kJob, good.number, good.generation,
                                 good.bytes};
  ASSERT_EQ(pair.send(made, good.descriptor), DescriptorSocket::Sent::Yes);
  pair.connect();
  EXPECT_FALSE(pair.zero.is_mapped_by(1, good));
}

/// A word that another rank has written there makes nobody wait.
TEST(Direct, a_claim_that_is_not_the_receivers_is_noticed_by_both) {
  const Allocation from(1 << 20);
  const Layout layout = column(2000);
  for (const bool receiver_first : {false, true}) {
    Direct pair;
    pair.share(from.region());
    Lease lease = pair.offered(layout, from, from.data());
    auto table = pair.map_segment();
    Pair::descriptor_in(table, 0).offer.store(Offer::Claimed);
    ASSERT_TRUE(pair.send_segment.prepare(lease));
    if (receiver_first) {
      EXPECT_THROW((void)pair.peer_segments.open(lease.header(), 0), Error);
      EXPECT_TRUE(lease.taken());
      continue;
    }
    EXPECT_FALSE(lease.claimed());
    ASSERT_TRUE(lease.take_back());
    pack(lease, packed(layout, from.data()));
    const auto delivery = pair.peer_segments.open(lease.header(), 0);
    ASSERT_TRUE(delivery);
    EXPECT_FALSE(delivery->direct());
    EXPECT_EQ(take(*delivery), packed(layout, from.data()));
  }
}

TEST(Direct, a_receiver_looks_for_allocations_when_it_is_told_to) {
  Direct pair;
  const Allocation from(1 << 20);
  pair.tell_of(from.region());
  const auto first = pair.lease(to_one(), 2000);
  pack(*first, bytes_of(1, 2000));
  ASSERT_TRUE(pair.peer_segments.open(first->header(), 0));
  EXPECT_FALSE(pair.zero.is_mapped_by(1, from.region()));
  const auto second = pair.lease(to_one(), 2000);
  second->set_changed_flag();
  pack(*second, bytes_of(1, 2000));
  ASSERT_TRUE(pair.peer_segments.open(second->header(), 0));
  EXPECT_TRUE(pair.zero.is_mapped_by(1, from.region()));
}

TEST(Direct, offers_written_at_random_do_no_harm) {
  Direct pair;
  const Allocation from(1 << 20);
  pair.share(from.region());
  const Layout layout = column(1000);
  auto table = pair.map_segment();
  Random random(8);
  int direct = 0;
  for (int round = 0; round < 5000; ++round) {
    const Lease lease = pair.offered(layout, from, from.data() + 100);
    Header header;
    std::memcpy(&header, lease.header(), sizeof(header));
    Descriptor& descriptor = Pair::descriptor_in(table, header.descriptor);
    const auto draw = [&] { return pick(random, -1, 1) * pick(random, 0, 1 << 21); };
    switch (pick(random, 0, 6)) {
      case 0:
        descriptor.base.store(draw());
        break;
      case 1:
        descriptor.layout_at.store(draw());
        descriptor.layout_lo.store(random());
        break;
      case 2:
        descriptor.layout_words.store(pick(random, -3, 30));
        descriptor.layout_lo.store(random());
        break;
      case 3:
        descriptor.region.store(static_cast<std::int32_t>(pick(random, -2, 70)));
        break;
      case 4:
        descriptor.bytes.store(pick(random, 993, 30'000));
        break;
      case 5:
        descriptor.layout_hi.store(random());
        break;
      default:
        break;
    }
    descriptor.packed.store(INT64_MAX);
    try {
      const auto delivery = pair.peer_segments.open(lease.header(), 0);
      if (!delivery) continue;
      direct += delivery->direct() ? 1 : 0;
      (void)take(*delivery);
    } catch (const Error&) {
      // Refused.
    }
    pair.send_segment.withdraw(lease);
  }
  EXPECT_GT(direct, 500);
}

/// All orders in which the steps of both sides can follow each other.
TEST(Direct, whatever_comes_first_the_bytes_arrive_once) {
  const Allocation from(1 << 16);
  const Layout layout = column(100);
  const auto sent = packed(layout, from.data());
  int direct = 0;
  std::vector<int> order = {0, 0, 0, 1, 1, 1};  // the sender's steps are 0
  do {
    Direct pair;
    pair.share(from.region());
    std::optional<Lease> lease = pair.offered(layout, from, from.data());
    std::optional<Delivery> delivery;
    std::vector<std::byte> target(static_cast<std::size_t>(layout.size_bytes()));
    bool packs = false;
    bool was_packed = false;
    bool copied = false;
    const std::function<bool()> steps[2][3] = {
        {[&] {
           packs = pair.send_segment.prepare(*lease) && lease->take_back();
           return true;
         },
         [&] {
           if (packs) pack(*lease, sent);
           was_packed = packs;
           return true;
         },
         [&] {  // the send completes
           if (!packs && !lease->taken()) return false;
           pair.send_segment.release(*lease);
           return true;
         }},
        {[&] {
           delivery = pair.peer_segments.open(lease->header(), 0);
           return delivery.has_value();
         },
         [&] {
           if (!delivery->direct() && !was_packed) return false;  // waits
           if (!delivery->copy_to(Layout::dense(layout.size_bytes()), target.data()))
             target = take(*delivery);
           copied = true;
           return true;
         },
         [&] {
           delivery->done();
           return true;
         }}};
    int at[2] = {0, 0};
    std::vector<int> waiting(order.begin(), order.end());
    // A step that has to wait is tried again after the next one.
    for (int turn = 0; !waiting.empty() && turn < 100; ++turn) {
      const auto next = std::find_if(waiting.begin(), waiting.end(), [&](int side) {
        if (!steps[side][at[side]]()) return false;
        ++at[side];
        return true;
      });
      ASSERT_NE(next, waiting.end()) << "both wait";
      waiting.erase(next);
    }
    ASSERT_TRUE(waiting.empty());
    EXPECT_TRUE(copied);
    EXPECT_EQ(target, sent);
    EXPECT_NE(packs, delivery->direct());
    direct += delivery->direct() ? 1 : 0;
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_EQ(direct, 10);
}

TEST(Direct, a_sender_that_takes_back_races_with_the_receiver) {
  Direct pair;
  const Allocation from(1 << 20);
  pair.share(from.region());
  const Layout layout = column(200);
  const auto sent = packed(layout, from.data() + 64);
  constexpr int kMessages = 5000;
  // MPI's part: what was sent of each header message.
  std::vector<std::array<std::byte, sizeof(Header)>> wire(kMessages);
  std::atomic<int> sent_so_far{0};
  std::atomic<int> direct{0};
  std::thread receiver([&] {
    Random random(1);
    for (int i = 0; i < kMessages; ++i) {
      while (sent_so_far.load() <= i) std::this_thread::yield();
      for (std::int64_t spin = pick(random, 0, 300); spin > 0; --spin)
        std::atomic_signal_fence(std::memory_order_seq_cst);
      const auto delivery = pair.peer_segments.open(wire[static_cast<std::size_t>(i)].data(), 0);
      ASSERT_TRUE(delivery);
      direct += delivery->direct() ? 1 : 0;
      ASSERT_EQ(take(*delivery), sent);
    }
  });
  Random random(2);
  int taken_back = 0;
  for (int i = 0; i < kMessages; ++i) {
    Lease lease = pair.offered(layout, from, from.data() + 64);
    const auto take_back = [&] { return pair.send_segment.prepare(lease) && lease.take_back(); };
    std::memcpy(wire[static_cast<std::size_t>(i)].data(), lease.header(), sizeof(Header));
    // A few go one way for sure, however fast the two are.
    const bool at_once = i % 64 == 0 && take_back();
    sent_so_far.store(i + 1);
    for (std::int64_t spin = pick(random, 0, 300); spin > 0; --spin)
      std::atomic_signal_fence(std::memory_order_seq_cst);
    if (pick(random, 0, 1) == 0) std::this_thread::yield();
    while (i % 64 == 32 && lease.offer() == Offer::Open) std::this_thread::yield();
    if (at_once || take_back()) {
      ++taken_back;
      pack(lease, sent);
    }
    while (!lease.taken()) std::this_thread::yield();
    pair.send_segment.release(lease);
  }
  receiver.join();
  EXPECT_EQ(direct + taken_back, kMessages);
  EXPECT_GT(direct, 0);
  EXPECT_GT(taken_back, 0);
}

/// A box of that one's counts and blocks, with its dims nested another way, some backwards.
Layout same_shape(Random& random, const Layout& box) {
  std::vector<Dim> dims(box.dims().begin(), box.dims().end());
  std::vector<std::size_t> order(dims.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), random);
  std::int64_t extent = box.block_bytes();
  for (const std::size_t dim : order) {
    dims[dim].stride_bytes = extent + pick(random, 0, 1) * pick(random, 1, 40);
    extent = dims[dim].stride_bytes * dims[dim].count;
    if (pick(random, 0, 3) == 0) dims[dim].stride_bytes *= -1;
  }
  return Layout::box(0, box.block_bytes(), dims);
}

/// Any layout to any other of as many bytes, or of more or fewer.
TEST(Direct, ten_thousand_random_pairs_of_layouts) {
  Random random(11);
  Direct pair(2);  // most are decoded anew
  constexpr std::int64_t kBytes = 4 << 20;
  const Allocation from(kBytes);
  pair.share(from.region());
  std::vector<Layout> layouts;
  while (layouts.size() < 300) {
    const Layout layout = random_layout(random);
    const std::int64_t extent = layout.bounds().size();
    if (layout.size_bytes() > kLongestHeader && extent < kBytes / 2 &&
        layout.size_bytes() < 100'000)
      layouts.push_back(layout);
  }
  const auto any = [&]() -> const Layout& {
    return layouts[static_cast<std::size_t>(pick(random, 0, std::ssize(layouts) - 1))];
  };
  int same_size = 0;
  for (int i = 0; i < 10'000; ++i) {
    const Layout& layout = any();
    const std::byte* const base = from.data() - layout.bounds().begin + pick(random, 0, 1000);
    const Lease lease = pair.offered(layout, from, base);
    const auto delivery = pair.peer_segments.open(lease.header(), 0);
    ASSERT_TRUE(delivery && delivery->direct());
    // The target: as many bytes in another order, or any.
    const std::int64_t bytes = layout.size_bytes();
    Layout to = any();
    if (layout.kind() == Layout::Kind::Box && pick(random, 0, 2) == 0) {
      to = same_shape(random, layout);
    } else if (pick(random, 0, 1) == 0) {
      const std::int64_t block = std::gcd(bytes, std::int64_t{1} << pick(random, 0, 6));
      to = Layout::box(0, block, std::vector<Dim>{{bytes / block, block + pick(random, 0, 9)}});
    }
    const ByteRange bounds = to.bounds();
    const std::int64_t room = bounds.size() + 128;
    std::vector<std::byte> target(static_cast<std::size_t>(room), std::byte{0x5a});
    std::vector<std::byte> expected = target;
    std::byte* const to_base = target.data() + 64 - bounds.begin;
    const std::int64_t fits = std::min(bytes, to.size_bytes());
    const auto sent = packed(layout, base);
    std::int64_t position = 0;
    to.for_each_block([&](std::int64_t offset, std::int64_t length) {
      const std::int64_t count = std::clamp<std::int64_t>(fits - position, 0, length);
      std::memcpy(expected.data() + 64 - bounds.begin + offset, sent.data() + position,
                  static_cast<std::size_t>(count));
      position += length;
    });
    if (to.size_bytes() == bytes) {
      ++same_size;
      ASSERT_TRUE(delivery->copy_to(to, to_base));
    } else {
      constexpr Place kHost = {MemoryKind::Host, -1};
      const CopyPlan unpack = CopyPlan::compile(to, kHost, Layout::dense(to.size_bytes()), kHost);
      delivery->for_each_piece(fits, [&](ByteRange piece, const std::byte* bytes_of_piece) {
        unpack.run(to_base, bytes_of_piece, piece);
      });
    }
    ASSERT_EQ(target, expected) << layout.to_string() << " to " << to.to_string();
    delivery->done();
    pair.send_segment.release(lease);
  }
  EXPECT_GT(same_size, 4000);
}

TEST(Direct, thousands_of_layouts_find_room_in_the_page) {
  Direct pair(4);
  const Allocation from(8 << 20);
  pair.share(from.region());
  for (int i = 0; i < 5000; ++i) {
    const Layout layout = column(70 + i);
    const Lease lease = pair.offered(layout, from, from.data());
    const auto delivery = pair.peer_segments.open(lease.header(), 0);
    ASSERT_TRUE(delivery && delivery->direct());
    ASSERT_EQ(delivery->bytes(), layout.size_bytes());
    if (i % 97 == 0) {
      EXPECT_EQ(take(*delivery), packed(layout, from.data()));
    }
    delivery->done();
    pair.send_segment.release(lease);
  }
  // A layout that does not fit at all.
  Random random(3);
  std::vector<std::int64_t> offsets(kMemory / 8);
  std::int64_t at = 0;
  for (std::int64_t& offset : offsets) offset = at += pick(random, 4, 40);
  const auto lease = pair.send_segment.lease_unpacked(to_one(), 2000);
  ASSERT_TRUE(lease);
  EXPECT_FALSE(
      pair.send_segment.offer(*lease, from.region(), from.data(), Layout::blocks(offsets, 3)));
}

}  // namespace
}  // namespace strake::exchange::shared
