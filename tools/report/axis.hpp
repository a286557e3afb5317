/// \file  One axis of a plot: which values it spans, where its ticks are, and their labels.
#pragma once

#include <string>
#include <vector>

namespace strake::report {

enum class Scale {
  Linear,
  Log,       ///< ticks at powers of ten
  LogBytes,  ///< ticks at powers of two, with their unit
};

struct Axis {
  std::string label;  ///< with the unit: "bandwidth [GB/s]"
  Scale scale = Scale::Log;
  double low = 0;  ///< low > 0 for logarithmic scales
  double high = 0;

  /// Extends the axis to a value. Ignores values that the scale can't show.
  void include(double value) noexcept;
  /// Rounds outwards to the next ticks. Values that were never included give 1 to 10.
  void round() noexcept;
  /// 0 at low, 1 at high.
  [[nodiscard]] double position(double value) const noexcept;
  [[nodiscard]] std::string full_label() const;

  struct Tick {
    double value = 0;
    std::string label;  ///< may be empty
  };
  /// At most about `most` of them with a label.
  [[nodiscard]] std::vector<Tick> ticks(int most) const;
};

}  // namespace strake::report
