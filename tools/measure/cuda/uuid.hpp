/// \file  A GPU's UUID as nvidia-smi prints it.
#pragma once

#include <span>
#include <string>

namespace strake::measure::cuda {

/// "GPU-fae7e87b-5681-4184-0123-456789abcdef" from the 16 bytes that CUDA gives.
[[nodiscard]] inline std::string uuid_text(std::span<const char, 16> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "GPU";
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    const auto byte = static_cast<unsigned char>(bytes[i]);
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 0xfU];
  }
  return text;
}

}  // namespace strake::measure::cuda
