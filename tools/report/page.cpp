#include "report/page.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "machine/profile_state.hpp"
#include "report/assets.hpp"
#include "report/html.hpp"
#include "report/sections.hpp"

namespace strake::report {
namespace {

/// Chromium, Firefox and Safari then load nothing, whatever stands in a profile.
constexpr const char* kPolicy =
    "default-src 'none'; style-src 'unsafe-inline'; "
    "script-src 'unsafe-inline'";

/// JSON within a script element, which ends where "</script" or a comment begins.
std::string embedded(const nlohmann::ordered_json& json) {
  std::string text;
  for (const char c : json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace))
    text += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return text;
}

std::string summary(const Shown& shown) {
  const machine::Profile& profile = shown.profile;
  const auto doubts = std::count_if(profile.results.begin(), profile.results.end(), doubtful);
  std::string text = "<p>" + escaped(shown.label);
  if (!profile.key.empty()) text += ", " + escaped(profile.key);
  text += ": " + escaped(machine::state_of(profile).sentence);
  text += fmt::format(
      ". {} results, {} of them doubtful or widely spread (10 % to 90 % of the samples span more "
      "than a quarter of the median).</p>\n",
      profile.results.size(), doubts);
  return text;
}

}  // namespace

std::string page(const std::string& title, Profiles profiles) {
  Charts charts(profiles);
  std::string body = fmt::format("<h1>{}</h1>\n", escaped(title));
  for (const Shown& shown : profiles) body += summary(shown);
  body += "<noscript><p>The charts need scripts; the tables do not.</p></noscript>\n";
  body += against_library(profiles, charts) + transport_maps(profiles) + key_numbers(profiles);
  body += "<h2>Details</h2>\n" + comparison(profiles) + bandwidths(profiles, charts) +
          matrices(profiles) + strided_rates(profiles, charts) + max_rates(profiles, charts) +
          calls(profiles) + overview(profiles);
  body += folded_section("numbers", "All numbers", "Every result of the profile, in its order.",
                         "<div id=\"all\"></div>\n");
  return fmt::format(
      "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n"
      "<meta charset=\"utf-8\"/>\n<meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\"/>\n<meta http-equiv=\"Content-Security-Policy\" content=\"{}\"/>\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n{}"
      "<script type=\"application/json\" id=\"data\">{}</script>\n<script>{}</script>\n"
      "<script>{}</script>\n</body>\n</html>\n",
      escaped(kPolicy), escaped(title), kStyle, body, embedded(charts.json()), kChartLibrary,
      kScript);
}

}  // namespace strake::report
