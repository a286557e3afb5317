#include "device/loaded_objects.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "device/backend.hpp"

namespace strake {
namespace {

// Small libraries of the C library's own that no program here needs.
constexpr const char* kOne = "libBrokenLocale.so.1";
constexpr const char* kOther = "libnss_compat.so.2";

/// A library for as long as it is in scope.
class Loaded {
 public:
  explicit Loaded(const char* name) : handle_(dlopen(name, RTLD_LAZY | RTLD_LOCAL)) {}
  ~Loaded() {
    if (handle_ != nullptr) dlclose(handle_);
  }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;
  explicit operator bool() const { return handle_ != nullptr; }

 private:
  void* handle_;
};

/// Asks until the cheap question is answered; false on systems where it never is.
bool settle_by_asking() {
  for (int i = 0; i < 20000 && !no_object_since(); ++i) EXPECT_EQ(device_backend(), nullptr);
  return no_object_since();
}

TEST(LoadedObjects, notice_what_comes_after_many_questions) {
  if (!settle_by_asking()) GTEST_SKIP() << "not a glibc with its empty libraries";
  EXPECT_EQ(device_backend(), nullptr);
  {
    const Loaded one(kOne);
    if (!one) GTEST_SKIP() << kOne << " is not installed";
    EXPECT_FALSE(no_object_since());
    EXPECT_EQ(device_backend(), nullptr);
    EXPECT_FALSE(no_object_since());
  }
  // device_backend() has looked at the library, which is gone now.
  EXPECT_TRUE(no_object_since());
  EXPECT_EQ(device_backend(), nullptr);
}

TEST(LoadedObjects, count_what_ever_came) {
  const unsigned long long before = objects_loaded();
  const Loaded one(kOne);
  if (!one) GTEST_SKIP() << kOne << " is not installed";
  EXPECT_GT(objects_loaded(), before);
}

TEST(LoadedObjects, do_not_settle_on_what_nobody_looked_at) {
  if (!settle_by_asking()) GTEST_SKIP() << "not a glibc with its empty libraries";
  const unsigned long long looked_at = objects_loaded();
  const Loaded one(kOne);
  if (!one) GTEST_SKIP() << kOne << " is not installed";
  EXPECT_FALSE(settle_objects(looked_at));
  EXPECT_FALSE(no_object_since());
}

TEST(LoadedObjects, keep_no_library_of_the_application) {
  {
    const Loaded one(kOne);
    const Loaded other(kOther);
    if (!one || !other) GTEST_SKIP() << kOne << " and " << kOther << " are not both installed";
    // The last object is the application's while these are asked; it may go at any time.
    for (int i = 0; i < 10000; ++i) ASSERT_EQ(device_backend(), nullptr);
  }
  EXPECT_EQ(dlopen(kOne, RTLD_LAZY | RTLD_NOLOAD), nullptr);
  EXPECT_EQ(dlopen(kOther, RTLD_LAZY | RTLD_NOLOAD), nullptr);
  EXPECT_EQ(device_backend(), nullptr);
}

TEST(LoadedObjects, stay_valid_while_another_thread_loads_and_unloads) {
  std::atomic<bool> stop{false};
  std::thread asking([&] {
    while (!stop.load()) {
      ASSERT_EQ(device_backend(), nullptr);
      static_cast<void>(no_object_since());
    }
  });
  for (int i = 0; i < 200; ++i) {
    const Loaded one(kOne);
    const Loaded other(kOther);
  }
  stop = true;
  asking.join();
}

}  // namespace
}  // namespace strake
