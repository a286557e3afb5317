/// \file  The private directory of a job: who can enter it, and when it goes.
#include "job/directory.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

#include "in_child.hpp"
#include "job/report.hpp"
#include "memory/sharing/descriptor_socket.hpp"
#include "memory/sharing/shared_memory.hpp"
#include "strake/error.hpp"

namespace strake::job {
namespace {

using sharing::new_number;

bool exists(const std::string& path) {
  struct stat found {};
  return lstat(path.c_str(), &found) == 0;
}

TEST(Directory, it_goes_with_the_last_process_that_has_joined_it) {
  const std::uint64_t number = new_number();
  const std::string path = DirectoryPath(number).text();
  EXPECT_FALSE(Directory::visit(number).is_open());
  auto first = std::optional(Directory::join(number));
  ASSERT_TRUE(first->is_open());
  struct stat found {};
  ASSERT_EQ(lstat(path.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777, static_cast<mode_t>(0700));
  auto second = std::optional(Directory::join(number));
  EXPECT_TRUE(first->put("x") && second->has("x"));
  first.reset();
  EXPECT_TRUE(second->has("x"));
  EXPECT_TRUE(Directory::visit(number).is_open());  // a visitor removes nothing
  EXPECT_TRUE(exists(path));
  second.reset();
  EXPECT_FALSE(exists(path));
}

TEST(Directory, a_child_of_fork_does_not_remove_it) {
  const std::uint64_t number = new_number();
  auto own = std::optional(Directory::join(number));
  in_child([&] {
    own.reset();
    return 0;
  });
  EXPECT_TRUE(exists(DirectoryPath(number).text()));
}

TEST(Directory, one_whose_processes_were_killed_is_removed_when_another_is_made) {
  const std::uint64_t number = new_number();
  const std::string path = DirectoryPath(number).text();
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    const Directory own = Directory::join(number);
    (void)own.put("left");
    (void)!write(ends[1], "x", 1);
    pause();
  }
  char begun = 0;
  ASSERT_EQ(read(ends[0], &begun, 1), 1);
  (void)Directory::join(new_number());
  EXPECT_TRUE(exists(path));  // it is in use
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(exists(path));
  (void)Directory::join(new_number());
  EXPECT_FALSE(exists(path));
  close(ends[0]);
  close(ends[1]);
}

TEST(Directory, one_that_is_used_stays_though_another_of_its_name_is_removed) {
  const std::uint64_t number = new_number();
  const std::string path = DirectoryPath(number).text();
  const pid_t child = fork();  // makes and leaves directories of the same number, again and again
  if (child == 0) {
    for (;;) (void)Directory::join(number);
  }
  int lost = 0;
  for (int i = 0; i < 2000; ++i) {
    const Directory own = Directory::join(number);
    if (own.is_open() && !(exists(path) && own.put("x") && own.has("x"))) ++lost;
  }
  EXPECT_EQ(lost, 0);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  (void)Directory::join(new_number());
  EXPECT_FALSE(exists(path));
}

TEST(Directory, only_what_has_the_name_of_a_directory_is_removed) {
  const std::string user = std::to_string(geteuid());
  EXPECT_TRUE(DirectoryPath::is_name(("strake-" + user + "-0123456789abcdef").c_str()));
  for (const char* other : {"-my-results", "-0123456789abcde", "-0123456789abcdef0",
                            "-0123456789ABCDEF", "-0123456789abcdef-", "0-0123456789abcdef", ""})
    EXPECT_FALSE(DirectoryPath::is_name(("strake-" + user + other).c_str())) << other;
  EXPECT_FALSE(DirectoryPath::is_name("strake-1-2-0123456789abcdef"));
}

TEST(Directory, it_is_private_whatever_the_umask_is) {
  for (const mode_t mask : {0777, 0700, 0277, 0}) {
    const std::uint64_t number = new_number();
    in_child([&] {
      umask(mask);
      Directory own = Directory::join(number);
      const bool works = own.is_open() && own.put("x") && Directory::visit(number).has("x");
      own.leave();
      return works ? 0 : 1;
    });
    EXPECT_FALSE(exists(DirectoryPath(number).text()));
  }
}

TEST(Directory, one_that_can_not_be_opened_is_not_left_behind) {
  const std::uint64_t number = new_number();
  in_child([&] {
    const rlimit none = {0, 0};
    return setrlimit(RLIMIT_NOFILE, &none) == 0 && !Directory::join(number).is_open() ? 0 : 1;
  });
  EXPECT_FALSE(exists(DirectoryPath(number).text()));
}

TEST(Directory, another_users_directories_delay_nobody) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to become another user";
  const auto path_of = [](int number) {
    char name[64];
    std::snprintf(name, sizeof(name), "%s/strake-0-%016x", DirectoryPath::base(), number);
    return std::string(name);
  };
  constexpr int kMany = 20'000;
  as_nobody([&] {
    for (int i = 0; i < kMany; ++i) (void)mkdir(path_of(i).c_str(), 0700);
    return 0;
  });
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(Directory::join(new_number()).is_open());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(500));
  EXPECT_TRUE(exists(path_of(0)));
  for (int i = 0; i < kMany; ++i) (void)rmdir(path_of(i).c_str());
}

TEST(Directory, one_that_others_may_enter_is_refused) {
  for (const mode_t mode : {0750, 0701, 0777, 01777, 0500}) {
    const std::uint64_t number = new_number();
    const std::string path = DirectoryPath(number).text();
    ASSERT_EQ(mkdir(path.c_str(), 0700), 0);
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    EXPECT_FALSE(Directory::visit(number).is_open());
    const Directory joined = Directory::join(number);
    EXPECT_FALSE(joined.is_open());
    EXPECT_EQ(joined.error(), EPERM);
    EXPECT_THROW((void)sharing::directory_of(number), Unsupported);
    rmdir(path.c_str());
  }
}

TEST(Directory, a_link_or_a_file_in_its_place_is_not_followed) {
  const Directory target = Directory::join(new_number());
  for (const bool link : {false, true}) {
    const std::uint64_t number = new_number();
    const std::string path = DirectoryPath(number).text();
    if (link) {
      ASSERT_EQ(symlink(target.path(), path.c_str()), 0);
    } else {
      close(open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    }
    EXPECT_FALSE(Directory::visit(number).is_open());
    EXPECT_FALSE(Directory::join(number).is_open());
    leave_letter("", Letter::Started);
    unlink(path.c_str());
  }
}

/// Tries, as another user, each of a job's doors. Returns 0 if none has opened.
int attack(const std::string& path) {
  const int outside = open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);  // everybody may
  if (outside < 0 || opendir(path.c_str()) != nullptr) return 1;
  const std::string by_descriptor = "/proc/self/fd/" + std::to_string(outside);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const auto* const plain = reinterpret_cast<sockaddr*>(&address);
  for (const std::string& way : {path, by_descriptor}) {
    struct stat found {};
    if (stat((way + "/receiver").c_str(), &found) == 0) return 2;
    if (open((way + "/s").c_str(), O_CREAT | O_WRONLY, 0666) >= 0) return 3;
    if (unlink((way + "/receiver").c_str()) == 0) return 4;
    for (const char* name : {"/receiver", "/free"}) {
      std::snprintf(address.sun_path, sizeof(address.sun_path), "%s%s", way.c_str(), name);
      const int own = socket(AF_UNIX, SOCK_DGRAM, 0);
      if (sendto(own, "x", 1, 0, plain, sizeof(address)) >= 0 || errno != EACCES) return 5;
      if (connect(own, plain, sizeof(address)) == 0 || errno != EACCES) return 6;
      if (bind(own, plain, sizeof(address)) == 0 || errno != EACCES) return 7;
    }
  }
  if (rmdir(path.c_str()) == 0 || rename(path.c_str(), (path + "-").c_str()) == 0) return 8;
  // The descriptors of the job's processes.
  for (int i = 0; i < 64; ++i) {
    const std::string theirs = "/proc/" + std::to_string(getppid()) + "/fd/" + std::to_string(i);
    if (open(theirs.c_str(), O_RDWR) >= 0) return 9;
  }
  return 0;
}

TEST(Directory, another_user_gets_in_by_no_door) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to become another user";
  const auto directory = sharing::directory_of(new_number());
  const sharing::DescriptorSocket socket(directory, "receiver");
  const sharing::SharedMemory memory = sharing::SharedMemory::make(4096);
  const std::string path = directory->path();
  as_nobody([&] { return attack(path); });
  EXPECT_FALSE(socket.receive());
  EXPECT_FALSE(socket.has_died("receiver"));
  EXPECT_FALSE(directory->has("s"));
}

TEST(Directory, one_that_another_user_has_made_is_refused) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to become another user";
  const std::uint64_t number = new_number();
  const std::string path = DirectoryPath(number).text();
  for (const mode_t mode : {0700, 0777}) {
    as_nobody(
        [&] { return mkdir(path.c_str(), 0700) == 0 && chmod(path.c_str(), mode) == 0 ? 0 : 1; });
    EXPECT_EQ(Directory::join(number).error(), EPERM);
    rmdir(path.c_str());
  }
}

/// All users that a user namespace doesn't know have one number there.
TEST(Directory, unknown_users_of_user_namespaces_do_not_meet) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to become two other users";
  const std::uint64_t number = new_number();
  const std::string path = std::string(DirectoryPath::base()) + "/strake-65534-" +
                           std::string(DirectoryPath(number).text())
                               .substr(std::string(DirectoryPath(number).text()).size() - 16);
  constexpr int kNone = 77;
  const auto as_unknown = [&](uid_t user, const auto& body) {
    return [&, user] {
      if (setgid(user) != 0 || setuid(user) != 0) return 99;
      if (unshare(CLONE_NEWUSER) != 0) return kNone;
      return geteuid() == kNobody ? body() : 98;
    };
  };
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const pid_t owner = fork();
  if (owner == 0) {
    _exit(as_unknown(1234, [&] {
      const Directory joined = Directory::join(number);
      (void)!write(ends[1], joined.is_open() ? "y" : "n", 1);
      pause();
      return 0;
    })());
  }
  close(ends[1]);
  char made = 0;
  if (read(ends[0], &made, 1) != 1) {
    waitpid(owner, nullptr, 0);
    GTEST_SKIP() << "needs user namespaces";
  }
  EXPECT_EQ(made, 'y');
  EXPECT_TRUE(exists(path));
  in_child(as_unknown(4321, [&] {
    return Directory::visit(number).is_open() || Directory::join(number).is_open() ? 1 : 0;
  }));
  kill(owner, SIGKILL);
  waitpid(owner, nullptr, 0);
  close(ends[0]);
  unlink(path.c_str());
  rmdir(path.c_str());
}

TEST(Report, letters_are_left_in_the_jobs_directory_alone) {
  const std::string job = "a test's job " + std::to_string(getpid());
  leave_letter(job, Letter::Started);  // nobody reads it
  const Directory directory = Directory::join(hash_of(job));
  ASSERT_TRUE(directory.is_open());
  EXPECT_FALSE(directory.has(LetterName(Letter::Started).text));
  leave_letter(job, Letter::Started);
  leave_letter(job, Letter::Started);
  EXPECT_TRUE(directory.has(LetterName(Letter::Started).text));
  EXPECT_FALSE(directory.has(LetterName(Letter::WithMpi).text));
}

}  // namespace
}  // namespace strake::job
