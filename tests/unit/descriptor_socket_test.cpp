/// \file  Descriptors that go from process to process, and what comes that nobody asked for.
#include "memory/sharing/descriptor_socket.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "in_child.hpp"
#include "memory/sharing/shared_memory.hpp"
#include "strake/error.hpp"

namespace strake::sharing {
namespace {

using Sent = DescriptorSocket::Sent;
using Clock = std::chrono::steady_clock;

constexpr std::array kMessage = {std::byte{7}};

struct DescriptorSocketTest : testing::Test {
  SharedDirectory directory = directory_of(new_number());
  DescriptorSocket socket{directory, "receiver"};
  DescriptorSocket sends{directory, "sender"};
  SharedMemory memory = SharedMemory::make(4096);
};

TEST_F(DescriptorSocketTest, descriptors_reach_other_processes_and_outlive_their_sender) {
  in_child([&] {
    const SharedMemory theirs = SharedMemory::make(4096);
    std::memcpy(theirs.data(), "from the child", 15);
    const DescriptorSocket own(directory, "child");
    return own.send("receiver", kMessage, std::array{theirs.descriptor()}) == Sent::Yes ? 0 : 1;
  });
  const auto received = socket.receive();
  ASSERT_TRUE(received);
  EXPECT_EQ(received->message, std::vector(kMessage.begin(), kMessage.end()));
  const SharedMemory mapped = SharedMemory::map(received->descriptors.front().get(), 4096);
  EXPECT_STREQ(reinterpret_cast<const char*>(mapped.data()), "from the child");
  EXPECT_FALSE(socket.receive());
}

TEST_F(DescriptorSocketTest, another_group_of_the_same_user_is_not_heard) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to become another group";
  in_child([&] {
    if (setgid(kNobody) != 0) return 2;
    const DescriptorSocket own(directory, "stranger");
    return own.send("receiver", kMessage, std::array{memory.descriptor()}) == Sent::Yes ? 0 : 1;
  });
  EXPECT_FALSE(socket.receive());
}

TEST_F(DescriptorSocketTest, what_comes_without_its_descriptor_is_dropped) {
  ASSERT_EQ(sends.send("receiver", kMessage, std::array{memory.descriptor()}), Sent::Yes);
  in_child([&] {
    const rlimit none = {0, 0};  // for descriptors that are opened from now on
    return setrlimit(RLIMIT_NOFILE, &none) == 0 && !socket.receive() ? 0 : 1;
  });
  EXPECT_FALSE(socket.receive());  // it is gone
}

TEST_F(DescriptorSocketTest, several_descriptors_go_together) {
  std::vector<SharedMemory> memories;
  std::vector<int> numbers;
  for (std::size_t i = 0; i < DescriptorSocket::kMostDescriptors; ++i) {
    memories.push_back(SharedMemory::make(4096));
    *memories.back().data() = static_cast<std::byte>(i);
    numbers.push_back(memories.back().descriptor());
  }
  ASSERT_EQ(sends.send("receiver", kMessage, numbers), Sent::Yes);
  const auto received = socket.receive();
  ASSERT_TRUE(received);
  ASSERT_EQ(received->descriptors.size(), numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i)
    EXPECT_EQ(*SharedMemory::map(received->numbers()[i], 4096).data(), static_cast<std::byte>(i));
  numbers.push_back(numbers.front());
  EXPECT_EQ(sends.send("receiver", kMessage, numbers), Sent::NoReceiver);
  EXPECT_EQ(sends.send("receiver", kMessage, {}), Sent::NoReceiver);
}

TEST_F(DescriptorSocketTest, sockets_that_are_not_there_full_or_taken_are_told) {
  const std::array one = {memory.descriptor()};
  EXPECT_EQ(sends.send("nobody", kMessage, one), Sent::NoReceiver);
  EXPECT_EQ(sends.send(std::string(200, 'x').c_str(), kMessage, one), Sent::NoReceiver);
  EXPECT_THROW((DescriptorSocket{directory, "receiver"}), Unsupported);
  EXPECT_THROW((DescriptorSocket{directory, std::string(200, 'x').c_str()}), Unsupported);
  int taken = 0;
  Sent sent = Sent::Yes;
  for (; taken < 10'000 && sent == Sent::Yes; ++taken) sent = sends.send("receiver", kMessage, one);
  EXPECT_EQ(sent, Sent::Full);
  EXPECT_TRUE(socket.receive());
  EXPECT_EQ(sends.send("receiver", kMessage, one), Sent::Yes);
}

/// A connection whose close waits for its unsent bytes for that long, and the end that reads none.
std::array<FileDescriptor, 2> slow_to_close(int seconds) {
  const FileDescriptor listener(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  EXPECT_EQ(bind(listener.get(), plain, size), 0);
  EXPECT_EQ(listen(listener.get(), 1), 0);
  EXPECT_EQ(getsockname(listener.get(), plain, &size), 0);
  FileDescriptor slow(::socket(AF_INET, SOCK_STREAM, 0));
  EXPECT_EQ(connect(slow.get(), plain, size), 0);
  FileDescriptor reader(accept(listener.get(), nullptr, nullptr));
  fcntl(slow.get(), F_SETFL, O_NONBLOCK);
  const std::vector<char> bytes(1 << 16);
  while (write(slow.get(), bytes.data(), bytes.size()) > 0) continue;
  const linger waits{1, seconds};
  EXPECT_EQ(setsockopt(slow.get(), SOL_SOCKET, SO_LINGER, &waits, sizeof(waits)), 0);
  return {std::move(slow), std::move(reader)};
}

TEST_F(DescriptorSocketTest, a_descriptor_that_takes_long_to_close_holds_nobody_up) {
  constexpr int kSeconds = 3;
  auto [slow, reader] = slow_to_close(kSeconds);
  ASSERT_EQ(sends.send("receiver", kMessage, std::array{slow.get()}), Sent::Yes);
  slow = FileDescriptor();  // the last one of it is the one that comes
  const auto begin = Clock::now();
  {
    const auto received = socket.receive();
    ASSERT_TRUE(received);
    EXPECT_FALSE(is_of_memory(received->descriptors.front().get()));
    EXPECT_THROW((void)SharedMemory::map(received->descriptors.front().get(), 4096),
                 InvalidArgument);
  }
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(1));
}

TEST_F(DescriptorSocketTest, only_memory_is_taken_for_memory) {
  const FileDescriptor file(open("/etc/hostname", O_RDONLY | O_CLOEXEC));
  const FileDescriptor folder(open("/", O_RDONLY | O_CLOEXEC));
  const FileDescriptor device(open("/dev/zero", O_RDONLY | O_CLOEXEC));
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const FileDescriptor terminal(open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC));
  for (const int other : {file.get(), folder.get(), terminal.get(), ends[0], ends[1], -1})
    EXPECT_FALSE(is_of_memory(other));
  EXPECT_TRUE(is_of_memory(memory.descriptor()));
  EXPECT_TRUE(is_of_memory(device.get()));
  close(ends[0]);
  close(ends[1]);
}

TEST_F(DescriptorSocketTest, whoever_sends_without_end_holds_nobody_up) {
  // Datagrams without descriptors, which are dropped, as fast as two processes can.
  std::array<pid_t, 2> floods{};
  for (pid_t& flood : floods) {
    flood = fork();
    if (flood != 0) continue;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::snprintf(address.sun_path, sizeof(address.sun_path), "%s/receiver", directory->path());
    const int own = ::socket(AF_UNIX, SOCK_DGRAM, 0);
    for (;;) (void)sendto(own, "x", 1, 0, reinterpret_cast<sockaddr*>(&address), sizeof(address));
  }
  const auto begin = Clock::now();
  auto longest = Clock::duration::zero();
  for (auto last = begin; last - begin < std::chrono::milliseconds(300);) {
    (void)socket.receive();
    const auto now = Clock::now();
    longest = std::max(longest, now - last);
    last = now;
  }
  EXPECT_LT(longest, std::chrono::seconds(1));
  for (const pid_t flood : floods) {
    kill(flood, SIGKILL);
    waitpid(flood, nullptr, 0);
  }
  while (sends.send("receiver", kMessage, std::array{memory.descriptor()}) == Sent::Full)
    (void)socket.receive();
  EXPECT_TRUE(socket.receive());
}

TEST_F(DescriptorSocketTest, a_name_that_was_taken_away_tells_of_no_death) {
  EXPECT_FALSE(sends.has_died("never there"));
  ASSERT_EQ(unlinkat(directory->descriptor(), "receiver", 0), 0);  // by whoever cleans /dev/shm
  EXPECT_FALSE(sends.has_died("receiver"));
  { const DescriptorSocket short_lived(directory, "short"); }
  EXPECT_FALSE(sends.has_died("short"));
  EXPECT_FALSE(directory->has("short"));
  const std::array one = {memory.descriptor()};
  sends.retire();
  EXPECT_FALSE(directory->has("sender"));
  EXPECT_FALSE(sends.has_died("receiver"));
  EXPECT_EQ(sends.send("receiver", kMessage, one), Sent::NoReceiver);
}

TEST_F(DescriptorSocketTest, a_process_that_nobody_has_waited_for_has_died) {
  EXPECT_FALSE(sends.has_died("receiver"));
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    const DescriptorSocket own(directory, "zombie");
    (void)!write(ends[1], "x", 1);
    pause();
    _exit(0);
  }
  char begun = 0;
  ASSERT_EQ(read(ends[0], &begun, 1), 1);
  EXPECT_FALSE(sends.has_died("zombie"));
  kill(child, SIGKILL);
  siginfo_t how{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &how, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(kill(child, 0), 0);  // as kill has it, it is there
  EXPECT_TRUE(sends.has_died("zombie"));
  waitpid(child, nullptr, 0);
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace strake::sharing
