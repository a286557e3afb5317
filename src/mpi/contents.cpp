#include "mpi/contents.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "strake/error.hpp"

namespace strake::mpi {
namespace {

// get_contents writes addresses straight into vectors of int64_t.
static_assert(std::is_same_v<MPI_Aint, std::int64_t>);
static_assert(sizeof(MPI_Count) == sizeof(std::int64_t));

bool is_predefined(int combiner) noexcept {
  return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
         combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
}

struct TypeEnvelope {
  std::int64_t ints = 0;
  std::int64_t addresses = 0;
  std::int64_t counts = 0;
  std::int64_t types = 0;
  int combiner = MPI_COMBINER_NAMED;
};

// The large-count query also serves types of the older constructors; the older query serves nothing
// else.
int query(MPI_Datatype type, TypeEnvelope& e) noexcept {
  const RealMpi& mpi = real_mpi();
#if STRAKE_MPI_LARGE_COUNTS
  if (mpi.MPI_Type_get_envelope_c != nullptr) {
    MPI_Count ints = 0, addresses = 0, counts = 0, types = 0;
    const int code =
        mpi.MPI_Type_get_envelope_c(type, &ints, &addresses, &counts, &types, &e.combiner);
    e.ints = ints, e.addresses = addresses, e.counts = counts, e.types = types;
    return code;
  }
#endif
  int ints = 0, addresses = 0, types = 0;
  const int code = mpi.MPI_Type_get_envelope(type, &ints, &addresses, &types, &e.combiner);
  e.ints = ints, e.addresses = addresses, e.types = types;
  return code;
}

// The type of ompi_datatype_get_args, which MPI_Type_get_contents of Open MPI calls before it
// copies each derived member: it returns the members' own handles, without a reference.
using GetArgs = std::int32_t (*)(MPI_Datatype type, std::int32_t which, std::int32_t* ints,
                                 int* int_values, std::int32_t* addresses,
                                 std::ptrdiff_t* address_values, std::int32_t* types,
                                 MPI_Datatype* type_values, std::int32_t* combiner);

// Null if the library does not copy members, and in releases whose function may have other
// arguments.
GetArgs own_get_args() noexcept {
  if (!quirks::kContentsAreCopies) return nullptr;
  static const GetArgs found = []() -> GetArgs {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    if (real_mpi().MPI_Get_library_version(text, &length) != MPI_SUCCESS) return nullptr;
    const bool known = std::ranges::any_of(quirks::kGetArgsReleases, [&](std::string_view release) {
      return std::string_view(text).starts_with(release);
    });
    return known ? reinterpret_cast<GetArgs>(find_real("ompi_datatype_get_args")) : nullptr;
  }();
  return found;
}

// The next `n` values from `at` on; moves `at`.
template <typename T>
Numbers take(const std::vector<T>& values, std::size_t& at, std::int64_t n, int combiner,
             const char* what) {
  if (n < 0 || static_cast<std::size_t>(n) > values.size() - at) {
    throw Unsupported("MPI combiner " + std::to_string(combiner) + " has " +
                      std::to_string(values.size()) + " " + what + ", but needs " +
                      std::to_string(n) + " from number " + std::to_string(at));
  }
  const T* first = values.data() + at;
  at += static_cast<std::size_t>(n);
  return {first, n};
}

}  // namespace

std::int64_t list_arguments(MPI_Datatype type) {
  TypeEnvelope e;
  check(query(type, e), "MPI_Type_get_envelope");
  switch (e.combiner) {
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED:
    case kCombinerHindexedInteger:
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK:
    case MPI_COMBINER_STRUCT:
    case kCombinerStructInteger:
      return e.ints + e.addresses + e.counts + e.types;
    default:
      return 0;
  }
}

Contents::Contents(MPI_Datatype type) {
  TypeEnvelope e;
  check(query(type, e), "MPI_Type_get_envelope");
  combiner_ = e.combiner;
  if (predefined()) return;
  ints_.resize(static_cast<std::size_t>(e.ints));
  addresses_.resize(static_cast<std::size_t>(e.addresses));
  types_.resize(static_cast<std::size_t>(e.types));
  const RealMpi& mpi = real_mpi();
#if STRAKE_MPI_LARGE_COUNTS
  if (e.counts > 0) {
    std::vector<MPI_Count> counts(static_cast<std::size_t>(e.counts));
    check(mpi.MPI_Type_get_contents_c(type, e.ints, e.addresses, e.counts, e.types, ints_.data(),
                                      addresses_.data(), counts.data(), types_.data()),
          "MPI_Type_get_contents_c");
    owns_types_ = true;
    counts_.assign(counts.begin(), counts.end());
    return;
  }
#endif
  if (const GetArgs get_args = own_get_args()) {
    auto ints = static_cast<std::int32_t>(e.ints);
    auto addresses = static_cast<std::int32_t>(e.addresses);
    auto types = static_cast<std::int32_t>(e.types);
    check(get_args(type, 1, &ints, ints_.data(), &addresses, addresses_.data(), &types,
                   types_.data(), nullptr),
          "ompi_datatype_get_args");
    return;
  }
  check(mpi.MPI_Type_get_contents(type, static_cast<int>(e.ints), static_cast<int>(e.addresses),
                                  static_cast<int>(e.types), ints_.data(), addresses_.data(),
                                  types_.data()),
        "MPI_Type_get_contents");
  owns_types_ = true;
}

Contents::Contents(int combiner, std::vector<int> ints, std::vector<std::int64_t> addresses,
                   std::vector<std::int64_t> counts, std::vector<MPI_Datatype> types)
    : combiner_(combiner),
      ints_(std::move(ints)),
      addresses_(std::move(addresses)),
      counts_(std::move(counts)),
      types_(std::move(types)) {}

// The library counts one reference per derived member; predefined ones must not be freed.
Contents::~Contents() {
  if (!owns_types_) return;
  const RealMpi& mpi = real_mpi();
  MPI_Datatype asked = MPI_DATATYPE_NULL;
  bool asked_is_derived = false;
  for (MPI_Datatype type : types_) {
    if (type != asked) {
      TypeEnvelope e;
      asked_is_derived = query(type, e) == MPI_SUCCESS && !is_predefined(e.combiner);
      asked = type;
    }
    if (asked_is_derived) mpi.MPI_Type_free(&type);
  }
}

bool Contents::predefined() const noexcept { return is_predefined(combiner_); }

std::uint64_t Contents::hash() const noexcept {
  std::uint64_t state = 0;
  const auto add = [&](std::uint64_t value) { state = state * 0x9E3779B97F4A7C15U + value; };
  const auto add_all = [&](const auto& values) {
    add(values.size());
    for (const std::int64_t value : values) add(static_cast<std::uint64_t>(value));
  };
  add(static_cast<std::uint64_t>(combiner_));
  add_all(ints_);
  add_all(addresses_);
  add_all(counts_);
  for (const MPI_Datatype type : types_) add(std::hash<MPI_Datatype>()(type));
  return state;
}

Numbers Contents::next_ints(std::int64_t n) {
  return take(ints_, int_at_, n, combiner_, "integers");
}

Numbers Contents::next_counts(std::int64_t n) {
  return is_large() ? take(counts_, count_at_, n, combiner_, "large counts") : next_ints(n);
}

Numbers Contents::next_addresses(std::int64_t n) {
  if (is_large()) return next_counts(n);
  if (combiner_ == kCombinerHvectorInteger || combiner_ == kCombinerHindexedInteger ||
      combiner_ == kCombinerStructInteger) {
    return next_ints(n);
  }
  return take(addresses_, address_at_, n, combiner_, "addresses");
}

}  // namespace strake::mpi
