#include "heat3d/plot.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <iomanip>
#include <numeric>
#include <span>
#include <sstream>

namespace {

constexpr int kWidth = 900, kLeft = 80, kBars = 520, kRow = 24, kBar = 17;
constexpr int kTop = 84, kHeading = 30, kAxis = 44;

struct Kind {
  const char* name;
  const char* colour;
};
// Colours differ in lightness, too.
constexpr std::array<Kind, 3> kPartsOfStep{
    {{"compute", "#2f6db3"}, {"pack", "#f0a030"}, {"wait", "#a9adb3"}}};
constexpr std::array<Kind, 1> kPartsOfExchange{{{"exchange", "#2f6db3"}}};

std::span<const Kind> kinds_of(bool exchange_only) {
  if (exchange_only) return kPartsOfExchange;
  return kPartsOfStep;
}

/// The times of kinds_of(). [s]
std::vector<double> parts_of(const Result& result) {
  if (result.exchange_only) return {result.total};
  return {result.times.compute, result.times.pack, result.times.wait};
}

std::string fixed(double value, int digits) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(digits) << value;
  return text.str();
}

/// Three digits, or all that are before the point.
std::string in_us(double seconds) {
  const double us = seconds * 1e6;
  return fixed(us, us < 10 ? 2 : us < 100 ? 1 : 0);
}

/// A distance of ticks: 1, 2 or 5 times a power of ten, so that there are 4 to 10 up to `most`.
double tick_of(double most) {
  const double power = std::pow(10.0, std::floor(std::log10(most / 4)));
  const double rest = most / 4 / power;
  return power * (rest >= 5 ? 5 : rest >= 2 ? 2 : 1);
}

void text_at(std::ostream& out, double x, double y, const std::string& text,
             const std::string& more = "") {
  out << "<text x=\"" << x << "\" y=\"" << y << "\"" << more << ">" << text << "</text>\n";
}

void write_legend(std::ostream& out, bool exchange_only) {
  double x = kLeft;
  for (const Kind& kind : kinds_of(exchange_only)) {
    out << "<rect x=\"" << x << "\" y=\"46\" width=\"14\" height=\"14\" fill=\"" << kind.colour
        << "\"/>\n";
    text_at(out, x + 20, 58, kind.name);
    x += 100;
  }
  text_at(out, x, 58,
          exchange_only ? "us an exchange"
                        : "us a step: total (compute + pack + wait, medians of their own)",
          " fill=\"#666\"");
}

/// Lines across the bars of a panel, and their numbers.
void write_axis(std::ostream& out, double most, double top, double bottom) {
  const double tick = tick_of(most * 1e6);
  const int digits = tick < 1 ? static_cast<int>(std::ceil(-std::log10(tick))) : 0;
  for (int i = 0; i * tick <= most * 1e6; ++i) {
    const double x = kLeft + i * tick / (most * 1e6) * kBars;
    out << "<path d=\"M" << x << " " << top << "V" << bottom + 4 << "\" stroke=\"#ddd\"/>\n";
    text_at(out, x, bottom + 17, fixed(i * tick, digits),
            " text-anchor=\"middle\" font-size=\"11\" fill=\"#666\"");
  }
}

/// The parts fill the bar of the total: each is the maximum of the ranks, which they share out.
void write_bar(std::ostream& out, const Result& result, double most, double y) {
  const std::span<const Kind> kinds = kinds_of(result.exchange_only);
  const std::vector<double> parts = parts_of(result);
  const double width = result.total / most * kBars;
  const double sum = std::max(std::accumulate(parts.begin(), parts.end(), 0.0), 1e-12);
  text_at(out, kLeft - 8, y + 13, name_of(result.form), " text-anchor=\"end\"");
  double x = kLeft;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const double part = parts[i] / sum * width;
    out << "<rect x=\"" << x << "\" y=\"" << y << "\" width=\"" << part << "\" height=\"" << kBar
        << "\" fill=\"" << kinds[i].colour << "\"><title>" << name_of(result.form) << ": "
        << kinds[i].name << " " << in_us(parts[i]) << " us</title></rect>\n";
    x += part;
  }
  std::string label = "<tspan font-weight=\"bold\">" + in_us(result.total) + "</tspan>";
  if (parts.size() > 1)
    label += " (" + in_us(parts[0]) + " + " + in_us(parts[1]) + " + " + in_us(parts[2]) + ")";
  text_at(out, x + 8, y + 13, label, " font-size=\"12\"");
}

/// All forms of one size. \returns  where the next panel begins
double write_panel(std::ostream& out, const std::vector<Result>& results, double y) {
  double most = 1e-12;
  for (const Result& result : results) most = std::max(most, result.total);
  text_at(out, kLeft, y + 18,
          std::to_string(results[0].size) + "³ cells a rank" +
              (results[0].exchange_only ? "" : ", " + std::to_string(results[0].steps) + " steps"),
          " font-weight=\"bold\"");
  const double top = y + kHeading, bottom = top + kRow * static_cast<double>(results.size());
  write_axis(out, most, top - 3, bottom);
  y = top;
  for (const Result& result : results) {
    write_bar(out, result, most, y);
    y += kRow;
  }
  return bottom + kAxis;
}

}  // namespace

bool write_bars(const std::string& path, const std::vector<Result>& results,
                const std::string& title) {
  std::vector<std::vector<Result>> panels;
  for (const Result& result : results) {
    if (panels.empty() || panels.back().back().size != result.size) panels.emplace_back();
    panels.back().push_back(result);
  }
  std::ostringstream body;
  body << std::fixed << std::setprecision(1);
  double y = kTop;
  for (const auto& panel : panels) y = write_panel(body, panel, y);
  std::ofstream file(path, std::ios::binary);
  file << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << kWidth << "\" height=\"" << y
       << "\" viewBox=\"0 0 " << kWidth << " " << y
       << "\" font-family=\"sans-serif\" font-size=\"13\" fill=\"#222\">\n"
       << "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
  text_at(file, kLeft, 30, title, " font-size=\"17\" font-weight=\"bold\"");
  write_legend(file, !results.empty() && results[0].exchange_only);
  file << body.str() << "</svg>\n";
  file.close();
  return !file.fail();
}
