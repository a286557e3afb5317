/// \file  Two cores in one process: each is served by its own options (decision 14).
#include <atomic>
#include <memory>
#include <vector>

#include "device_test.hpp"

namespace strake {
namespace {

std::atomic<int> g_lent{0};
std::atomic<int> g_taken{0};

/// The second core's options: its blocks are counted.
DeviceBackendOptions counting_options() {
  DeviceBackendOptions options;
  options.blocks = {[](Place place, std::int64_t bytes) {
                      ++g_lent;
                      ++g_taken;
                      return backend().allocate(place, bytes);
                    },
                    [](Place place, void* block) noexcept {
                      --g_lent;
                      backend().deallocate(place, block);
                    }};
  options.warn = [](const char*) {};
  return options;
}

TEST(DeviceCores, each_gets_blocks_from_its_own_source) {
  STRAKE_NEEDS_DEVICE();
  const Layout list = Layout::blocks(std::vector<std::int64_t>{0, 24, 40, 104}, 8);
  const auto use = [&](DeviceBackend& made, DeviceCopier& copies) {
    const auto queue = made.make_queue(0);
    const auto plan = copies.compile(Layout::dense(32), kDevice, list, kDevice);
    const CopyBatch::Copy copy{list, 0, list, 1};
    const Place places[] = {kDevice, kDevice};
    const auto batch = copies.compile_batch(0, places, {&copy, 1});
    return g_taken.load();
  };
  DeviceBackend& first = backend();
  DeviceCopier& first_copier = copier();
  auto early = first.make_queue(0);  // goes when the second core is there

  const DeviceBackendOptions options = counting_options();
  const auto make =
      reinterpret_cast<MakeDeviceBackend>(device_plugin_symbol("strake_make_device_backend"));
  const auto make_copier =
      reinterpret_cast<MakeDeviceCopier>(device_plugin_symbol("strake_make_device_copier"));
  ASSERT_NE(make, nullptr);
  ASSERT_NE(make_copier, nullptr);
  // Never destroyed, as those of a core.
  DeviceBackend* const second = make(kDeviceBackendVersion, options);
  DeviceCopier* const second_copier = make_copier(kDeviceBackendVersion, options.blocks);
  ASSERT_NE(second, nullptr);
  ASSERT_NE(second_copier, nullptr);

  EXPECT_EQ(use(first, first_copier), 0);
  EXPECT_GT(use(*second, *second_copier), 3);  // two of the queue, one of each copy
  early.reset();
  EXPECT_EQ(g_lent.load(), 0);
}

}  // namespace
}  // namespace strake
