// Exchanges of ranks that know whose elements they need.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "place.hpp"
#include "refusal.hpp"
#include "strake/combine.hpp"
#include "strake/copy.hpp"
#include "strake/exchange.hpp"
#include "world.hpp"

namespace strake {
namespace {

/// An array of numbers where the tests' arrays are.
class Numbers {
 public:
  explicit Numbers(const std::vector<double>& values)
      : memory_(static_cast<std::int64_t>(values.size() * sizeof(double)), place()),
        whole_(Layout::dense(memory_.size_bytes())) {
    CopyPlan::compile(whole_, place(), whole_, Place{})
        .run(memory_.data(), reinterpret_cast<const std::byte*>(values.data()));
  }
  [[nodiscard]] std::vector<double> values() const {
    std::vector<double> all(static_cast<std::size_t>(memory_.size_bytes()) / sizeof(double));
    CopyPlan::compile(whole_, Place{}, whole_, place())
        .run(reinterpret_cast<std::byte*>(all.data()), memory_.data());
    return all;
  }
  [[nodiscard]] std::byte* data() const { return memory_.data(); }
  void exchange(Exchange& by) const {
    by.start(memory_.data());
    by.wait();
  }
  void exchange_back(Exchange& by, const Combine& combine) const {
    std::byte* const base[] = {memory_.data()};
    if (!test_memory::on_device()) {
      by.start_reverse(base, std::span(&combine, 1));
      return by.wait();
    }
    Stream stream = Stream::make(place().device);
    by.enqueue_reverse(base, std::span(&combine, 1), stream);
    stream.synchronize();
  }

 private:
  SharedArray memory_;
  Layout whole_;
};

double value_of(int of_rank, std::int64_t index) {
  return of_rank * 1000.0 + static_cast<double>(index);
}

TEST(Elements, come_from_whom_a_rank_names) {
  constexpr std::int64_t kOwned = 40;
  std::mt19937 random(static_cast<unsigned>(rank()) + 7);
  std::vector<std::int64_t> wanted;
  std::vector<ElementOf> from;
  std::vector<std::int64_t> places(60);
  std::iota(places.begin(), places.end(), kOwned);
  std::ranges::shuffle(places, random);
  // Some of one rank's elements may be wanted several times, some are this rank's own.
  for (std::size_t i = 0; i < (rank() == 1 ? 0U : 50U); ++i) {
    wanted.push_back(places[i]);
    from.push_back({static_cast<int>(random() % static_cast<unsigned>(ranks())),
                    static_cast<std::int64_t>(random() % kOwned)});
  }
  std::vector<double> values(100, -1);
  for (std::int64_t i = 0; i < kOwned; ++i)
    values[static_cast<std::size_t>(i)] = value_of(rank(), i);
  Exchange exchange(MPI_COMM_WORLD,
                    ExchangePart::of_elements(MPI_COMM_WORLD, {8, 100, place()}, wanted, from));
  const Numbers numbers(values);
  for (int round = 0; round < 2; ++round) numbers.exchange(exchange);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    values[static_cast<std::size_t>(wanted[i])] = value_of(from[i].rank, from[i].index);
  EXPECT_EQ(numbers.values(), values);
}

/// An element that is wanted several times gets as many values back, also from one rank.
TEST(Elements, go_back_to_whom_they_are) {
  std::vector<std::int64_t> wanted(5);
  std::iota(wanted.begin(), wanted.end(), 2);
  const std::vector<ElementOf> from(wanted.size(), ElementOf{(rank() + 1) % ranks(), 1});
  Exchange exchange(MPI_COMM_WORLD,
                    ExchangePart::of_elements(MPI_COMM_WORLD, {8, 7, place()}, wanted, from));
  const Numbers numbers({10, 20, 1, 2, 3, 4, 5});
  try {
    numbers.exchange_back(exchange, sum<double>());
  } catch (const Unsupported&) {
    EXPECT_TRUE(test_memory::on_device() &&
                (ranks_per_node() < ranks() || device_transport() == "staged"));
    return;
  }
  EXPECT_EQ(numbers.values(), (std::vector<double>{10, 35, 1, 2, 3, 4, 5}));
}

/// Each rank owns every n-th number from the highest on, and wants those beside its own.
TEST(Elements, come_by_global_indices) {
  constexpr std::int64_t kEach = 25;
  const std::int64_t all = kEach * ranks();
  std::vector<std::int64_t> owned, ghosts;
  for (std::int64_t id = all - 1 - rank(); id >= 0; id -= ranks()) owned.push_back(id);
  for (const std::int64_t id : owned) {
    if (ranks() == 1) break;
    for (const std::int64_t beside : {(id + 1) % all, (id + all - 1) % all})
      if (std::ranges::find(owned, beside) == owned.end() &&
          std::ranges::find(ghosts, beside) == ghosts.end())
        ghosts.push_back(beside);
  }
  std::vector<double> values, expected;
  for (const std::int64_t id : owned) values.push_back(static_cast<double>(id));
  expected = values;
  values.resize(owned.size() + ghosts.size(), -1);
  for (const std::int64_t id : ghosts) expected.push_back(static_cast<double>(id));
  Exchange exchange(MPI_COMM_WORLD,
                    ExchangePart::of_global_ids(MPI_COMM_WORLD, 8, place(), owned, ghosts));
  const Numbers numbers(values);
  numbers.exchange(exchange);
  EXPECT_EQ(numbers.values(), expected);
}

/// Each rank's array has an element of its own, and one of the rank behind it.
ExchangePart part_of_neighbours(Place place) {
  const std::vector<std::int64_t> owned = {rank()};
  const std::vector<std::int64_t> ghosts = {(rank() + 1) % ranks()};
  return ExchangePart::of_global_ids(MPI_COMM_WORLD, 8, place, owned, ghosts);
}

TEST(Elements, several_arrays_go_in_one_exchange) {
  ExchangePart part = part_of_neighbours(place());
  EXPECT_EQ(part.array_like(0), 1);
  EXPECT_EQ(part.array_like(1), 2);
  EXPECT_EQ(part.sends().size(), 3U);
  EXPECT_EQ(part.arrays()[2].size_bytes, 16);
  EXPECT_EQ(refusal([&] { (void)part.array_like(3); }), "an array like array 3 of 3 arrays");
  Exchange exchange(MPI_COMM_WORLD, part);
  std::vector<Numbers> all;
  std::vector<std::byte*> bases;
  for (const double field : {0.0, 100.0, 200.0}) {
    all.emplace_back(std::vector<double>{field + rank(), -1});
    bases.push_back(all.back().data());
  }
  exchange.start(bases);
  exchange.wait();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double field = 100.0 * static_cast<double>(i);
    EXPECT_EQ(all[i].values(),
              (std::vector<double>{field + rank(), field + (rank() + 1) % ranks()}));
  }
}

/// Pointers as programs have them, and one way to combine.
TEST(Elements, addresses_are_of_any_type) {
  ExchangePart part = part_of_neighbours({});
  Exchange one(MPI_COMM_WORLD, part);
  part.array_like(0);
  Exchange two(MPI_COMM_WORLD, part);
  const auto next = static_cast<double>((rank() + 1) % ranks());
  std::vector<double> x = {static_cast<double>(rank()), -1};
  std::vector<std::int64_t> n = {rank(), -1};
  one.start(x.data());
  one.wait();
  EXPECT_EQ(x[1], next);
  two.start({x.data(), n.data()});
  two.wait();
  EXPECT_EQ(n[1], (rank() + 1) % ranks());
  std::vector<double> y = {1, -1};
  const std::vector<double*> both = {x.data(), y.data()};
  two.start(both);
  two.wait();
  EXPECT_EQ(y[1], 1);
  double* const again[] = {x.data(), y.data()};
  two.start_reverse(again, sum<double>());
  two.wait();
  EXPECT_EQ(x[0], 2.0 * rank());
  EXPECT_EQ(y[0], 2);
  y[1] = 5;
  one.enqueue_reverse(y.data(), max<double>(), {});
  EXPECT_EQ(y[0], 5);
  one.start_reverse(y.data(), [](std::byte* there, const std::byte*, std::int64_t bytes) {
    std::fill_n(there, bytes, std::byte{0});
  });
  one.wait();
  EXPECT_EQ(y[0], 0);
  EXPECT_THROW(two.start({x.data()}), InvalidArgument);
}

TEST(Elements, ways_to_combine_may_stand_in_braces) {
  ExchangePart part = part_of_neighbours({});
  Exchange one(MPI_COMM_WORLD, part);
  part.array_like(0);
  Exchange two(MPI_COMM_WORLD, part);
  std::vector<double> x = {1, 2};
  std::vector<std::int64_t> n = {3, 4};
  two.start_reverse({x.data(), n.data()}, {sum<double>(), max<std::int64_t>()});
  two.wait();
  EXPECT_EQ(x[0], 3);
  EXPECT_EQ(n[0], 4);
  two.enqueue_reverse({x.data(), n.data()}, {sum<double>(), {}}, {});
  EXPECT_EQ(x[0], 5);
  EXPECT_EQ(n[0], 4);
  one.start_reverse(x.data(), {sum<double>()});
  one.wait();
  EXPECT_EQ(x[0], 7);
  one.start_reverse(x.data(), {});  // an empty Combine, which overwrites
  one.wait();
  EXPECT_EQ(x[0], 2);
  n[1] = 9;
  one.enqueue_reverse(n.data(), {}, {});
  EXPECT_EQ(n[0], 9);
  EXPECT_THROW(two.start_reverse({x.data(), n.data()}, {replace(), replace(), replace()}),
               InvalidArgument);
}

TEST(Elements, wrong_ones_are_refused_on_all_ranks) {
  const auto differs = [] { return rank() == culprit(); };
  const std::string last = std::to_string(culprit());
  const auto part = [&](std::int64_t wanted, const ElementOf& from) {
    return refusal_on_all([&] {
      (void)ExchangePart::of_elements(MPI_COMM_WORLD, {8, 10, {}}, std::span(&wanted, 1),
                                      std::span(&from, 1));
    });
  };
  EXPECT_EQ(part(differs() ? 10 : 9, {0, 0}), "rank " + last + " wants its element 10 of 10");
  EXPECT_EQ(part(9, {differs() ? 77 : 0, 0}),
            "rank " + last + " wants an element of rank 77 of " + std::to_string(ranks()));
  EXPECT_EQ(refusal_on_all([&] {
              const std::vector<std::int64_t> wanted = {5, differs() ? 5 : 6};
              const std::vector<ElementOf> from = {{0, 0}, {0, 1}};
              (void)ExchangePart::of_elements(MPI_COMM_WORLD, {8, 10, {}}, wanted, from);
            }),
            "rank " + last + " gets its element 5 twice");
  EXPECT_EQ(refusal_on_all([&] {
              (void)ExchangePart::of_elements(MPI_COMM_WORLD, {8, INT64_MAX, {}}, {}, {});
            }),
            "an array of 9223372036854775807 elements of 8 bytes");
  EXPECT_EQ(part(9, {0, differs() ? -1 : 0}),
            "rank " + last + " wants element -1 of rank 0, which has 10");
  const auto global = [&](std::vector<std::int64_t> owned, std::vector<std::int64_t> ghosts) {
    return refusal_on_all(
        [&] { (void)ExchangePart::of_global_ids(MPI_COMM_WORLD, 8, {}, owned, ghosts); });
  };
  EXPECT_EQ(global({rank()}, {differs() ? 55 : rank()}),
            "rank " + last + " wants global index 55, which no rank owns");
  EXPECT_EQ(global({rank() == 0 ? -4 : rank()}, {}), "global index -4 on rank 0");
  if (ranks() > 1) {
    EXPECT_EQ(global({differs() ? 0 : rank()}, {}), "ranks 0 and " + last + " own global index 0");
  }
}

}  // namespace
}  // namespace strake
