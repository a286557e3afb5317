#include <nlohmann/json.hpp>

#include "machine/usage.hpp"
#include "plan/show.hpp"

namespace strake::plan {
namespace {

template <typename T>
nlohmann::ordered_json or_null(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

void put_bound(nlohmann::ordered_json& made, const std::string& prefix,
               const std::optional<Bound>& bound) {
  if (!bound) return;
  made[prefix + "bound_us"] = bound->us;
  made[prefix + "bound_link"] = bound->link;
}

}  // namespace

nlohmann::ordered_json to_json(const Answer& answer) {
  const Percent percent = percent_of(answer.shares);
  nlohmann::ordered_json made;
  made["parts"] = answer.counts;
  made["node_grid"] = or_null(answer.nodes);
  made["gpu_grid"] = or_null(answer.of_node);
  if (answer.nodes_first > 1) made["nodes_per_domain"] = answer.nodes_first;
  made["largest_subgrid"] = answer.largest;
  made["share_percent"] = {
      {"self", percent.self}, {"node", percent.node}, {"network", percent.network}};
  made["sent_mib_per_gpu"] = mib_of(answer.most_sent);
  made["offnode_mib_per_node"] = mib_of(answer.most_leaving);
  made["messages_per_gpu"] = answer.most_messages;
  if (answer.assignment) {
    made["mapping"] = answer.assignment->place_of;
    made["cost"] = answer.assignment->cost;
  }
  if (answer.assignment_slowest_us) made["slowest_link_us"] = *answer.assignment_slowest_us;
  if (answer.spread) {
    made["mean_over_optimum"] = answer.spread->mean_over_optimum;
    made["worst_over_optimum"] = answer.spread->worst_over_optimum;
  }
  made["predicted_us"] = or_null(predicted_us(answer));
  made["bound_by"] = predicted_us(answer)
                         ? nlohmann::ordered_json(name_of(answer.prediction->bound.resource))
                         : nlohmann::ordered_json(nullptr);
  put_bound(made, "", answer.bound);
  put_bound(made, "default_", answer.default_bound);
  return made;
}

nlohmann::ordered_json to_json(const std::vector<Row>& rows) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    nlohmann::ordered_json made;
    made["nodes"] = row.question.nodes;
    made["placement"] = name_of(row.question.placement);
    made["grid"] = row.question.grid;
    made.update(to_json(row.answer));
    list.push_back(made);
  }
  return list;
}

}  // namespace strake::plan
