#include "grammar.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <complex>

namespace strake::expression {
namespace {

template <typename T>
constexpr Basic of(std::string_view name) {
  return {name, sizeof(T), alignof(T)};
}

/// MPI's names in lower case without MPI_. Fortran's are those of a compiler's defaults.
constexpr std::array kBasics = {of<char>("byte"),
                                of<char>("packed"),
                                of<char>("char"),
                                of<char>("signed_char"),
                                of<char>("unsigned_char"),
                                of<short>("short"),
                                of<short>("unsigned_short"),
                                of<int>("int"),
                                of<int>("unsigned"),
                                of<long>("long"),
                                of<long>("unsigned_long"),
                                of<long long>("long_long"),
                                of<long long>("long_long_int"),
                                of<long long>("unsigned_long_long"),
                                of<float>("float"),
                                of<double>("double"),
                                of<long double>("long_double"),
                                of<wchar_t>("wchar"),
                                of<bool>("c_bool"),
                                of<std::int8_t>("int8_t"),
                                of<std::int16_t>("int16_t"),
                                of<std::int32_t>("int32_t"),
                                of<std::int64_t>("int64_t"),
                                of<std::int8_t>("uint8_t"),
                                of<std::int16_t>("uint16_t"),
                                of<std::int32_t>("uint32_t"),
                                of<std::int64_t>("uint64_t"),
                                of<std::complex<float>>("c_complex"),
                                of<std::complex<float>>("c_float_complex"),
                                of<std::complex<double>>("c_double_complex"),
                                of<std::complex<long double>>("c_long_double_complex"),
                                of<std::int64_t>("aint"),
                                of<std::int64_t>("offset"),
                                of<std::int64_t>("count"),
                                of<char>("character"),
                                of<int>("logical"),
                                of<int>("integer"),
                                of<float>("real"),
                                of<double>("double_precision"),
                                of<std::complex<float>>("complex"),
                                of<std::complex<double>>("double_complex"),
                                of<bool>("cxx_bool"),
                                of<std::complex<float>>("cxx_float_complex"),
                                of<std::complex<double>>("cxx_double_complex"),
                                of<std::complex<long double>>("cxx_long_double_complex"),
                                Basic{"integer1", 1, 1},
                                Basic{"integer2", 2, 2},
                                Basic{"integer4", 4, 4},
                                Basic{"integer8", 8, 8},
                                Basic{"integer16", 16, 16},
                                Basic{"real2", 2, 2},
                                Basic{"real4", 4, 4},
                                Basic{"real8", 8, 8},
                                Basic{"real16", 16, 16},
                                Basic{"complex4", 4, 2},
                                Basic{"complex8", 8, 4},
                                Basic{"complex16", 16, 8},
                                Basic{"complex32", 32, 16},
                                Basic{"2integer", 2 * sizeof(int), alignof(int)},
                                Basic{"2real", 2 * sizeof(float), alignof(float)},
                                Basic{"2double_precision", 2 * sizeof(double), alignof(double)}};

constexpr std::array kPairs = {Pair{"float_int", "float"}, Pair{"double_int", "double"},
                               Pair{"long_int", "long"},   Pair{"short_int", "short"},
                               Pair{"2int", "int"},        Pair{"long_double_int", "long_double"}};

constexpr std::array kConstructors = {
    Constructor{"contiguous", "COUNT, TYPE", ""},
    Constructor{"vector", "COUNT, BLOCKLENGTH, STRIDE, TYPE", "stride in extents of TYPE"},
    Constructor{"hvector", "COUNT, BLOCKLENGTH, STRIDE, TYPE", "stride in bytes"},
    Constructor{"indexed", "[BLOCKLENGTHS], [DISPLACEMENTS], TYPE",
                "displacements in extents of TYPE"},
    Constructor{"hindexed", "[BLOCKLENGTHS], [DISPLACEMENTS], TYPE", "displacements in bytes"},
    Constructor{"indexed_block", "BLOCKLENGTH, [DISPLACEMENTS], TYPE",
                "displacements in extents of TYPE"},
    Constructor{"hindexed_block", "BLOCKLENGTH, [DISPLACEMENTS], TYPE", "displacements in bytes"},
    Constructor{"struct", "[BLOCKLENGTHS], [DISPLACEMENTS], [TYPES]", "displacements in bytes"},
    Constructor{"subarray", "[SIZES], [SUBSIZES], [STARTS], ARRAY", ""},
    Constructor{"darray", "SIZE, RANK, [GSIZES], [DISTRIBS], [DARGS], [PSIZES], ARRAY", ""},
    Constructor{"resized", "LB, EXTENT, TYPE", ""},
    Constructor{"dup", "TYPE", ""}};

constexpr std::string_view kOtherRules =
    R"(ARRAY   = TYPE [, ORDER] | ORDER, TYPE
ORDER   = c | fortran | MPI's names for them                   c where it is left out
DISTRIB = block | cyclic | none | MPI's names for them
DARG    = whole number | default | dfl | MPI's name for it     elements of a block
)";

/// "BASIC   = byte | packed | …", broken into lines.
std::string basic_rule() {
  constexpr std::size_t kWidest = 94;  // with the indent of a page of the documentation
  std::string out;
  std::string line = "BASIC   =";
  const auto add = [&](std::string_view name) {
    const std::string_view bar = line.ends_with('=') ? " " : " | ";
    if (line.size() + bar.size() + name.size() > kWidest) {
      out += line + "\n";
      line = "        |";
      line += " ";
    } else {
      line += bar;
    }
    line += name;
  };
  for (const Basic& basic : kBasics) add(basic.name);
  for (const Pair& pair : kPairs) add(pair.name);
  return out + line + "\n";
}

}  // namespace

std::span<const Basic> basics() noexcept { return kBasics; }
std::span<const Pair> pairs() noexcept { return kPairs; }
std::span<const Constructor> constructors() noexcept { return kConstructors; }

const Constructor* constructor_named(std::string_view name) noexcept {
  const auto* const found =
      std::find_if(kConstructors.begin(), kConstructors.end(),
                   [&](const Constructor& constructor) { return constructor.name == name; });
  return found == kConstructors.end() ? nullptr : found;
}

std::string Constructor::signature() const { return fmt::format("{}({})", name, arguments); }

std::string grammar() {
  std::string out = "TYPE    = BASIC\n";
  for (const Constructor& constructor : kConstructors) {
    std::string line = "        | " + constructor.signature();
    if (!constructor.note.empty()) line = fmt::format("{:<63}{}", line, constructor.note);
    out += line + "\n";
  }
  return out + std::string(kOtherRules) + basic_rule();
}

}  // namespace strake::expression
