#include "device_mpi/collective_calls.hpp"

#include <array>

namespace bench {
namespace {

constexpr int kRanks = Members::kRanks;
constexpr int kAll = Members::kDoubles;
constexpr int kColumn = 4;  // doubles of a block, and of the gap behind it
constexpr int kRoot = 0;

int all_of_all(int /*rank*/) { return kAll; }
int part_of_all(int /*rank*/) { return kPart; }
int two_parts_of_all(int /*rank*/) { return 2 * kPart; }
int all_of_root(int rank) { return rank == kRoot ? kAll : 0; }
int all_of_others(int rank) { return rank == kRoot ? 0 : kAll; }

/// The sum of the element `i` of the ranks before `end`.
double sum_below(int end, int i, int epoch) {
  double sum = 0;
  for (int rank = 0; rank < end; ++rank) sum += sent_by(rank, i, epoch);
  return sum;
}

bool in_column(int i) { return i % (2 * kColumn) < kColumn; }

double sum_of_all(const Members& /*members*/, int i, int epoch) {
  return sum_below(kRanks, i, epoch);
}

double gathered(const Members& /*members*/, int i, int epoch) {
  return sent_by(i / kPart, i % kPart, epoch);
}

double transposed(const Members& members, int i, int epoch) {
  return sent_by(i / kPart, members.rank() * kPart + i % kPart, epoch);
}

double transposed_columns(const Members& members, int i, int epoch) {
  return in_column(i) ? transposed(members, i, epoch) : kUntouched;
}

/// Each neighbour sends its first part to the left, and its second one to the right.
double from_neighbours(const Members& members, int i, int epoch) {
  return i < kPart ? sent_by(members.left(), kPart + i, epoch)
                   : sent_by(members.right(), i - kPart, epoch);
}

double columns_from_neighbours(const Members& members, int i, int epoch) {
  return in_column(i) ? from_neighbours(members, i, epoch) : kUntouched;
}

double gathered_from_neighbours(const Members& members, int i, int epoch) {
  return sent_by(i < kPart ? members.left() : members.right(), i % kPart, epoch);
}

void bcast(const Members& members, const double* in, double* out) {
  double* const used = members.rank() == kRoot ? const_cast<double*>(in) : out;
  MPI_Bcast(used, kAll, MPI_DOUBLE, kRoot, MPI_COMM_WORLD);
}

void gather(const Members& /*members*/, const double* in, double* out) {
  MPI_Gather(in, kPart, MPI_DOUBLE, out, kPart, MPI_DOUBLE, kRoot, MPI_COMM_WORLD);
}

void scatter(const Members& /*members*/, const double* in, double* out) {
  MPI_Scatter(in, kPart, MPI_DOUBLE, out, kPart, MPI_DOUBLE, kRoot, MPI_COMM_WORLD);
}

void allgather(const Members& /*members*/, const double* in, double* out) {
  MPI_Allgather(in, kPart, MPI_DOUBLE, out, kPart, MPI_DOUBLE, MPI_COMM_WORLD);
}

void reduce(const Members& /*members*/, const double* in, double* out) {
  MPI_Reduce(in, out, kAll, MPI_DOUBLE, MPI_SUM, kRoot, MPI_COMM_WORLD);
}

void allreduce(const Members& /*members*/, const double* in, double* out) {
  MPI_Allreduce(in, out, kAll, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

void reduce_scatter_block(const Members& /*members*/, const double* in, double* out) {
  MPI_Reduce_scatter_block(in, out, kPart, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

void scan(const Members& /*members*/, const double* in, double* out) {
  MPI_Scan(in, out, kAll, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

void alltoall(const Members& /*members*/, const double* in, double* out) {
  MPI_Alltoall(in, kPart, MPI_DOUBLE, out, kPart, MPI_DOUBLE, MPI_COMM_WORLD);
}

void alltoallv(const Members& /*members*/, const double* in, double* out) {
  static constexpr std::array<int, kRanks> kCounts = {kPart, kPart, kPart, kPart};
  static constexpr std::array<int, kRanks> kPlaces = {0, kPart, 2 * kPart, 3 * kPart};
  MPI_Alltoallv(in, kCounts.data(), kPlaces.data(), MPI_DOUBLE, out, kCounts.data(), kPlaces.data(),
                MPI_DOUBLE, MPI_COMM_WORLD);
}

void alltoallw(const Members& members, const double* in, double* out) {
  static constexpr std::array<int, kRanks> kCounts = {1, 1, 1, 1};
  static constexpr std::array<int, kRanks> kPlaces = {0, 8 * kPart, 16 * kPart, 24 * kPart};
  const MPI_Datatype type = members.columns();
  const std::array<MPI_Datatype, kRanks> types = {type, type, type, type};
  MPI_Alltoallw(in, kCounts.data(), kPlaces.data(), types.data(), out, kCounts.data(),
                kPlaces.data(), types.data(), MPI_COMM_WORLD);
}

void neighbor_alltoall(const Members& members, const double* in, double* out) {
  MPI_Neighbor_alltoall(in, kPart, MPI_DOUBLE, out, kPart, MPI_DOUBLE, members.ring());
}

void neighbor_alltoallw(const Members& members, const double* in, double* out) {
  static constexpr std::array<int, 2> kCounts = {1, 1};
  static constexpr std::array<MPI_Aint, 2> kPlaces = {0, 8 * kPart};
  const std::array<MPI_Datatype, 2> types = {members.columns(), members.columns()};
  MPI_Neighbor_alltoallw(in, kCounts.data(), kPlaces.data(), types.data(), out, kCounts.data(),
                         kPlaces.data(), types.data(), members.ring());
}

void neighbor_allgather(const Members& members, const double* in, double* out) {
  MPI_Neighbor_allgather(in, kPart, MPI_DOUBLE, out, kPart, MPI_DOUBLE, members.ring());
}

constexpr CollectiveCall kCalls[] = {
    {"Bcast", bcast, all_of_root, all_of_others,
     [](const Members& /*members*/, int i, int epoch) { return sent_by(kRoot, i, epoch); }},
    {"Gather", gather, part_of_all, all_of_root, gathered},
    {"Scatter", scatter, all_of_root, part_of_all,
     [](const Members& members, int i, int epoch) {
       return sent_by(kRoot, members.rank() * kPart + i, epoch);
     }},
    {"Allgather", allgather, part_of_all, all_of_all, gathered},
    {"Reduce", reduce, all_of_all, all_of_root, sum_of_all},
    {"Allreduce", allreduce, all_of_all, all_of_all, sum_of_all},
    {"Reduce_scatter_block", reduce_scatter_block, all_of_all, part_of_all,
     [](const Members& members, int i, int epoch) {
       return sum_below(kRanks, members.rank() * kPart + i, epoch);
     }},
    {"Scan", scan, all_of_all, all_of_all,
     [](const Members& members, int i, int epoch) {
       return sum_below(members.rank() + 1, i, epoch);
     }},
    {"Alltoall", alltoall, all_of_all, all_of_all, transposed},
    {"Alltoallv", alltoallv, all_of_all, all_of_all, transposed},
    {"Alltoallw_strided", alltoallw, all_of_all, all_of_all, transposed_columns},
    {"Neighbor_alltoall", neighbor_alltoall, two_parts_of_all, two_parts_of_all, from_neighbours},
    {"Neighbor_alltoallw_strided", neighbor_alltoallw, two_parts_of_all, two_parts_of_all,
     columns_from_neighbours},
    {"Neighbor_allgather", neighbor_allgather, part_of_all, two_parts_of_all,
     gathered_from_neighbours}};

}  // namespace

Members::Members() {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  const int extent = kRanks;
  const int periodic = 1;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &extent, &periodic, 0, &ring_);
  MPI_Type_vector(kPart / (2 * kColumn), kColumn, 2 * kColumn, MPI_DOUBLE, &columns_);
  MPI_Type_commit(&columns_);
}

Members::~Members() {
  MPI_Type_free(&columns_);
  MPI_Comm_free(&ring_);
}

std::span<const CollectiveCall> collective_calls() { return kCalls; }

}  // namespace bench
