// GoogleTest's main for tests under MPI: rank 0 prints as usual, the others print their failures
// only, each with its rank, and every process ends with the verdict of all. With
//   --together LIST FOLDER
// as the last arguments it runs several filters one after another (together.hpp): the word of a
// case is one for --gtest_filter.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "together.hpp"

namespace {

class TaggedFailures : public testing::EmptyTestEventListener {
 public:
  TaggedFailures(int rank, int ranks) : rank_(rank), ranks_(ranks) {}

  void OnTestStart(const testing::TestInfo& test) override { test_ = &test; }
  void OnTestEnd(const testing::TestInfo&) override { test_ = nullptr; }
  // GoogleTest holds its lock here: asking it for the running test would wait for ever.
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    std::fprintf(stderr, "[rank %d of %d] %s.%s\n%s:%d: %s\n", rank_, ranks_,
                 test_ != nullptr ? test_->test_suite_name() : "-",
                 test_ != nullptr ? test_->name() : "-",
                 result.file_name() != nullptr ? result.file_name() : "-", result.line_number(),
                 result.message());
    std::fflush(stderr);
  }

 private:
  int rank_;
  int ranks_;
  const testing::TestInfo* test_ = nullptr;
};

int run_all() {
  const int code = RUN_ALL_TESTS();
  if (testing::UnitTest::GetInstance()->test_to_run_count() != 0) return code;
  std::fprintf(stderr, "No test has a name as --gtest_filter=%s\n",
               testing::GTEST_FLAG(filter).c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  int provided = MPI_THREAD_SINGLE;
  const bool alone = std::getenv("TEST_ONE_THREAD") != nullptr;
  MPI_Init_thread(&argc, &argv, alone ? MPI_THREAD_FUNNELED : MPI_THREAD_MULTIPLE, &provided);
  testing::InitGoogleTest(&argc, argv);
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (rank != 0) {
    testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new TaggedFailures(rank, ranks));  // the list owns it
  }
  int worst = 0;
  if (argc >= 4 && std::strcmp(argv[argc - 3], "--together") == 0) {
    together::run(together::read(argv[argc - 2]), argv[argc - 1], MPI_COMM_WORLD, MPI_COMM_SELF,
                  [](const together::Case& one) {
                    testing::GTEST_FLAG(filter) = one.words[0];
                    return run_all();
                  });
  } else {
    const int mine = run_all();
    MPI_Allreduce(&mine, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return worst;
}
