#include "exchange/transport/table.hpp"

#include <algorithm>
#include <vector>

#include "exchange/transport/pairs/message_pair.hpp"
#include "exchange/transport/pairs/shared_pair.hpp"
#include "strake/error.hpp"

namespace strake::exchange {
namespace {

using machine::Transport;
using planned::MessagePair;
using planned::PairTransfer;
using planned::SharedPair;

std::unique_ptr<PairTransfer> open_shared(const PairContext& pair, Transport packed) {
  return std::make_unique<SharedPair>(pair.schedules, pair.connections, pair.number, pair.reads,
                                      packed);
}
std::unique_ptr<PairTransfer> open_message(const PairContext& pair, Transport packed) {
  return std::make_unique<MessagePair>(pair.schedules, pair.comm, pair.peer, pair.in_tag,
                                       pair.out_tag, packed);
}

bool direct_carries(const PairContext& pair) { return pair.near() && pair.reads; }
/// What can't be read in place is packed.
std::unique_ptr<PairTransfer> open_direct(const PairContext& pair) {
  return open_shared(pair, Transport::Shared);
}
bool shared_carries(const PairContext& pair) { return pair.near(); }
bool staged_carries(const PairContext& /*pair*/) { return true; }
std::unique_ptr<PairTransfer> open_staged(const PairContext& pair) {
  return pair.near() ? open_shared(pair, Transport::Staged) : open_message(pair, Transport::Staged);
}
bool pack_carries(const PairContext& pair) { return !pair.near(); }
std::unique_ptr<PairTransfer> open_pack(const PairContext& pair) {
  return open_message(pair, Transport::Pack);
}

using machine::facts_of;

struct Table {
  std::vector<Row> rows = {
      {&facts_of(Transport::Self)},
      {&facts_of(Transport::Direct), nullptr, direct_carries, open_direct},
      {&facts_of(Transport::Shared), nullptr, shared_carries, open_direct},
      {&facts_of(Transport::Put)},
      {&facts_of(Transport::Engine)},
      {&facts_of(Transport::OneShot), &kOneShotForm},
      {&facts_of(Transport::Staged), &kStagedForm, staged_carries, open_staged},
      {&facts_of(Transport::Device), &kDeviceForm},
      {&facts_of(Transport::Pack), &kPackForm, pack_carries, open_pack},
      {&facts_of(Transport::Library)},
  };
  /// By transport.
  std::vector<const PackedForm*> forms;

  Table() {
    for (const Row& row : rows) note_form(row);
  }
  void note_form(const Row& row) {
    const auto at = static_cast<std::size_t>(row.facts->transport);
    if (forms.size() <= at) forms.resize(at + 1);
    forms[at] = row.form;
  }
  static Table& get() {
    static auto& made = *new Table;
    return made;
  }
};

}  // namespace

std::span<const Row> rows() noexcept { return Table::get().rows; }

void add_row(const Row& row) {
  Table& table = Table::get();
  table.rows.insert(table.rows.begin(), row);
  table.note_form(row);
}

const PackedForm& packed_form_of(Transport transport) noexcept {
  return *Table::get().forms[static_cast<std::size_t>(transport)];
}

const Row& row_of(const PairContext& pair) {
  const auto& rows = Table::get().rows;
  const auto found = std::ranges::find_if(rows, [&](const Row& row) {
    return row.open != nullptr && row.facts->possible(pair.path) && row.carries(pair);
  });
  if (found == rows.end()) throw Unsupported("no transport carries the bytes of an exchange");
  return *found;
}

}  // namespace strake::exchange
