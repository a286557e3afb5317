/// \file  The data rate of a PCI Express link.
#pragma once

#include <array>
#include <cstddef>

namespace strake::machine {

/// The rate in one direction, after encoding; 0 for generations that are not known. [bytes/s]
[[nodiscard]] constexpr double pcie_rate(int generation, int width) noexcept {
  // Transfers per second of one lane, and the bits of payload in those sent: 8b/10b, then
  // 128b/130b, then flits of 256 bytes with 242 of payload (PCI Express base specifications 1 to
  // 7).
  struct Generation {
    double transfers;
    double payload;
  };
  constexpr std::array<Generation, 7> kGenerations = {{{2.5e9, 8.0 / 10},
                                                       {5e9, 8.0 / 10},
                                                       {8e9, 128.0 / 130},
                                                       {16e9, 128.0 / 130},
                                                       {32e9, 128.0 / 130},
                                                       {64e9, 242.0 / 256},
                                                       {128e9, 242.0 / 256}}};
  if (generation < 1 || generation > static_cast<int>(kGenerations.size())) return 0;
  const Generation& of = kGenerations[static_cast<std::size_t>(generation - 1)];
  return of.transfers * of.payload / 8 * width;
}

}  // namespace strake::machine
