/// \file  tried nonblocking | persistent | blocking
/// While exchanges go different ways in turn, every message comes whole: by memory that ranks
/// share, packed, and left to the MPI library. check_tried.py looks which ways there were.
#include <string>

#include "described.hpp"

namespace {

/// [s] TEST_SECONDS, or 0.8, a hundredth of which is enough for trials.
double seconds() {
  const char* const given = std::getenv("TEST_SECONDS");
  return given != nullptr ? std::atof(given) : 0.8;
}
constexpr int kAtATime = 20;

/// One message to the next rank, one from the previous one, again and again.
class Exchange {
 public:
  Exchange(const std::string& how, int rows)
      : how_(how), type_(describe::commit(describe::hvector(rows, 1, 64, describe::real()))) {
    if (how_ != "persistent") return;
    CHECK_MPI(
        MPI_Recv_init(in_.data(), 1, type_.type, check::previous(), 1, MPI_COMM_WORLD, requests_));
    CHECK_MPI(
        MPI_Send_init(out_.data(), 1, type_.type, check::next(), 1, MPI_COMM_WORLD, requests_ + 1));
  }
  ~Exchange() {
    if (how_ != "persistent") return;
    CHECK_MPI(MPI_Request_free(&requests_[0]));
    CHECK_MPI(MPI_Request_free(&requests_[1]));
  }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  void run(std::uint64_t seed) {
    out_.fill(seed + static_cast<std::uint64_t>(check::rank()));
    in_.poison();
    if (how_ == "blocking") {
      const bool sends_first = check::rank() % 2 == 0;
      if (sends_first) send();
      CHECK_MPI(MPI_Recv(in_.data(), 1, type_.type, check::previous(), 1, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE));
      if (!sends_first) send();
    } else {
      start();
      CHECK_MPI(MPI_Waitall(2, requests_, MPI_STATUSES_IGNORE));
    }
    CHECK(in_.holds(seed + static_cast<std::uint64_t>(check::previous())));
  }

 private:
  void send() { CHECK_MPI(MPI_Send(out_.data(), 1, type_.type, check::next(), 1, MPI_COMM_WORLD)); }
  void start() {
    if (how_ == "persistent") {
      CHECK_MPI(MPI_Startall(2, requests_));
      return;
    }
    CHECK_MPI(
        MPI_Irecv(in_.data(), 1, type_.type, check::previous(), 1, MPI_COMM_WORLD, requests_));
    CHECK_MPI(
        MPI_Isend(out_.data(), 1, type_.type, check::next(), 1, MPI_COMM_WORLD, requests_ + 1));
  }

  std::string how_;
  Described type_;
  Image out_{type_, 1};
  Image in_{type_, 1};
  MPI_Request requests_[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
};

}  // namespace

int main(int argc, char** argv) {
  check::init(argc, argv);
  const std::string how = argc > 1 ? argv[argc - 1] : "";
  CHECK(how == "nonblocking" || how == "persistent" || how == "blocking");
  check::section(how.c_str());
  {
    // Persistent requests share if the ranks have met before.
    Exchange first("nonblocking", 700);
    for (int i = 0; i < 200; ++i) first.run(static_cast<std::uint64_t>(i));
    MPI_Barrier(MPI_COMM_WORLD);
    Exchange exchange(how, 600);
    const double end = MPI_Wtime() + seconds();
    std::uint64_t seed = 0;
    for (int goes_on = 1; goes_on != 0;) {
      for (int i = 0; i < kAtATime; ++i) exchange.run(seed += 10);
      goes_on = MPI_Wtime() < end ? 1 : 0;
      CHECK_MPI(MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD));
    }
  }
  return check::finish();
}
