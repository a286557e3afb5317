#include "exchange/choice/choice_log.hpp"

#include <fmt/format.h>

#include <mutex>
#include <set>

#include "exchange/transport/shared/header_messages.hpp"
#include "job/first.hpp"
#include "layout/expression.hpp"
#include "machine/transports.hpp"
#include "settings/log.hpp"
#include "state/process_state.hpp"

namespace strake::exchange {
namespace {

struct LoggedLines {
  std::mutex mutex;
  std::set<std::string> lines;
};

/// `hvector(512,8,4096,byte)`, which strake explain takes, or what there is to say of a long list.
std::string what(const Message& message, const mpi::Elements& elements) {
  std::string text = expression_of(elements.layout());
  if (text.empty()) text = fmt::format("{} bytes in {} blocks", message.bytes, message.blocks);
  return text;
}

std::string line_of(const Message& message, const Choice& choice, const mpi::Elements& elements) {
  const bool send = message.direction == MessageDirection::Send;
  std::string line =
      fmt::format("{} {} of {} {} {} memory: {}; {}",
                  message.nonblocking ? "nonblocking" : "blocking", send ? "send" : "receive",
                  what(message, elements), send ? "from" : "into", name_of(message.place.kind),
                  choice.transport == Transport::Library
                      ? "left to the MPI library"
                      : fmt::format("transport {}", name_of(choice.transport)),
                  why_chosen(message, choice));
  const bool shared = choice.transport != Transport::Library || is_about_speed(choice.reason);
  if (send && shared && choice.shares && shared::may_send_header(message.bytes, message.place))
    line += "; to ranks of this node by memory that both share";
  return line;
}

}  // namespace

void log_once(const std::string& line) noexcept {
  constexpr std::size_t kMost = 1000;
  static const bool first = job::first_of_job();
  if (!first || !log::enabled(log::Level::Info)) return;
  try {
    auto& [mutex, lines] = ProcessState::part<LoggedLines>();
    const std::lock_guard lock(mutex);
    if (lines.size() < kMost && lines.insert(line).second) log::write(log::Level::Info, line);
  } catch (...) {
    // Out of memory: a lost line must not end the program.
  }
}

void log_choice(const Message& message, const Choice& choice,
                const mpi::Elements& elements) noexcept {
  if (!log::enabled(log::Level::Info)) return;
  try {
    log_once(line_of(message, choice, elements));
  } catch (...) {
  }
}

}  // namespace strake::exchange
