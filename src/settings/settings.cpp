#include "settings/settings.hpp"

#include <unistd.h>

#include "settings/settings_table.hpp"
#include "state/process_state.hpp"

namespace strake::settings {
namespace {

/// Read at the first use, which may be before main.
struct ReadTable {
  Table table = [] {
    std::size_t count = 0;
    while (environ != nullptr && environ[count] != nullptr) ++count;
    return read_table({environ, count});
  }();
};
const Table& table() { return ProcessState::part<const ReadTable>().table; }

}  // namespace

std::span<const Setting> all() { return table().settings; }

bool flag(Id id) noexcept { return number(id) != 0; }

std::int64_t number(Id id) noexcept { return table().numbers[static_cast<std::size_t>(id)]; }

std::string_view text(Id id) noexcept {
  return table().settings[static_cast<std::size_t>(id)].value;
}

std::span<const std::string> complaints() { return table().complaints; }

}  // namespace strake::settings
