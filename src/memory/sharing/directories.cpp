#include "memory/sharing/directories.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <random>

#include "state/process_state.hpp"
#include "strake/error.hpp"

namespace strake::sharing {
namespace {

/// The directories that this process has joined.
struct Joined {
  std::mutex mutex;
  std::map<std::uint64_t, std::weak_ptr<const job::Directory>> all;
};

}  // namespace

SharedDirectory directory_of(std::uint64_t number) {
  Joined& joined = ProcessState::part<Joined>();
  const std::lock_guard lock(joined.mutex);
  auto& known = joined.all[number];
  if (auto directory = known.lock()) return directory;
  auto made = std::make_shared<job::Directory>(job::Directory::join(number));
  if (!made->is_open())
    throw Unsupported(fmt::format("there can be no directory {} that no other user may enter: {}",
                                  job::DirectoryPath(number).text(),
                                  made->error() == EPERM
                                      ? "another user owns it, or it is open to others"
                                      : std::strerror(made->error())));
  known = made;
  return made;
}

std::uint64_t new_number() {
  std::random_device source;
  return (static_cast<std::uint64_t>(source()) << 32 | source()) | 1;
}

}  // namespace strake::sharing
