// Operations that NVIDIA's driver lets a process do here. Child processes try all of them: a driver
// that is not well may end a process or never come back, and this process starts others, which a
// process with a driver in it should not.
#include <dlfcn.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "device/backend.hpp"
#include "find.hpp"

namespace strake::doctor {
namespace {

using Json = nlohmann::json;

constexpr int kFirstUseSeconds = 30;  // a first use of eight GPUs takes 5 s

/// The driver's functions that are needed, as cuda.h declares them; those that it lacks are null.
struct Driver {
  struct Handle {
    std::array<char, 64> bytes{};
  };
  int (*init)(unsigned) = nullptr;
  int (*error_string)(int, const char**) = nullptr;
  int (*count)(int*) = nullptr;
  int (*name)(char*, int, int) = nullptr;
  int (*attribute)(int*, int, int) = nullptr;
  int (*can_access)(int*, int, int) = nullptr;
  int (*retain)(void**, int) = nullptr;
  int (*set_current)(void*) = nullptr;
  int (*allocate)(std::uint64_t*, std::size_t) = nullptr;
  int (*to_device)(std::uint64_t, const void*, std::size_t) = nullptr;
  int (*to_host)(void*, std::uint64_t, std::size_t) = nullptr;
  int (*get_handle)(Handle*, std::uint64_t) = nullptr;
  int (*open_handle)(std::uint64_t*, Handle, unsigned) = nullptr;

  /// False: there is no driver.
  bool load() {
    void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return false;
    const auto find = [&](auto& function, const char* symbol) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, symbol));
    };
    find(init, "cuInit");
    find(error_string, "cuGetErrorString");
    find(count, "cuDeviceGetCount");
    find(name, "cuDeviceGetName");
    find(attribute, "cuDeviceGetAttribute");
    find(can_access, "cuDeviceCanAccessPeer");
    find(retain, "cuDevicePrimaryCtxRetain");
    find(set_current, "cuCtxSetCurrent");
    find(allocate, "cuMemAlloc_v2");
    find(to_device, "cuMemcpyHtoD_v2");
    find(to_host, "cuMemcpyDtoH_v2");
    find(get_handle, "cuIpcGetMemHandle");
    find(open_handle, "cuIpcOpenMemHandle_v2");
    return init != nullptr && count != nullptr;
  }

  [[nodiscard]] std::string text(int code) const {
    const char* text = nullptr;
    if (error_string != nullptr) error_string(code, &text);
    return text != nullptr ? text : fmt::format("error {}", code);
  }
  /// 0, or the first code of the calls that make a context on device 0 this thread's.
  [[nodiscard]] int use_first() const {
    void* context = nullptr;
    const int code = retain(&context, 0);
    return code != 0 ? code : set_current(context);
  }
  [[nodiscard]] bool has_ipc() const { return get_handle != nullptr && open_handle != nullptr; }
};

constexpr std::uint64_t kToken = 0x5354'5241'4b45'6970;

struct Offer {
  int code = 0;
  Driver::Handle handle;
};

/// The process whose memory another one opens: waits for a byte, makes the offer, and keeps the
/// memory until the other side closes.
[[noreturn]] void own_memory(int in, int out) {
  char go = 0;
  if (read(in, &go, 1) != 1) _exit(0);
  Driver driver;
  Offer offer;
  std::uint64_t memory = 0;
  offer.code = driver.load() ? driver.init(0) : 1;
  if (offer.code == 0) offer.code = driver.use_first();
  if (offer.code == 0) offer.code = driver.allocate(&memory, sizeof(kToken));
  if (offer.code == 0) offer.code = driver.to_device(memory, &kToken, sizeof(kToken));
  if (offer.code == 0) offer.code = driver.get_handle(&offer.handle, memory);
  if (write(out, &offer, sizeof(offer)) != sizeof(offer)) _exit(1);
  (void)!read(in, &go, 1);
  _exit(0);
}

/// Opens the memory that the owner offers. Empty: that went well.
std::string ipc_problem(const Driver& driver, int in, int out) {
  if (!driver.has_ipc()) return "the driver has no such functions";
  Offer offer;
  if (write(out, "g", 1) != 1 || read(in, &offer, sizeof(offer)) != sizeof(offer))
    return "the process that was to offer memory ended";
  std::uint64_t memory = 0;
  std::uint64_t found = 0;
  int code = offer.code;
  if (code == 0) code = driver.use_first();
  constexpr unsigned kLazyPeerAccess = 1;
  if (code == 0) code = driver.open_handle(&memory, offer.handle, kLazyPeerAccess);
  if (code == 0) code = driver.to_host(&found, memory, sizeof(found));
  if (code != 0) return driver.text(code);
  return found == kToken ? "" : "other bytes came than the other process had put there";
}

/// First line of Strake's log while its GPU plug-in is loaded; empty: the plug-in was loaded.
std::string plugin_problem() {
  const int log = memfd_create("strake-doctor", MFD_CLOEXEC);
  const int before = dup(STDERR_FILENO);
  dup2(log, STDERR_FILENO);
  const bool loaded = device_backend() != nullptr;
  dup2(before, STDERR_FILENO);
  close(before);
  std::array<char, 400> text{};
  const ssize_t got = pread(log, text.data(), text.size(), 0);
  close(log);
  if (loaded) return {};
  std::string line(text.data(), static_cast<std::size_t>(got > 0 ? got : 0));
  line.resize(std::min(line.find('\n'), line.size()));
  return line.empty() ? "Strake's GPU plug-in could not be loaded" : line;
}

void describe(const Driver& driver, int count, Json& facts) {
  facts["plugin_problem"] = plugin_problem();
  const DeviceBackend* const backend = device_backend();
  facts["gpus"] = Json::array();
  facts["apart"] = Json::array();
  constexpr int kMajor = 75;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR
  constexpr int kMinor = 76;
  for (int i = 0; i < count; ++i) {
    std::array<char, 128> name{};
    int major = 0;
    int minor = 0;
    if (driver.name != nullptr) driver.name(name.data(), static_cast<int>(name.size()), i);
    if (driver.attribute != nullptr) {
      driver.attribute(&major, kMajor, i);
      driver.attribute(&minor, kMinor, i);
    }
    facts["gpus"].push_back({{"name", name.data()},
                             {"major", major},
                             {"minor", minor},
                             {"usable", backend != nullptr && backend->usable(i)}});
    for (int j = 0; driver.can_access != nullptr && j < i; ++j) {
      int can = 0;
      if (driver.can_access(&can, i, j) == 0 && can == 0) facts["apart"].push_back({j, i});
    }
  }
}

/// All facts, found in this process, which has no driver yet.
Json facts_here() {
  std::array<int, 2> to_owner{};
  std::array<int, 2> from_owner{};
  if (pipe(to_owner.data()) != 0 || pipe(from_owner.data()) != 0) return {{"problem", "no pipe"}};
  const pid_t owner = fork();
  if (owner == 0) {
    close(to_owner[1]);
    close(from_owner[0]);
    own_memory(to_owner[0], from_owner[1]);
  }
  close(to_owner[0]);
  close(from_owner[1]);
  Driver driver;
  if (!driver.load()) return {{"driver", false}};
  Json facts = {{"driver", true}};
  int count = 0;
  int code = driver.init(0);
  if (code == 0) code = driver.count(&count);
  if (code != 0) {
    facts["problem"] = driver.text(code);
  } else if (count == 0) {
    facts["problem"] = "it has no device";
  } else {
    describe(driver, count, facts);
    facts["ipc_problem"] = ipc_problem(driver, from_owner[0], to_owner[1]);
  }
  return facts;
}

/// Until the other end is closed. False: that took too long.
bool read_all(int in, std::string& text) {
  std::array<char, 4096> part{};
  for (;;) {
    pollfd readable{in, POLLIN, 0};
    const int ready = poll(&readable, 1, kFirstUseSeconds * 1000);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    const ssize_t got = read(in, part.data(), part.size());
    if (got <= 0) return true;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
}

Gpus gpus_of(const Json& facts) {
  Gpus gpus;
  gpus.driver = facts.value("driver", false);
  gpus.problem = facts.value("problem", "");
  gpus.plugin_problem = facts.value("plugin_problem", "");
  gpus.ipc_problem = facts.value("ipc_problem", "");
  for (const Json& gpu : facts.value("gpus", Json::array()))
    gpus.gpus.push_back({gpu["name"], gpu["major"], gpu["minor"], gpu["usable"]});
  for (const Json& pair : facts.value("apart", Json::array()))
    gpus.without_peer_access.push_back({pair[0], pair[1]});
  return gpus;
}

}  // namespace

Gpus find_gpus() {
  std::array<int, 2> out{};
  if (pipe(out.data()) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0);
    close(out[0]);
    const std::string text =
        facts_here().dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    _exit(write(out[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  close(out[1]);
  if (child > 0) setpgid(child, child);  // by whoever is first
  std::string text;
  const bool in_time = child > 0 && read_all(out[0], text);
  close(out[0]);
  if (child > 0) kill(-child, SIGKILL);
  if (child > 0) waitpid(child, nullptr, 0);
  const Json facts = Json::parse(text, nullptr, false);
  if (facts.is_object()) return gpus_of(facts);
  Gpus gpus;
  gpus.driver = true;
  gpus.problem = in_time ? "a process that used it died"
                         : fmt::format("it did not answer within {} s", kFirstUseSeconds);
  return gpus;
}

}  // namespace strake::doctor
