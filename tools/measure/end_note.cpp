#include "end_note.hpp"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <deque>

namespace strake::measure {
namespace {

/// Complete before the handler can see it, and kept: a handler may be writing it.
std::atomic<const std::string*> g_note{nullptr};

constexpr std::array kNoted = {SIGINT, SIGTERM, SIGHUP};
std::array<struct sigaction, kNoted.size()> g_unnoted;

extern "C" void write_note_and_end(int signal) {
  const std::string* const note = g_note.exchange(nullptr);
  if (note != nullptr && write(STDERR_FILENO, note->data(), note->size()) < 0) {
    // The reader is gone; the process ends all the same.
  }
  for (std::size_t i = 0; i < kNoted.size(); ++i) {
    if (kNoted[i] == signal) sigaction(signal, &g_unnoted[i], nullptr);
  }
  raise(signal);  // held back until this returns
}

}  // namespace

EndNote::EndNote() {
  struct sigaction action {};
  action.sa_handler = write_note_and_end;
  sigemptyset(&action.sa_mask);
  for (const int signal : kNoted) sigaddset(&action.sa_mask, signal);
  for (std::size_t i = 0; i < kNoted.size(); ++i) {
    sigaction(kNoted[i], nullptr, &g_unnoted[i]);
    if (g_unnoted[i].sa_handler != SIG_IGN) sigaction(kNoted[i], &action, nullptr);
  }
}

EndNote::~EndNote() {
  for (std::size_t i = 0; i < kNoted.size(); ++i) sigaction(kNoted[i], &g_unnoted[i], nullptr);
  g_note.store(nullptr);
}

void EndNote::say(const std::string& note) {
  // A run saves every few seconds, so few notes are made.
  static std::deque<std::string> notes;
  g_note.store(note.empty() ? nullptr : &notes.emplace_back(note));
}

}  // namespace strake::measure
