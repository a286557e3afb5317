#include "call_cost/mail.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <vector>

#include "call_cost/requests.hpp"

namespace bench::stub {
namespace {

std::map<int, std::deque<std::vector<char>>>& mail() {
  static auto& made = *new std::map<int, std::deque<std::vector<char>>>;
  return made;
}

std::vector<char> packed(const void* buffer, MPI_Count count, MPI_Datatype type) {
  MPI_Count size = 0;
  PMPI_Type_size_x(type, &size);
  const auto bytes = static_cast<int>(count * size);
  std::vector<char> made(static_cast<std::size_t>(bytes));
  int position = 0;
  PMPI_Pack(buffer, static_cast<int>(count), type, made.data(), bytes, &position, MPI_COMM_SELF);
  return made;
}

}  // namespace

void post(const void* buffer, MPI_Count count, MPI_Datatype type, int tag) {
  mail()[tag].push_back(packed(buffer, count, type));
}

MPI_Count take(void* buffer, MPI_Count count, MPI_Datatype type, int tag) {
  auto& messages = mail()[tag];
  if (messages.empty()) return -1;
  const std::vector<char> message = std::move(messages.front());
  messages.pop_front();
  // MPI_Unpack takes whole elements only: what a shorter message leaves alone is unpacked again.
  std::vector<char> all = packed(buffer, count, type);
  if (message.size() > all.size()) give_up("a message is longer than its receive");
  std::copy(message.begin(), message.end(), all.begin());
  int position = 0;
  PMPI_Unpack(all.data(), static_cast<int>(all.size()), &position, buffer, static_cast<int>(count),
              type, MPI_COMM_SELF);
  return static_cast<MPI_Count>(message.size());
}

}  // namespace bench::stub
