// The table of transports: its names, and a row that is added, whose bytes travel with all bits
// turned over, by planned exchanges and by messages.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exchange/message/transfer.hpp"
#include "exchange/transport/table.hpp"
#include "settings/settings.hpp"
#include "strake/error.hpp"
#include "strake/exchange.hpp"

namespace strake::exchange {
namespace {

using machine::Transport;

int g_pairs = 0;     // toy pairs that were opened
int g_messages = 0;  // toy messages that were packed

void turn_over(std::byte* bytes, std::int64_t count) {
  std::for_each(bytes, bytes + count, [](std::byte& byte) { byte = ~byte; });
}

/// Two ranks send each other packed bytes, turned over.
class ToyPair final : public planned::PairTransfer {
 public:
  ToyPair(const PairContext& pair, Transport transport)
      : PairTransfer(pair.schedules), peer_(pair.peer), transport_(transport) {}
  [[nodiscard]] Transport transport() const noexcept override { return transport_; }
  [[nodiscard]] std::string describe() const override { return "bits are turned over"; }

 private:
  static constexpr int kTag = 99;
  void expect() override {
    in_.resize(static_cast<std::size_t>(schedule(in()).packed_bytes()));
    MPI_Irecv(in_.data(), static_cast<int>(in_.size()), MPI_BYTE, peer_, kTag, MPI_COMM_WORLD,
              &receiving_);
  }
  bool pack() override {
    out_.resize(static_cast<std::size_t>(schedule(out()).packed_bytes()));
    schedule(out()).pack(round().bases, out_.data(), true);
    return true;
  }
  bool post() override {
    turn_over(out_.data(), std::ssize(out_));
    MPI_Isend(out_.data(), static_cast<int>(out_.size()), MPI_BYTE, peer_, kTag, MPI_COMM_WORLD,
              &sending_);
    return false;
  }
  Completion poll_sent() override {
    int done = 0;
    MPI_Test(&sending_, &done, MPI_STATUS_IGNORE);
    return done != 0 ? Completion::Done : Completion::Pending;
  }
  bool poll() override {
    int done = 0;
    MPI_Test(&receiving_, &done, MPI_STATUS_IGNORE);
    return done != 0;
  }
  bool unpack() override {
    turn_over(in_.data(), std::ssize(in_));
    return schedule(in()).unpack(round().bases, in_.data(), {}, round().combine);
  }

  int peer_;
  Transport transport_;
  std::vector<std::byte> out_, in_;
  MPI_Request sending_ = MPI_REQUEST_NULL, receiving_ = MPI_REQUEST_NULL;
};

bool always(const machine::Path& /*path*/) noexcept { return true; }
bool carries(const machine::Path& /*path*/) { return true; }
Transport toy();
std::unique_ptr<planned::PairTransfer> open(const PairContext& pair) {
  ++g_pairs;
  return std::make_unique<ToyPair>(pair, toy());
}

const PackedForm kToyForm = {.carried = [](Place /*typed*/) noexcept { return Place{}; },
                             .open = [](Packing& packing) { packing.compile_for_cpu(); },
                             .pack =
                                 [](Packing& packing) {
                                   ++g_messages;
                                   packing.pack_to(packing.buffer().data(), ByteRange::all());
                                   turn_over(packing.buffer().data(), packing.size_bytes());
                                 },
                             .unpack =
                                 [](Packing& packing, std::int64_t bytes) {
                                   turn_over(packing.buffer().data(), bytes);
                                   packing.unpack_from(packing.buffer().data(), {0, bytes});
                                 },
                             .synchronous = true};

Transport toy() {
  static const Transport added = [] {
    const Transport made =
        machine::add_transport({.name = "toy", .describe = "turned over", .possible = always});
    add_row({&machine::facts_of(made), &kToyForm, carries, open});
    return made;
  }();
  return added;
}

TEST(Transports, each_has_one_row_and_a_name_of_its_own) {
  std::set<std::string_view> names;
  for (const machine::TransportFacts& facts : machine::transports()) {
    EXPECT_EQ(&machine::facts_of(facts.transport), &facts) << facts.name;
    EXPECT_TRUE(names.insert(facts.name).second) << facts.name;
    EXPECT_EQ(machine::transport_named(facts.name), facts.transport);
    EXPECT_STRNE(facts.describe, "") << facts.name;
    EXPECT_EQ(std::ranges::count(rows(), &facts, &Row::facts), 1) << facts.name;
  }
  EXPECT_EQ(std::ssize(names), machine::kTransports);
  EXPECT_EQ(machine::transport_named("system"), Transport::Library);
  EXPECT_EQ(machine::transport_named("auto"), std::nullopt);
  EXPECT_EQ(machine::transport_named(""), std::nullopt);
}

TEST(Transports, all_but_self_can_be_forced) {
  const auto all = settings::all();
  const auto method = std::ranges::find(all, settings::Id::method, &settings::Setting::id);
  ASSERT_NE(method, all.end());
  const std::string values = "|" + std::string(method->choices) + "|";
  const auto is_value = [&](std::string_view name) {
    return values.find("|" + std::string(name) + "|") != std::string::npos;
  };
  for (const machine::TransportFacts& facts : machine::transports()) {
    EXPECT_EQ(is_value(facts.name), facts.transport != Transport::Self) << facts.name;
    if (std::string_view(facts.alias) != "") {
      EXPECT_TRUE(is_value(facts.alias)) << facts.alias;
    }
  }
}

TEST(Transports, some_row_carries_each_pair_of_memories) {
  for (const MemoryKind from : {MemoryKind::Host, MemoryKind::Device}) {
    for (const MemoryKind to : {MemoryKind::Host, MemoryKind::Device}) {
      for (const int rank : {0, 1}) {
        for (const int node : {0, 1}) {
          const bool own = rank == 0 && node == 0;
          if ((own && from == to) || (rank == 0 && node == 1)) continue;
          const machine::Path path = {{from, 0, 0, from == MemoryKind::Device ? 0 : -1},
                                      {to, rank, node, -1}};
          const bool host = from == MemoryKind::Host && to == MemoryKind::Host;
          const Transport near = host ? Transport::Shared : Transport::Staged;
          const Transport far = host ? Transport::Pack : Transport::OneShot;
          EXPECT_EQ(row_of(path).facts->transport, node == 0 ? near : far)
              << name_of(from) << " " << name_of(to) << " " << rank << " " << node;
        }
      }
    }
  }
  const machine::Path devices = {{MemoryKind::Device, 0, 0, 0}, {MemoryKind::Device, 1, 1, -1}};
  EXPECT_EQ(row_of(devices, Transport::Device).facts->transport, Transport::Device);
  EXPECT_EQ(row_of(devices, Transport::Shared).facts->transport, Transport::OneShot);
  const machine::PathEnd managed = {MemoryKind::Managed, 1, 1, -1};
  EXPECT_THROW((void)row_of({managed, managed}), Unsupported);
  EXPECT_THROW((void)packed_form_of(Transport::Put), InvalidArgument);
}

TEST(Transports, a_row_that_is_added_carries_an_exchange_both_ways) {
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks == 1) GTEST_SKIP();
  (void)toy();
  const int next = (rank + 1) % ranks;
  const int before = (rank + ranks - 1) % ranks;
  ExchangePart part;
  part.array();
  // Every other int of the first 64 goes to the next rank's second half.
  const std::vector<Dim> dims = {{32, 8}};
  part.send(next, 0, 0, Layout::box(0, 4, dims));
  part.receive(before, 0, 0, Layout::box(256, 4, dims));
  g_pairs = 0;
  Exchange exchange(MPI_COMM_WORLD, part);
  EXPECT_EQ(g_pairs, ranks == 2 ? 1 : 2);
  for (const Exchange::PeerPlan& peer : exchange.peers()) EXPECT_EQ(peer.transport, "toy");
  EXPECT_NE(exchange.plan().find("toy: bits are turned over"), std::string::npos)
      << exchange.plan();
  std::vector<int> values(128);
  for (int round = 1; round <= 5; ++round) {
    for (int i = 0; i < 128; ++i)
      values[static_cast<std::size_t>(i)] = i < 64 ? 1000 * rank + i * round : -1;
    std::byte* const base = reinterpret_cast<std::byte*>(values.data());
    exchange.start(std::span(&base, 1));
    exchange.wait();
    for (int i = 0; i < 64; ++i)
      ASSERT_EQ(values[static_cast<std::size_t>(64 + i)],
                i % 2 == 0 ? 1000 * before + i * round : -1)
          << round << " " << i;
    const Combine add = sum<int>();
    exchange.start_reverse(std::span(&base, 1), std::span(&add, 1));
    exchange.wait();
    for (int i = 0; i < 64; ++i)
      ASSERT_EQ(values[static_cast<std::size_t>(i)],
                (i % 2 == 0 ? 2 : 1) * (1000 * rank + i * round))
          << round << " " << i;
  }
}

/// Keeps what is posted, and delivers it to the next receive.
class Loop final : public Channel {
 public:
  explicit Loop(std::vector<std::byte>& bytes) : bytes_(bytes) {}
  void post(const Parcel& parcel) override {
    if (bytes_.empty()) {
      bytes_.assign(parcel.data, parcel.data + parcel.bytes);
    } else {
      std::copy(bytes_.begin(), bytes_.end(), parcel.data);
    }
    arrival_ = {.bytes = parcel.bytes, .lost = false};
  }
  std::optional<Arrival> poll() override { return arrival_; }

 private:
  std::vector<std::byte>& bytes_;
  Arrival arrival_;
};

TEST(Transports, a_row_that_is_added_packs_messages) {
  std::vector<int> sent = {1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<int> received(8, -1);
  const auto typed = [](std::vector<int>& memory) {
    return Typed{std::make_shared<mpi::Elements>(Layout::box(0, 4, std::vector<Dim>{{4, 8}})),
                 reinterpret_cast<std::byte*>(memory.data()),
                 {},
                 false};
  };
  std::vector<std::byte> wire;
  Loop loop(wire);
  g_messages = 0;
  Transfer send(MessageDirection::Send, typed(sent), toy());
  send.start();
  send.finish(loop);
  EXPECT_EQ(g_messages, 1);
  std::vector<int> on_wire(4);
  ASSERT_EQ(wire.size(), 16U);
  std::memcpy(on_wire.data(), wire.data(), wire.size());
  EXPECT_EQ(on_wire, (std::vector<int>{~1, ~3, ~5, ~7}));
  Transfer receive(MessageDirection::Receive, typed(received), toy());
  receive.start();
  receive.finish(loop);
  EXPECT_EQ(received, (std::vector<int>{1, -1, 3, -1, 5, -1, 7, -1}));
}

TEST(Transports, bytes_are_packed_and_unpacked_apart_from_any_transfer) {
  std::vector<int> values = {1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<int> copied(8, -1);
  const auto elements =
      std::make_shared<mpi::Elements>(Layout::box(0, 4, std::vector<Dim>{{4, 8}}));
  Packing from(MessageDirection::Send,
               {elements, reinterpret_cast<std::byte*>(values.data()), {}, false});
  from.open(packed_form_of(Transport::Pack));
  from.begin();
  from.pack();
  EXPECT_TRUE(from.copied());
  Packing to(MessageDirection::Receive,
             {elements, reinterpret_cast<std::byte*>(copied.data()), {}, false});
  to.open(packed_form_of(Transport::Pack));
  to.begin();
  std::memcpy(to.buffer().data(), from.buffer().data(), 16);
  to.unpack(16);
  EXPECT_TRUE(to.copied());
  EXPECT_EQ(copied, (std::vector<int>{1, -1, 3, -1, 5, -1, 7, -1}));
}

}  // namespace
}  // namespace strake::exchange
