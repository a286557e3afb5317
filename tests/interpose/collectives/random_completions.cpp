// How the requests of a step are completed; each rank draws its own way.
#include <algorithm>
#include <numeric>

#include "check.hpp"
#include "random_runner.hpp"

namespace random_collectives {

namespace {

constexpr const char* kManners[] = {"MPI_Waitall", "MPI_Wait",    "MPI_Waitany",  "MPI_Waitsome",
                                    "MPI_Test",    "MPI_Testany", "MPI_Testsome", "MPI_Testall"};

}  // namespace

void Runner::wait_for_all(const Step& step, int round) {
  Draw draw(mix({options_.seed, 12, static_cast<std::uint64_t>(step.number),
                 static_cast<std::uint64_t>(round), static_cast<std::uint64_t>(check::rank())}));
  is_complete_.assign(requests_.size(), false);
  // MPICH 4.0 reports a complete persistent collective again where it looks for any of several
  // requests, and its MPI_Testall fails if another request is not complete.
  constexpr int kOfPersistent[] = {0, 1, 4};
  const int manner = options_.is_persistent ? kOfPersistent[draw.index(3)] : draw.number(0, 7);
  enter(std::string("completion by ") + kManners[manner]);
  const int count = static_cast<int>(requests_.size());
  std::vector<MPI_Status> statuses(requests_.size());
  std::vector<int> indices(requests_.size());
  std::iota(indices.begin(), indices.end(), 0);
  if (manner == 1 || manner == 4) draw.shuffle(indices);
  switch (manner) {
    case 0:
      CHECK_MPI(MPI_Waitall(count, requests_.data(), statuses.data()));
      for (int i = 0; i < count; ++i) completed(i, statuses[static_cast<std::size_t>(i)]);
      break;
    case 1:
      for (const int i : indices) {
        const auto at = static_cast<std::size_t>(i);
        CHECK_MPI(MPI_Wait(&requests_[at], &statuses[at]));
        completed(i, statuses[at]);
      }
      break;
    case 4:
      test_each(indices);
      break;
    case 7: {
      int all = 0;
      while (all == 0) CHECK_MPI(MPI_Testall(count, requests_.data(), &all, statuses.data()));
      for (int i = 0; i < count; ++i) completed(i, statuses[static_cast<std::size_t>(i)]);
      break;
    }
    default:
      complete_some(manner);
  }
}

void Runner::test_each(std::vector<int> indices) {
  while (!indices.empty()) {
    const auto is_done = [&](int i) {
      int done = 0;
      MPI_Status status{};
      CHECK_MPI(MPI_Test(&requests_[static_cast<std::size_t>(i)], &done, &status));
      if (done != 0) completed(i, status);
      return done != 0;
    };
    indices.erase(std::remove_if(indices.begin(), indices.end(), is_done), indices.end());
  }
}

void Runner::complete_some(int manner) {
  const int count = static_cast<int>(requests_.size());
  std::vector<MPI_Status> statuses(requests_.size());
  std::vector<int> indices(requests_.size());
  for (int left = count; left > 0;) {
    int done = 0, index = MPI_UNDEFINED;
    switch (manner) {
      case 2:
        CHECK_MPI(MPI_Waitany(count, requests_.data(), &index, statuses.data()));
        done = 1;
        break;
      case 5:
        CHECK_MPI(MPI_Testany(count, requests_.data(), &index, &done, statuses.data()));
        break;
      case 3:
        CHECK_MPI(MPI_Waitsome(count, requests_.data(), &done, indices.data(), statuses.data()));
        break;
      default:
        CHECK_MPI(MPI_Testsome(count, requests_.data(), &done, indices.data(), statuses.data()));
    }
    if (manner == 2 || manner == 5) indices[0] = index;
    if (done == MPI_UNDEFINED || (done == 1 && indices[0] == MPI_UNDEFINED)) {
      require("finds no active request, but " + std::to_string(left) + " are under way");
      return;
    }
    for (int i = 0; i < done; ++i) {
      const auto at = static_cast<std::size_t>(i);
      completed(indices[at], statuses[at]);
    }
    left -= done;
  }
}

}  // namespace random_collectives
