// The report, for people and as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "doctor_command.hpp"

namespace strake::doctor {
namespace {

constexpr std::size_t kColumns = 100;

/// `text` in lines that begin at column `indent`, of which the first one has begun.
std::string wrapped(const std::string& text, std::size_t indent) {
  std::istringstream words(text);
  std::string out;
  std::size_t column = indent;
  for (std::string word; words >> word;) {
    if (column > indent && column + 1 + word.size() > kColumns) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  return out;
}

}  // namespace

std::string to_text(const Report& report) {
  constexpr std::size_t kIndent = 9;  // behind "limited"
  std::string out;
  for (const Finding& finding : report.findings) {
    out += fmt::format("{:<{}}{}\n", name_of(finding.state), kIndent,
                       wrapped(finding.topic + ": " + finding.text, kIndent));
    // In one line, however long it is: it may be copied.
    if (!finding.remedy.empty()) out += fmt::format("{:{}}-> {}\n", "", kIndent, finding.remedy);
  }
  return out + wrapped(report.verdict, 0) + "\n";
}

std::string to_json(const Report& report) {
  using Json = nlohmann::ordered_json;
  Json findings = Json::array();
  for (const Finding& finding : report.findings) {
    findings.push_back({{"state", name_of(finding.state)},
                        {"topic", finding.topic},
                        {"text", finding.text},
                        {"remedy", finding.remedy}});
  }
  const Json all = {{"findings", findings},
                    {"accelerated", report.accelerated ? Json(*report.accelerated) : Json(nullptr)},
                    {"verdict", report.verdict}};
  // A path need not be UTF-8.
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace strake::doctor
