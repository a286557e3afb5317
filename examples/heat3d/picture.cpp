// A slice of the field: gathered, coloured, and written.
#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>

#include "heat3d/plot.hpp"
#include "png.hpp"

namespace {

constexpr std::int64_t kPixels = 512;  ///< a picture is about so wide, or has a pixel for each cell

/// 0 is dark blue, 1 light yellow, lighter all the way.
png::Colour colour_of(double value) {
  constexpr std::array<std::array<double, 3>, 5> kStops{
      {{28, 24, 80}, {120, 35, 115}, {210, 65, 80}, {248, 150, 60}, {252, 250, 190}}};
  const double at = std::clamp(value, 0.0, 1.0) * (kStops.size() - 1);
  const auto stop = std::min(static_cast<std::size_t>(at), kStops.size() - 2);
  const double rest = at - static_cast<double>(stop);
  png::Colour made{};
  for (std::size_t part = 0; part < 3; ++part)
    made[part] = static_cast<std::uint8_t>(
        kStops[stop][part] + rest * (kStops[stop + 1][part] - kStops[stop][part]) + 0.5);
  return made;
}

struct Range {
  double least = 0, most = 0;
};

Range range_of(const Slice& slice) {
  const auto [least, most] = std::ranges::minmax(slice.cells);
  return {least, most};
}

std::vector<png::Colour> colours_of(const Slice& slice) {
  const auto [least, most] = range_of(slice);
  // Values that differ by rounding alone get one colour.
  const double span = std::max(most - least, 1e-9);
  std::vector<png::Colour> made;
  for (const double value : slice.cells) made.push_back(colour_of((value - least) / span));
  return made;
}

std::int64_t pixels_of_cell(const Slice& slice) {
  return std::max<std::int64_t>(1, kPixels / std::max(slice.width, slice.height));
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string made;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    std::uint32_t bits = 0;
    for (std::size_t i = at; i < at + 3; ++i)
      bits = bits << 8U | (i < bytes.size() ? static_cast<std::uint8_t>(bytes[i]) : 0U);
    for (std::size_t digit = 0; digit < 4; ++digit)
      made += at + digit > bytes.size() ? '=' : kDigits[bits >> (18 - 6 * digit) & 63U];
  }
  return made;
}

bool write_ppm(const std::string& path, const Slice& slice) {
  const std::int64_t scale = pixels_of_cell(slice), width = slice.width * scale;
  std::vector<png::Colour> pixels;
  const std::vector<png::Colour> cells = colours_of(slice);
  for (std::int64_t y = 0; y < slice.height * scale; ++y)
    for (std::int64_t x = 0; x < width; ++x)
      pixels.push_back(cells[static_cast<std::size_t>(y / scale * slice.width + x / scale)]);
  const auto draw = [&](std::int64_t x, std::int64_t y) {
    pixels[static_cast<std::size_t>(y * width + x)] = {255, 255, 255};
  };
  // The upper and the left border of each part; beyond the last ones is the end of the picture.
  for (const Slice::Part& part : slice.parts) {
    for (std::int64_t x = part.left * scale; x < part.right * scale; ++x) draw(x, part.top * scale);
    for (std::int64_t y = part.top * scale; y < part.bottom * scale; ++y)
      draw(part.left * scale, y);
  }
  std::ofstream file(path, std::ios::binary);
  file << "P6\n" << width << " " << slice.height * scale << "\n255\n";
  for (const png::Colour& pixel : pixels)
    for (const std::uint8_t part : pixel) file << static_cast<char>(part);
  file.close();
  return !file.fail();
}

/// A bar with the colours of the least and the greatest value, and between them.
void write_scale(std::ostream& out, const Range& range, std::int64_t y, std::int64_t width) {
  out << "<defs><linearGradient id=\"scale\">\n";
  for (int stop = 0; stop <= 4; ++stop) {
    const png::Colour colour = colour_of(stop / 4.0);
    out << "<stop offset=\"" << stop / 4.0 << "\" stop-color=\"rgb(" << int{colour[0]} << ","
        << int{colour[1]} << "," << int{colour[2]} << ")\"/>\n";
  }
  out << "</linearGradient></defs>\n<rect x=\"70\" y=\"" << y << "\" width=\"" << width - 140
      << "\" height=\"12\" fill=\"url(#scale)\"/>\n<text x=\"62\" y=\"" << y + 11
      << "\" text-anchor=\"end\">" << range.least << "</text>\n<text x=\"" << width - 62
      << "\" y=\"" << y + 11 << "\">" << range.most << "</text>\n";
}

bool write_svg(const std::string& path, const Slice& slice) {
  constexpr std::int64_t kMargin = 16;
  const std::int64_t scale = pixels_of_cell(slice);
  const std::int64_t wide = slice.width * scale, high = slice.height * scale;
  const std::int64_t width = std::max<std::int64_t>(wide + 2 * kMargin, 320);
  const std::int64_t height = high + 2 * kMargin + 32;
  std::ofstream file(path, std::ios::binary);
  file << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << width << "\" height=\"" << height
       << "\" viewBox=\"0 0 " << width << " " << height
       << "\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#222\">\n"
       << "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n<g transform=\"translate("
       << kMargin << " " << kMargin << ")\">\n<image width=\"" << wide << "\" height=\"" << high
       << "\" style=\"image-rendering:pixelated\" href=\"data:image/png;base64,"
       << base64(png::bytes(colours_of(slice), static_cast<std::size_t>(slice.width))) << "\"/>\n";
  for (const Slice::Part& part : slice.parts) {
    const std::int64_t x = part.left * scale, y = part.top * scale;
    file << "<rect x=\"" << x << "\" y=\"" << y << "\" width=\"" << (part.right - part.left) * scale
         << "\" height=\"" << (part.bottom - part.top) * scale
         << "\" fill=\"none\" stroke=\"#fff\" stroke-width=\"1\"/>\n<text x=\"" << x + 6
         << "\" y=\"" << y + 16
         << "\" fill=\"#fff\" stroke=\"#222\" stroke-width=\"3\" paint-order=\"stroke\">rank "
         << part.rank << "</text>\n";
  }
  file << "</g>\n";
  write_scale(file, range_of(slice), high + 2 * kMargin + 4, width);
  file << "</svg>\n";
  file.close();
  return !file.fail();
}

}  // namespace

Slice slice_of(MPI_Comm comm, const strake::Index3& extent, Solver& solver) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  const strake::Box owned = solver.owned();
  const std::int64_t middle = extent[2] / 2 - owned.lower[2];
  const std::int64_t cells =
      middle >= 0 && middle < owned.extent(2) ? owned.extent(0) * owned.extent(1) : 0;
  const std::array<std::int64_t, 5> own{owned.lower[0], owned.upper[0], owned.lower[1],
                                        owned.upper[1], cells};
  const std::size_t all = rank == 0 ? static_cast<std::size_t>(ranks) : 0;
  std::vector<std::array<std::int64_t, 5>> boxes(all);
  MPI_Gather(own.data(), 5, MPI_INT64_T, boxes.data(), 5, MPI_INT64_T, 0, comm);

  Slice slice;
  std::vector<int> counts, offsets;
  int end = 0;
  for (const auto& [left, right, top, bottom, count] : boxes) {
    counts.push_back(static_cast<int>(count));
    offsets.push_back(end);
    end += counts.back();
    if (count > 0)
      slice.parts.push_back({static_cast<int>(counts.size()) - 1, left, right, top, bottom});
  }
  std::vector<double> values = solver.cells(owned);
  std::vector<double> came(static_cast<std::size_t>(end));
  MPI_Gatherv(values.data() + (cells > 0 ? middle * cells : 0), static_cast<int>(cells), MPI_DOUBLE,
              came.data(), counts.data(), offsets.data(), MPI_DOUBLE, 0, comm);
  if (rank != 0) return slice;
  slice.width = extent[0];
  slice.height = extent[1];
  slice.cells.resize(came.size());
  const double* from = came.data();
  for (const Slice::Part& part : slice.parts)
    for (std::int64_t y = part.top; y < part.bottom; ++y, from += part.right - part.left)
      std::copy_n(from, part.right - part.left, slice.cells.begin() + y * slice.width + part.left);
  return slice;
}

bool write_picture(const std::string& path, const Slice& slice) {
  return path.ends_with(".ppm") ? write_ppm(path, slice) : write_svg(path, slice);
}
