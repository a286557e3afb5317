// Ranks that have arrays in several memories: subgrids on several devices, or on these and the
// host.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "cells.hpp"
#include "graph.hpp"
#include "place.hpp"
#include "strake/copy.hpp"
#include "strake/error.hpp"
#include "strake/exchange.hpp"
#include "strake/grid.hpp"
#include "world.hpp"

namespace strake {
namespace {

enum class With { Devices, DevicesAndHost };

/// So many memories of this rank, its own device first; in host memory, where there are no devices.
std::vector<Place> some_places(int count, With with) {
  std::vector<Place> all;
  for (int i = 0; i < count; ++i) {
    const bool on_host = !test_memory::on_device() || (with == With::DevicesAndHost && i % 3 == 1);
    const int device = on_host ? -1 : (test_memory::device() + i) % test_memory::devices();
    all.push_back(on_host ? Place{} : Place{MemoryKind::Device, device});
  }
  return all;
}

/// Streams of each device that holds subgrids; none, if the host does.
std::vector<Stream> streams_of(const std::vector<Place>& places) {
  std::vector<Stream> made;
  for (int device = 0; device < test_memory::devices(); ++device)
    if (std::ranges::find(places, Place{MemoryKind::Device, device}) != places.end())
      made.push_back(Stream::make(device));
  return made;
}

struct TwoFields {
  TwoFields(Grid& of, const std::array<bool, 3>& periodic_axes, const Radius& all,
            const Radius& other)
      : grid(of),
        periodic(periodic_axes),
        radius(all),
        radius_b(other),
        a(of.add<std::int64_t>("a")),
        b(of.add<Vec3>("b", {.at = face_x, .radius = other})) {}
  void fill_all(int step) const {
    for (int i = 0; i < grid.subgrids(); ++i) {
      fill(a.view(i), 0, step);
      fill(b.view(i), 1, step);
    }
  }
  void check_all(int step) const {
    for (int i = 0; i < grid.subgrids(); ++i) {
      SCOPED_TRACE("subgrid " + std::to_string(i));
      check(a.view(i), {grid, periodic, radius, {}, grid.extent(), i}, 0, step);
      check(b.view(i), {grid, periodic, radius_b, {}, extent_with(grid, face_x, periodic), i}, 1,
            step);
    }
  }

  Grid& grid;
  std::array<bool, 3> periodic;
  Radius radius, radius_b;
  Field<std::int64_t> a;
  Field<Vec3> b;
};

void exchange_somehow(Grid& grid, std::vector<Stream>& streams, unsigned way) {
  if (streams.empty() || way % 3 == 0) return grid.exchange().wait();
  Stream& stream = streams[way / 3 % streams.size()];
  if (way % 5 == 1) {
    Ghosts ghosts = grid.exchange(streams);
    ghosts.wait(streams);
  } else if (way % 5 == 2) {
    grid.enqueue(streams);
  } else if (way % 3 == 1) {
    grid.enqueue(stream);
  } else {
    Ghosts ghosts = grid.exchange(stream);
    if (way % 2 == 0) (void)ghosts.test();
    ghosts.wait(streams[way / 7 % streams.size()]);
  }
  for (Stream& each : streams) each.synchronize();
}

void run_subgrids(int subgrids, With with, const std::array<bool, 3>& periodic,
                  const Radius& radius, const Radius& other) {
  const std::vector<Place> places = some_places(subgrids, with);
  // Large enough for each of the subgrids to have ghost cells of its neighbours alone.
  const int x = ranks() <= 4 ? 31 : 62;
  Grid grid(MPI_COMM_WORLD, {x, 26, 22},
            {.radius = radius, .periodic = periodic, .places = places});
  ASSERT_EQ(grid.subgrids(), subgrids);
  const TwoFields all(grid, periodic, radius, other);
  std::vector<Stream> streams = streams_of(places);
  std::mt19937 draw(static_cast<unsigned>(rank() + 3));
  for (int step = 0; step < 8; ++step) {
    all.fill_all(step);
    if (draw() % 4 == 0) usleep(draw() % 3000);
    if (step % 4 == 1) {
      Ghosts ghosts = grid.exchange();
      for (int i = grid.subgrids() - 1; i >= 0; --i) {
        ghosts.wait({0, 0, 1}, i);
        check(all.a.view(i), {grid, periodic, radius, {}, grid.extent(), i}, 0, step,
              Direction{0, 0, 1});
      }
      ghosts.wait();
    } else {
      exchange_somehow(grid, streams, draw());
    }
    all.check_all(step);
    grid.swap();
  }
}

TEST(Subgrids, ghost_cells_are_what_their_owners_have) {
  Radius uneven = 1;
  uneven.set({1, 0, 0}, 2).set({0, -1, 0}, 0).set({1, 1, 1}, 0).set({-1, 0, 1}, 2);
  run_subgrids(2, With::Devices, {true, true, true}, 2, uneven);
  run_subgrids(1 + (rank() + 1) % 3, With::Devices, {true, false, true}, uneven, 1);
  run_subgrids(3, With::DevicesAndHost, {false, true, true}, 1, uneven);
  run_subgrids(1 + rank() % 4, With::DevicesAndHost, {true, true, false}, 1, Radius::faces(2));
}

TEST(Subgrids, are_counted_over_all_ranks) {
  Grid grid(MPI_COMM_WORLD, {24, 24, 24}, {.radius = 1, .places = some_places(2, With::Devices)});
  const auto a = grid.add<int>("a");
  std::int64_t own = grid.owned(0).size() + grid.owned(1).size(), all = 0;
  MPI_Allreduce(&own, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  EXPECT_EQ(all, 24 * 24 * 24);
  for (const int subgrid : {0, 1}) {
    std::int64_t cells = grid.interior(subgrid).size();
    for (const Box& region : grid.exterior(subgrid)) cells += region.size();
    EXPECT_EQ(cells, grid.owned(subgrid).size());
    EXPECT_GT(grid.grown(1, subgrid).size(), cells);
  }
  // The two of a rank follow each other.
  const Direction between = grid.owned(0).upper[0] == grid.owned(1).lower[0]   ? Direction{1, 0, 0}
                            : grid.owned(0).upper[1] == grid.owned(1).lower[1] ? Direction{0, 1, 0}
                                                                               : Direction{0, 0, 1};
  EXPECT_EQ(grid.neighbour(between, 0), rank());
  EXPECT_THROW((void)grid.owned(2), InvalidArgument);
  EXPECT_THROW((void)grid.interior(-1), InvalidArgument);
  EXPECT_THROW((void)a.view(2), InvalidArgument);
  EXPECT_THROW(Grid(MPI_COMM_WORLD, {8}, {.places = {Place{}, {MemoryKind::Managed, 0}}}),
               Unsupported);
  EXPECT_THROW(Grid(MPI_COMM_WORLD, {8}, {.places = {Place{}, {MemoryKind::Device, 99}}}),
               Unsupported);
  try {
    Grid(MPI_COMM_WORLD, {8, 8}, {.counts = {77, 1, 1}, .places = {Place{}, Place{}}});
    ADD_FAILURE() << "it was made";
  } catch (const InvalidArgument& error) {
    EXPECT_EQ(error.what(),
              "a grid cut into 77 x 1 x 1 for " + std::to_string(2 * ranks()) + " subgrids");
  }
}

/// Each cell that is stored counts one for its owner.
TEST(Subgrids, ghosts_go_back_to_their_owners) {
  const std::array<bool, 3> periodic{true, true, true};
  Grid grid(MPI_COMM_WORLD, {16, 14, 24},
            {.radius = 2, .periodic = periodic, .places = some_places(2, With::Devices)});
  const auto a = grid.add<std::int64_t>("a");
  for (const int i : {0, 1}) {
    Mirror<std::int64_t> mirror(a.view(i));
    for_each_cell(a.view(i).stored(), [&](auto x, auto y, auto z) { mirror.view()(x, y, z) = 1; });
    mirror.store();
  }
  try {
    grid.accumulate({}, {a}, sum<std::int64_t>());
  } catch (const Unsupported&) {
    EXPECT_TRUE(test_memory::on_device() && (!on_one_node(0, ranks() - 1) ||
                                             device_transport() == "staged" || is_forced("pack")));
    return;
  }
  for (const int i : {0, 1}) {
    const Mirror<std::int64_t> mirror(a.view(i));
    const Box& owned = grid.owned(i);
    for_each_cell(owned, [&](std::int64_t x, std::int64_t y, std::int64_t z) {
      // Along each axis: the cell itself, and ghost cells of those that see it.
      std::int64_t expected = 1;
      const Index3 at{x, y, z};
      for (std::size_t axis = 0; axis < 3; ++axis)
        expected *= 1 + (at[axis] < owned.lower[axis] + 2 ? 1 : 0) +
                    (at[axis] >= owned.upper[axis] - 2 ? 1 : 0);
      ASSERT_EQ(mirror.view()(x, y, z), expected) << x << " " << y << " " << z;
    });
  }
}

TEST(Subgrids, graphs_exchange_between_devices) {
  const std::vector<Place> places = some_places(2, With::Devices);
  Grid grid(MPI_COMM_WORLD, {20, 20, 40},
            {.radius = 2, .periodic = {true, true, true}, .places = places});
  const TwoFields all(grid, {true, true, true}, 2, 1);
  grid.prepare();
  std::vector<Stream> streams = streams_of(places);
  if (streams.empty() || !can_be_captured(grid.plan())) GTEST_SKIP();
  const auto graph = CapturedGraph::capture(streams.front(), [&] {
    grid.enqueue(streams.front());
    Ghosts ghosts = grid.exchange(streams.front());
    ghosts.wait(streams.front());
  });
  if (graph == nullptr) GTEST_SKIP() << "this device has no graphs";
  for (int step = 0; step < 5; ++step) {
    all.fill_all(step);
    if (step == rank()) usleep(2000);
    graph->launch(streams.front());
    streams.front().synchronize();
    all.check_all(step);
  }
}

TEST(Subgrids, files_hold_each) {
  Grid grid(MPI_COMM_WORLD, {8, 8, 8}, {.radius = 1, .places = some_places(2, With::Devices)});
  const auto a = grid.add<double>("a");
  (void)a;
  std::string folder = (std::filesystem::temp_directory_path() / "strake-subgrids-XXXXXX").string();
  if (rank() == 0) {
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
  }
  MPI_Bcast(folder.data(), static_cast<int>(folder.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
  grid.write_vtk(folder + "/out");
  for (int part = 0; part < 2 * ranks(); ++part)
    EXPECT_TRUE(std::filesystem::exists(folder + "/out_" + std::to_string(part) + ".vti")) << part;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank() == 0) std::filesystem::remove_all(folder);
}

/// On each of this rank's devices an array, of which all ranks send each other something.
struct Everywhere {
  explicit Everywhere(int devices) {
    ExchangePart part;
    for (int i = 0; i < devices; ++i) {
      const Place on{MemoryKind::Device, (test_memory::device() + i) % test_memory::devices()};
      const int array = part.array(on, kBytes);
      bases.push_back(arrays.emplace_back(kBytes, on).data());
      for (int other = 0; other < ranks(); ++other) {
        if (other == rank()) continue;
        part.send(other, i, array, Layout::dense(64, 64 * other));
        part.receive(other, i, array, Layout::dense(64, kBytes / 2 + 64 * other));
      }
    }
    exchange = Exchange(MPI_COMM_WORLD, part);
  }
  static constexpr std::int64_t kBytes = 4096;
  std::vector<SharedArray> arrays;
  std::vector<std::byte*> bases;
  Exchange exchange;
};

TEST(Places, who_waits_on_devices_is_told_that_another_rank_gave_up) {
  if (!test_memory::on_device() || ranks() == 1) GTEST_SKIP();
  for (const int devices : {1, 2}) {
    Everywhere here(std::min(devices, test_memory::devices()));
    Stream stream = Stream::make(test_memory::device());
    here.exchange.start(here.bases, stream);
    here.exchange.wait();
    // One round in the stream, whose end nobody has seen, where devices may wait.
    const bool may_wait = std::getenv("STANDIN_OWN_DEVICES") != nullptr &&
                          here.exchange.plan().find("put:") != std::string::npos;
    if (rank() == 0 && may_wait) here.exchange.enqueue(here.bases, stream);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank() != 0) here.exchange.give_up();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank() == 0) {
      EXPECT_THROW(
          {
            here.exchange.start(here.bases, stream);
            here.exchange.wait(stream);
          },
          Error);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

/// A rank's transfers to itself in host memory wait for the work of its devices, too.
TEST(Places, own_copies_on_the_host_are_not_told_of_before_they_are_made) {
  if (!test_memory::on_device()) GTEST_SKIP();
  std::vector<std::byte> host(4096);
  const Place device{MemoryKind::Device, test_memory::device()};
  const SharedArray other(4096, device);
  ExchangePart part;
  (void)part.array(Place{}, 4096);
  (void)part.array(device, 4096);
  part.send(rank(), 0, 0, Layout::dense(64, 0));
  part.receive(rank(), 0, 0, Layout::dense(64, 1024));
  Exchange exchange(MPI_COMM_WORLD, part);
  std::memset(host.data(), 7, 64);
  std::byte* const bases[] = {host.data(), other.data()};
  test_memory::hold_up();
  exchange.start(bases);
  (void)exchange.test();
  EXPECT_TRUE(!exchange.arrived(rank()) || host[1024] == std::byte{7});
  test_memory::let_go();
  exchange.wait();
  EXPECT_EQ(host[1024], std::byte{7});
  // A stream of the CPU alone says nothing of what devices do.
  Stream cpu;
  test_memory::hold_up();
  exchange.start(bases, cpu);
  EXPECT_FALSE(exchange.test());
  test_memory::let_go();
  // No stream waits: the host does.
  exchange.wait(std::span<Stream>());
  EXPECT_FALSE(exchange.running());
}

/// Random transfers between arrays in different memories, and what they are to bring.
TEST(Places, transfers_between_any_two) {
  constexpr std::int64_t kBytes = 1 << 17;
  constexpr std::int64_t kBlock = 24;
  const std::vector<Place> places = some_places(4, With::DevicesAndHost);
  const int arrays = static_cast<int>(places.size());
  std::mt19937 draw(11);  // the same on all ranks
  ExchangePart part;
  std::vector<SharedArray> sent, received;
  for (const Place place : places) {
    (void)part.array(place, kBytes);
    sent.emplace_back(kBytes, place);
  }
  for (const Place place : places) {
    (void)part.array(place, kBytes);
    received.emplace_back(kBytes, place);
  }
  // Begin of the unused part of each array, by rank and array.
  const auto count = static_cast<std::size_t>(ranks() * arrays);
  std::vector<std::int64_t> in(count), out(count);
  struct Moved {
    int from, to;  // by rank and array
    std::int64_t from_at, to_at, blocks;
  };
  std::vector<Moved> moved;
  for (int i = 0; i < 40 * ranks(); ++i) {
    const int from = static_cast<int>(draw() % count), to = static_cast<int>(draw() % count);
    const std::int64_t blocks = 1 + static_cast<std::int64_t>(draw() % 30);
    std::int64_t& from_at = out[static_cast<std::size_t>(from)];
    std::int64_t& to_at = in[static_cast<std::size_t>(to)];
    moved.push_back({from, to, from_at, to_at, blocks});
    from_at += blocks * 2 * kBlock;  // every second block
    to_at += blocks * kBlock;
    ASSERT_LT(std::max(from_at, to_at), kBytes);
    const Dim every_second[] = {{blocks, 2 * kBlock}};
    if (from / arrays == rank())
      part.send(to / arrays, i, from % arrays,
                Layout::box(moved.back().from_at, kBlock, every_second));
    if (to / arrays == rank())
      part.receive(from / arrays, i, arrays + to % arrays,
                   Layout::dense(blocks * kBlock, moved.back().to_at));
  }
  Exchange exchange(MPI_COMM_WORLD, part);
  const auto value = [](int array, std::int64_t byte, int round) {
    return static_cast<char>(byte * 7 + array * 31 + round * 3);
  };
  std::vector<std::byte*> bases;
  for (const SharedArray& array : sent) bases.push_back(array.data());
  for (const SharedArray& array : received) bases.push_back(array.data());
  const auto copy = [](std::byte* to, Place to_place, const std::byte* from, Place from_place) {
    CopyPlan::compile(Layout::dense(kBytes), to_place, Layout::dense(kBytes), from_place)
        .run(to, from);
  };
  std::vector<char> bytes(kBytes);
  for (int round = 0; round < 6; ++round) {
    for (int i = 0; i < arrays; ++i) {
      for (std::int64_t k = 0; k < kBytes; ++k)
        bytes[static_cast<std::size_t>(k)] = value(rank() * arrays + i, k, round);
      copy(sent[static_cast<std::size_t>(i)].data(), places[static_cast<std::size_t>(i)],
           reinterpret_cast<const std::byte*>(bytes.data()), Place{});
    }
    if (round % ranks() == rank()) usleep(1000);
    exchange.start(bases);
    exchange.wait();
    for (int i = 0; i < arrays; ++i) {
      copy(reinterpret_cast<std::byte*>(bytes.data()), Place{},
           received[static_cast<std::size_t>(i)].data(), places[static_cast<std::size_t>(i)]);
      for (const Moved& one : moved) {
        if (one.to != rank() * arrays + i) continue;
        for (std::int64_t k = 0; k < one.blocks * kBlock; ++k) {
          const std::int64_t from = one.from_at + k / kBlock * 2 * kBlock + k % kBlock;
          ASSERT_EQ(bytes[static_cast<std::size_t>(one.to_at + k)], value(one.from, from, round))
              << "round " << round << ", from " << one.from << " to " << one.to;
        }
      }
    }
  }
}

}  // namespace
}  // namespace strake
