// STRAKE_CHECK=1, with which these tests run, reports programs that use a grid wrongly, and says
// nothing of right ones.
#define STRAKE_CHECK_VIEWS 0  // the fences find what views don't
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <string>

#include "place.hpp"
#include "strake/copy.hpp"
#include "strake/error.hpp"
#include "strake/grid.hpp"
#include "world.hpp"

namespace strake {
namespace {

constexpr std::int64_t kX = 6, kY = 5, kZ = 4;  // z: of a rank
constexpr int kSteps = 30;
constexpr Direction kDown{0, 0, -1}, kUp{0, 0, 1};

/// Periodic, cut along z: rank r has [4 r, 4 r + 4).
Grid make_grid(const Radius& radius) {
  return {MPI_COMM_WORLD,
          {kX, kY, kZ * ranks()},
          {.radius = radius,
           .periodic = {true, true, true},
           .counts = {1, 1, ranks()},
           .place = place()}};
}
Radius down() {
  Radius radius = 0;
  return radius.set(kDown, 1);
}

std::string number(std::int64_t of) { return std::to_string(of); }
std::string of_culprit(const std::string& what) {
  return "STRAKE_CHECK, rank " + number(culprit()) + ": " + what;
}
constexpr const char* kReadEarly = " that was read before it had come, so before wait() returned (";

/// Error text of a program that runs step by step; empty if it throws nothing.
std::string thrown_by(const std::function<void(int)>& step) {
  try {
    for (int n = 0; n < kSteps; ++n) step(n);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

/// The rank that did it wrong has the whole report, and no other one waits for it for ever.
void expect_report(const std::string& thrown, const std::string& what) {
  if (rank() == culprit()) {
    EXPECT_EQ(thrown, of_culprit(what));
  } else {
    EXPECT_NE(thrown.find("has given up an exchange"), std::string::npos) << thrown;
  }
}

/// \{ The value that a step gives a cell: computed from the cell below alone.
double moved(double, double below) { return 0.5 * below + below * 0.5; }
int moved(int, int below) { return below; }
std::array<double, 3> moved(const std::array<double, 3>& here, const std::array<double, 3>& below) {
  std::array<double, 3> made{};
  for (std::size_t i = 0; i < 3; ++i) made[i] = moved(here[i], below[i]);
  return made;
}
/// \}
template <typename T>
T value_of(std::int64_t i, std::int64_t j, std::int64_t k) {
  const auto value = static_cast<int>(i + 10 * j + 100 * k);
  if constexpr (std::is_same_v<T, std::array<double, 3>>) {
    return {1.0 * value, 2.0 * value, -3.0 * value};
  } else {
    return static_cast<T>(value);
  }
}

template <typename T>
void relax(const Field<T>& u, const Box& region) {
  const View<T> from = u.view(), to = u.next();
  for_each_cell(region, [&](auto i, auto j, auto k) {
    to(i, j, k) = moved(from(i, j, k), from(i, j, k - 1));
  });
}

template <typename T>
class CheckOf : public testing::Test {};
using Elements = testing::Types<int, double, std::array<double, 3>>;
TYPED_TEST_SUITE(CheckOf, Elements);

TYPED_TEST(CheckOf, a_right_program_is_left_alone) {
  if (test_memory::on_device()) GTEST_SKIP() << "the CPU computes";
  Grid grid = make_grid(1);
  auto u = grid.add<TypeParam>("u");
  for_each_cell(u.view().owned(),
                [&](auto i, auto j, auto k) { u.view()(i, j, k) = value_of<TypeParam>(i, j, k); });
  for (int step = 0; step < kSteps; ++step) {
    Ghosts ghosts = grid.exchange();
    relax(u, grid.interior());
    // Cells that no neighbour needs may change.
    for_each_cell(grid.interior(), [&](auto i, auto j, auto k) { u.view()(i, j, k) = {}; });
    switch (step % 3) {
      case 0:
        ghosts.wait();
        break;
      case 1:
        while (!ghosts.test()) {
        }
        break;
      default:
        // Ghost cells of an awaited direction may be read, though others may be missing.
        ghosts.wait(kDown);
        for (int z = -1; z <= 1; ++z)
          for (const Direction d : {Direction{1, 0, z}, {-1, 1, z}, {0, -1, z}}) ghosts.wait(d);
        ghosts.wait();
    }
    // The interior's cells were set to nothing.
    const View<TypeParam> view = u.view();
    for_each_cell(view.stored(), [&](auto i, auto j, auto k) {
      if (view.owned().contains(i, j, k)) return;
      const std::int64_t whole = kZ * ranks();
      const auto z = ((k - step) % whole + whole) % whole;
      ASSERT_EQ(view(i, j, k), value_of<TypeParam>((i + kX) % kX, (j + kY) % kY, z))
          << step << ": " << i << " " << j << " " << k;
    });
    for (const Box& box : grid.exterior()) {
      for_each_cell(box, [&](auto i, auto j, auto k) {
        // The one below may be in the interior.
        u.next()(i, j, k) = value_of<TypeParam>(
            i, j, ((k - step - 1) % (kZ * ranks()) + kZ * ranks()) % (kZ * ranks()));
      });
    }
    grid.swap();
  }
}

TYPED_TEST(CheckOf, an_early_read_is_reported_by_swap) {
  if (test_memory::on_device()) GTEST_SKIP() << "the CPU computes";
  Grid grid = make_grid(down());
  auto other = grid.add<double>("other");
  (void)other;
  auto u = grid.add<TypeParam>("u");
  const std::string thrown = thrown_by([&](int step) {
    Ghosts ghosts = grid.exchange();
    const bool early = step == 2 && rank() == culprit();
    if (!early) ghosts.wait();
    relax(u, grid.owned());
    if (early) ghosts.wait();
    grid.swap();
  });
  expect_report(thrown, "field 'u', cell (0, 0, " + number(kZ * culprit()) +
                            ") of the next values: computed from a ghost cell of field 'u' in "
                            "direction -z" +
                            kReadEarly + number(kX * kY) + " such cells of 'u')");
}

TEST(Check, an_early_read_into_another_field_is_reported_by_the_next_exchange) {
  if (test_memory::on_device()) GTEST_SKIP() << "the CPU computes";
  Grid grid = make_grid(1);
  auto other = grid.add<double>("other", {.next = false});
  auto u = grid.add<float>("u", {.next = false});
  auto flux = grid.add<float>("flux", {.at = face_z, .next = false});
  const std::int64_t z = kZ * culprit();
  const std::string thrown = thrown_by([&](int step) {
    Ghosts ghosts = grid.exchange({}, {u});
    const bool early = step == 3 && rank() == culprit();
    if (early) flux.view()(5, 4, z) = 2 - u.view()(6, 5, z - 1);
    if (early) {
      EXPECT_NO_THROW(ghosts.wait()) << "that is no exchange of 'flux'";
    } else {
      ghosts.wait();
    }
    ghosts = grid.exchange({}, {other});
    ghosts.wait();
  });
  expect_report(thrown, "field 'flux', cell (5, 4, " + number(z) +
                            "): computed from a ghost cell of field 'u' in direction +x+y-z" +
                            kReadEarly + "1 such cells of 'flux')");
}

/// The early read also changes a cell that is sent: the report names the read as the reason.
TEST(Check, an_early_read_into_what_is_sent_is_reported_by_wait) {
  if (test_memory::on_device()) GTEST_SKIP() << "the CPU computes";
  Grid grid = make_grid(1);
  auto u = grid.add<double>("u", {.next = false});
  const std::int64_t z = kZ * culprit();
  const std::string thrown = thrown_by([&](int step) {
    Ghosts ghosts = grid.exchange();
    if (step == 1 && rank() == culprit()) u.view()(5, 4, z) = 2 - u.view()(5, 5, z);
    ghosts.wait();
  });
  expect_report(thrown, "field 'u', cell (5, 4, " + number(z) +
                            "): computed from a ghost cell of field 'u' in direction +y" +
                            kReadEarly + "1 such cells of 'u')");
}

TEST(Check, what_comes_from_one_direction_may_be_read_then_and_nothing_else) {
  if (ranks() < 3) GTEST_SKIP() << "two directions are one rank's";
  if (test_memory::on_device()) GTEST_SKIP() << "the CPU computes";
  Grid grid = make_grid(Radius::faces(1));
  auto u = grid.add<double>("u");
  const std::int64_t z = kZ * (culprit() + 1) - 1;
  const std::string thrown = thrown_by([&](int step) {
    Ghosts ghosts = grid.exchange();
    ghosts.wait(kDown);
    const View<double> view = u.view();
    u.next()(0, 0, kZ * rank()) = view(0, 0, kZ * rank() - 1);
    const bool early = step == 4 && rank() == culprit();
    if (early) u.next()(1, 2, z) = view(1, 2, z + 1);
    while (!ghosts.test(kUp)) {
    }
    if (!early) u.next()(1, 2, kZ * rank() + kZ - 1) = view(1, 2, kZ * rank() + kZ);
    ghosts.wait();
    grid.swap();
  });
  expect_report(thrown, "field 'u', cell (1, 2, " + number(z) +
                            ") of the next values: computed from a ghost cell of field 'u' in "
                            "direction +z" +
                            kReadEarly + "1 such cells of 'u')");
}

/// One element, in whatever memory.
template <typename T>
void copy(const View<T>& view, const Index3& to, const Index3& from) {
  const Layout one = Layout::dense(sizeof(T));
  CopyPlan::compile(one, place(), one, place())
      .run(reinterpret_cast<std::byte*>(&view(to[0], to[1], to[2])),
           reinterpret_cast<const std::byte*>(&view(from[0], from[1], from[2])));
}

TEST(Check, ghosts_in_any_memory_are_poisoned) {
  // On a device a rank's copies to itself are begun at once.
  if (test_memory::on_device() && ranks() == 1) GTEST_SKIP();
  Grid grid = make_grid(Radius::faces(1));
  auto u = grid.add<std::int64_t>("u");
  const std::int64_t z = kZ * culprit();
  const std::string thrown = thrown_by([&](int step) {
    Ghosts ghosts = grid.exchange();
    if (step != 2 || rank() != culprit()) ghosts.wait();
    copy(u.view(), {2, 3, kZ * rank() + 1}, {2, 3, kZ * rank() - 1});
    ghosts.wait();
    grid.swap();
  });
  expect_report(thrown, "field 'u', cell (2, 3, " + number(z + 1) +
                            "): computed from a ghost cell of field 'u' in direction -z" +
                            kReadEarly + "1 such cells of 'u')");
}

/// Returns what swap() says after element `from` was copied to `to`, where a grid stores [-1, 7) x
/// [-1, 6) x [4 r - 1, 4 r + 5).
template <typename T>
std::string thrown_after_copy(const Index3& to, const Index3& from) {
  Grid grid = make_grid(1);
  auto other = grid.add<float>("other");
  (void)other;
  auto u = grid.add<T>("u");
  grid.exchange().wait();
  copy(u.view(), to, from);
  return thrown_by([&](int) { grid.swap(); });
}

TEST(Check, a_write_beside_the_stored_cells_is_reported) {
  const std::int64_t z = kZ * rank();
  const Index3 inside{2, 2, z};
  const std::string begin = "STRAKE_CHECK, rank " + number(rank()) + ": field 'u': written near";
  const std::string end = ", beside the cells [-1, 7) x [-1, 6) x [" + number(z - 1) + ", " +
                          number(z + kZ + 1) + ") that it stores";
  const auto near = [&](const std::string& x, const std::string& y, std::int64_t at_z) {
    return begin + " cell (" + x + ", " + y + ", " + number(at_z) + ")" + end;
  };
  EXPECT_EQ(thrown_after_copy<double>({7, 0, z}, inside), near("7", "0", z));
  EXPECT_EQ(thrown_after_copy<double>({0, 6, z}, inside), near("0", "6", z));
  EXPECT_EQ(thrown_after_copy<double>({0, 0, z + kZ + 1}, inside), near("0", "0", z + kZ + 1));
  EXPECT_EQ(thrown_after_copy<double>({0, 0, z - 2}, inside), near("0", "0", z - 2));
  // Cells before a row or a plane are behind the one before, too.
  EXPECT_EQ(thrown_after_copy<double>({-2, 0, z}, inside), near("14", "-1", z));
  EXPECT_EQ(thrown_after_copy<double>({0, -2, z}, inside), near("0", "6", z - 1));
  using Odd = std::array<char, 3>;
  EXPECT_EQ(thrown_after_copy<Odd>({7, 0, z}, inside), near("7", "0", z));
  EXPECT_EQ(thrown_after_copy<double>({6, 5, z + kZ}, {-1, -1, z - 1}), "") << "they are stored";
}

TEST(Check, an_owned_cell_from_beside_the_stored_cells_is_reported) {
  const std::int64_t z = kZ * rank();
  for (const Index3& beside : {Index3{7, 0, z}, {-2, 1, z}, {3, 6, z}, {3, -2, z}, {0, 0, z - 2}})
    EXPECT_EQ(thrown_after_copy<double>({2, 2, z}, beside),
              "STRAKE_CHECK, rank " + number(rank()) + ": field 'u', cell (2, 2, " + number(z) +
                  "): computed from beside the cells that field 'u' stores (1 such cells of "
                  "'u')");
}

TEST(Check, a_cell_that_is_changed_while_it_is_sent_is_reported) {
  Grid grid = make_grid(Radius::faces(1));
  auto other = grid.add<double>("other");
  (void)other;
  auto u = grid.add<std::int64_t>("u");
  const std::int64_t z = kZ * (culprit() + 1) - 1;
  for_each_cell({{2, 3, kZ * rank()}, {3, 4, kZ * rank() + kZ}}, [&](auto i, auto j, auto k) {
    const std::int64_t value = k;
    CopyPlan::compile(Layout::dense(sizeof(value)), place(), Layout::dense(sizeof(value)), Place{})
        .run(reinterpret_cast<std::byte*>(&u.view()(i, j, k)),
             reinterpret_cast<const std::byte*>(&value));
  });
  const std::string thrown = thrown_by([&](int step) {
    Ghosts ghosts = grid.exchange();
    if (step == 2 && rank() == culprit()) copy(u.view(), {2, 3, z}, {2, 3, z - 1});
    ghosts.wait();
  });
  expect_report(thrown, "field 'u', cell (2, 3, " + number(z) +
                            "): changed between exchange() and the end of wait(), while it was "
                            "sent to rank 0 in direction +z");
}

TEST(Check, peers_of_a_rank_that_gives_an_exchange_up_are_told) {
  ExchangePart part;
  const int array = part.array();
  part.send((rank() + 1) % ranks(), 0, array, Layout::dense(8));
  part.receive((rank() + ranks() - 1) % ranks(), 0, array, Layout::dense(8, 8));
  Exchange exchange(MPI_COMM_WORLD, part);
  std::array<std::byte, 16> bytes{};
  std::byte* const base[] = {bytes.data()};
  exchange.start(base);
  exchange.wait();
  if (rank() == culprit()) {
    exchange.give_up();
    EXPECT_TRUE(exchange.test()) << "it does not wait";
    EXPECT_THROW(exchange.start(base), Error);
    return;
  }
  const std::string thrown = thrown_by([&](int) {
    exchange.start(base);
    exchange.wait();
  });
  EXPECT_NE(thrown.find("has given up an exchange"), std::string::npos) << thrown;
}

/// A whole number has the bits of poison by chance where no stencil could have brought it.
TEST(Check, whole_numbers_far_from_the_ghost_cell_are_no_poison) {
  if (test_memory::on_device()) GTEST_SKIP() << "the CPU computes";
  for (const bool far : {true, false}) {
    Grid grid = make_grid(Radius::faces(1));
    auto u = grid.add<int>("u", {.next = false});
    Ghosts ghosts = grid.exchange();
    const std::int64_t z = kZ * rank();
    const int poison = u.view()(1, 1, z - 1);
    ghosts.wait();
    EXPECT_NE(poison, 0);
    u.view()(1, 1, far ? z + 1 : z) = poison;
    if (far) {
      EXPECT_NO_THROW(grid.swap());
      grid.exchange().wait();
    } else {
      EXPECT_THROW(grid.swap(), Error);
      EXPECT_THROW((void)grid.exchange(), Error);
    }
  }
}

}  // namespace
}  // namespace strake
