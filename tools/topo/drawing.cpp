// The machine as a drawing: sockets with their NUMA nodes in a row, GPUs below the node that they
// are nearest to, the links between GPUs below these, and what was measured at the bottom.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "report/one_size.hpp"
#include "report/units.hpp"
#include "settings/counted.hpp"
#include "topo/show.hpp"
#include "topo/svg.hpp"

namespace strake::topo {
namespace {

// Pixels. A GPU's box holds 26 letters, the length of "NVIDIA A100-SXM4-80GB" and a margin.
constexpr double kMargin = 24;
constexpr double kGpuWidth = 172;
constexpr double kGpuHeight = 62;
constexpr double kGap = 18;
constexpr double kNodeWidth = 150;
constexpr double kNodeHeight = 58;
constexpr double kPad = 14;
constexpr double kSocketsTop = 84;
constexpr double kBusHeight = 92;  // from a socket's box to its GPUs, with two lines of text
constexpr double kLevel = 24;      // from one elbow of an NVLink to the next
constexpr double kCellWidth = 82;
constexpr double kCellHeight = 26;

constexpr const char* kStyle =
    "svg{max-width:100%;height:auto;background:#fff;font-family:Helvetica,Arial,sans-serif}"
    "text{font-size:12px;fill:#222}.title{font-size:18px;font-weight:bold}.strong{font-weight:bold}"
    ".soft{fill:#666}.halo{paint-order:stroke;stroke:#fff;stroke-width:4px}"
    ".socket{fill:#f1f3f6;stroke:#8a94a3}.node{fill:#dbe7f8;stroke:#3b6db3}"
    ".gpu{fill:#e2f2dc;stroke:#4a8b32}.switch{fill:#f7e6cf;stroke:#b97a1e}"
    ".pcie{stroke:#6b7480;stroke-width:1.5;fill:none}"
    ".nvlink{stroke:#b97a1e;stroke-width:2.5;fill:none}"
    ".heat{fill:#2563c9}.cell{fill:none;stroke:#c5cad2}"
    "@media(prefers-color-scheme:dark){svg{background:#16181c}text{fill:#e6e6e6}.soft{fill:#a0a6b0}"
    ".halo{stroke:#16181c}.socket{fill:#22262c;stroke:#7c8693}.node{fill:#1f3554;stroke:#7aa7e8}"
    ".gpu{fill:#223a1b;stroke:#86c46d}.switch{fill:#453216;stroke:#e0a44a}.pcie{stroke:#9aa3af}"
    ".nvlink{stroke:#e0a44a}.cell{stroke:#444b55}}";

/// A socket with what hangs on it, and where it is drawn.
struct Column {
  std::string title;
  std::vector<const NumaNode*> nodes;
  std::vector<std::size_t> gpus;  // positions in Topology::gpus
  double left = 0;
  double width = 0;
};

std::vector<Column> columns_of(const Topology& machine) {
  std::vector<Column> columns;
  for (const Socket& socket : machine.sockets) {
    Column column;
    column.title = fmt::format("socket {}: {}, {}", socket.index, counted(socket.cores, "core"),
                               counted(socket.threads, "thread"));
    for (const NumaNode& node : machine.nodes)
      if (node.socket == socket.index) column.nodes.push_back(&node);
    columns.push_back(column);
  }
  if (columns.empty()) columns.push_back({"host", {}, {}, 0, 0});
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    Column* home = &columns[0];  // of those whose node is not known
    for (Column& column : columns)
      for (const NumaNode* node : column.nodes)
        if (node->index == machine.gpus[i].node) home = &column;
    home->gpus.push_back(i);
  }
  double left = kMargin;
  for (Column& column : columns) {
    const auto boxes = [](std::size_t count, double width) {
      return static_cast<double>(count) * (width + kGap) - kGap;
    };
    column.left = left;
    column.width = std::max({boxes(std::max<std::size_t>(column.nodes.size(), 1), kNodeWidth),
                             boxes(column.gpus.size(), kGpuWidth), text_width(column.title)}) +
                   2 * kPad;
    left += column.width + 3 * kGap;
  }
  return columns;
}

/// Middle of box `i` of `count` in a column.
double middle(const Column& column, std::size_t i, std::size_t count, double width) {
  const double all = static_cast<double>(count) * (width + kGap) - kGap;
  return column.left + (column.width - all) / 2 + static_cast<double>(i) * (width + kGap) +
         width / 2;
}

std::string clipped(const std::string& text, std::size_t letters) {
  return text.size() <= letters ? text : text.substr(0, letters - 3) + "...";
}

class Drawing {
 public:
  explicit Drawing(const View& view) : view_(view), columns_(columns_of(view.machine)) {
    gpu_middle_.resize(view.machine.gpus.size());
    for (const Column& column : columns_)
      for (std::size_t i = 0; i < column.gpus.size(); ++i)
        gpu_middle_[column.gpus[i]] = middle(column, i, column.gpus.size(), kGpuWidth);
  }

  std::string str() {
    const Topology& machine = view_.machine;
    const bool gpus = !machine.gpus.empty();
    const double links_top = gpus ? gpus_top() + kGpuHeight : sockets_bottom();
    const double matrix_top = links_top + links_height() + 76;
    const bool any = view_.measured.any();
    const double side = any ? static_cast<double>(view_.measured.places.size()) : 0;
    // The label of the last GPU's bus is wider than its box.
    const double width =
        std::max({columns_.back().left + columns_.back().width + (gpus ? kGap : 0),
                  kMargin + (side + 1) * kCellWidth, text_width(parts_line()) + kMargin,
                  any ? text_width(matrix_title()) + kMargin : 0,
                  any ? text_width(report::sizes_text(view_.measured)) + kMargin : 0, 480.0}) +
        kMargin;
    const double height = matrix_top + (side + 1) * kCellHeight + 20 +
                          20 * static_cast<double>(machine.notes.size()) + kMargin;
    Svg svg(width, height, "Topology of " + machine.host);
    svg.text({kMargin, 34}, "Topology of " + machine.host, "title");
    svg.text({kMargin, 56}, parts_line(), "soft");
    draw_sockets(svg);
    draw_gpus(svg);
    draw_nvlinks(svg, links_top);
    draw_matrix(svg, matrix_top);
    double y = matrix_top + (side + 1) * kCellHeight + 20;
    for (const std::string& note : machine.notes) {
      svg.text({kMargin, y}, "Note: " + note + ".", "soft");
      y += 20;
    }
    return svg.str(kStyle);
  }

 private:
  static double sockets_bottom() { return kSocketsTop + 34 + kNodeHeight + kPad; }
  static double gpus_top() { return sockets_bottom() + kBusHeight; }

  /// Caches and NICs, which have no boxes.
  std::string parts_line() const {
    std::string line;
    for (const Cache& cache : view_.machine.caches)
      line += fmt::format("{}L{} {} {} x {}", line.empty() ? "" : ",  ", cache.level, cache.kind,
                          cache.count, report::bytes_text(static_cast<double>(cache.bytes)));
    const std::string nics = nics_text(view_.machine.nics);
    return line + (line.empty() || nics.empty() ? "" : ",  ") + nics;
  }

  std::string matrix_title() const {
    return view_.measured.any()
               ? "Measured bandwidth [GB/s], from row to column; blank: not measured"
               : "";
  }
  std::string matrix_sizes() const { return "copies of " + report::sizes_text(view_.measured); }

  bool switched() const {
    return std::any_of(view_.machine.gpus.begin(), view_.machine.gpus.end(),
                       [](const Gpu& gpu) { return gpu.switched; });
  }

  std::vector<const Link*> direct_links() const {
    std::vector<const Link*> links;
    for (const Link& link : view_.machine.links)
      if (link.kind == LinkKind::NvLink && !link.switched) links.push_back(&link);
    return links;
  }

  double links_height() const {
    return (switched() ? 110 : 0) + kLevel * static_cast<double>(direct_links().size());
  }

  double measured(const std::string& from, const std::string& to) const {
    const report::Bandwidth* found = view_.measured.find(from, to);
    return found == nullptr ? 0 : found->rate;
  }

  void draw_sockets(Svg& svg) const {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const Column& column = columns_[i];
      if (i > 0) {
        const double y = kSocketsTop + 50;
        svg.line({columns_[i - 1].left + columns_[i - 1].width, y}, {column.left, y}, "pcie");
        draw_distance(svg, columns_[i - 1], column, y);
      }
      svg.rect({column.left, kSocketsTop}, column.width, sockets_bottom() - kSocketsTop, "socket",
               i < view_.machine.sockets.size() ? view_.machine.sockets[i].model : "");
      svg.text({column.left + kPad, kSocketsTop + 21}, column.title, "strong");
      for (std::size_t n = 0; n < column.nodes.size(); ++n) {
        const NumaNode& node = *column.nodes[n];
        const double x = middle(column, n, column.nodes.size(), kNodeWidth);
        const double y = kSocketsTop + 34;
        svg.rect({x - kNodeWidth / 2, y}, kNodeWidth, kNodeHeight, "node",
                 "threads " + node.threads);
        svg.text({x, y + 17}, fmt::format("node {}", node.index), "strong", Anchor::Middle);
        svg.text({x, y + 33},
                 fmt::format("{} cores, {}", node.cores,
                             report::bytes_text(static_cast<double>(node.memory_bytes))),
                 "", Anchor::Middle);
        const std::string name = fmt::format("node{}", node.index);
        const double local = measured(name, name);
        if (local > 0)
          svg.text({x, y + 49}, "memcpy " + report::rate_text(local), "soft", Anchor::Middle);
      }
    }
  }

  /// NUMA distance of the first nodes of two sockets, above the line between these.
  static void draw_distance(Svg& svg, const Column& a, const Column& b, double y) {
    if (a.nodes.empty() || b.nodes.empty()) return;
    const auto& distances = a.nodes[0]->distances;
    const std::size_t at = static_cast<std::size_t>(b.nodes[0]->index);
    if (at < distances.size() && distances[at] > 0)
      svg.text({(a.left + a.width + b.left) / 2, y - 6}, std::to_string(distances[at]), "soft",
               Anchor::Middle);
  }

  void draw_gpus(Svg& svg) const {
    for (const Column& column : columns_) {
      for (std::size_t i = 0; i < column.gpus.size(); ++i) {
        const Gpu& gpu = view_.machine.gpus[column.gpus[i]];
        const double x = gpu_middle_[column.gpus[i]];
        draw_bus(svg, column, gpu, x);
        svg.rect({x - kGpuWidth / 2, gpus_top()}, kGpuWidth, kGpuHeight, "gpu", gpu.uuid);
        svg.text({x, gpus_top() + 17}, fmt::format("gpu {}", gpu.index), "strong", Anchor::Middle);
        svg.text({x, gpus_top() + 34}, clipped(gpu.name, 26), "", Anchor::Middle);
        svg.text({x, gpus_top() + 51},
                 fmt::format("{}, {}", report::bytes_text(static_cast<double>(gpu.memory_bytes)),
                             gpu.pci),
                 "soft", Anchor::Middle);
      }
    }
  }

  /// The way from a GPU up to its node (or, where that is not known, to the first socket).
  void draw_bus(Svg& svg, const Column& column, const Gpu& gpu, double x) const {
    double home = x;
    double top = sockets_bottom();
    for (std::size_t n = 0; n < column.nodes.size(); ++n)
      if (column.nodes[n]->index == gpu.node) {
        home = middle(column, n, column.nodes.size(), kNodeWidth);
        top = kSocketsTop + 34 + kNodeHeight;
      }
    const double turn = sockets_bottom() + 26;
    const std::vector<Point> way = {{home, top}, {home, turn}, {x, turn}, {x, gpus_top()}};
    svg.polyline(way, "pcie");
    const double rate = machine::pcie_rate(gpu.pcie_generation, gpu.pcie_width);
    if (rate > 0) {
      svg.text({x + 7, turn + 20}, pcie_text(gpu) + ", " + report::rate_text(rate), "");
      const double down = measured("pinned", fmt::format("gpu{}", gpu.index));
      if (down > 0) svg.text({x + 7, turn + 37}, "measured " + report::rate_text(down), "soft");
    }
  }

  void draw_nvlinks(Svg& svg, double top) const {
    const Topology& machine = view_.machine;
    const auto links = direct_links();
    std::vector<int> used(machine.gpus.size(), 0);
    double level = top + kLevel;
    // Each link leaves its GPUs at a place of its own, from left to right.
    const auto outlet = [&](int gpu) {
      const auto at = static_cast<std::size_t>(gpu);
      const double step = kGpuWidth / static_cast<double>(machine.gpus.size());
      return gpu_middle_[at] - kGpuWidth / 2 + step * (used[at]++ + 0.5);
    };
    std::vector<std::pair<Point, std::string>> labels;  // over all lines
    for (const Link* link : links) {
      const double from = outlet(link->from);
      const double to = outlet(link->to);
      const std::vector<Point> way = {{from, top}, {from, level}, {to, level}, {to, top}};
      svg.polyline(way, "nvlink");
      std::string words = name_of(*link);
      if (link->bytes_per_second > 0) words += " " + report::rate_text(link->bytes_per_second);
      labels.push_back({{(from + to) / 2, level - 5}, words});
      level += kLevel;
    }
    for (const auto& [at, words] : labels) svg.text(at, words, "halo", Anchor::Middle);
    if (switched()) draw_switch(svg, top, level + 20);
  }

  void draw_switch(Svg& svg, double top, double bar) const {
    const Topology& machine = view_.machine;
    double left = gpu_middle_[0];
    double right = left;
    for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
      const Gpu& gpu = machine.gpus[i];
      if (!gpu.switched) continue;
      left = std::min(left, gpu_middle_[i]);
      right = std::max(right, gpu_middle_[i]);
      svg.line({gpu_middle_[i], top}, {gpu_middle_[i], bar}, "nvlink");
      const std::string words =
          gpu.nvlink_mbps > 0
              ? fmt::format("{} x {}", gpu.nvlinks, report::rate_text(1e6 * gpu.nvlink_mbps))
              : fmt::format("{} NVLinks", gpu.nvlinks);
      svg.text({gpu_middle_[i] + 7, top + 22}, words, "halo");
      if (gpu.nvlink_mbps > 0)
        svg.text({gpu_middle_[i] + 7, top + 37},
                 "= " + report::rate_text(1e6 * gpu.nvlinks * gpu.nvlink_mbps), "halo");
    }
    svg.rect({left - kGpuWidth / 2, bar}, right - left + kGpuWidth, 30, "switch");
    svg.text({(left + right) / 2, bar + 20}, "NVSwitch", "strong", Anchor::Middle);
  }

  void draw_matrix(Svg& svg, double top) const {
    const auto& places = view_.measured.places;
    if (!view_.measured.any()) return;
    svg.text({kMargin, top - 44}, matrix_title(), "strong");
    svg.text({kMargin, top - 27}, matrix_sizes(), "soft");
    svg.text({kMargin, top - 10}, source_text(view_), "soft");
    double most = 0;
    for (const auto& row : view_.measured.cells)
      for (const auto& cell : row) most = std::max(most, cell.rate);
    for (std::size_t i = 0; i < places.size(); ++i) {
      const double offset = static_cast<double>(i + 1);
      svg.text({kMargin + (offset + 0.5) * kCellWidth, top + 17}, places[i], "", Anchor::Middle);
      svg.text({kMargin + kCellWidth - 8, top + offset * kCellHeight + 17}, places[i], "",
               Anchor::End);
      for (std::size_t j = 0; j < places.size(); ++j) {
        const auto& cell = view_.measured.cells[i][j];
        const Point corner{kMargin + static_cast<double>(j + 1) * kCellWidth,
                           top + offset * kCellHeight};
        // Faint enough that the number on it can be read in either colour scheme.
        if (cell.rate > 0)
          svg.rect(corner, kCellWidth, kCellHeight, "heat", cell.name,
                   0.05 + 0.4 * cell.rate / most);
        svg.rect(corner, kCellWidth, kCellHeight, "cell");
        if (cell.rate > 0)
          svg.text({corner.x + kCellWidth / 2, corner.y + 17}, report::number_text(cell.rate / 1e9),
                   "", Anchor::Middle);
      }
    }
  }

  const View& view_;
  std::vector<Column> columns_;
  std::vector<double> gpu_middle_;
};

}  // namespace

std::string to_svg(const View& view) { return Drawing(view).str(); }

}  // namespace strake::topo
