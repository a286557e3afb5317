/// \file  Opening and closing device memory of another process, which a small program beside this
/// object owns: a process can't open its own.
#include <dlfcn.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "measure/cuda/cases.hpp"
#include "measure/cuda/hold.hpp"
#include "strake/error.hpp"

extern char** environ;

namespace strake::measure::cuda {
namespace {

std::string owner_path() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&owner_path), &info) == 0) return {};
  const std::string file = info.dli_fname;
  return file.substr(0, file.rfind('/') + 1) + "strake-measure-ipc";
}

/// The other process, and the handle of its memory.
class Owner {
 public:
  explicit Owner(std::int64_t bytes) {
    std::array<char, 32> bus{};
    check(cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), 0));
    const std::string path = owner_path();
    std::string size = std::to_string(bytes);
    int ends[2] = {-1, -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
      throw Unsupported(fmt::format("socketpair: {}", std::strerror(errno)));
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    std::array<char*, 4> arguments = {const_cast<char*>(path.c_str()), size.data(), bus.data(),
                                      nullptr};
    const int code =
        posix_spawn(&process_, path.c_str(), &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    (void)close(ends[1]);
    socket_ = ends[0];
    if (code != 0) {
      process_ = -1;
      (void)close(socket_);
      throw Unsupported(fmt::format("{} can't be started: {}", path, std::strerror(code)));
    }
    if (recv(socket_, &handle_, sizeof handle_, MSG_WAITALL) !=
        static_cast<ssize_t>(sizeof handle_)) {
      stop();
      throw Unsupported(path + " gave no handle of its memory");
    }
  }
  ~Owner() { stop(); }
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;
  [[nodiscard]] const cudaIpcMemHandle_t& handle() const noexcept { return handle_; }

 private:
  void stop() noexcept {
    (void)close(socket_);
    if (process_ > 0) (void)waitpid(process_, nullptr, 0);
    process_ = -1;
  }
  pid_t process_ = -1;
  int socket_ = -1;
  cudaIpcMemHandle_t handle_{};
};

std::unique_ptr<Instance> make_ipc(std::int64_t bytes, bool time_open) {
  check(cudaSetDevice(0));
  check(cudaFree(nullptr));
  const auto owner = std::make_shared<Owner>(bytes);
  const auto open = [owner] {
    void* memory = nullptr;
    check(cudaIpcOpenMemHandle(&memory, owner->handle(), cudaIpcMemLazyEnablePeerAccess));
    return memory;
  };
  return timed_each(
      0,
      [=] {
        void* memory = nullptr;
        const double opening = time_calls(1, [&] { memory = open(); });
        const double closing = time_calls(1, [&] { check(cudaIpcCloseMemHandle(memory)); });
        return time_open ? opening : closing;
      },
      [=] {
        void* const memory = open();
        unsigned char last = 0;
        check(
            cudaMemcpy(&last, static_cast<const char*>(memory) + bytes - 1, 1, cudaMemcpyDefault));
        check(cudaIpcCloseMemHandle(memory));
        if (last != 0x5a) {
          throw WrongData(fmt::format("memory of another process holds {:x}, not 5a", last));
        }
      });
}

}  // namespace

void add_ipc(Cases& cases) {
  for (const std::int64_t bytes : {kMiB, 64 * kMiB}) {
    add(cases, "gpu/call/ipc-open", bytes, [=] { return make_ipc(bytes, true); });
    add(cases, "gpu/call/ipc-close", bytes, [=] { return make_ipc(bytes, false); });
  }
}

}  // namespace strake::measure::cuda
