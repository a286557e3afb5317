// Every ghost cell of every field, compared with its owner's cell.
#include "strake/grid.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include "cells.hpp"
#include "mirror.hpp"
#include "place.hpp"
#include "strake/copy.hpp"
#include "strake/error.hpp"
#include "world.hpp"

namespace strake {
namespace {

/// Fills ghost cells in one of the ways that there are; ranks need not choose alike.
void exchange_somehow(Grid& grid, int way) {
  if (!test_memory::on_device() || way % 3 == 0) return grid.exchange().wait();
  static auto& streams = *new std::array<Stream, 2>{Stream::make(test_memory::device()),
                                                    Stream::make(test_memory::device())};
  Stream& stream = streams[static_cast<std::size_t>(way / 3 % 2)];
  if (way % 3 == 1) {
    grid.enqueue(stream);
  } else {
    // The runtime's stream as it is, among others, or Strake's.
    Ghosts ghosts = way % 4 == 0   ? grid.exchange(stream.native())
                    : way % 4 == 1 ? grid.exchange({StreamRef(stream), stream.native()})
                                   : grid.exchange(stream);
    if (way % 2 == 0) (void)ghosts.test();
    way % 4 < 2 ? ghosts.wait(stream.native()) : ghosts.wait(stream);
  }
  stream.synchronize();
}

void run_grid(std::initializer_list<std::int64_t> extent, const std::array<bool, 3>& periodic,
              const Radius& radius, const Radius& other) {
  Grid grid(MPI_COMM_WORLD, extent, {.radius = radius, .periodic = periodic, .place = place()});
  auto a = grid.add<std::int64_t>("a");
  auto b = grid.add<Vec3>("b", {.at = face_x, .radius = other});
  auto c = grid.add<float>("c", {.at = node, .next = false});
  auto d = grid.add<std::array<char, 3>>("d", {.radius = Radius::faces(1)});
  const Expected of_a{grid, periodic, radius, {}, grid.extent()};
  const Expected of_b{grid, periodic, other, {}, extent_with(grid, face_x, periodic)};
  const Expected of_c{grid, periodic, radius, {}, extent_with(grid, node, periodic)};
  const Expected of_d{grid, periodic, Radius::faces(1), {}, grid.extent()};
  for (int step = 0; step < 5; ++step) {
    fill(a.view(), 0, step);
    fill(b.view(), 1, step);
    fill(c.view(), 2, step);
    fill(d.view(), 3, step);
    if (step == rank() % 5) usleep(3000);
    if (step % 2 == 0) {
      exchange_somehow(grid, step / 2 + rank());
    } else {
      Ghosts ghosts = grid.exchange();
      // Ghost cells of an awaited direction are there, though others may be missing.
      for (int z = -1; z <= 1; ++z)
        for (int x = -1; x <= 1; ++x)
          if (x != 0 || z != 0) {
            ghosts.wait({x, 0, z});
            check(a.view(), of_a, 0, step, Direction{x, 0, z});
          }
      ghosts.wait();
    }
    check(a.view(), of_a, 0, step);
    check(b.view(), of_b, 1, step);
    check(c.view(), of_c, 2, step);
    check(d.view(), of_d, 3, step);
    grid.swap();
  }
  // Some of them, along some axes, less deep.
  const GhostOptions some{.axes = {true, false, true}, .depth = 1};
  fill(a.view(), 0, 9);
  fill(b.view(), 1, 9);
  grid.exchange({}, {a}, some).wait();
  check(a.view(), {grid, periodic, radius, some, grid.extent()}, 0, 9);
  const Mirror<Vec3> still(b.view());
  for_each_cell(still.view().stored(), [&](auto i, auto j, auto k) {
    EXPECT_TRUE(still.view().owned().contains(i, j, k) || holds(still.view()(i, j, k), kPoison));
  });
}

TEST(Grid, ghost_cells_are_what_their_owners_have) {
  Radius uneven = 1;
  uneven.set({1, 0, 0}, 2).set({0, -1, 0}, 0).set({1, 1, 1}, 0).set({-1, 0, 1}, 2);
  run_grid({13, 11, 9}, {true, true, true}, 1, uneven);
  run_grid({16, 12, 10}, {false, true, false}, 2, Radius::faces(2));
  run_grid({13, 12, 10}, {true, false, true}, Radius::sides({2, 1}, 1, {0, 2}), 1);
  run_grid({30, 17}, {true, false, false}, uneven, 2);
  run_grid({64}, {true, false, false}, 3, 1);
  run_grid({24, 24, 8}, {false, false, false}, 2, 0);
}

TEST(Grid, rows_in_host_memory_are_padded_to_vectors) {
  constexpr std::int64_t kVector = 16, kPage = 4096;
  if (test_memory::on_device() || std::getenv("STRAKE_CHECK") != nullptr) return;
  Grid grid(MPI_COMM_WORLD, {33, 20, 20}, {.radius = 1, .periodic = {true, true, true}});
  const auto a = grid.add<double>("a");
  const auto b = grid.add<float>("b");
  const auto c = grid.add<std::array<char, 3>>("c", {.next = false});
  const auto is_padded = [&](const auto& field, std::int64_t bytes, std::int64_t unit) {
    const Index3 first = grid.interior().lower;
    const std::int64_t row = field.view().stored().extent(0) * bytes;
    EXPECT_EQ(field.view().stride(1) * bytes, (row + unit - 1) / unit * unit);
    EXPECT_EQ(field.view().stride(2), field.view().stride(1) * field.view().stored().extent(1));
    if (unit != kVector) return;
    const auto address =
        reinterpret_cast<std::uintptr_t>(&field.view()(first[0], first[1], first[2]));
    EXPECT_EQ(address % kVector, 0U);
  };
  is_padded(a, 8, kVector);
  is_padded(b, 4, kVector);
  is_padded(c, 3, 3);
  std::set<std::int64_t> places;
  const Index3 first = grid.owned().lower;
  for (const View<double>& view : {a.view(), a.next()})
    places.insert(reinterpret_cast<std::intptr_t>(&view(first[0], first[1], first[2])) % kPage);
  EXPECT_EQ(*places.rbegin() - *places.begin(), kPage / 2);
}

TEST(Grid, large_fields_of_a_rank_alone_are_in_huge_pages) {
  constexpr std::uintptr_t kHugePage = 2 << 20;
  const std::array<bool, 3> periodic{true, true, true};
  Grid grid(MPI_COMM_WORLD, {92, 82, 82}, {.radius = 1, .periodic = periodic, .place = place()});
  auto a = grid.add<std::int64_t>("a");
  const bool is_alone = ranks() == 1 && !test_memory::on_device();
  for (int step = 0; step < 2; ++step) {
    const Index3 first = a.view().stored().lower;
    const std::int64_t* const cell = &a.view()(first[0], first[1], first[2]);
    if (is_alone && std::getenv("STRAKE_CHECK") == nullptr) {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(cell) % kHugePage, step == 0 ? 0U : 2048U);
    }
    if (!test_memory::on_device()) {
      EXPECT_EQ(*cell, 0);
    }
    fill(a.view(), 0, step);
    grid.exchange().wait();
    check(a.view(), {grid, periodic, 1, {}, grid.extent()}, 0, step);
    grid.swap();
  }
}

TEST(Grid, random_grids) {
  std::mt19937 draw(26);
  const auto between = [&](int low, int high) {
    return low + static_cast<int>(draw() % static_cast<unsigned>(high - low + 1));
  };
  for (int turn = 0; turn < 4; ++turn) {
    SCOPED_TRACE("turn " + std::to_string(turn));
    Radius radius, other;
    for (int z = -1; z <= 1; ++z)
      for (int y = -1; y <= 1; ++y)
        for (int x = -1; x <= 1; ++x) {
          if (x == 0 && y == 0 && z == 0) continue;
          radius.set({x, y, z}, between(0, 2));
          other.set({x, y, z}, between(0, 2));
        }
    run_grid({between(16, 30), between(16, 30), between(16, 24)},
             {between(0, 1) == 0, between(0, 1) == 0, between(0, 1) == 0}, radius, other);
  }
}

/// A forgotten exchange ends with what stands for it; a grid says so once.
TEST(Grid, ghosts_that_are_not_waited_for_end) {
  Grid grid(MPI_COMM_WORLD, {8, 8, std::int64_t{8} * ranks()},
            {.radius = 1, .periodic = {true, true, true}, .place = place()});
  auto a = grid.add<std::int64_t>("a");
  const Expected expected{grid, {true, true, true}, 1, {}, grid.extent()};
  for (int step = 0; step < 4; ++step) {
    fill(a.view(), 0, step);
    testing::internal::CaptureStderr();
    { const Ghosts forgotten = grid.exchange(); }
    const std::string told = testing::internal::GetCapturedStderr();
    EXPECT_EQ(told.find("were never waited for") != std::string::npos, step == 0) << told;
    check(a.view(), expected, 0, step);
  }
  // An object of an earlier exchange ends no later one.
  Ghosts earlier = grid.exchange();
  for (const int z : {-1, 1}) earlier.wait({0, 0, z});
  earlier.wait();
  Ghosts later = grid.exchange();
  earlier = Ghosts(std::move(later));
  EXPECT_TRUE(later.test());  // NOLINT(bugprone-use-after-move)
  earlier.wait();
  std::optional<Grid> gone(Grid(MPI_COMM_WORLD, {8, 8, 8}, {.place = place()}));
  (void)gone->add<double>("u");
  Ghosts left = gone->exchange();
  Ghosts moved = std::move(left);
  EXPECT_TRUE(left.test());  // NOLINT(bugprone-use-after-move)
  gone.reset();
  moved.wait();
}

TEST(Grid, many_fields_and_a_plan_that_was_refused) {
  Grid grid(MPI_COMM_WORLD, {24, 24, 48},
            {.radius = 1, .periodic = {false, false, true}, .place = place()});
  std::vector<Field<std::int64_t>> fields;
  for (int i = 0; i < 24; ++i) fields.push_back(grid.add<std::int64_t>("q" + std::to_string(i)));
  for (int step = 0; step < 8; ++step) {
    for (std::size_t i = 0; i < fields.size(); i += 7)
      fill(fields[i].view(), static_cast<int>(i), step);
    grid.exchange().wait();
    for (std::size_t i = 0; i < fields.size(); i += 7)
      check(fields[i].view(), {grid, {false, false, true}, 1, {}, grid.extent()},
            static_cast<int>(i), step);
    grid.swap();
  }
  if (ranks() == 1) return;
  // Ranks that do not agree are told, and go on.
  const GhostOptions options{.axes = {true, true, rank() != 0}};
  EXPECT_THROW((void)grid.exchange({}, {fields[0]}, options), InvalidArgument);
  grid.swap();
  grid.exchange().wait();
  EXPECT_NE(grid.plan().find("q23"), std::string::npos);
}

TEST(Grid, more_ranks_than_cells_take_part) {
  Grid grid(MPI_COMM_WORLD, {2, 1},
            {.radius = 1, .periodic = {true, false, false}, .place = place()});
  auto a = grid.add<std::int64_t>("a");
  fill(a.view(), 0, 0);
  grid.exchange().wait();
  check(a.view(), {grid, {true, false, false}, 1, {}, grid.extent()}, 0, 0);
  std::int64_t mine = grid.owned().size(), all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  EXPECT_EQ(all, 2);
  if (mine == 0) {
    EXPECT_TRUE(grid.interior().empty());
    EXPECT_TRUE(grid.exterior().empty());
    EXPECT_FALSE(grid.neighbour({1, 0, 0}));
  }
}

TEST(Grid, interior_and_exterior_are_what_is_owned) {
  Grid grid(MPI_COMM_WORLD, {20, 20, 20},
            {.radius = 2, .periodic = {true, false, true}, .place = place()});
  auto a = grid.add<int>("a");
  std::set<Index3> cells;
  const auto take = [&](const Box& region) {
    for_each_cell(region, [&](auto i, auto j, auto k) {
      EXPECT_TRUE(grid.owned().contains(i, j, k));
      EXPECT_TRUE(cells.insert({i, j, k}).second);
    });
  };
  take(grid.interior());
  for (const Box& region : grid.exterior()) take(region);
  EXPECT_EQ(static_cast<std::int64_t>(cells.size()), grid.owned().size());
  // The interior needs no neighbour's cells.
  for_each_cell(grid.interior(), [&](auto i, auto j, auto k) {
    for (const int step : {-2, 2}) {
      EXPECT_TRUE(grid.owned().contains(i + step, j, k));
      EXPECT_TRUE(grid.owned().contains(i, j, k + step));
    }
  });
  // A field on faces has one plane more where the grid is open.
  auto b = grid.add<int>("b", {.at = face_y, .radius = 1});
  std::int64_t faces = grid.interior(b).size();
  for (const Box& region : grid.exterior(b)) faces += region.size();
  EXPECT_EQ(faces, b.view().owned().size());
  EXPECT_EQ(grid.grown(1).extent(0), grid.owned().extent(0) + 2);
  EXPECT_EQ(a.view().stored().extent(1), grid.owned().extent(1) + 4);
}

TEST(Grid, ghosts_go_back_to_their_owners) {
  const std::array<bool, 3> periodic{true, true, false};
  Grid grid(MPI_COMM_WORLD, {12, 10, 8}, {.radius = 2, .periodic = periodic, .place = place()});
  auto a = grid.add<std::int64_t>("a");
  const auto view = a.view();
  if (test_memory::on_device()) {
    EXPECT_THROW(grid.accumulate({}, {a}, combine_with<std::int64_t>(std::plus<>())), Unsupported);
    // Values of ghost cells take the place of those of their owners.
    Mirror<std::int64_t> mirror(view);
    for_each_cell(view.stored(), [&](auto i, auto j, auto k) {
      mirror.view()(i, j, k) = view.owned().contains(i, j, k) ? 1 : 2;
    });
    mirror.store();
    grid.accumulate({}, {a}, replace());
    mirror.load();
    for_each_cell(view.owned(), [&](auto i, auto j, auto k) {
      const bool needed = i < view.owned().lower[0] + 2 || i >= view.owned().upper[0] - 2 ||
                          j < view.owned().lower[1] + 2 || j >= view.owned().upper[1] - 2 ||
                          (k < view.owned().lower[2] + 2 && grid.neighbour({0, 0, -1})) ||
                          (k >= view.owned().upper[2] - 2 && grid.neighbour({0, 0, 1}));
      ASSERT_EQ(mirror.view()(i, j, k), needed ? 2 : 1) << i << " " << j << " " << k;
    });
  }
  // Each cell that is stored counts one for its owner: as many as ranks have it, by any way.
  Mirror<std::int64_t> mirror(view);
  for_each_cell(view.stored(), [&](auto i, auto j, auto k) { mirror.view()(i, j, k) = 1; });
  mirror.store();
  try {
    grid.accumulate({}, {a}, sum<std::int64_t>());
  } catch (const Unsupported&) {
    // Devices of ranks on different nodes, and those whose bytes are staged.
    EXPECT_TRUE(test_memory::on_device() && ranks() > 1 &&
                (ranks_per_node() < ranks() || device_transport() == "staged"));
    return;
  }
  mirror.load();
  std::map<Index3, std::int64_t> copies;
  for (int other = 0; other < ranks(); ++other) {
    std::array<std::int64_t, 6> owned{};
    if (other == rank()) {
      std::copy_n(grid.owned().lower.begin(), 3, owned.begin());
      std::copy_n(grid.owned().upper.begin(), 3, owned.begin() + 3);
    }
    MPI_Bcast(owned.data(), 6, MPI_INT64_T, other, MPI_COMM_WORLD);
    Box stored{{owned[0] - 2, owned[1] - 2, owned[2] - 2},
               {owned[3] + 2, owned[4] + 2, owned[5] + 2}};
    for_each_cell(stored, [&](auto i, auto j, auto k) {
      if (k >= 0 && k < 8) ++copies[wrapped({i, j, k}, grid.extent(), periodic)];
    });
  }
  for_each_cell(view.owned(), [&](auto i, auto j, auto k) {
    ASSERT_EQ(mirror.view()(i, j, k), (copies[{i, j, k}])) << i << " " << j << " " << k;
  });
}

std::string refusal(const std::function<void()>& make) {
  try {
    make();
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return {};
}

TEST(Grid, what_is_wrong_is_told) {
  EXPECT_EQ(refusal([] { Grid grid(MPI_COMM_WORLD, {4, 0, 4}); }), "a grid of 0 cells along y");
  EXPECT_EQ(refusal([] {
              Grid grid(MPI_COMM_WORLD, {1, 1, 1, 1});
            }),
            "a grid of 4 axes, not of one to three");
  EXPECT_THROW(Grid(MPI_COMM_WORLD, {4}, {.place = {MemoryKind::Device, 99}}), Unsupported);
  EXPECT_THROW(Grid(MPI_COMM_WORLD, {4}, {.place = {MemoryKind::Managed, 0}}), Unsupported);
  Grid grid(MPI_COMM_WORLD, {3 * ranks()},
            {.radius = 4, .periodic = {true, false, false}, .place = place()});
  EXPECT_EQ(refusal([&] { (void)grid.add<int>("u"); }),
            "field 'u': a radius of 4 in direction -x, but rank " + std::to_string(ranks() - 1) +
                " has 3 cells along x");
  EXPECT_EQ(refusal([&] { (void)grid.add<int>("v", {.radius = -1}); }),
            "field 'v': a radius of -1 in direction -x");
  auto w = grid.add<int>("w", {.radius = 1, .next = false});
  EXPECT_EQ(refusal([&] { (void)grid.add<int>("w", {.radius = 1}); }),
            "field 'w' is there already");
  EXPECT_EQ(refusal([&] { (void)w.next(); }), "field 'w' has no second buffer");
  Grid other(MPI_COMM_WORLD, {3 * ranks()});
  auto x = other.add<int>("x");
  EXPECT_EQ(refusal([&] { (void)grid.exchange({}, {x}); }), "a field of another grid is exchanged");
  EXPECT_EQ(refusal([&] {
              (void)grid.exchange({}, {w, w});
            }),
            "a field is exchanged twice at once");
  Ghosts ghosts = grid.exchange();
  const std::string running = "(): an exchange of field 'w' has not ended; call wait() first";
  EXPECT_EQ(refusal([&] { (void)grid.exchange(); }), "Grid::exchange" + running);
  EXPECT_EQ(refusal([&] { grid.enqueue({}, {w}); }), "Grid::enqueue" + running);
  EXPECT_EQ(refusal([&] { grid.swap(); }), "Grid::swap" + running);
  EXPECT_EQ(refusal([&] { grid.accumulate({}, {w}, replace()); }), "Grid::accumulate" + running);
  ghosts.wait();
  EXPECT_EQ(refusal([&] { (void)grid.exchange({}, {w}, {.depth = 0}); }),
            "an exchange of ghost cells 0 deep");
  EXPECT_EQ(refusal([] {
              Grid flat(MPI_COMM_WORLD, {4, 4}, {.periodic = {true, true, true}});
            }),
            "a grid of 2 axes that is periodic or cut along z");
  EXPECT_EQ(refusal([] {
              Grid cut(MPI_COMM_WORLD, {4, 4}, {.counts = {99, 2, 0}});
            }),
            "a grid cut into 99 x 2 x 0 for " + std::to_string(ranks()) + " ranks");
  Grid rows(MPI_COMM_WORLD, {40, 40}, {.counts = {1, ranks(), 1}});
  EXPECT_EQ(rows.owned().extent(0), 40);
  EXPECT_THROW(grid.write_vtk("/nowhere/out"), Error);
  EXPECT_NE(grid.plan().find("field 'w': 4 bytes"), std::string::npos) << grid.plan();
}

/// The numbers after "name=" of a piece of XML.
std::string attribute(const std::string& text, const std::string& name, std::size_t from = 0) {
  const std::size_t at = text.find(name + "=\"", from) + name.size() + 2;
  return text.substr(at, text.find('"', at) - at);
}

/// A new one, the same for all ranks.
std::string test_folder() {
  std::string folder = (std::filesystem::temp_directory_path() / "strake-grid-XXXXXX").string();
  if (rank() == 0 && mkdtemp(folder.data()) == nullptr) throw Error("there is no folder");
  MPI_Bcast(folder.data(), static_cast<int>(folder.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
  return folder;
}

TEST(Grid, its_plan_can_be_drawn) {
  Grid grid(MPI_COMM_WORLD, {12, 12, 12},
            {.radius = 1, .periodic = {true, true, true}, .place = place()});
  auto a = grid.add<double>("a");
  grid.prepare({a});
  const std::string folder = test_folder();
  const std::string path = folder + "/plan.dot";
  grid.write_plan(path);
  if (rank() == 0) {
    std::ifstream file(path);
    std::map<int, std::int64_t> sent;
    int boxes = 0;
    for (std::string line; std::getline(file, line);) {
      int from = 0, to = 0;
      long long bytes = 0;
      char transport[16] = {};
      if (std::sscanf(line.c_str(), " %d -> %d [label=\"%lld bytes\\n%15[^\"]", &from, &to, &bytes,
                      transport) == 4) {
        sent[from] += bytes;
        if (!test_memory::on_device()) {
          EXPECT_EQ(std::string(transport) == "pack", !on_one_node(from, to)) << line;
        } else if (!on_one_node(from, to)) {
          EXPECT_TRUE(std::string(transport) == "one-shot" || std::string(transport) == "device")
              << line;
        }
        if (is_forced("direct") && from != to) {
          EXPECT_EQ(std::string(transport), "direct");
        }
      }
      if (line.find("label=\"rank ") != std::string::npos) ++boxes;
    }
    EXPECT_EQ(boxes, ranks());
    EXPECT_EQ(static_cast<int>(sent.size()), ranks());
    // All ghost cells around this rank's, from all sides.
    const Box around = grid.grown(1);
    EXPECT_EQ(sent[0], (around.size() - grid.owned().size()) * 8);
  }
  EXPECT_THROW(grid.write_plan("/there/is/no/such/folder"), Error);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank() == 0) std::filesystem::remove_all(folder);
}

TEST(Grid, vtk_files_hold_the_cells) {
  Grid grid(MPI_COMM_WORLD, {7, 6, 5}, {.radius = 1, .place = place()});
  auto a = grid.add<double>("a");
  auto b = grid.add<std::array<std::int32_t, 2>>("b & c");
  auto hidden = grid.add<Vec3>("no numbers");
  (void)hidden;
  {
    Mirror<double> of_a(a.view());
    Mirror<std::array<std::int32_t, 2>> of_b(b.view());
    for_each_cell(grid.owned(), [&](auto i, auto j, auto k) {
      of_a.view()(i, j, k) = static_cast<double>(i + 10 * j + 100 * k);
      of_b.view()(i, j, k) = {static_cast<std::int32_t>(i), static_cast<std::int32_t>(k)};
    });
    of_a.store();
    of_b.store();
  }
  const std::string folder = test_folder();
  grid.write_vtk(folder + "/out");
  const auto read = [](const std::string& name) {
    std::ostringstream all;
    all << std::ifstream(name, std::ios::binary).rdbuf();
    return all.str();
  };
  const std::string whole = read(folder + "/out.pvti");
  EXPECT_EQ(attribute(whole, "WholeExtent"), "0 7 0 6 0 5");
  EXPECT_NE(whole.find("Name=\"b &amp; c\" NumberOfComponents=\"2\""), std::string::npos);
  EXPECT_EQ(whole.find("no numbers"), std::string::npos);
  if (!grid.owned().empty()) {
    const std::string piece = read(folder + "/out_" + std::to_string(rank()) + ".vti");
    EXPECT_NE(whole.find("out_" + std::to_string(rank()) + ".vti"), std::string::npos);
    const std::string begin = "<AppendedData encoding=\"raw\">\n_";
    const std::size_t data = piece.find(begin) + begin.size();
    const std::size_t b_at = piece.find("Name=\"b");
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, piece.data() + data, sizeof(bytes));
    EXPECT_EQ(bytes, static_cast<std::uint64_t>(grid.owned().size()) * sizeof(double));
    std::size_t at = data + sizeof(bytes);
    const std::size_t b_data =
        data + std::stoul(attribute(piece, "offset", b_at)) + sizeof(std::uint64_t);
    std::size_t cell_number = 0;
    for_each_cell(grid.owned(), [&](auto i, auto j, auto k) {
      double value = 0;
      std::memcpy(&value, piece.data() + at, sizeof(value));
      EXPECT_EQ(value, static_cast<double>(i + 10 * j + 100 * k));
      std::int32_t two[2];
      std::memcpy(two, piece.data() + b_data + cell_number * sizeof(two), sizeof(two));
      EXPECT_EQ(two[0], i);
      EXPECT_EQ(two[1], k);
      at += sizeof(double);
      ++cell_number;
    });
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank() == 0) std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace strake
