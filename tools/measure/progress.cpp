#include "progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

namespace strake::measure {
namespace {

constexpr double kEverySecond = 0.1;   // a terminal is drawn so often at most
constexpr double kEveryLine = 10;      // [s] elsewhere: a log of 15 minutes has 90 lines
constexpr std::size_t kBarWidth = 24;  // leaves room for the case in 80 columns
constexpr std::size_t kCaseWidth = 38;
constexpr double kOneCase = 3;  // [s] as long as the driver stays with one case, about

/// A line of progress that can't be written ends no measurement.
void write(std::FILE* stream, const std::string& text) { std::fputs(text.c_str(), stream); }

}  // namespace

std::string time_left(std::size_t done, std::size_t total, double elapsed_s, double budget_s) {
  // Cases cost very different times, so the first ones tell little: the budget bounds the guess.
  const double rest = static_cast<double>(total - std::min(done, total));
  const double guess = done == 0 ? kOneCase * rest : elapsed_s / static_cast<double>(done) * rest;
  const auto left = std::lround(std::clamp(guess, 0.0, std::max(budget_s - elapsed_s, 0.0)));
  return fmt::format("{}:{:02} left", left / 60, left % 60);
}

Progress::Progress(double budget_s, std::FILE* stream)
    : budget_s_(budget_s),
      stream_(stream),
      terminal_(isatty(fileno(stream)) != 0),
      begin_(std::chrono::steady_clock::now()) {}

Progress::~Progress() { clear(); }

void Progress::clear() {
  if (terminal_ && shown_) write(stream_, "\r\033[K");
  shown_ = false;
}

void Progress::show(std::size_t done, std::size_t total, const std::string& what) {
  const auto now = std::chrono::steady_clock::now();
  const auto seconds = [&](auto since) {
    return std::chrono::duration<double>(now - since).count();
  };
  if (last_ != std::chrono::steady_clock::time_point{} &&
      seconds(last_) < (terminal_ ? kEverySecond : kEveryLine)) {
    return;
  }
  last_ = now;
  const std::string left = time_left(done, total, seconds(begin_), budget_s_);
  if (!terminal_) {
    write(stream_, fmt::format("measuring: {} of {}, {}: {}\n", done, total, left, what));
    return;
  }
  const std::size_t filled = total == 0 ? kBarWidth : kBarWidth * done / total;
  write(stream_, fmt::format("\r\033[K[{:<{}}] {}  {}", std::string(filled, '#'), kBarWidth, left,
                             what.substr(0, kCaseWidth)));
  std::fflush(stream_);
  shown_ = true;
}

void Progress::say(const std::string& line) {
  clear();
  write(stream_, line + "\n");
}

}  // namespace strake::measure
