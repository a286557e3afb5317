#include "mpi/redistribution.hpp"

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <utility>

#include "mpi/slices.hpp"

namespace bench {
namespace {

/// The check packs a rank's doubles of a field at places in bytes, which MPI_Pack takes as ints.
constexpr int kMaxEdge = 16383;
static_assert(std::int64_t{kMaxEdge} * kMaxEdge * sizeof(double) <= INT_MAX);

double element(int rank, std::size_t i, int epoch) {
  return rank * 1e6 + static_cast<double>(i % 999983) + epoch * 0.5;
}

std::optional<RedistributionShape> parse_shape(const std::string& text) {
  RedistributionShape parsed;
  int unused = 0;
  int end = 0;
  if (std::sscanf(text.c_str(), "%d,%d,%d,%n", &parsed.edge, &unused, &parsed.fields, &end) != 3 ||
      end == 0 || parsed.edge < 1 || parsed.edge > kMaxEdge || parsed.fields < 1)
    return std::nullopt;
  parsed.form = text.substr(static_cast<std::size_t>(end));
  for (const char* form : {"transpose2", "transpose3", "alltoallv", "alltoall"})
    if (parsed.form == form) return parsed;
  return std::nullopt;
}

}  // namespace

ArrayMemory host_memory() {
  return {
      [](std::size_t doubles) { return ArrayMemory::Array(new double[doubles]()); },
      [](double* to, const double* from, std::size_t doubles) { std::copy_n(from, doubles, to); }};
}

Redistribution::Redistribution(const RedistributionShape& shape, const ArrayMemory& memory,
                               int rank, int ranks)
    : shape_(shape), memory_(memory), rank_(rank), ranks_(ranks) {
  const int whole = shape.edge / ranks * ranks;
  if (shape.form == "transpose2") {
    whole_ = {whole * ranks, whole};
    before_ = 0;
    after_ = 1;
  } else if (shape.form == "transpose3") {
    // Pencils of 16 layers.
    const int side = std::max(1, whole / 16);
    whole_ = {16, side * ranks, whole};
    before_ = 1;
    after_ = 2;
  } else {  // one piece a pair
    whole_ = {whole * ranks, whole};
  }
  from_ = memory_.allocate(count());
  to_ = memory_.allocate(count());
  make_types();
}

Redistribution::~Redistribution() {
  for (auto* types : {&send_types_, &receive_types_})
    for (MPI_Datatype& type : *types) MPI_Type_free(&type);
}

void Redistribution::run() {
  for (int field = 0; field < shape_.fields; ++field) {
    if (shape_.form == "alltoall") {
      MPI_Alltoall(from_.get(), per_pair(), MPI_DOUBLE, to_.get(), per_pair(), MPI_DOUBLE,
                   MPI_COMM_WORLD);
    } else if (shape_.form == "alltoallv") {
      MPI_Alltoallv(from_.get(), counts_.data(), places_.data(), MPI_DOUBLE, to_.get(),
                    counts_.data(), places_.data(), MPI_DOUBLE, MPI_COMM_WORLD);
    } else {
      MPI_Alltoallw(from_.get(), ones_.data(), zeroes_.data(), send_types_.data(), to_.get(),
                    ones_.data(), zeroes_.data(), receive_types_.data(), MPI_COMM_WORLD);
    }
  }
}

std::int64_t Redistribution::wrong(int epoch) {
  Doubles from(count()), packed(count()), came(count()), expected(count(), -1.0);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = element(rank_, i, epoch);
  memory_.copy(from_.get(), from.data(), from.size());
  memory_.copy(to_.get(), expected.data(), expected.size());
  run();
  const auto bytes = static_cast<int>(per_pair() * sizeof(double));
  for (int other = 0; other < ranks_; ++other) pack(from, other, packed, other * bytes);
  MPI_Alltoall(packed.data(), bytes, MPI_BYTE, came.data(), bytes, MPI_BYTE, MPI_COMM_WORLD);
  for (int other = 0; other < ranks_; ++other) unpack(came, other, expected, other * bytes);
  memory_.copy(came.data(), to_.get(), came.size());
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < came.size(); ++i) wrong += came[i] == expected[i] ? 0 : 1;
  return wrong;
}

std::int64_t Redistribution::bytes_sent() const {
  return static_cast<std::int64_t>(count() * sizeof(double)) * shape_.fields;
}

std::size_t Redistribution::count() const {
  const std::size_t all =
      std::accumulate(whole_.begin(), whole_.end(), std::size_t{1},
                      [](std::size_t a, int b) { return a * static_cast<std::size_t>(b); });
  return all / static_cast<std::size_t>(ranks_);
}

int Redistribution::per_pair() const {
  return static_cast<int>(count() / static_cast<std::size_t>(ranks_));
}

// The local array is the whole one but for the dimension `split`, which the ranks divide; the block
// for each rank is a part of the dimension `cut`.
std::vector<MPI_Datatype> Redistribution::blocks(int split, int cut) const {
  std::vector<int> local = whole_;
  local[static_cast<std::size_t>(split)] /= ranks_;
  std::vector<MPI_Datatype> types;
  for (int other = 0; other < ranks_; ++other) {
    std::vector<int> size = local, begin(local.size(), 0);
    size[static_cast<std::size_t>(cut)] = whole_[static_cast<std::size_t>(cut)] / ranks_;
    begin[static_cast<std::size_t>(cut)] = other * size[static_cast<std::size_t>(cut)];
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_create_subarray(static_cast<int>(local.size()), local.data(), size.data(),
                             begin.data(), MPI_ORDER_C, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    types.push_back(type);
  }
  return types;
}

void Redistribution::make_types() {
  for (int other = 0; other < ranks_; ++other) {
    counts_.push_back(per_pair());
    places_.push_back(other * per_pair());
  }
  ones_.assign(counts_.size(), 1);
  zeroes_.assign(counts_.size(), 0);
  if (!typed()) return;
  send_types_ = blocks(before_, after_);
  receive_types_ = blocks(after_, before_);
}

void Redistribution::pack(const Doubles& from, int other, Doubles& to, int at) const {
  const auto i = static_cast<std::size_t>(other);
  const auto bytes = static_cast<int>(to.size() * sizeof(double));
  if (typed()) {
    MPI_Pack(from.data(), 1, send_types_[i], to.data(), bytes, &at, MPI_COMM_WORLD);
  } else {
    MPI_Pack(from.data() + places_[i], per_pair(), MPI_DOUBLE, to.data(), bytes, &at,
             MPI_COMM_WORLD);
  }
}

void Redistribution::unpack(const Doubles& from, int other, Doubles& to, int at) const {
  const auto i = static_cast<std::size_t>(other);
  const auto bytes = static_cast<int>(from.size() * sizeof(double));
  if (typed()) {
    MPI_Unpack(from.data(), bytes, &at, to.data(), 1, receive_types_[i], MPI_COMM_WORLD);
  } else {
    MPI_Unpack(from.data(), bytes, &at, to.data() + places_[i], per_pair(), MPI_DOUBLE,
               MPI_COMM_WORLD);
  }
}

RedistributionOptions parse_redistributions(int argc, char** argv, const std::string& about,
                                            const UsualRedistributions& usual) {
  RedistributionOptions parsed;
  std::vector<std::string> wanted;
  std::vector<std::string> settle;
  parsed.options =
      parse_options(argc, argv, about,
                    {{"--case",
                      "EDGE,1,FIELDS,FORM, several times if need be; FORM: transpose2, "
                      "transpose3 (MPI_Alltoallw of subarrays), alltoallv or alltoall "
                      "(contiguous)",
                      &wanted},
                     {"--settle", kSettleHelp, &settle}});
  if (wanted.empty()) wanted = parsed.options.quick ? usual.quick : usual.all;
  for (const std::string& text : wanted) {
    const std::optional<RedistributionShape> shape = parse_shape(text);
    if (!shape) {
      std::fprintf(stderr, "--case takes EDGE,1,FIELDS,FORM, EDGE from 1 to %d, not %s\n", kMaxEdge,
                   text.c_str());
      std::exit(2);
    }
    if (parsed.options.selects(shape->name())) parsed.cases.push_back(*shape);
  }
  const std::optional<double> settles_in = parse_settle(settle);
  if (!settles_in) std::exit(2);
  parsed.settles_in = *settles_in;
  return parsed;
}

void list_redistributions(const RedistributionOptions& options) {
  for (const RedistributionShape& shape : options.cases) std::puts(shape.name().c_str());
}

bool measure_redistributions(const RedistributionOptions& options, const ArrayMemory& memory,
                             const Environment& mpi, const Report& report,
                             const std::vector<Field>& more) {
  bool right = true;
  for (const RedistributionShape& shape : options.cases) {
    if (shape.edge < mpi.ranks()) {
      if (mpi.rank() == 0) {
        std::fprintf(stderr, "%s has fewer rows than there are ranks: %d\n", shape.name().c_str(),
                     mpi.ranks());
      }
      right = false;
      continue;
    }
    Redistribution one(shape, memory, mpi.rank(), mpi.ranks());
    right &= measure_checked({shape.name(), "transpose", one.bytes_sent(), [&] { one.run(); },
                              [&](int epoch) { return one.wrong(epoch); }, more},
                             options.options.budget, options.settles_in, mpi.rank(), report);
  }
  return right;
}

}  // namespace bench
