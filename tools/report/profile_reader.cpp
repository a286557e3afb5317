#include "report/profile_reader.hpp"

#include <fmt/format.h>

#include "measure/profile_reader.hpp"

namespace strake::report {
namespace {

using Json = nlohmann::ordered_json;

/// Members of the machine, those of lists and objects within it too: "gpus[0].name".
void add_facts(const std::string& place, const Json& json, Shown& shown) {
  if (!json.is_structured()) {
    shown.facts.emplace_back(place, json.is_string() ? json.get<std::string>() : json.dump());
    return;
  }
  std::size_t index = 0;
  for (const auto& [name, member] : json.items())
    add_facts(json.is_array() ? fmt::format("{}[{}]", place, index++)
              : place.empty() ? name
                              : place + "." + name,
              member, shown);
}

}  // namespace

Shown read_profile(const std::string& path) {
  measure::ProfileDocument document = measure::read_profile_document(path);
  Shown shown;
  shown.profile = std::move(document.profile);
  if (document.json.contains("machine")) add_facts("", document.json["machine"], shown);
  return shown;
}

}  // namespace strake::report
