#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <span>

#include "brick/order.hpp"
#include "plan/brick_plan.hpp"
#include "text_table.hpp"

namespace strake::plan {
namespace {

/// Messages of a part that has three bricks or more along each axis.
struct OrderMessages {
  int dims;
  int neighbours;
  int order;  ///< by the order that Strake uses
  int bound;
  int basic;
};

std::vector<OrderMessages> messages_by_dims() {
  std::vector<OrderMessages> made;
  for (int dims = 1; dims <= brick::kMostDims; ++dims)
    made.push_back({dims, static_cast<int>(brick::regions_of(dims).size()),
                    brick::messages_of(dims, brick::best_order(dims)), brick::least_messages(dims),
                    brick::basic_messages(dims)});
  return made;
}

template <typename ByAxis>
auto numbers_along(const BrickPlan& plan, const ByAxis& by_axis) {
  return std::span(by_axis).first(static_cast<std::size_t>(plan.grid.dims));
}

template <typename ByAxis>
std::string along_axes(const BrickPlan& plan, const ByAxis& by_axis) {
  return fmt::format("{}", fmt::join(numbers_along(plan, by_axis), " x "));
}

std::array<std::int64_t, brick::kMostDims> ghost_cells(const BrickPlan& plan) {
  std::array<std::int64_t, brick::kMostDims> cells{};
  for (std::size_t axis = 0; axis < cells.size(); ++axis)
    cells[axis] = std::int64_t{plan.grid.ghosts[axis]} * plan.grid.lengths[axis];
  return cells;
}

double ghost_percent(const BrickPlan& plan) {
  return 100 * static_cast<double>(plan.ghosts) /
         static_cast<double>(plan.inside + plan.surface + plan.ghosts);
}

std::int64_t memory_bytes(const BrickPlan& plan) {
  return (plan.inside + plan.surface + plan.ghosts) * plan.brick_bytes;
}

std::string page_name(std::int64_t bytes) {
  constexpr std::int64_t kMiB = 1 << 20;
  return bytes < kMiB ? fmt::format("{} KiB", bytes >> 10) : fmt::format("{} MiB", bytes / kMiB);
}

std::string forms_table(const BrickPlan& plan) {
  using Align = TextTable::Align;
  TextTable table(
      {{Align::Left, 0}, {Align::Right}, {Align::Right}, {Align::Right}, {Align::Right}});
  table.add({"form", "pages", "messages", "bytes sent", "padding"});
  const auto row = [&](const char* form, int messages) {
    table.add({form, "", std::to_string(messages), std::to_string(plan.sent_bytes)});
  };
  row("Layout", plan.layout_messages);
  row("Basic", plan.basic_messages);
  for (std::size_t i = 0; i < kPageBytes.size(); ++i)
    table.add({"MemMap", page_name(kPageBytes[i]), std::to_string(plan.neighbours),
               std::to_string(plan.sent_bytes + plan.padding_bytes[i]),
               std::to_string(plan.padding_bytes[i])});
  return table.text();
}

/// Pages of which a brick is a multiple.
std::vector<std::string> pages_in(std::int64_t brick_bytes) {
  std::vector<std::string> names;
  for (const std::int64_t page : kPageBytes)
    if (brick_bytes % page == 0) names.push_back(page_name(page));
  return names;
}

/// \throws InvalidArgument  as bricks_to_divide()
void require_shape(const std::vector<int>& shape) {
  const std::vector<std::int64_t> one_brick(shape.begin(), shape.end());
  (void)brick::bricks_to_divide(one_brick, shape, 0);
}

}  // namespace

std::string bricks_text(const BrickPlan& plan, std::int64_t most_mappings) {
  std::string text = fmt::format("{} parts of {} bricks; the largest has {} bricks\n",
                                 along_axes(plan, plan.parts), along_axes(plan, plan.grid.bricks),
                                 along_axes(plan, plan.largest));
  text += fmt::format("Bricks:   {} inside, {} at the surface, {} of ghosts, {} cells deep\n",
                      plan.inside, plan.surface, plan.ghosts, along_axes(plan, ghost_cells(plan)));
  text += fmt::format("Memory:   {:.1f} MiB, {:.1f} % of it ghosts\n",
                      static_cast<double>(memory_bytes(plan)) / (1 << 20), ghost_percent(plan));
  text += fmt::format("Messages: to {} neighbours", plan.neighbours);
  if (plan.own_neighbours > 0)
    text += fmt::format(", {} of which are the rank itself", plan.own_neighbours);
  text += "\n" + forms_table(plan);
  return text + fmt::format(
                    "MemMap has {} mappings; a process may have {} here "
                    "(vm.max_map_count)\n",
                    plan.layout_messages, most_mappings);
}

std::string bricks_json(const BrickPlan& plan, std::int64_t most_mappings) {
  nlohmann::ordered_json padding;
  for (std::size_t i = 0; i < kPageBytes.size(); ++i)
    padding[std::to_string(kPageBytes[i])] = plan.padding_bytes[i];
  nlohmann::ordered_json made;
  made["parts"] = numbers_along(plan, plan.parts);
  made["bricks"] = numbers_along(plan, plan.grid.bricks);
  made["largest_part"] = numbers_along(plan, plan.largest);
  made["brick_bytes"] = plan.brick_bytes;
  made["inside"] = plan.inside;
  made["surface"] = plan.surface;
  made["ghosts"] = plan.ghosts;
  const auto deep = ghost_cells(plan);
  made["ghost_cells"] = numbers_along(plan, deep);
  made["ghost_percent"] = ghost_percent(plan);
  made["memory_bytes"] = memory_bytes(plan);
  made["neighbours"] = plan.neighbours;
  made["own_neighbours"] = plan.own_neighbours;
  made["sent_bytes"] = plan.sent_bytes;
  made["messages"] = {{"layout", plan.layout_messages},
                      {"basic", plan.basic_messages},
                      {"memmap", plan.neighbours}};
  made["padding_bytes"] = padding;
  made["mappings"] = plan.layout_messages;
  made["max_map_count"] = most_mappings;
  return made.dump(2) + '\n';
}

std::string orders_text(const std::vector<int>& shape, int fields) {
  using Align = TextTable::Align;
  TextTable table(
      {{Align::Right, 0}, {Align::Right}, {Align::Right}, {Align::Right}, {Align::Right}});
  table.add({"axes", "neighbours", "Layout", "bound", "Basic"});
  for (const OrderMessages& one : messages_by_dims())
    table.add({std::to_string(one.dims), std::to_string(one.neighbours), std::to_string(one.order),
               std::to_string(one.bound), std::to_string(one.basic)});
  std::string text =
      "Messages of a rank, where its part has bricks that no neighbour gets:\n" + table.text(false);
  if (shape.empty()) return text;
  require_shape(shape);
  const std::int64_t bytes = brick_bytes_of(shape, fields);
  const std::vector<std::string> pages = pages_in(bytes);
  return text +
         fmt::format(
             "A brick of {} cells has {} bytes: MemMap needs {}\n", fmt::join(shape, " x "), bytes,
             pages.empty() ? "padding"
                           : fmt::format("no padding to pages of {}", fmt::join(pages, " or ")));
}

std::string orders_json(const std::vector<int>& shape, int fields) {
  nlohmann::ordered_json made;
  if (!shape.empty()) {
    require_shape(shape);
    made["brick"] = shape;
    made["brick_bytes"] = brick_bytes_of(shape, fields);
  }
  made["orders"] = nlohmann::ordered_json::array();
  for (const OrderMessages& one : messages_by_dims())
    made["orders"].push_back({{"axes", one.dims},
                              {"neighbours", one.neighbours},
                              {"layout", one.order},
                              {"bound", one.bound},
                              {"basic", one.basic}});
  return made.dump(2) + '\n';
}

}  // namespace strake::plan
