// Times of making, committing, first using and freeing a datatype: O(1) for strided types,
// O(blocks) for lists. The use is a persistent receive from nobody, made and freed: a type that is
// used often has to be known at once.
#include <array>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <numeric>

#include "mpi/datatype.hpp"
#include "mpi/environment.hpp"
#include "mpi/index_list.hpp"
#include "support/options.hpp"
#include "support/report.hpp"
#include "support/sampling.hpp"

namespace {

using namespace bench;

struct Subject {
  std::string name;
  std::int64_t blocks;
  std::int64_t bytes;  // MPI_Type_size
  std::function<Datatype()> make;
};

Subject subarray_3d() {
  return {"subarray_3d", 256 * 256, 256 * 256 * 24, [] {
            const std::array<int, 3> sizes{262, 262, 2560};
            const std::array<int, 3> subsizes{256, 256, 24};
            const std::array<int, 3> starts{3, 3, 24};
            return subarray(sizes, subsizes, starts, MPI_BYTE);
          }};
}

Subject vector_of_doubles() {
  return {"vector", 1000, 8000, [] { return vector(1000, 1, 4, MPI_DOUBLE); }};
}

Subject struct_of_subarrays() {
  return {"struct_of_6_subarrays", 6 * 64 * 64, 6 * 64 * 64 * 8, [] {
            const std::array<int, 3> sizes{66, 66, 66};
            const std::array<int, 3> subsizes{64, 64, 1};
            const std::array<int, 3> starts{1, 1, 1};
            const Datatype face = subarray(sizes, subsizes, starts, MPI_DOUBLE);
            std::array<Member, 6> members;
            for (std::size_t i = 0; i < members.size(); ++i) {
              members[i] = {static_cast<MPI_Aint>(i) * 66 * 66 * 66 * 8, face.get()};
            }
            return structure(members);
          }};
}

Subject indexed_blocks(int count) {
  std::vector<int> places = pick_indices(count, 3 * count, Order::Random, 1);
  for (int& place : places) place *= 3;
  return {"indexed_block_" + std::to_string(count), count, std::int64_t{12} * count,
          [places] { return indexed_block(3, places, MPI_FLOAT); }};
}

Subject indexed_lengths(int count) {
  std::mt19937 random(2);
  std::vector<int> lengths;
  std::vector<int> places;
  int at = 0;
  for (int i = 0; i < count; ++i) {
    lengths.push_back(1 + static_cast<int>(random() % 16));
    places.push_back(at);
    at += lengths.back() + 1;
  }
  const std::int64_t elements = at - count;
  return {"indexed_" + std::to_string(count), count, 8 * elements,
          [lengths, places] { return indexed(lengths, places, MPI_DOUBLE); }};
}

void use(const Datatype& type) {
  static std::byte nothing;  // not touched
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Recv_init(&nothing, 1, type.get(), MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
  MPI_Request_free(&request);
}

constexpr std::array<const char*, 4> kCalls = {"create", "commit", "first use", "free"};

// Seconds per type of each of the calls, one sample of `types` types.
std::array<double, kCalls.size()> time_types(const Subject& subject, int types) {
  std::vector<Datatype> made;
  made.reserve(static_cast<std::size_t>(types));
  const double create = mean_call(types, [&] { made.push_back(subject.make()); });
  const auto per_type = [&](const auto& call_all) { return time_calls(1, call_all) / types; };
  const double commit = per_type([&] {
    for (const Datatype& type : made) type.commit();
  });
  const double first_use = per_type([&] {
    for (const Datatype& type : made) use(type);
  });
  return {create, commit, first_use, per_type([&] { made.clear(); })};
}

bool measure(const Subject& subject, const Options& options, const Report& report) {
  {
    const Datatype type = subject.make();
    type.commit();
    MPI_Count size = 0;
    MPI_Type_size_x(type.get(), &size);
    if (size != subject.bytes) {
      std::fprintf(stderr, "%s: size is %lld, not %lld\n", subject.name.c_str(),
                   static_cast<long long>(size), static_cast<long long>(subject.bytes));
      return false;
    }
  }
  const auto trial = time_types(subject, 1);
  // Few types at a time, so that their descriptions fit a cache as in an application that makes
  // one.
  const Plan plan = plan_for(std::accumulate(trial.begin(), trial.end(), 0.0), options.budget);
  const int types = std::min(plan.calls, 64);
  std::array<std::vector<double>, kCalls.size()> seconds;
  for (int i = 0; i < plan.samples; ++i) {
    const auto times = time_types(subject, types);
    for (std::size_t call = 0; call < times.size(); ++call) seconds[call].push_back(times[call]);
  }
  for (std::size_t call = 0; call < kCalls.size(); ++call) {
    const Summary summary = summarize(to_microseconds(seconds[call]));
    report.line(subject.name, summary, "-us",
                {{"op", kCalls[call]},
                 {"blocks", subject.blocks},
                 {"ns_per_block", 1e3 * summary.median / static_cast<double>(subject.blocks)}});
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Options options =
      bench::parse_options(argc, argv, "Creation, commit, first use and release of datatypes");
  std::vector<Subject> subjects{subarray_3d(), vector_of_doubles(), struct_of_subarrays()};
  for (const int count :
       options.quick ? std::vector<int>{1000} : std::vector<int>{1000, 10000, 100000, 1000000}) {
    subjects.push_back(indexed_blocks(count));
    subjects.push_back(indexed_lengths(count));
  }
  if (options.list) {
    for (const Subject& subject : subjects) std::puts(subject.name.c_str());
    return 0;
  }
  const bench::Environment mpi(&argc, &argv);
  mpi.require_ranks(1);
  const bench::Report report("commit", mpi.ranks(), mpi.library());
  bool right = true;
  for (const Subject& subject : subjects) {
    if (options.selects(subject.name)) right &= measure(subject, options, report);
  }
  return right ? 0 : 1;
}
