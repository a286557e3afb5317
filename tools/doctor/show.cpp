// The report, for people and as JSON.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "colour.hpp"
#include "command/wrap.hpp"
#include "doctor_command.hpp"

namespace strake::doctor {
namespace {

Colour colour_of(State state) {
  return state == State::Good      ? Colour::Green
         : state == State::Limited ? Colour::Yellow
                                   : Colour::Red;
}

}  // namespace

std::string to_text(const Report& report) {
  constexpr std::size_t kIndent = 9;  // behind "limited"
  std::string out;
  for (const Finding& finding : report.findings) {
    const std::string state = name_of(finding.state);
    out += coloured(state, colour_of(finding.state), stdout) +
           std::string(kIndent - state.size(), ' ') +
           command::wrapped(finding.topic + ": " + finding.text, kIndent, kIndent) + "\n";
    // In one line, however long it is: it may be copied.
    if (!finding.remedy.empty()) out += fmt::format("{:{}}-> {}\n", "", kIndent, finding.remedy);
  }
  return out + coloured(command::wrapped(report.verdict, 0, 0), Colour::Bold, stdout) + "\n";
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
                    {"reached", report.reached ? Json(*report.reached) : Json(nullptr)},
                    {"verdict", report.verdict}};
  // A path need not be UTF-8.
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace strake::doctor
