/// \file  A rank has posted receives, and sits in a call that completes none of them: whoever sends
/// to it gets through, waits for its sends, and only then makes the call return.
#include <functional>

#include "described.hpp"

namespace {

constexpr int kMessages = 5;

struct Call {
  const char* name;
  std::function<void()> make;
};

/// The two sides do the same but for who receives before the call, and who sends.
void pass(const Call& call, int receiver, const Described& type, int turn) {
  if (check::rank() > 1) return call.make();
  const int other = 1 - check::rank();
  std::vector<Image> images;
  std::vector<MPI_Request> requests(kMessages, MPI_REQUEST_NULL);
  for (int i = 0; i < kMessages; ++i) {
    Image& image = images.emplace_back(type, 1);
    MPI_Request* const request = &requests[static_cast<std::size_t>(i)];
    if (check::rank() == receiver) {
      CHECK_MPI(MPI_Irecv(image.data(), 1, type.type, i % 2 == 0 ? other : MPI_ANY_SOURCE, i,
                          MPI_COMM_WORLD, request));
      continue;
    }
    image.fill(static_cast<std::uint64_t>(turn + i));
    CHECK_MPI(MPI_Isend(image.data(), 1, type.type, other, i, MPI_COMM_WORLD, request));
  }
  if (check::rank() == receiver) {
    call.make();
    CHECK_MPI(MPI_Waitall(kMessages, requests.data(), MPI_STATUSES_IGNORE));
    for (int i = 0; i < kMessages; ++i)
      CHECK(images[static_cast<std::size_t>(i)].holds(static_cast<std::uint64_t>(turn + i)));
    return;
  }
  switch (turn % 4) {  // each way to complete a send
    case 0:
      CHECK_MPI(MPI_Waitall(kMessages, requests.data(), MPI_STATUSES_IGNORE));
      break;
    case 1:
      for (MPI_Request& request : requests) CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
      break;
    case 2:
      for (int flag = 0; flag == 0;)
        CHECK_MPI(MPI_Testall(kMessages, requests.data(), &flag, MPI_STATUSES_IGNORE));
      break;
    default:
      for (int left = kMessages; left > 0; --left) {
        int index = MPI_UNDEFINED;
        CHECK_MPI(MPI_Waitany(kMessages, requests.data(), &index, MPI_STATUS_IGNORE));
      }
  }
  // Complete sends: the memory is the application's again.
  for (Image& image : images) image.fill(0);
  call.make();
}

}  // namespace

int main(int argc, char** argv) {
  check::init(argc, argv);
  MPI_Win window = MPI_WIN_NULL;
  int shown = 0;
  MPI_Win_create(&shown, sizeof(shown), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  const Call calls[] = {
      {"MPI_Barrier", [] { MPI_Barrier(MPI_COMM_WORLD); }},
      {"MPI_Comm_split",
       [] {
         MPI_Comm made = MPI_COMM_NULL;
         MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &made);
         MPI_Comm_free(&made);
       }},
      {"MPI_Win_fence", [&] { MPI_Win_fence(0, window); }},
      {"MPI_Allreduce",
       [] {
         int sum = 1;
         MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
       }},
  };
  for (const Call& call : calls) {
    check::section(call.name);
    const Described types[] = {describe::small(), describe::medium(), describe::large()};
    for (int turn = 0; turn < 8; ++turn) {
      for (const Described& type : types) pass(call, turn / 4, type, turn);
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }
  MPI_Win_free(&window);
  return check::finish();
}
