/// \file  Arrays that mix everything a request may stand for, generalised ones of the program's own
/// among them: each call that completes several, with statuses and without.
#include "described.hpp"

namespace {

enum class What { kNull, kInactive, kReceive, kSend, kStartedReceive, kStartedSend, kOwn };
enum class Of { kSmall, kMedium, kLarge, kPlain };

struct Item {
  What what;
  Of of = Of::kSmall;
};
/// A send of each type goes with a receive of it, on the same tag: its place among the receives.
constexpr Item kItems[] = {{What::kReceive, Of::kMedium},
                           {What::kNull},
                           {What::kSend, Of::kMedium},
                           {What::kReceive, Of::kPlain},
                           {What::kInactive},
                           {What::kOwn},
                           {What::kSend, Of::kPlain},
                           {What::kReceive, Of::kLarge},
                           {What::kStartedReceive, Of::kSmall},
                           {What::kSend, Of::kLarge},
                           {What::kNull},
                           {What::kStartedSend, Of::kSmall},
                           {What::kOwn},
                           {What::kStartedReceive, Of::kPlain},
                           {What::kReceive, Of::kSmall},
                           {What::kStartedSend, Of::kPlain},
                           {What::kInactive},
                           {What::kSend, Of::kSmall}};
constexpr int kCount = static_cast<int>(std::size(kItems));
constexpr int kActive = 14;

bool is_receive(int i) {
  return kItems[i].what == What::kReceive || kItems[i].what == What::kStartedReceive;
}
bool is_send(int i) {
  return kItems[i].what == What::kSend || kItems[i].what == What::kStartedSend;
}
bool is_active(int i) { return is_receive(i) || is_send(i) || kItems[i].what == What::kOwn; }
bool stays(int i) {
  const What what = kItems[i].what;
  return what == What::kInactive || what == What::kStartedReceive || what == What::kStartedSend;
}
/// The how-manieth of its kind it is.
int tag_of(int i) {
  int tag = 0;
  for (int j = 0; j < i; ++j) {
    if (is_send(i) ? is_send(j) : is_receive(j)) ++tag;
  }
  return tag;
}

/// Status of a generalised request of the program: source 3, tag 40 + place, 5 ints.
constexpr int kOwnSource = 3;
constexpr int kOwnTag = 40;
constexpr int kOwnInts = 5;
int g_freed = 0;
int query(void* state, MPI_Status* status) {
  MPI_Status_set_elements(status, MPI_INT, kOwnInts);
  MPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = kOwnSource;
  status->MPI_TAG = kOwnTag + *static_cast<int*>(state);
  return MPI_SUCCESS;
}
int free_own(void* /*state*/) {
  ++g_freed;
  return MPI_SUCCESS;
}
int cancel(void* /*state*/, int /*complete*/) { return MPI_SUCCESS; }

class Mixed {
 public:
  Mixed() {
    for (int i = 0; i < kCount; ++i) {
      images_.emplace_back(type(i), 1);
      place_[i] = i;
    }
    for (int i = 0; i < kCount; ++i) {
      if (!stays(i)) continue;
      const int tag = kItems[i].what == What::kInactive ? 99 : tag_of(i);
      if (is_send(i)) {
        CHECK_MPI(
            MPI_Send_init(data(i), 1, type(i).type, check::next(), tag, MPI_COMM_WORLD, &kept_[i]));
      } else {
        CHECK_MPI(MPI_Recv_init(data(i), 1, type(i).type, check::previous(), tag, MPI_COMM_WORLD,
                                &kept_[i]));
      }
    }
  }
  ~Mixed() {
    for (int i = 0; i < kCount; ++i) {
      if (stays(i)) CHECK_MPI(MPI_Request_free(&kept_[i]));
    }
  }
  Mixed(const Mixed&) = delete;
  Mixed& operator=(const Mixed&) = delete;

  /// Starts the array's requests; generalised ones are complete only after complete_own().
  void start(std::uint64_t turn) {
    turn_ = turn;
    g_freed = 0;
    for (int i = 0; i < kCount; ++i) {
      images_[static_cast<std::size_t>(i)].poison();
      if (is_send(i)) images_[static_cast<std::size_t>(i)].fill(seed(i));
      seen_[i] = 0;
      requests[i] = stays(i) ? kept_[i] : MPI_REQUEST_NULL;
    }
    for (const bool send : {false, true}) {
      for (int i = 0; i < kCount; ++i) {
        if (send ? !is_send(i) : is_send(i)) continue;
        switch (kItems[i].what) {
          case What::kReceive:
            CHECK_MPI(MPI_Irecv(data(i), 1, type(i).type, check::previous(), tag_of(i),
                                MPI_COMM_WORLD, &requests[i]));
            break;
          case What::kSend:
            CHECK_MPI(MPI_Isend(data(i), 1, type(i).type, check::next(), tag_of(i), MPI_COMM_WORLD,
                                &requests[i]));
            break;
          case What::kStartedReceive:
          case What::kStartedSend:
            CHECK_MPI(MPI_Start(&requests[i]));
            break;
          case What::kOwn:
            CHECK_MPI(MPI_Grequest_start(query, free_own, cancel, &place_[i], &requests[i]));
            own_[i] = requests[i];
            break;
          default:
            break;
        }
      }
    }
  }
  void complete_own() {
    for (int i = 0; i < kCount; ++i) {
      if (kItems[i].what == What::kOwn) CHECK_MPI(MPI_Grequest_complete(own_[i]));
    }
  }

  /// Request `i` is complete, with this status (null: ignored). Once each.
  void completed(int i, const MPI_Status* status) {
    if (i < 0 || i >= kCount) return CHECK_EQ(i, 0);
    CHECK(is_active(i));
    CHECK_EQ(++seen_[i], 1);
    CHECK_EQ(requests[i] != MPI_REQUEST_NULL, stays(i));
    if (is_receive(i)) CHECK(images_[static_cast<std::size_t>(i)].holds(seed(i)));
    if (status != nullptr) check_status(i, *status);
  }
  void check_status(int i, const MPI_Status& status) const {
    int cancelled = -1, ints = -1;
    CHECK_MPI(MPI_Test_cancelled(&status, &cancelled));
    CHECK_EQ(cancelled, 0);
    if (is_send(i)) return;  // says nothing more
    const bool own = kItems[i].what == What::kOwn, empty = !is_active(i);
    CHECK_EQ(status.MPI_SOURCE, own ? kOwnSource : empty ? MPI_ANY_SOURCE : check::previous());
    CHECK_EQ(status.MPI_TAG, own ? kOwnTag + i : empty ? MPI_ANY_TAG : tag_of(i));
    CHECK_MPI(MPI_Get_elements(&status, MPI_INT, &ints));
    CHECK_EQ(ints, own ? kOwnInts : empty ? 0 : type(i).size() / static_cast<int>(sizeof(int)));
  }
  /// A call that completes all has done so.
  void all_completed(const MPI_Status* statuses) {
    for (int i = 0; i < kCount; ++i) {
      if (is_active(i)) {
        completed(i, statuses == nullptr ? nullptr : &statuses[i]);
      } else if (statuses != nullptr) {
        check_status(i, statuses[i]);
      }
    }
  }
  /// Nothing of the array is active any more.
  void end() {
    CHECK_EQ(g_freed, 2);
    for (int i = 0; i < kCount; ++i) {
      CHECK_EQ(seen_[i], is_active(i) ? 1 : 0);
      CHECK(requests[i] == (stays(i) ? kept_[i] : MPI_REQUEST_NULL));
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }

  MPI_Request requests[kCount];

 private:
  [[nodiscard]] const Described& type(int i) const {
    return types_[static_cast<std::size_t>(kItems[i].of)];
  }
  void* data(int i) { return images_[static_cast<std::size_t>(i)].data(); }
  [[nodiscard]] std::uint64_t seed(int i) const {
    return turn_ * 100 + static_cast<std::uint64_t>(tag_of(i));
  }

  Described types_[4] = {describe::small(), describe::medium(), describe::large(),
                         describe::commit(describe::contiguous(16, describe::integer()))};
  std::vector<Image> images_;
  MPI_Request kept_[kCount], own_[kCount];
  int place_[kCount];
  int seen_[kCount];
  std::uint64_t turn_ = 0;
};

/// Both halves of the array's messages have the same types in the same order, or nothing matches.
void require_pairs() {
  std::vector<Of> sends, receives;
  int active = 0;
  for (int i = 0; i < kCount; ++i) {
    if (is_send(i)) sends.push_back(kItems[i].of);
    if (is_receive(i)) receives.push_back(kItems[i].of);
    active += is_active(i) ? 1 : 0;
  }
  CHECK(sends == receives);
  CHECK_EQ(active, kActive);
}

/// A call that completes some: indices in ascending order, as both libraries give them.
void some_completed(Mixed& mixed, int outcount, const int* indices, const MPI_Status* statuses) {
  for (int i = 0; i < outcount; ++i) {
    if (i > 0) CHECK(indices[i - 1] < indices[i]);
    mixed.completed(indices[i], statuses == nullptr ? nullptr : &statuses[i]);
  }
}

void waits(Mixed& mixed, bool ignored) {
  MPI_Status statuses[kCount];
  MPI_Status* const one = ignored ? MPI_STATUS_IGNORE : statuses;
  MPI_Status* const all = ignored ? MPI_STATUSES_IGNORE : statuses;
  const MPI_Status* const told = ignored ? nullptr : statuses;
  std::uint64_t turn = ignored ? 10 : 20;

  check::section("Wait");
  mixed.start(++turn);
  mixed.complete_own();
  for (int i = kCount; i-- > 0;) {
    CHECK_MPI(MPI_Wait(&mixed.requests[i], one));
    if (is_active(i)) {
      mixed.completed(i, told);
    } else if (!ignored) {
      mixed.check_status(i, statuses[0]);
    }
  }
  mixed.end();

  check::section("Waitall");
  mixed.start(++turn);
  mixed.complete_own();
  CHECK_MPI(MPI_Waitall(kCount, mixed.requests, all));
  mixed.all_completed(told);
  mixed.end();

  check::section("Waitany");
  mixed.start(++turn);
  int index = -1, outcount = 0, indices[kCount];
  for (int done = 0; done < kActive; ++done) {
    if (done == kActive - 2) mixed.complete_own();  // all others are complete by then
    CHECK_MPI(MPI_Waitany(kCount, mixed.requests, &index, one));
    mixed.completed(index, told);
  }
  CHECK_MPI(MPI_Waitany(kCount, mixed.requests, &index, one));
  CHECK_EQ(index, MPI_UNDEFINED);
  if (!ignored) mixed.check_status(1, statuses[0]);
  mixed.end();

  check::section("Waitsome");
  mixed.start(++turn);
  for (int done = 0; done < kActive; done += outcount) {
    if (done == kActive - 2) mixed.complete_own();
    CHECK_MPI(MPI_Waitsome(kCount, mixed.requests, &outcount, indices, all));
    if (outcount <= 0) return CHECK_EQ(outcount, 1);
    some_completed(mixed, outcount, indices, told);
  }
  CHECK_MPI(MPI_Waitsome(kCount, mixed.requests, &outcount, indices, all));
  CHECK_EQ(outcount, MPI_UNDEFINED);
  mixed.end();
}

void test(Mixed& mixed, std::uint64_t turn, bool ignored) {
  MPI_Status statuses[kCount];
  MPI_Status* const one = ignored ? MPI_STATUS_IGNORE : statuses;
  const MPI_Status* const told = ignored ? nullptr : statuses;
  int flag = 0;
  check::section("Test");
  mixed.start(turn);
  for (int i = 0; i < kCount; ++i) {
    if (kItems[i].what == What::kOwn) {
      CHECK_MPI(MPI_Test(&mixed.requests[i], &flag, one));
      CHECK_EQ(flag, 0);
    }
  }
  mixed.complete_own();
  bool ended[kCount] = {};
  for (int left = kCount; left > 0;) {
    for (int i = 0; i < kCount; ++i) {
      if (ended[i]) continue;
      CHECK_MPI(MPI_Test(&mixed.requests[i], &flag, one));
      if (!is_active(i)) CHECK_EQ(flag, 1);
      if (flag == 0) continue;
      ended[i] = true;
      --left;
      if (is_active(i)) {
        mixed.completed(i, told);
      } else if (!ignored) {
        mixed.check_status(i, statuses[0]);
      }
    }
  }
  mixed.end();
}

void testall(Mixed& mixed, std::uint64_t turn, bool ignored) {
  MPI_Status statuses[kCount];
  MPI_Status* const all = ignored ? MPI_STATUSES_IGNORE : statuses;
  int flag = 0;
  check::section("Testall");
  mixed.start(turn);
  for (int i = 0; i < 200; ++i) {
    CHECK_MPI(MPI_Testall(kCount, mixed.requests, &flag, all));
    CHECK_EQ(flag, 0);  // those of the program's own are not complete
  }
  mixed.complete_own();
  for (flag = 0; flag == 0;) CHECK_MPI(MPI_Testall(kCount, mixed.requests, &flag, all));
  mixed.all_completed(ignored ? nullptr : statuses);
  mixed.end();
}

void testany(Mixed& mixed, std::uint64_t turn, bool ignored) {
  MPI_Status status;
  MPI_Status* const one = ignored ? MPI_STATUS_IGNORE : &status;
  int flag = 0, index = -1;
  check::section("Testany");
  mixed.start(turn);
  for (int done = 0; done < kActive;) {
    if (done == kActive - 2) {
      CHECK_MPI(MPI_Testany(kCount, mixed.requests, &index, &flag, one));
      CHECK(flag == 0 && index == MPI_UNDEFINED);
      mixed.complete_own();
    }
    CHECK_MPI(MPI_Testany(kCount, mixed.requests, &index, &flag, one));
    if (flag == 0) {
      CHECK_EQ(index, MPI_UNDEFINED);
      continue;
    }
    if (index == MPI_UNDEFINED) return CHECK_EQ(done, kActive);
    mixed.completed(index, ignored ? nullptr : &status);
    ++done;
  }
  CHECK_MPI(MPI_Testany(kCount, mixed.requests, &index, &flag, one));
  CHECK(flag == 1 && index == MPI_UNDEFINED);  // MPICH 4.0 leaves the status
  mixed.end();
}

void testsome(Mixed& mixed, std::uint64_t turn, bool ignored) {
  MPI_Status statuses[kCount];
  MPI_Status* const all = ignored ? MPI_STATUSES_IGNORE : statuses;
  int outcount = 0, indices[kCount];
  check::section("Testsome");
  mixed.start(turn);
  for (int done = 0; done < kActive; done += outcount) {
    if (done == kActive - 2) mixed.complete_own();
    CHECK_MPI(MPI_Testsome(kCount, mixed.requests, &outcount, indices, all));
    if (outcount < 0) return CHECK_EQ(outcount, 0);
    some_completed(mixed, outcount, indices, ignored ? nullptr : statuses);
  }
  CHECK_MPI(MPI_Testsome(kCount, mixed.requests, &outcount, indices, all));
  CHECK_EQ(outcount, MPI_UNDEFINED);
  mixed.end();
}

void all() {
  require_pairs();
  Mixed mixed;
  for (int repeat = 0; repeat < 5; ++repeat) {
    for (const bool ignored : {false, true}) {
      waits(mixed, ignored);
      const std::uint64_t turn = ignored ? 30 : 40;
      test(mixed, turn + 1, ignored);
      testall(mixed, turn + 2, ignored);
      testany(mixed, turn + 3, ignored);
      testsome(mixed, turn + 4, ignored);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  check::init(argc, argv);
  all();
  return check::finish();
}
