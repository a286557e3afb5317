#include "clocks.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <vector>

namespace strake::measure {
namespace fs = std::filesystem;

namespace {

/// A file's value before it was changed.
struct Saved {
  std::string path;
  std::string value;
};

// Read by the signal handler, so complete before it is installed, and never changed afterwards.
std::vector<Saved> g_saved;
std::atomic<bool> g_changed{false};

constexpr std::array<int, 5> kSignals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
std::array<struct sigaction, kSignals.size()> g_previous;

/// Calls only what a signal handler may.
bool write_value(const char* path, const char* value, std::size_t size) noexcept {
  const int file = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
  if (file < 0) return false;
  const bool done = write(file, value, size) == static_cast<ssize_t>(size);
  return close(file) == 0 && done;
}

void restore() noexcept {
  if (!g_changed.exchange(false)) return;
  for (const Saved& saved : g_saved) {
    write_value(saved.path.c_str(), saved.value.data(), saved.value.size());
  }
}

extern "C" void restore_and_end(int signal) {
  restore();
  // The signal gets back the action that it had before. The kernel holds the raised signal back
  // until this handler returns.
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    if (kSignals[i] == signal) sigaction(signal, &g_previous[i], nullptr);
  }
  raise(signal);
}

void install_handlers() {
  struct sigaction action {};
  action.sa_handler = restore_and_end;
  sigemptyset(&action.sa_mask);
  for (const int signal : kSignals) sigaddset(&action.sa_mask, signal);
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], nullptr, &g_previous[i]);
    // A signal that the process ignores (SIGHUP under nohup) does not end it.
    if (g_previous[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
  }
}

void remove_handlers() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &g_previous[i], nullptr);
}

std::string read_value(const fs::path& path) {
  std::ifstream file(path);
  std::string value;
  std::getline(file, value);
  return value;
}

bool is_cpu(const std::string& name) {
  return name.size() > 3 && name.starts_with("cpu") && std::isdigit(name[3]) != 0;
}

/// Files that are to have a wanted value, and how many of them have it.
struct Change {
  int files = 0;
  int right = 0;    // as wanted already
  int changed = 0;  // by this process
  std::string error;

  void add(const fs::path& path, const std::string& wanted) {
    ++files;
    const std::string before = read_value(path);
    if (before == wanted) {
      ++right;
      return;
    }
    g_saved.push_back({path.string(), before});
  }
};

/// Writes the files [first, end) of g_saved.
void apply(Change& change, std::size_t first, std::size_t end, std::string_view wanted) {
  for (std::size_t i = first; i < end; ++i) {
    if (write_value(g_saved[i].path.c_str(), wanted.data(), wanted.size())) {
      ++change.changed;
    } else if (change.error.empty()) {
      change.error = std::strerror(errno);
    }
  }
}

std::string describe(const char* what, const char* files, const Change& change) {
  if (change.files == 0) return fmt::format("{}: not set, this system has no {}", what, files);
  if (change.error.empty()) {
    return fmt::format("{}{}", what, change.changed == 0 ? " already" : "");
  }
  return fmt::format("{} not permitted on {} of {}: {}", what,
                     change.files - change.right - change.changed, change.files, change.error);
}

}  // namespace

Clocks::Clocks(const std::string& root) {
  g_saved.clear();
  Change governor;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root, error)) {
    const fs::path file = entry.path() / "cpufreq/scaling_governor";
    if (is_cpu(entry.path().filename().string()) && fs::exists(file, error)) {
      governor.add(file, "performance");
    }
  }
  const std::size_t boost_begin = g_saved.size();
  // Intel's driver counts the other way round.
  const fs::path no_turbo = fs::path(root) / "intel_pstate/no_turbo";
  const fs::path acpi_boost = fs::path(root) / "cpufreq/boost";
  const bool intel = fs::exists(no_turbo, error);
  Change boost;
  if (intel) {
    boost.add(no_turbo, "1");
  } else if (fs::exists(acpi_boost, error)) {
    boost.add(acpi_boost, "0");
  }

  if (!g_saved.empty()) {
    install_handlers();
    g_changed.store(true);
    apply(governor, 0, boost_begin, "performance");
    apply(boost, boost_begin, g_saved.size(), intel ? "1" : "0");
  }
  summary_ = describe("governor performance", "cpufreq governors", governor) + "; " +
             describe("boost off", "boost switch", boost);
}

Clocks::~Clocks() {
  if (g_saved.empty()) return;
  restore();
  remove_handlers();
}

}  // namespace strake::measure
