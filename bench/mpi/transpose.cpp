// Redistributions of an array of doubles over all ranks, as parallel FFTs make them, and the same
// bytes without gaps. Every element is checked before and after the timing.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

#include "mpi/environment.hpp"
#include "mpi/slices.hpp"
#include "support/options.hpp"
#include "support/report.hpp"

namespace {

using namespace bench;

// A rank has `edge` * `edge` doubles (those that the ranks share evenly), of each of `fields`.
struct Shape {
  std::string form;
  int edge = 0;
  int fields = 1;
  [[nodiscard]] std::string name() const {
    return std::to_string(edge) + "^2_f" + std::to_string(fields) + "_" + form;
  }
};

class Transpose {
 public:
  Transpose(const Shape& shape, int rank, int ranks) : shape_(shape), rank_(rank), ranks_(ranks) {
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
    } else {  // the same bytes in one piece a pair
      whole_ = {whole * ranks, whole};
      before_ = 0;
      after_ = 0;
    }
    from_.resize(count());
    to_.resize(count());
    make_types();
  }
  ~Transpose() {
    for (auto* types : {&send_types_, &receive_types_})
      for (MPI_Datatype& type : *types) MPI_Type_free(&type);
  }
  Transpose(const Transpose&) = delete;
  Transpose& operator=(const Transpose&) = delete;

  [[nodiscard]] std::size_t count() const {
    const std::size_t all =
        std::accumulate(whole_.begin(), whole_.end(), std::size_t{1},
                        [](std::size_t a, int b) { return a * static_cast<std::size_t>(b); });
    return all / static_cast<std::size_t>(ranks_);
  }
  void fill(double epoch) {
    for (std::size_t i = 0; i < from_.size(); ++i) from_[i] = value(rank_, i, epoch);
    std::fill(to_.begin(), to_.end(), -1.0);
  }
  void run() {
    for (int field = 0; field < shape_.fields; ++field) {
      if (shape_.form == "alltoall") {
        MPI_Alltoall(from_.data(), per_pair(), MPI_DOUBLE, to_.data(), per_pair(), MPI_DOUBLE,
                     MPI_COMM_WORLD);
      } else if (shape_.form == "alltoallv") {
        MPI_Alltoallv(from_.data(), counts_.data(), places_.data(), MPI_DOUBLE, to_.data(),
                      counts_.data(), places_.data(), MPI_DOUBLE, MPI_COMM_WORLD);
      } else {
        MPI_Alltoallw(from_.data(), ones_.data(), zeroes_.data(), send_types_.data(), to_.data(),
                      ones_.data(), zeroes_.data(), receive_types_.data(), MPI_COMM_WORLD);
      }
    }
  }
  // How many elements of this rank are wrong, compared with packed messages.
  [[nodiscard]] std::int64_t wrong(double epoch) {
    fill(epoch);
    run();
    const auto bytes = static_cast<int>(per_pair() * sizeof(double));
    std::vector<double> packed(to_.size()), came(to_.size()), expected(to_.size(), -1.0);
    for (int other = 0; other < ranks_; ++other) {
      int at = other * bytes;
      pack(from_, other, packed, at);
    }
    MPI_Alltoall(packed.data(), bytes, MPI_BYTE, came.data(), bytes, MPI_BYTE, MPI_COMM_WORLD);
    for (int other = 0; other < ranks_; ++other) unpack(came, other, expected, other * bytes);
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < to_.size(); ++i) wrong += to_[i] == expected[i] ? 0 : 1;
    return wrong;
  }
  [[nodiscard]] std::int64_t bytes_sent() const {
    return static_cast<std::int64_t>(count() * sizeof(double)) * shape_.fields;
  }

 private:
  static double value(int rank, std::size_t i, double epoch) {
    return rank * 1e6 + static_cast<double>(i % 999983) + epoch * 0.5;
  }
  [[nodiscard]] int per_pair() const {
    return static_cast<int>(count() / static_cast<std::size_t>(ranks_));
  }
  [[nodiscard]] bool typed() const { return before_ != after_; }
  // The local array is the whole one but for the dimension `split`, which the ranks divide; the
  // block for each rank is a part of the dimension `cut`.
  [[nodiscard]] std::vector<MPI_Datatype> blocks(int split, int cut) const {
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
  void make_types() {
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
  void pack(const std::vector<double>& from, int other, std::vector<double>& to, int at) const {
    const auto i = static_cast<std::size_t>(other);
    const auto bytes = static_cast<int>(to.size() * sizeof(double));
    if (typed()) {
      MPI_Pack(from.data(), 1, send_types_[i], to.data(), bytes, &at, MPI_COMM_WORLD);
    } else {
      MPI_Pack(from.data() + places_[i], per_pair(), MPI_DOUBLE, to.data(), bytes, &at,
               MPI_COMM_WORLD);
    }
  }
  void unpack(const std::vector<double>& from, int other, std::vector<double>& to, int at) const {
    const auto i = static_cast<std::size_t>(other);
    const auto bytes = static_cast<int>(from.size() * sizeof(double));
    if (typed()) {
      MPI_Unpack(from.data(), bytes, &at, to.data(), 1, receive_types_[i], MPI_COMM_WORLD);
    } else {
      MPI_Unpack(from.data(), bytes, &at, to.data() + places_[i], per_pair(), MPI_DOUBLE,
                 MPI_COMM_WORLD);
    }
  }

  Shape shape_;
  int rank_;
  int ranks_;
  std::vector<int> whole_;
  int before_ = 0;
  int after_ = 0;
  std::vector<double> from_, to_;
  std::vector<int> counts_, places_, ones_, zeroes_;
  std::vector<MPI_Datatype> send_types_, receive_types_;
};

bool parse_case(const std::string& text, Shape& parsed) {
  int unused = 0;
  int end = 0;
  if (std::sscanf(text.c_str(), "%d,%d,%d,%n", &parsed.edge, &unused, &parsed.fields, &end) != 3 ||
      end == 0 || parsed.edge < 1 || parsed.fields < 1)
    return false;
  parsed.form = text.substr(static_cast<std::size_t>(end));
  for (const char* form : {"transpose2", "transpose3", "alltoallv", "alltoall"})
    if (parsed.form == form) return true;
  return false;
}

bool measure(const Shape& shape, const Budget& budget, double settles_in, const Environment& mpi,
             const Report& report) {
  Transpose transpose(shape, mpi.rank(), mpi.ranks());
  return measure_checked(
      {shape.name(), "transpose", transpose.bytes_sent(), [&] { transpose.run(); },
       [&](int epoch) { return transpose.wrong(epoch); }},
      budget, settles_in, mpi.rank(), report);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> wanted;
  std::vector<std::string> settle;
  const bench::Options options =
      bench::parse_options(argc, argv, "Redistributions of an array over any number of ranks",
                           {{"--case",
                             "EDGE,1,FIELDS,FORM, several times if need be; FORM: transpose2, "
                             "transpose3 (MPI_Alltoallw of "
                             "subarrays), alltoallv or alltoall (contiguous)",
                             &wanted},
                            {"--settle", bench::kSettleHelp, &settle}});
  if (wanted.empty()) wanted = {"16,1,1,transpose2", "16,1,1,transpose3", "16,1,1,alltoallv"};
  std::vector<Shape> cases;
  for (const std::string& text : wanted) {
    if (!parse_case(text, cases.emplace_back())) {
      std::fprintf(stderr, "--case takes EDGE,1,FIELDS,FORM, not %s\n", text.c_str());
      return 2;
    }
  }
  const std::optional<double> settles_in = bench::parse_settle(settle);
  if (!settles_in) return 2;
  const bench::Environment mpi(&argc, &argv);
  const bench::Report report("transpose", mpi.ranks(), mpi.library());
  bool right = true;
  for (const Shape& one : cases) {
    if (options.list && mpi.rank() == 0) std::puts(one.name().c_str());
    if (options.list || !options.selects(one.name()) || one.edge < mpi.ranks()) continue;
    right &= measure(one, options.budget, *settles_in, mpi, report);
  }
  return right ? 0 : 1;
}
