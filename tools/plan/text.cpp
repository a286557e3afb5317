#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "machine/usage.hpp"
#include "plan/show.hpp"

namespace strake::plan {
namespace {

std::string division_text(const Question& asked, const Answer& answer) {
  if (!answer.nodes)
    return fmt::format(", {} consecutive ones on each of {} nodes", asked.places, asked.nodes);
  if (answer.nodes_first > 1)
    return fmt::format(": {} domains, of {} nodes each, of {}", by(*answer.nodes),
                       answer.nodes_first, by(*answer.of_node));
  return fmt::format(": {} nodes of {}", by(*answer.nodes), by(*answer.of_node));
}

std::string assignment_text(const Answer& answer) {
  std::string text;
  if (answer.assignment) {
    // A long list says nothing to a reader.
    constexpr std::size_t kMostShown = 16;
    const auto& places = answer.assignment->place_of;
    text +=
        places.size() <= kMostShown
            ? fmt::format("Within:   parts of a node go to its places {}", fmt::join(places, " "))
            : fmt::format("Within:   parts of a node go to its {} places", places.size());
    text += fmt::format("; {:.1f} us of transfers\n", answer.assignment->cost);
  }
  if (answer.assignment_slowest_us)
    text += fmt::format("          The slowest link within a node takes {:.1f} us\n",
                        *answer.assignment_slowest_us);
  if (answer.spread && answer.spread->worst_over_optimum < 1 + 1e-9)
    text += "          No effect: all places cost the same\n";
  else if (answer.spread && !answer.assignment_slowest_us)
    text += fmt::format("          Others take {:.2f} times as long on average, {:.2f} at worst\n",
                        answer.spread->mean_over_optimum, answer.spread->worst_over_optimum);
  return text;
}

std::string bound_text(const Question& asked, const Answer& answer) {
  if (!answer.bound || !answer.default_bound) return {};
  const auto line = [](const Bound& bound) {
    return bound.link.empty() ? std::string("no bytes pass a link")
                              : fmt::format("at least {:.1f} us: {}", bound.us, bound.link);
  };
  return fmt::format(
      "Links:    {}\n          Default placement, parts in order: {}\n"
      "          By the rates of {}: no prediction\n",
      line(*answer.bound), line(*answer.default_bound), asked.machine->name);
}

std::string exchange_text(const Answer& answer) {
  if (const auto us = predicted_us(answer))
    return fmt::format("Exchange: {:.1f} us, by the profile; {} takes most of it\n", *us,
                       name_of(answer.prediction->bound.resource));
  if (answer.prediction) return "Exchange: not predicted, as the profile lacks what that takes\n";
  return "Exchange: not predicted without --profile\n";
}

std::string or_dash(const std::optional<double>& us) {
  return us ? fmt::format("{:.1f}", *us) : std::string("-");
}

}  // namespace

Percent percent_of(const placement::Shares& shares) {
  const double all = static_cast<double>(std::max<std::int64_t>(shares.all(), 1));
  const auto part = [all](std::int64_t cells) { return 100 * static_cast<double>(cells) / all; };
  return {part(shares.self), part(shares.node), part(shares.network)};
}

double mib_of(std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

std::optional<double> predicted_us(const Answer& answer) {
  if (!answer.prediction || !answer.prediction->seconds) return std::nullopt;
  return *answer.prediction->seconds * 1e6;
}

std::string by(const placement::Position& counts) {
  return fmt::format("{} x {} x {}", counts[0], counts[1], counts[2]);
}

std::string by(const Index3& cells) {
  return fmt::format("{} x {} x {}", cells[0], cells[1], cells[2]);
}

const char* name_of(Placement placement) noexcept {
  return placement == Placement::Default ? "default" : "node-aware";
}

std::string to_text(const Question& asked, const Answer& answer) {
  const Percent percent = percent_of(answer.shares);
  const bool is_domain = answer.placed.nodes_per_domain > 1;
  std::string text = fmt::format("{} parts{}; the largest has {} cells\n", by(answer.counts),
                                 division_text(asked, answer), by(answer.largest));
  text += fmt::format("Bytes:    {:.1f} % stay in a part, {:.1f} % in its {}, {:.1f} % leave it\n",
                      percent.self, percent.node, is_domain ? "domain" : "node", percent.network);
  text += fmt::format("A part:   sends {:.1f} MiB at most, to {} others\n",
                      mib_of(answer.most_sent), answer.most_messages);
  text += fmt::format("A node:   {:.1f} MiB leave it{} at most\n", mib_of(answer.most_leaving),
                      is_domain ? " and its domain" : "");
  return text + assignment_text(answer) + bound_text(asked, answer) + exchange_text(answer);
}

std::string to_text(const std::vector<Row>& rows) {
  const bool has_bound = !rows.empty() && rows[0].answer.bound;
  std::string text = fmt::format("{:>5} {:<10} {:>14} {:>18} {:>6} {:>6} {:>8} {:>9} {:>8} {:>9}",
                                 "nodes", "placement", "parts", "largest part", "self %", "node %",
                                 "beyond %", "MiB/node", "messages", "us");
  text += has_bound ? "  at least us\n" : "\n";
  for (const Row& row : rows) {
    const Answer& answer = row.answer;
    const Percent percent = percent_of(answer.shares);
    text += fmt::format(
        "{:>5} {:<10} {:>14} {:>18} {:>6.1f} {:>6.1f} {:>8.1f} {:>9.1f} {:>8} {:>9}",
        row.question.nodes, name_of(row.question.placement), by(answer.counts), by(answer.largest),
        percent.self, percent.node, percent.network, mib_of(answer.most_leaving),
        answer.most_messages, or_dash(predicted_us(answer)));
    text += has_bound ? fmt::format(" {:>12.1f}\n", answer.bound->us) : "\n";
  }
  return text;
}

}  // namespace strake::plan
