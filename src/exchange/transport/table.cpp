#include "exchange/transport/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "exchange/transport/pairs/message_pair.hpp"
#include "exchange/transport/pairs/shared_pair.hpp"
#include "state/process_state.hpp"
#include "strake/error.hpp"

namespace strake::exchange {
namespace {

using machine::Transport;
using planned::MessagePair;
using planned::PairTransfer;
using planned::SharedPair;

bool is_near(const machine::Path& path) { return path.from.node == path.to.node; }
bool is_far(const machine::Path& path) { return !is_near(path); }

std::unique_ptr<PairTransfer> open_near(const PairContext& pair, Transport packed) {
  return std::make_unique<SharedPair>(*pair.schedules.front(), pair.connections, pair.number,
                                      pair.reads, packed);
}
std::unique_ptr<PairTransfer> open_far(const PairContext& pair, Transport packed) {
  return std::make_unique<MessagePair>(pair.schedules, pair.comm, pair.peer, pair.in_tag,
                                       pair.out_tag, packed);
}
std::unique_ptr<PairTransfer> open_shared(const PairContext& pair) {
  return open_near(pair, Transport::Shared);
}
std::unique_ptr<PairTransfer> open_staged(const PairContext& pair) {
  return open_near(pair, Transport::Staged);
}
std::unique_ptr<PairTransfer> open_one_shot(const PairContext& pair) {
  return open_far(pair, Transport::OneShot);
}
std::unique_ptr<PairTransfer> open_device(const PairContext& pair) {
  return open_far(pair, Transport::Device);
}
std::unique_ptr<PairTransfer> open_pack(const PairContext& pair) {
  return open_far(pair, Transport::Pack);
}

using machine::facts_of;

struct AllRows {
  /// Each row stands at the number of its transport; those that were added come behind.
  std::vector<Row> rows = {
      {&facts_of(Transport::Self)},
      {&facts_of(Transport::Direct)},
      {&facts_of(Transport::Shared), nullptr, is_near, open_shared},
      {&facts_of(Transport::Put)},
      {&facts_of(Transport::Engine)},
      {&facts_of(Transport::OneShot), &kOneShotForm, is_far, open_one_shot},
      {&facts_of(Transport::Staged), &kStagedForm, is_near, open_staged},
      {&facts_of(Transport::Device), &kDeviceForm, is_far, open_device},
      {&facts_of(Transport::Pack), &kPackForm, is_far, open_pack},
      {&facts_of(Transport::Library)},
  };
};
std::vector<Row>& all_rows() { return ProcessState::part<AllRows>().rows; }

std::size_t number_of(Transport transport) noexcept { return static_cast<std::size_t>(transport); }

}  // namespace

std::span<const Row> rows() noexcept { return all_rows(); }

void add_row(const Row& row) {
  if (number_of(row.facts->transport) != all_rows().size())
    throw InvalidArgument(fmt::format("a row of transport {} is added as number {}, not {}",
                                      row.facts->name, all_rows().size(),
                                      number_of(row.facts->transport)));
  all_rows().push_back(row);
}

const PackedForm& packed_form_of(Transport transport) {
  const PackedForm* const form = all_rows()[number_of(transport)].form;
  if (form == nullptr)
    throw InvalidArgument(fmt::format("transport {} packs no messages", name_of(transport)));
  return *form;
}

const Row& row_of(const machine::Path& path, std::optional<Transport> wanted) {
  const std::span<const Row> all = rows();
  const auto carries = [&](const Row& row) {
    return row.open != nullptr && row.facts->possible(path) && row.carries(path);
  };
  if (wanted && carries(all[number_of(*wanted)])) return all[number_of(*wanted)];
  for (const auto part : {all.subspan(machine::kTransports), all.first(machine::kTransports)}) {
    const auto found = std::ranges::find_if(part, carries);
    if (found != part.end()) return *found;
  }
  throw Unsupported(fmt::format("no transport carries an exchange from {} to {} memory",
                                name_of(path.from.memory), name_of(path.to.memory)));
}

}  // namespace strake::exchange
