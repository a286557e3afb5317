#include "report/page.hpp"

#include <fmt/format.h>

#include "report/svg.hpp"

namespace strake::report {
namespace {

// Colours c0 … c7: blue, orange, green, magenta, violet, olive, teal, red, told apart by marks too.
constexpr const char* kStyle = R"(
:root { color-scheme: light dark; --page: #fff; --ink: #1d2126; --soft: #5d6672; --rule: #d8dde4;
  --grid: #e3e7ec; --panel: #f7f8fa; --heat: #2563c9;
  --c0: #2563c9; --c1: #d4600b; --c2: #11875d; --c3: #b0307f; --c4: #7a5cd6; --c5: #8a6d00;
  --c6: #0c8599; --c7: #c92a2a; }
@media (prefers-color-scheme: dark) { :root { --page: #14171b; --ink: #e5e8ec; --soft: #a3acb8;
  --rule: #363d47; --grid: #2b313a; --panel: #1b1f25; --heat: #4d8bf0;
  --c0: #6ea3f5; --c1: #f2934a; --c2: #45c193; --c3: #e678b9; --c4: #ab95f5; --c5: #d1b13c;
  --c6: #4cc3d6; --c7: #f37a7a; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 24px; max-width: 1296px; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", Helvetica, Arial, sans-serif; }
h1 { font-size: 26px; margin: 0 0 8px; } h2 { font-size: 20px; margin: 40px 0 4px; }
h3 { font-size: 16px; margin: 20px 0 4px; } p { margin: 4px 0 12px; max-width: 90ch; }
nav a { margin-right: 16px; color: var(--c0); } .none { color: var(--soft); }
.row { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(540px, 100%), 1fr)); gap: 16px;
  align-items: start; margin: 12px 0; }
figure { margin: 0; padding: 8px; background: var(--panel); border: 1px solid var(--rule);
  border-radius: 6px; overflow-x: auto; }
figure svg { display: block; max-width: 100%; height: auto; }
table { border-collapse: collapse; font-size: 13px; margin: 8px 0; }
th, td { padding: 3px 9px; border-bottom: 1px solid var(--rule); text-align: left; vertical-align: top; }
.numbers td:not(:first-child), .numbers th:not(:first-child) { text-align: right; white-space: nowrap; }
figure td { white-space: nowrap; }
.numbers td { font-variant-numeric: tabular-nums; }
.wide { overflow-x: auto; } summary { cursor: pointer; padding: 4px 0; }
svg text { fill: var(--ink); font-family: Helvetica, Arial, sans-serif; font-size: 12px; }
svg .title { font-size: 13px; font-weight: bold; } svg .tick { font-size: 11px; fill: var(--soft); }
svg .value { font-weight: bold; }
svg .frame { fill: none; stroke: var(--soft); } svg .grid { stroke: var(--grid); }
svg .minor { stroke-dasharray: 1 3; } svg .limit { stroke: var(--ink); stroke-dasharray: 6 4; stroke-width: 1.5; }
svg .whisker { stroke: var(--ink); stroke-width: 1.5; } svg .heat { fill: var(--heat); }
svg .cell { fill: none; stroke: var(--rule); } svg .line { fill: none; stroke-width: 2; }
svg .dashed { stroke-dasharray: 5 4; } svg .mark { stroke: var(--panel); stroke-width: 0.8; }
svg .mark:hover, svg rect.fill:hover, svg .heat:hover { stroke: var(--ink); stroke-width: 1.5; }
)";

std::string colour_styles() {
  std::string style;
  for (int i = 0; i < kColours; ++i)
    style += fmt::format(
        "svg .c{0}.line {{ stroke: var(--c{0}); }} svg .c{0}.mark, svg .c{0}.fill {{ fill: "
        "var(--c{0}); }}\n",
        i);
  return style;
}

}  // namespace

std::string section(const std::string& id, const std::string& title,
                    const std::string& introduction, const std::string& body) {
  return fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n<p>{}</p>\n{}</section>\n", id, title,
                     introduction,
                     body.empty() ? "<p class=\"none\">Nothing of this was measured.</p>\n" : body);
}

std::string row_of(const std::string& figures) {
  return figures.empty() ? figures : "<div class=\"row\">\n" + figures + "</div>\n";
}

std::string figure(const std::string& svg, const std::string& caption) {
  return "<figure>\n" + svg +
         (caption.empty() ? "" : "<figcaption>" + caption + "</figcaption>\n") + "</figure>\n";
}

std::string bar_figures(Profiles profiles, std::vector<BarPlot>& plots, Axis x) {
  x.low /= 2;  // the shortest has a bar too
  x.round();
  std::string figures;
  for (BarPlot& plot : plots) {
    plot.x = x;
    if (!plot.bars.empty()) figures += figure(draw(plot), "");
  }
  return profiles.size() > 1 ? row_of(figures) : figures;
}

std::string whose(Profiles profiles, const Shown& shown) {
  return profiles.size() > 1 ? " (" + shown.label + ")" : std::string();
}

std::string page(const std::string& title, Profiles profiles) {
  std::string links;
  const auto link = [&](const char* id, const char* name) {
    links += fmt::format("<a href=\"#{}\">{}</a>\n", id, name);
  };
  if (profiles.size() > 1) link("comparison", "Comparison");
  link("bandwidth", "Bandwidth");
  link("matrix", "Bandwidth matrix");
  link("pack", "Strided bytes");
  link("crossover", "Which method is fastest");
  link("max-rate", "Max-rate model");
  link("calls", "Cost of calls");
  link("numbers", "All numbers");
  return fmt::format(
             "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n"
             "<meta charset=\"utf-8\"/>\n<meta name=\"viewport\" "
             "content=\"width=device-width, initial-scale=1\"/>\n<title>{0}</title>\n"
             "<style>{1}{2}</style>\n</head>\n<body>\n<h1>{0}</h1>\n<nav>\n{3}</nav>\n",
             escaped(title), kStyle, colour_styles(), links) +
         overview(profiles) + comparison(profiles) + bandwidths(profiles) + matrices(profiles) +
         pack_rates(profiles) + crossovers(profiles) + max_rates(profiles) + calls(profiles) +
         numbers(profiles) + "</body>\n</html>\n";
}

}  // namespace strake::report
