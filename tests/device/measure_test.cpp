// The GPU's benchmarks as `strake measure` finds them: in the plug-in, without linking it.
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "measure/case.hpp"
#include "strake/error.hpp"

namespace strake::measure {
namespace {

Plugin* make_plugin(int version) {
  void* const library = dlopen(STRAKE_MEASURE_CUDA, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) throw std::runtime_error(dlerror());
  const auto make = reinterpret_cast<MakePlugin>(dlsym(library, "strake_make_measure_plugin"));
  if (make == nullptr) throw std::runtime_error("the plug-in has no strake_make_measure_plugin");
  return make(version);
}

class MeasureCuda : public testing::Test {
 protected:
  void SetUp() override {
    plugin_.reset(make_plugin(kPluginVersion));
    if (plugin_ == nullptr) GTEST_SKIP() << "no CUDA device on this machine";
  }
  std::unique_ptr<Plugin> plugin_;
};

TEST(MeasureCudaPlugin, another_version_is_refused) {
  EXPECT_EQ(make_plugin(kPluginVersion + 1), nullptr);
}

TEST_F(MeasureCuda, the_machine_has_a_driver_and_each_of_its_gpus) {
  const auto machine = nlohmann::json::parse(plugin_->machine());
  const auto matches = [](const nlohmann::json& text, const char* wanted) {
    return std::regex_match(text.get<std::string>(), std::regex(wanted));
  };
  EXPECT_TRUE(matches(machine.at("driver"), "[0-9]+([.][0-9]+)+|unknown")) << machine;
  EXPECT_TRUE(matches(machine.at("cuda"), "[0-9]+[.][0-9]+")) << machine;
  int devices = 0;
  ASSERT_EQ(cudaGetDeviceCount(&devices), cudaSuccess);
  ASSERT_EQ(machine.at("gpus").size(), static_cast<std::size_t>(devices));
  std::set<std::string> uuids;
  for (const auto& gpu : machine.at("gpus")) {
    SCOPED_TRACE(gpu.dump());
    EXPECT_FALSE(gpu.at("name").get<std::string>().empty());
    EXPECT_TRUE(matches(gpu.at("uuid"), "GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"));
    EXPECT_TRUE(uuids.insert(gpu.at("uuid")).second) << "two GPUs of one UUID";
    EXPECT_TRUE(matches(gpu.at("pci"), "[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}[.]0"));
    EXPECT_GT(gpu.at("memory_bytes").get<std::int64_t>(), 1 << 28);
    EXPECT_GT(gpu.at("multiprocessors").get<int>(), 0);
  }
}

TEST_F(MeasureCuda, every_case_has_a_point_of_its_own) {
  std::set<std::string> points;
  for (const Case& measured : plugin_->cases()) {
    const std::string point = measured.name + ' ' + std::to_string(measured.bytes) + ' ' +
                              std::to_string(measured.block) + ' ' +
                              std::to_string(measured.pitch) + ' ' + std::to_string(measured.count);
    EXPECT_TRUE(points.insert(point).second) << point;
    EXPECT_TRUE(measured.make != nullptr) << point;
    EXPECT_GE(measured.limit, 0) << point;
  }
}

TEST_F(MeasureCuda, the_model_finds_its_parts) {
  const std::vector<Case> cases = plugin_->cases();
  for (const char* name :
       {"pack/device/box", "pack/device/blocks", "pack/device/indexed", "unpack/device/box",
        "pack/one-shot/box", "unpack/one-shot/box", "unpack/one-shot/indexed",
        "copy/device-to-pinned", "copy/pinned-to-device"}) {
    const auto is_it = [&](const Case& measured) {
      return measured.name == name && measured.quick;
    };
    EXPECT_TRUE(std::any_of(cases.begin(), cases.end(), is_it)) << name << " is not in quick";
  }
}

/// With CUDA_LAUNCH_BLOCKING (device.measure_held sets it) no stream can be held.
TEST_F(MeasureCuda, every_case_of_both_directions_is_held) {
  if (std::getenv("CUDA_LAUNCH_BLOCKING") == nullptr) GTEST_SKIP() << "CUDA_LAUNCH_BLOCKING unset";
  std::set<std::string> seen;
  for (const Case& measured : plugin_->cases()) {
    const bool one_of_them =
        measured.name.find("both-ways") != std::string::npos ||
        measured.name.ends_with("/contended") ||
        (measured.name.find("/fan/") != std::string::npos && measured.count > 1);
    if (!one_of_them || seen.contains(measured.name)) continue;
    SCOPED_TRACE(measured.name);
    std::unique_ptr<Instance> instance;
    try {
      instance = measured.make();
    } catch (const Unsupported& error) {
      std::printf("%-46s left out: %s\n", measured.name.c_str(), error.what());
      continue;
    }
    EXPECT_THROW((void)instance->run(1), Unsupported);
    seen.insert(measured.name);
  }
  EXPECT_GT(seen.size(), 3U);
}

/// Quick cases; those that STRAKE_MEASURE_CASES, a regular expression, names where it is set. A
/// case that this machine can't measure says so by Unsupported or the like when it is made.
TEST_F(MeasureCuda, quick_cases_run_and_move_the_right_bytes) {
  const char* const wanted = std::getenv("STRAKE_MEASURE_CASES");
  const std::regex names(wanted == nullptr ? ".*" : wanted);
  int ran = 0;
  const std::vector<Case> cases = plugin_->cases();
  for (const Case& measured : cases) {
    if (wanted == nullptr ? !measured.quick : !std::regex_search(measured.name, names)) continue;
    SCOPED_TRACE(measured.name + ", " + std::to_string(measured.bytes) + " bytes");
    const auto begin = std::chrono::steady_clock::now();
    std::unique_ptr<Instance> instance;
    try {
      instance = measured.make();
    } catch (const std::exception& error) {
      std::printf("%-46s left out: %s\n", measured.name.c_str(), error.what());
      continue;
    }
    double seconds = 0;
    try {
      (void)instance->run(1);
      seconds = instance->run(3) / 3;
      instance->verify();
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
      continue;
    }
    EXPECT_GT(seconds, 0);
    // A load that the compiler dropped would beat the link; memory of the device's own has a cache.
    if (measured.limit > 0 && measured.name.find("local") == std::string::npos &&
        measured.name.rfind("gpu/", 0) == 0) {
      EXPECT_LT(static_cast<double>(measured.bytes) / seconds, 1.02 * measured.limit);
    }
    const std::chrono::duration<double> all = std::chrono::steady_clock::now() - begin;
    std::printf("%-46s %11lld %5lld %6lld %5lld %11.3f us %9.3f GB/s  of %7.1f  (%.3f s)\n",
                measured.name.c_str(), static_cast<long long>(measured.bytes),
                static_cast<long long>(measured.block), static_cast<long long>(measured.pitch),
                static_cast<long long>(measured.count), seconds * 1e6,
                static_cast<double>(measured.bytes) / seconds / 1e9, measured.limit / 1e9,
                all.count());
    ++ran;
  }
  std::printf("%d of %zu cases\n", ran, cases.size());
  EXPECT_GT(ran, 0);
}

}  // namespace
}  // namespace strake::measure
