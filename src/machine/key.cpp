#include "machine/key.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "job/names.hpp"
#include "machine/profile.hpp"
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

namespace strake::machine {
namespace {

/// The beginning of a file, which has all that is needed here; empty if there is no file.
std::string read_start(const std::string& path) {
  char text[4096];
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  const ssize_t got = read(file, text, sizeof text);
  close(file);
  return {text, got > 0 ? static_cast<std::size_t>(got) : 0};
}

/// Removes blanks at both ends, and makes runs of blanks inside one blank.
std::string tidy(std::string_view text) {
  std::string out;
  bool blank = false;
  for (const char c : text) {
    if (c == '\n' || c == '\0') break;
    if (c == ' ' || c == '\t') {
      blank = !out.empty();
      continue;
    }
    if (blank) out += ' ';
    blank = false;
    out += c;
  }
  return out;
}

/// The rest of the line after `label`.
std::string value_of(const std::string& text, std::string_view label) {
  const std::size_t at = text.find(label);
  return at == std::string::npos ? std::string() : tidy(text.substr(at + label.size()));
}

#if defined(__x86_64__) || defined(__i386__)
std::string cpu_model(const std::string& /*root*/) {
  unsigned int words[12] = {};
  for (unsigned int leaf = 0; leaf < 3; ++leaf) {
    unsigned int* to = words + 4 * leaf;
    __get_cpuid(0x80000002U + leaf, to, to + 1, to + 2, to + 3);
  }
  char brand[sizeof words + 1] = "";
  std::memcpy(brand, words, sizeof words);
  // Virtual machines may hide the model from the brand; the signature still has it.
  unsigned int signature = 0;
  unsigned int other = 0;
  __get_cpuid(1, &signature, &other, &other, &other);
  return fmt::format("{} {:x}", tidy(brand), signature);
}
#else
std::string cpu_model(const std::string& root) {
  return tidy(read_start(root + "/sys/devices/system/cpu/cpu0/regs/identification/midr_el1"));
}
#endif

std::vector<std::string> entries_of(const std::string& folder) {
  std::vector<std::string> names;
  DIR* open_folder = opendir(folder.c_str());
  if (open_folder == nullptr) return names;
  while (const dirent* entry = readdir(open_folder)) {
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  closedir(open_folder);
  std::sort(names.begin(), names.end());
  return names;
}

/// " by 32.0 GT/s PCIe x16": what a PCI device and the port above it both can do, not what they do
/// now, which falls when they idle. Empty if the machine does not tell, as virtual ones do not.
std::string link_of(const std::string& device) {
  const auto least = [&](const char* name) {
    const std::string own = tidy(read_start(device + "/" + name));
    const std::string above = tidy(read_start(device + "/../" + name));
    return std::atof(above.c_str()) > 0 && std::atof(above.c_str()) < std::atof(own.c_str()) ? above
                                                                                             : own;
  };
  const std::string speed = least("max_link_speed");
  const std::string width = least("max_link_width");
  constexpr double kNoWidth = 255;
  if (std::atof(speed.c_str()) <= 0 || std::atof(width.c_str()) <= 0 ||
      std::atof(width.c_str()) >= kNoWidth) {
    return {};
  }
  return " by " + speed + " x" + width;
}

}  // namespace

std::string driver_version_below(const std::string& root) {
  // "NVIDIA UNIX x86_64 Kernel Module  570.86.15  Tue ...": the word of digits and dots.
  const std::string text = tidy(read_start(root + "/proc/driver/nvidia/version"));
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    std::string word = text.substr(at, end - at);
    const auto is_part = [](char c) { return (c >= '0' && c <= '9') || c == '.'; };
    if (word.find('.') != std::string::npos && std::all_of(word.begin(), word.end(), is_part)) {
      return word;
    }
    at = end + 1;
  }
  return "unknown";
}

std::string machine_key_below(const std::string& root) {
  std::string key = fmt::format("{}, {} CPUs", cpu_model(root), sysconf(_SC_NPROCESSORS_CONF));
  const std::string nodes = tidy(read_start(root + "/sys/devices/system/node/online"));
  if (!nodes.empty()) key += ", NUMA nodes " + nodes;
  const std::string gpus = root + "/proc/driver/nvidia/gpus";
  const std::vector<std::string> addresses = entries_of(gpus);
  for (const std::string& address : addresses) {
    const std::string model = value_of(read_start(gpus + "/" + address + "/information"), "Model:");
    const std::string device = root + "/sys/bus/pci/devices/" + address;
    const std::string node = tidy(read_start(device + "/numa_node"));
    key += ", " + (model.empty() ? "GPU" : model);
    // -1, or no such file: the node is not known.
    if (!node.empty() && node[0] != '-') key += " on node " + node;
    key += link_of(device);
  }
  const std::size_t switches = entries_of(root + "/proc/driver/nvidia-nvswitch/devices").size();
  if (switches > 0) key += fmt::format(", {} NVSwitches", switches);
  if (!addresses.empty()) key += ", driver " + driver_version_below(root);
  return key;
}

std::string machine_key() { return machine_key_below({}); }

std::string hash_of_key(std::string_view key) { return fmt::format("{:016x}", job::hash_of(key)); }

}  // namespace strake::machine
