/// \file  Small sends in flight at once, to which a library gives one and the same request: each is
/// completed by itself, in any order, among contiguous ones and receives.
#include <set>

#include "described.hpp"

namespace {

constexpr int kStrided = 8;
constexpr int kPlain = 4;
constexpr int kEach = kStrided + kPlain;
constexpr int kLonger = 1;  ///< a strided one of 6 KiB, with a request of its own
constexpr int kMessages = kEach + kLonger;

/// All messages of a turn, strided and contiguous ones in turn, one longer one at the end.
class Messages {
 public:
  Messages() {
    for (int i = 0; i < kMessages; ++i) {
      out_.emplace_back(type(i), 1);
      in_.emplace_back(type(i), 1);
    }
  }

  /// Receives at [0, kMessages), sends behind them.
  void start(std::uint64_t turn, MPI_Request* requests) {
    turn_ = turn;
    for (int i = 0; i < kMessages; ++i) {
      in(i).poison();
      CHECK_MPI(MPI_Irecv(in(i).data(), 1, type(i).type, check::previous(), i, MPI_COMM_WORLD,
                          &requests[i]));
    }
    for (int i = 0; i < kMessages; ++i) {
      out(i).fill(seed(i));
      CHECK_MPI(MPI_Isend(out(i).data(), 1, type(i).type, check::next(), i, MPI_COMM_WORLD,
                          &requests[kMessages + i]));
    }
  }

  /// Request `index` is complete: a send's buffer is used for something else, a receive's is read
  /// and then used for something else.
  void completed(int index) {
    if (index >= kMessages) return out(index - kMessages).fill(~turn_);
    CHECK(in(index).holds(seed(index)));
    in(index).fill(~turn_);
  }

  /// Checks that receive buffers still have what the program put there after their receives.
  void check_unchanged() {
    for (int i = 0; i < kMessages; ++i) CHECK(in(i).holds(~turn_));
  }

 private:
  [[nodiscard]] const Described& type(int i) const {
    return i == kEach ? longer_ : i % 3 == 2 ? plain_ : strided_;
  }
  Image& in(int i) { return in_[static_cast<std::size_t>(i)]; }
  Image& out(int i) { return out_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] std::uint64_t seed(int i) const {
    return turn_ * kMessages + static_cast<std::uint64_t>(i);
  }

  Described strided_ = describe::small();
  Described plain_ = describe::commit(describe::contiguous(16, describe::integer()));
  Described longer_ = describe::medium();
  std::vector<Image> out_, in_;
  std::uint64_t turn_ = 0;
};

constexpr int kRequests = 2 * kMessages;

/// A permutation of the requests that is another one for each turn.
std::vector<int> order(std::uint64_t turn) {
  std::vector<int> all(kRequests);
  for (int i = 0; i < kRequests; ++i) all[static_cast<std::size_t>(i)] = i;
  std::uint64_t x = turn + 1;
  for (std::size_t i = all.size() - 1; i > 0; --i) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    std::swap(all[i], all[(x >> 33) % (i + 1)]);
  }
  return all;
}

void wait_each(Messages& messages, MPI_Request* requests, const std::vector<int>& order_of) {
  for (const int i : order_of) {
    CHECK_MPI(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
    CHECK(requests[i] == MPI_REQUEST_NULL);
    messages.completed(i);
  }
}

void test_each(Messages& messages, MPI_Request* requests, const std::vector<int>& order_of) {
  for (const int i : order_of) {
    for (int flag = 0; flag == 0;) CHECK_MPI(MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE));
    messages.completed(i);
  }
}

/// Sends and receives in one array, in the given order.
void waitall(Messages& messages, const MPI_Request* requests, const std::vector<int>& order_of) {
  MPI_Request ordered[kRequests];
  for (std::size_t i = 0; i < kRequests; ++i) ordered[i] = requests[order_of[i]];
  CHECK_MPI(MPI_Waitall(kRequests, ordered, MPI_STATUSES_IGNORE));
  for (int i = 0; i < kRequests; ++i) {
    CHECK(ordered[i] == MPI_REQUEST_NULL);
    messages.completed(i);
  }
}

void waitany(Messages& messages, const MPI_Request* requests, const std::vector<int>& order_of) {
  MPI_Request ordered[kRequests];
  for (std::size_t i = 0; i < kRequests; ++i) ordered[i] = requests[order_of[i]];
  std::set<int> seen;
  for (int i = 0; i < kRequests; ++i) {
    int index = -1;
    CHECK_MPI(MPI_Waitany(kRequests, ordered, &index, MPI_STATUS_IGNORE));
    if (index < 0 || !seen.insert(index).second) return CHECK_EQ(index, i);
    messages.completed(order_of[static_cast<std::size_t>(index)]);
  }
}

void testsome(Messages& messages, const MPI_Request* requests, const std::vector<int>& order_of) {
  MPI_Request ordered[kRequests];
  for (std::size_t i = 0; i < kRequests; ++i) ordered[i] = requests[order_of[i]];
  int indices[kRequests];
  for (int done = 0, outcount = 0; done < kRequests; done += outcount) {
    CHECK_MPI(MPI_Testsome(kRequests, ordered, &outcount, indices, MPI_STATUSES_IGNORE));
    if (outcount == MPI_UNDEFINED) return CHECK_EQ(done, kRequests);
    for (int i = 0; i < outcount; ++i) {
      messages.completed(order_of[static_cast<std::size_t>(indices[i])]);
    }
  }
}

/// The receives by themselves, then the sends, of which some are completed together.
void in_groups(Messages& messages, MPI_Request* requests) {
  CHECK_MPI(MPI_Waitall(kMessages, requests, MPI_STATUSES_IGNORE));
  for (int i = 0; i < kMessages; ++i) messages.completed(i);
  CHECK_MPI(MPI_Wait(&requests[kRequests - 1], MPI_STATUS_IGNORE));
  CHECK_MPI(MPI_Waitall(4, &requests[kMessages + 4], MPI_STATUSES_IGNORE));
  CHECK_MPI(MPI_Waitall(kMessages, &requests[kMessages], MPI_STATUSES_IGNORE));
  for (int i = kMessages; i < kRequests; ++i) messages.completed(i);
}

void turns(int count) {
  Messages messages;
  MPI_Request requests[kRequests];
  for (int turn = 0; turn < count; ++turn) {
    const auto number = static_cast<std::uint64_t>(turn);
    messages.start(number, requests);
    const std::vector<int> order_of = order(number);
    switch (turn % 6) {
      case 0:
        check::section("Wait, in any order");
        wait_each(messages, requests, order_of);
        break;
      case 1:
        check::section("Waitall, in any order");
        waitall(messages, requests, order_of);
        break;
      case 2:
        check::section("Waitany, in any order");
        waitany(messages, requests, order_of);
        break;
      case 3:
        check::section("Testsome, in any order");
        testsome(messages, requests, order_of);
        break;
      case 4:
        check::section("Test, in any order");
        test_each(messages, requests, order_of);
        break;
      default:
        check::section("receives, then sends in groups");
        in_groups(messages, requests);
    }
    messages.check_unchanged();
  }
}

/// Should a library give each send a request of its own, this program would prove less.
void share_requests() {
  check::section("one request for several sends");
  const Described type = describe::small();
  Image out(type, 1);
  std::vector<Image> in;
  MPI_Request receives[kStrided], sends[kStrided];
  for (int i = 0; i < kStrided; ++i) {
    in.emplace_back(type, 1);
    CHECK_MPI(MPI_Irecv(in.back().data(), 1, type.type, check::previous(), i, MPI_COMM_WORLD,
                        &receives[i]));
  }
  // One buffer for all: its bytes are read before the call returns, or stay until the end.
  out.fill(1);
  std::set<MPI_Request> different;
  for (int i = 0; i < kStrided; ++i) {
    CHECK_MPI(MPI_Isend(out.data(), 1, type.type, check::next(), i, MPI_COMM_WORLD, &sends[i]));
    different.insert(sends[i]);
  }
  if (check::size() > 1) CHECK(different.size() < kStrided);
  CHECK_MPI(MPI_Waitall(kStrided, receives, MPI_STATUSES_IGNORE));
  CHECK_MPI(MPI_Waitall(kStrided, sends, MPI_STATUSES_IGNORE));
  for (Image& image : in) CHECK(image.holds(1));
}

}  // namespace

int main(int argc, char** argv) {
  check::init(argc, argv);
  share_requests();
  turns(1000);
  return check::finish();
}
