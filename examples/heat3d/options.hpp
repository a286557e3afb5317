/// \file  The options of heat3d.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// How a rank stores its cells, and how ghost cells come. The forms of bricks come first, in the
/// order of strake::BrickForm.
enum class Form : std::uint8_t {
  Layout,
  Basic,
  MemMap,
  Shift,
  Mapped,
  Best,
  Grid,
  Types,
  Pack,
  Buffers
};
inline constexpr std::array<const char*, 10> kFormNames = {
    "layout", "basic", "memmap", "shift", "mapped", "best", "grid", "types", "pack", "buffers"};
[[nodiscard]] constexpr const char* name_of(Form form) {
  return kFormNames[static_cast<std::size_t>(form)];
}
[[nodiscard]] constexpr bool is_of_bricks(Form form) { return form <= Form::Best; }
/// Whether a form stores cells: `buffers` only sends messages, and computes nothing.
[[nodiscard]] constexpr bool has_values(Form form) { return form != Form::Buffers; }

struct Options {
  std::vector<std::int64_t> sizes{64};  ///< cells of a rank along each axis
  int ghost = 8;
  std::int64_t steps = 0;  ///< or exchanges; 0: as many as take about a second
  std::int64_t warm = 16;
  int points = 7;           ///< of the stencil
  std::vector<Form> forms;  ///< one at least
  bool every_step = false;
  bool exchange_only = false;
  std::string json;
  std::string svg;
  std::string picture;
};

/// Returns nullopt if help is wanted. The result depends on the arguments alone.
/// \throws std::invalid_argument  an option or a value of one is wrong; the message has the value
std::optional<Options> parse(int argc, char** argv);

std::string usage();
std::string help();
