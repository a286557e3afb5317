#include "plan/machine_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <numeric>

#include "strake/error.hpp"

namespace strake::plan {
namespace {

using Json = nlohmann::json;
using PlaceList = std::vector<std::size_t>;

constexpr int kMostOfNode = 1024;

/// Throws what is wrong at a key of the file.
[[noreturn]] void refuse(const std::string& key, const std::string& what) {
  throw InvalidArgument(fmt::format("{}: {}", key, what));
}

const Json& member(const Json& object, const char* key) {
  if (!object.is_object() || !object.contains(key)) refuse(key, "missing");
  return object[key];
}

std::string text_at(const Json& object, const char* key) {
  const Json& found = member(object, key);
  if (!found.is_string()) refuse(key, "a text belongs there, not " + found.dump());
  return found.get<std::string>();
}

double number_of(const Json& found, const char* key) {
  if (!found.is_number()) refuse(key, "a number belongs there, not " + found.dump());
  return found.get<double>();
}

double number_at(const Json& object, const char* key) {
  return number_of(member(object, key), key);
}

/// An integer from 2^63 on is read as one below 0, and so refused.
int count_of(const Json& found, const char* key) {
  if (!found.is_number_integer() || found.get<std::int64_t>() < 1 ||
      found.get<std::int64_t>() > kMostOfNode)
    refuse(key, fmt::format("from 1 to {}, not {}", kMostOfNode, found.dump()));
  return found.get<int>();
}

/// False if it is missing.
bool flag_at(const Json& object, const char* key) {
  if (!object.contains(key)) return false;
  if (!object[key].is_boolean())
    refuse(key, "true or false belongs there, not " + object[key].dump());
  return object[key].get<bool>();
}

const Json& list_at(const Json& object, const char* key) {
  const Json& found = member(object, key);
  if (!found.is_array()) refuse(key, "a list belongs there, not " + found.dump());
  return found;
}

/// Refuses keys that have no meaning, which may be slips of those that have.
void require_keys(const Json& object, const char* of, std::initializer_list<const char*> known) {
  if (!object.is_object()) refuse(of, "an object belongs there, not " + object.dump());
  for (const auto& [key, value] : object.items())
    if (std::ranges::find(known, key) == known.end())
      refuse(key, fmt::format("no key of {}; these are {}", of, fmt::join(known, ", ")));
}

/// Places from a list, or from a range as "0-39".
PlaceList places_at(const Json& object, const char* key, int places) {
  const Json& found = member(object, key);
  PlaceList made;
  if (found.is_string()) {
    const auto range = found.get<std::string>();
    std::size_t first = 0;
    std::size_t last = 0;
    const char* const end = range.data() + range.size();
    const auto [dash, error] = std::from_chars(range.data(), end, first);
    const bool has_dash = error == std::errc() && dash != end && *dash == '-';
    const auto [stop, wrong] = std::from_chars(has_dash ? dash + 1 : end, end, last);
    if (!has_dash || wrong != std::errc() || stop != end || last < first || last >= kMostOfNode)
      refuse(key, "\"" + range + "\" is no range of places");
    made.resize(last - first + 1);
    std::iota(made.begin(), made.end(), first);
  } else {
    if (!found.is_array()) refuse(key, "a list of places belongs there, not " + found.dump());
    for (const Json& place : found) {
      if (!place.is_number_unsigned()) refuse(key, place.dump() + " is no place");
      made.push_back(place.get<std::size_t>());
    }
  }
  for (const std::size_t place : made)
    if (place >= static_cast<std::size_t>(places))
      refuse(key, fmt::format("place {}, but a node has {}", place, places));
  PlaceList sorted = made;
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
    refuse(key, fmt::format("place {} twice", *twice));
  return made;
}

/// A matrix, or two rates and the sizes of blocks: those within a block, and those across.
placement::Square bandwidths_at(const Json& file, int places) {
  constexpr const char* kKey = "between_gbs";
  const Json& found = member(file, kKey);
  const auto size = static_cast<std::size_t>(places);
  placement::Square made(size);
  if (found.is_object()) {
    require_keys(found, kKey, {"blocks", "within", "across"});
    std::vector<int> block_of;
    for (const Json& block : list_at(found, "blocks")) {
      const auto count = static_cast<std::size_t>(count_of(block, "blocks"));
      block_of.insert(block_of.end(), count, static_cast<int>(block_of.size()));
    }
    if (block_of.size() != size)
      refuse(kKey, fmt::format("blocks of {} places, but a node has {}", block_of.size(), size));
    for (std::size_t a = 0; a < size; ++a)
      for (std::size_t b = 0; b < size; ++b)
        made(a, b) = number_at(found, block_of[a] == block_of[b] ? "within" : "across");
    return made;
  }
  if (!found.is_array())
    refuse(kKey, "a matrix, or an object with blocks, belongs there, not " + found.dump());
  if (found.size() != size)
    refuse(kKey, fmt::format("{} rows, but a node has {} places", found.size(), size));
  for (std::size_t a = 0; a < size; ++a) {
    if (!found[a].is_array())
      refuse(kKey, "a row of numbers belongs there, not " + found[a].dump());
    if (found[a].size() != size)
      refuse(kKey, fmt::format("{} numbers in row {}, but a node has {} places", found[a].size(), a,
                               size));
    for (std::size_t b = 0; b < size; ++b) made(a, b) = number_of(found[a][b], kKey);
  }
  return made;
}

/// The link of each place of a list by itself: its number replaces `{}` in the name.
std::string named(const std::string& pattern, std::size_t place) {
  const std::size_t at = pattern.find("{}");
  return at == std::string::npos
             ? pattern
             : pattern.substr(0, at) + std::to_string(place) + pattern.substr(at + 2);
}

placement::Link link_at(const Json& object) {
  return {text_at(object, "name"), number_at(object, "gbs"),
          object.contains("latency_us") ? number_at(object, "latency_us") : 0};
}

void add_shared(Machine& machine, const Json& object) {
  require_keys(object, "shared",
               {"name", "gbs", "latency_us", "source", "from", "to", "each_of", "each_to"});
  const placement::Link link = link_at(object);
  const int places = machine.places_per_node;
  const bool is_from_each = object.contains("each_of");
  const bool is_to_each = object.contains("each_to");
  if (is_from_each && is_to_each) refuse("each_to", "a link has each_of or each_to, not both");
  if (is_from_each && object.contains("from")) refuse("from", "each_of is in its place");
  if (is_to_each && object.contains("to")) refuse("to", "each_to is in its place");
  const PlaceList from = places_at(object, is_from_each ? "each_of" : "from", places);
  const PlaceList to = places_at(object, is_to_each ? "each_to" : "to", places);
  machine.sources.push_back(link.name + ": " + text_at(object, "source"));
  const auto add = [&](const PlaceList& some, const PlaceList& others, const std::string& name) {
    machine.links.add({name, link.gb_per_second, link.latency_us}, some, others);
  };
  if (is_from_each)
    for (const std::size_t place : from) add({place}, to, named(link.name, place));
  else if (is_to_each)
    for (const std::size_t place : to) add(from, {place}, named(link.name, place));
  else
    add(from, to, link.name);
}

std::string kind_of(const Machine& machine) { return machine.places == "GPUs" ? "GPU" : "core"; }

void add_ports(Machine& machine, const Json& port) {
  require_keys(port, "port", {"name", "gbs", "latency_us", "source"});
  const placement::Link link = link_at(port);
  PlaceList all(static_cast<std::size_t>(machine.places_per_node));
  std::iota(all.begin(), all.end(), std::size_t{0});
  const std::string kind = kind_of(machine);
  const auto add = [&](const char* way, std::size_t place, const PlaceList& from,
                       const PlaceList& to) {
    return machine.links.add({fmt::format("{} {} {} {}", link.name, way, kind, place),
                              link.gb_per_second, link.latency_us},
                             from, to);
  };
  for (const std::size_t place : all) machine.out.push_back(add("out of", place, {place}, all));
  for (const std::size_t place : all) machine.in.push_back(add("into", place, all, {place}));
  machine.sources.push_back(link.name + ": " + text_at(port, "source"));
}

/// A link of its own for each pair that takes no other one.
void add_pairs(Machine& machine) {
  const std::string kind = kind_of(machine);
  for (std::size_t a = 0; a < machine.links.places(); ++a)
    for (std::size_t b = 0; b < machine.links.places(); ++b)
      if (a != b && machine.links.taken(a, b).empty())
        machine.links.add(
            {fmt::format("{} {} to {} {}", kind, a, kind, b), machine.bandwidths(a, b), 0}, {{a}},
            {{b}});
}

Machine read(const Json& file) {
  require_keys(file, "a machine",
               {"name", "title", "places", "places_per_node", "nodes_per_domain", "between_gbs",
                "between_source", "pairs_are_links", "port", "shared", "leaving"});
  Machine machine;
  machine.name = text_at(file, "name");
  machine.title = text_at(file, "title");
  machine.places = text_at(file, "places");
  if (machine.places != "GPUs" && machine.places != "cores")
    refuse("places", "GPUs or cores, not " + machine.places);
  machine.places_per_node = count_of(member(file, "places_per_node"), "places_per_node");
  machine.nodes_per_domain = count_of(member(file, "nodes_per_domain"), "nodes_per_domain");
  machine.bandwidths = bandwidths_at(file, machine.places_per_node);
  const placement::Square no_flows(machine.bandwidths.size());
  (void)placement::cost_of(no_flows, machine.bandwidths, PlaceList(no_flows.size(), 0));
  machine.links = placement::Links(machine.bandwidths.size());
  machine.sources.push_back("between places: " + text_at(file, "between_source"));
  if (file.contains("port")) add_ports(machine, file["port"]);
  if (machine.nodes_per_domain > 1 && machine.out.empty())
    refuse("port", "missing, but a domain has several nodes");
  for (const Json& shared : list_at(file, "shared")) add_shared(machine, shared);
  if (flag_at(file, "pairs_are_links")) add_pairs(machine);
  const Json& leaving = member(file, "leaving");
  require_keys(leaving, "leaving", {"name", "gbs", "latency_us", "source"});
  machine.leaving = link_at(leaving);
  placement::Links(1).add(machine.leaving, {}, {});
  machine.sources.push_back(machine.leaving.name + ": " + text_at(leaving, "source"));
  return machine;
}

}  // namespace

Machine machine_of(std::string_view text, const std::string& origin) {
  try {
    return read(Json::parse(text));
  } catch (const Json::exception& error) {
    throw Error(fmt::format("{}: {}", origin, error.what()));
  } catch (const InvalidArgument& error) {
    throw Error(fmt::format("{}: {}", origin, error.what()));
  }
}

Machine find_machine(const std::string& name) {
  if (name.find('/') != std::string::npos || name.ends_with(".json")) {
    std::ifstream file(name);
    std::string text;
    // A directory can be opened, but not read.
    for (char letter = 0; file.get(letter);) text += letter;
    if (!file.eof()) throw Error(fmt::format("{} can't be read", name));
    return machine_of(text, name);
  }
  std::vector<std::string_view> known;
  for (const auto& [own, text] : shipped_machines()) {
    if (own == name) return machine_of(text, name);
    known.push_back(own);
  }
  throw Error(fmt::format("no machine is called {}; there are {} (or name a file, ./FILE.json)",
                          name, fmt::join(known, ", ")));
}

std::string machines_text() {
  std::string text;
  for (const auto& [name, file] : shipped_machines())
    text += fmt::format("{:<16} {}\n", name, machine_of(file, std::string(name)).title);
  return text;
}

Machine with_places(const Machine& machine, int places) {
  if (places > machine.places_per_node)
    throw InvalidArgument(fmt::format("{} {} a node, but {} has {}", places, machine.places,
                                      machine.name, machine.places_per_node));
  Machine made = machine;
  const auto count = static_cast<std::size_t>(places);
  made.places_per_node = places;
  made.bandwidths = placement::Square(count);
  made.links = placement::Links(count);
  for (std::size_t a = 0; a < count; ++a)
    for (std::size_t b = 0; b < count; ++b) made.bandwidths(a, b) = machine.bandwidths(a, b);
  for (const placement::Link& link : machine.links.all()) made.links.add(link, {}, {});
  for (std::size_t a = 0; a < count; ++a)
    for (std::size_t b = 0; b < count; ++b)
      for (const std::size_t link : machine.links.taken(a, b)) made.links.take(link, a, b);
  return made;
}

}  // namespace strake::plan
