/// \file  Shows answers: as text, as JSON, or as a picture.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "plan/plan.hpp"

namespace strake::plan {

/// A question with its answer; a sweep has several.
struct Row {
  Question question;
  Answer answer;
};

[[nodiscard]] std::string to_text(const Question& asked, const Answer& answer);
[[nodiscard]] nlohmann::ordered_json to_json(const Answer& answer);
/// A table; a line for each row.
[[nodiscard]] std::string to_text(const std::vector<Row>& rows);
[[nodiscard]] nlohmann::ordered_json to_json(const std::vector<Row>& rows);

/// A whole SVG file: the parts on their nodes, and what they exchange.
[[nodiscard]] std::string to_svg(const Question& asked, const Answer& answer);
/// A whole SVG file: what a sweep finds over the number of nodes.
[[nodiscard]] std::string to_svg(const std::vector<Row>& rows);

/// Shares of all bytes. [%]
struct Percent {
  double self, node, network;
};
[[nodiscard]] Percent percent_of(const placement::Shares& shares);
[[nodiscard]] std::optional<double> predicted_us(const Answer& answer);
[[nodiscard]] double mib_of(std::int64_t bytes);
/// "6144 x 4096 x 2048"
[[nodiscard]] std::string by(const placement::Position& counts);
[[nodiscard]] std::string by(const Index3& cells);
[[nodiscard]] const char* name_of(Placement placement) noexcept;

}  // namespace strake::plan
