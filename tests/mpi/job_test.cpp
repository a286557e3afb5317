#include "mpi/job.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace strake::mpi {
namespace {

/// The environment of a launcher, whatever started this test.
class Job : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name :
         {"OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_SIZE", "MPI_LOCALNRANKS", "PMI_SIZE",
          "SLURM_TASKS_PER_NODE", "SLURM_STEP_NUM_NODES"}) {
      unsetenv(name);
    }
  }
  static void tell(const char* name, const char* value) { setenv(name, value, 1); }
};

TEST_F(Job, of_no_launcher_tells_nothing) {
  EXPECT_FALSE(local_ranks());
  EXPECT_FALSE(on_one_node(0));
  EXPECT_FALSE(on_one_node(2));
}

TEST_F(Job, of_open_mpi_is_on_one_node_where_all_ranks_are_local) {
  tell("OMPI_COMM_WORLD_LOCAL_SIZE", "4");
  EXPECT_EQ(local_ranks(), 4);
  EXPECT_FALSE(on_one_node(0));
  tell("OMPI_COMM_WORLD_SIZE", "4");
  EXPECT_EQ(on_one_node(0), true);
  tell("OMPI_COMM_WORLD_SIZE", "8");
  EXPECT_EQ(on_one_node(0), false);
}

TEST_F(Job, of_hydra_is_on_one_node_where_all_ranks_are_local) {
  tell("MPI_LOCALNRANKS", "2");
  tell("PMI_SIZE", "3");
  EXPECT_EQ(local_ranks(), 2);
  EXPECT_EQ(on_one_node(0), false);
  tell("PMI_SIZE", "2");
  EXPECT_EQ(on_one_node(0), true);
}

TEST_F(Job, of_slurm_tells_its_nodes) {
  tell("SLURM_TASKS_PER_NODE", "16(x2)");
  tell("SLURM_STEP_NUM_NODES", "2");
  EXPECT_EQ(local_ranks(), 16);
  EXPECT_EQ(on_one_node(0), false);
  tell("SLURM_STEP_NUM_NODES", "1");
  EXPECT_EQ(on_one_node(0), true);
}

TEST_F(Job, of_more_ranks_than_a_pretended_node_has_is_on_several) {
  tell("OMPI_COMM_WORLD_LOCAL_SIZE", "4");
  tell("OMPI_COMM_WORLD_SIZE", "4");
  EXPECT_EQ(on_one_node(2), false);
  EXPECT_EQ(on_one_node(4), true);
  EXPECT_EQ(local_ranks(), 4);  // which share the cores all the same
}

}  // namespace
}  // namespace strake::mpi
