#include "machine/whole_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "strake/error.hpp"

namespace strake::machine {

void write_whole(const std::string& path, std::string_view contents) {
  const auto folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (error) throw Error(fmt::format("{} can't be made: {}", folder.string(), error.message()));
  // No two writers share this name, not even on two hosts that share the folder.
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  const std::string part = fmt::format("{}.{}.{}.part", path, host.data(), getpid());
  const auto fail = [&](const char* what) {
    const int reason = errno;
    unlink(part.c_str());
    throw Error(fmt::format("{}: can't {}: {}", path, what, std::strerror(reason)));
  };
  const int file = open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) fail("be written");
  while (!contents.empty()) {
    const ssize_t wrote = write(file, contents.data(), contents.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) {
      close(file);
      fail("be written");
    }
    contents.remove_prefix(static_cast<std::size_t>(wrote));
  }
  const bool on_disk = fsync(file) == 0;
  if (close(file) != 0 || !on_disk) fail("be written");
  if (std::rename(part.c_str(), path.c_str()) != 0) fail("be put in place");
}

}  // namespace strake::machine
