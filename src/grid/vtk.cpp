// Files for ParaView: one of each subgrid, with its cells in binary, and one that names them all.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "grid/impl.hpp"
#include "mpi/agree.hpp"
#include "strake/copy.hpp"

namespace strake {
namespace {

struct Close {
  void operator()(std::FILE* file) const noexcept { (void)std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

std::string bounds(const Box& region) {
  return fmt::format("{} {} {} {} {} {}", region.lower[0], region.upper[0], region.lower[1],
                     region.upper[1], region.lower[2], region.upper[2]);
}

std::string head(const char* type) {
  return fmt::format(
      "<?xml version=\"1.0\"?>\n<VTKFile type=\"{}\" version=\"1.0\" "
      "byte_order=\"LittleEndian\" header_type=\"UInt64\">\n",
      type);
}

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

bool is_written(const FieldHandle::Data& field) {
  const At& at = field.options.at;
  return field.type.name != nullptr && !at.x && !at.y && !at.z;
}

std::string array_of(const FieldHandle::Data& field, const char* element) {
  return fmt::format("<{} type=\"{}\" Name=\"{}\" NumberOfComponents=\"{}\"", element,
                     field.type.name, escaped(field.name), field.type.components);
}

using FieldList = std::vector<std::unique_ptr<FieldHandle::Data>>;

/// The text before the values of a subgrid's cells: which arrays follow, and where.
std::string head_of_piece(const FieldList& fields, const Box& whole, const Box& cells) {
  std::string text = head("ImageData");
  text += fmt::format(
      "<ImageData WholeExtent=\"{}\" Origin=\"0 0 0\" Spacing=\"1 1 1\">\n<Piece "
      "Extent=\"{}\">\n<CellData>\n",
      bounds(whole), bounds(cells));
  std::int64_t at = 0;
  for (const auto& field : fields) {
    if (!is_written(*field)) continue;
    text +=
        fmt::format("{} format=\"appended\" offset=\"{}\"/>\n", array_of(*field, "DataArray"), at);
    at += cells.size() * field->bytes + static_cast<std::int64_t>(sizeof(std::uint64_t));
  }
  return text + "</CellData>\n</Piece>\n</ImageData>\n<AppendedData encoding=\"raw\">\n_";
}

/// The text before the names of the subgrids' files.
std::string head_of_all(const FieldList& fields, const Box& whole) {
  std::string text = head("PImageData");
  text += fmt::format(
      "<PImageData WholeExtent=\"{}\" GhostLevel=\"0\" Origin=\"0 0 0\" Spacing=\"1 1 "
      "1\">\n<PCellData>\n",
      bounds(whole));
  for (const auto& field : fields)
    if (is_written(*field)) text += array_of(*field, "PDataArray") + "/>\n";
  return text + "</PCellData>\n";
}

/// A field's values in the cells of a subgrid, which lie in `place`.
std::vector<std::byte> values_of(const FieldHandle::Data& field, std::size_t subgrid,
                                 const Box& cells, Place place) {
  const std::int64_t bytes = cells.size() * field.bytes;
  std::vector<std::byte> values(static_cast<std::size_t>(bytes));
  CopyPlan::compile(Layout::dense(bytes), Place{}, field.parts[subgrid].layout_of(cells), place)
      .run(values.data(), field.parts[subgrid].buffer(field.current));
  return values;
}

bool put(std::FILE* file, const std::string& text) {
  return std::fwrite(text.data(), 1, text.size(), file) == text.size();
}

}  // namespace

void Grid::Impl::write_vtk(const std::string& path) const {
  const auto name_of_piece = [&](int of) { return fmt::format("{}_{}.vti", path, of); };
  const Box whole{{0, 0, 0}, extent};
  std::string fault;
  const auto write = [&](const std::string& name, const auto& fill) {
    try {
      const File file(std::fopen(name.c_str(), "wb"));
      const bool done = file != nullptr && fill(file.get()) && std::fflush(file.get()) == 0;
      if (!done) fault = fmt::format("rank {} can't write '{}'", rank, name);
    } catch (const std::exception& error) {
      fault = fmt::format("rank {} can't write '{}': {}", rank, name, error.what());
    }
  };
  for (std::size_t subgrid = 0; subgrid < owned.size(); ++subgrid) {
    const Box& cells = owned[subgrid];
    if (cells.empty()) continue;
    write(name_of_piece(first_place[static_cast<std::size_t>(rank)] + static_cast<int>(subgrid)),
          [&](std::FILE* file) {
            bool good = put(file, head_of_piece(fields, whole, cells));
            for (const auto& field : fields) {
              if (!is_written(*field)) continue;
              const auto bytes = static_cast<std::uint64_t>(cells.size() * field->bytes);
              good = good && std::fwrite(&bytes, sizeof(bytes), 1, file) == 1;
              const std::vector<std::byte> values =
                  values_of(*field, subgrid, cells, places[subgrid]);
              good = good && std::fwrite(values.data(), 1, values.size(), file) == values.size();
            }
            return good && put(file, "\n</AppendedData>\n</VTKFile>\n");
          });
  }
  if (rank == 0) {
    write(path + ".pvti", [&](std::FILE* file) {
      std::string text = head_of_all(fields, whole);
      for (int part = 0; part < first_place.back(); ++part) {
        if (!placed.parts.has_cells(part)) continue;
        text += fmt::format(
            "<Piece Extent=\"{}\" Source=\"{}\"/>\n", bounds(placed.parts.box_of(part)),
            escaped(std::filesystem::path(name_of_piece(place_of[static_cast<std::size_t>(part)]))
                        .filename()));
      }
      return put(file, text + "</PImageData>\n</VTKFile>\n");
    });
  }
  mpi::agree(comm, fault, ErrorCode::Other);
}

}  // namespace strake
