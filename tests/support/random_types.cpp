#include "random_types.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

namespace strake::test {
namespace {

template <typename To>
std::vector<To> as(const std::vector<std::int64_t>& values) {
  std::vector<To> result(values.size());
  std::transform(values.begin(), values.end(), result.begin(),
                 [](std::int64_t v) { return static_cast<To>(v); });
  return result;
}

std::string text(const std::vector<std::int64_t>& values) {
  std::string result = "[";
  for (const std::int64_t v : values) {
    if (result.size() > 1) result += ",";
    result += std::to_string(v);
  }
  return result + "]";
}

template <typename... Args>
std::string call(const char* name, const Args&... args) {
  const auto word = [](const auto& v) {
    if constexpr (std::is_convertible_v<decltype(v), std::string>) {
      return std::string(v);
    } else {
      return std::to_string(v);
    }
  };
  std::string result;
  ((result += (result.empty() ? "" : ",") + word(args)), ...);
  return name + ("(" + result + ")");
}

std::int64_t product(const std::vector<std::int64_t>& values) {
  std::int64_t result = 1;
  for (const std::int64_t v : values) result *= v;
  return result;
}

Reach reach_of(const std::vector<Run>& runs, std::int64_t extent, std::int64_t count) {
  if (runs.empty() || count == 0) return {};
  Reach one{INT64_MAX, INT64_MIN};
  for (const Run& run : runs) {
    one.begin = std::min(one.begin, run.offset);
    one.end = std::max(one.end, run.offset + run.length);
  }
  const std::int64_t last = (count - 1) * extent;
  return {one.begin + std::min<std::int64_t>(last, 0), one.end + std::max<std::int64_t>(last, 0)};
}

}  // namespace

RandomType::RandomType(RandomType&& other) noexcept { *this = std::move(other); }

RandomType& RandomType::operator=(RandomType&& other) noexcept {
  std::swap(type, other.type);
  std::swap(description, other.description);
  std::swap(runs, other.runs);
  std::swap(size, other.size);
  std::swap(extent, other.extent);
  return *this;
}

RandomType::~RandomType() {
  if (type != MPI_DATATYPE_NULL) MPI_Type_free(&type);
}

Reach RandomType::reach(std::int64_t count) const { return reach_of(runs, extent, count); }

bool RandomType::is_receivable(std::int64_t count) const {
  const Reach all = reach(count);
  std::vector<bool> seen(static_cast<std::size_t>(all.end - all.begin), false);
  for (std::int64_t i = 0; i < count; ++i) {
    for (const Run& run : runs) {
      for (std::int64_t b = 0; b < run.length; ++b) {
        const auto at = static_cast<std::size_t>(i * extent + run.offset + b - all.begin);
        if (seen[at]) return false;
        seen[at] = true;
      }
    }
  }
  return true;
}

std::vector<std::byte> RandomType::packed(const std::byte* buffer, std::int64_t count) const {
  std::vector<std::byte> result(static_cast<std::size_t>(size * count));
  std::byte* to = result.data();
  for (std::int64_t i = 0; i < count; ++i) {
    for (const Run& run : runs) {
      std::memcpy(to, buffer + i * extent + run.offset, static_cast<std::size_t>(run.length));
      to += run.length;
    }
  }
  return result;
}

// A datatype under construction; what it is made of is freed as soon as it is made.
struct RandomTypes::Made {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  bool derived = true;
  std::string description;
  std::vector<Run> runs;
  std::int64_t size = 0;
  std::int64_t extent = 0;

  void append(const Made& part, std::int64_t n, std::int64_t at) {
    for (std::int64_t i = 0; i < n; ++i) {
      for (const Run& run : part.runs) append({at + i * part.extent + run.offset, run.length});
    }
  }
  void append(Run run) {
    if (run.length == 0) return;
    size += run.length;
    if (!runs.empty() && runs.back().offset + runs.back().length == run.offset) {
      runs.back().length += run.length;
    } else {
      runs.push_back(run);
    }
  }
  void free() {
    if (derived) MPI_Type_free(&type);
  }
  void ask_extent() {
    MPI_Aint lb = 0, e = 0;
    MPI_Type_get_extent(type, &lb, &e);
    extent = e;
  }
};

// Calls a constructor in its large-count form now and then, where the library has one.
#if MPI_VERSION >= 4
#define STRAKE_CONSTRUCT(plain, large) \
  do {                                 \
    if (chance(25)) {                  \
      large;                           \
    } else {                           \
      plain;                           \
    }                                  \
  } while (false)
#else
#define STRAKE_CONSTRUCT(plain, large) plain
#endif

RandomTypes::RandomTypes(std::uint64_t seed, RandomTypeOptions options)
    : random_(seed), options_(options) {}

std::int64_t RandomTypes::pick(std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
}

RandomType RandomTypes::next() {
  for (;;) {
    Made made = make(static_cast<int>(pick(1, options_.max_depth)));
    if (!made.derived) made = dup(std::move(made));  // so that it may be freed like the rest
    MPI_Type_commit(&made.type);
    RandomType result;
    result.type = made.type;
    result.description = std::move(made.description);
    result.runs = std::move(made.runs);
    result.size = made.size;
    result.extent = made.extent;
    if (result.size == 0 && !options_.allow_empty) continue;
    if (options_.receivable && !result.is_receivable(5)) continue;
    return result;
  }
}

RandomTypes::Made RandomTypes::leaf() {
  struct Named {
    MPI_Datatype type;
    const char* name;
    std::vector<Run> runs;
  };
  struct ShortInt {
    short value;
    int index;
  };
  struct LongDoubleInt {
    long double value;
    int index;
  };
  const Named named[] = {
      {MPI_BYTE, "byte", {{0, 1}}},
      {MPI_CHAR, "char", {{0, 1}}},
      {MPI_SHORT, "short", {{0, 2}}},
      {MPI_INT, "int", {{0, 4}}},
      {MPI_FLOAT, "float", {{0, 4}}},
      {MPI_DOUBLE, "double", {{0, 8}}},
      {MPI_C_DOUBLE_COMPLEX, "double_complex", {{0, 16}}},
      {MPI_FLOAT_INT, "float_int", {{0, 8}}},
      {MPI_DOUBLE_INT, "double_int", {{0, 12}}},
      {MPI_2INT, "2int", {{0, 8}}},
      {MPI_SHORT_INT, "short_int", {{0, sizeof(short)}, {offsetof(ShortInt, index), sizeof(int)}}},
      {MPI_LONG_DOUBLE_INT,
       "long_double_int",
       {{0, sizeof(long double)}, {offsetof(LongDoubleInt, index), sizeof(int)}}},
  };
  const std::int64_t last =
      options_.bytes_only ? 0 : static_cast<std::int64_t>(std::size(named)) - 1;
  const Named& n = named[pick(0, last)];
  Made made;
  made.type = n.type;
  made.derived = false;
  made.description = n.name;
  for (const Run& run : n.runs) made.append(run);
  made.ask_extent();
  return made;
}

RandomTypes::Made RandomTypes::make(int depth) {
  if (depth == 0) return leaf();
  Made child = make(depth - 1);
  switch (pick(0, 12)) {
    case 0:
      return contiguous(std::move(child));
    case 1:
    case 2:
      return vector(std::move(child), false);
    case 3:
      return vector(std::move(child), true);
    case 4:
      return indexed(std::move(child), false, false);
    case 5:
      return indexed(std::move(child), true, false);
    case 6:
      return indexed(std::move(child), false, true);
    case 7:
      return indexed(std::move(child), true, true);
    case 8:
      return struct_of(std::move(child), depth);
    case 9:
      return subarray(std::move(child));
    case 10:
      // Open MPI 4.1 refuses a distributed array of elements without bytes.
      return child.size > 0 ? darray(std::move(child)) : dup(std::move(child));
    case 11:
      return resized(std::move(child));
    default:
      return dup(std::move(child));
  }
}

// The new datatype if it stays within the limits, else the child it was made of.
RandomTypes::Made RandomTypes::finish(Made made, Made child) {
  made.ask_extent();
  const Reach two = reach_of(made.runs, made.extent, 2);
  const bool fits = made.size <= options_.max_bytes && two.end - two.begin <= options_.max_reach;
  (fits ? child : made).free();
  return fits ? made : child;
}

RandomTypes::Made RandomTypes::contiguous(Made child) {
  const std::int64_t count = pick(options_.allow_empty && chance(10) ? 0 : 1, 5);
  Made made;
  STRAKE_CONSTRUCT(MPI_Type_contiguous(static_cast<int>(count), child.type, &made.type),
                   MPI_Type_contiguous_c(count, child.type, &made.type));
  made.description = call("contiguous", count, child.description);
  made.append(child, count, 0);
  return finish(std::move(made), std::move(child));
}

RandomTypes::Made RandomTypes::vector(Made child, bool in_bytes) {
  const std::int64_t least = options_.allow_empty && chance(10) ? 0 : 1;
  const std::int64_t count = pick(least, 6);
  const std::int64_t blocklength = pick(least, 4);
  const std::int64_t back = options_.forwards ? 0 : 1;
  const std::int64_t stride = in_bytes ? pick(-120 * back, 240) : pick(-5 * back, 9);
  const auto c = static_cast<int>(count);
  const auto b = static_cast<int>(blocklength);
  Made made;
  if (in_bytes) {
    STRAKE_CONSTRUCT(MPI_Type_create_hvector(c, b, stride, child.type, &made.type),
                     MPI_Type_create_hvector_c(count, blocklength, stride, child.type, &made.type));
  } else {
    STRAKE_CONSTRUCT(MPI_Type_vector(c, b, static_cast<int>(stride), child.type, &made.type),
                     MPI_Type_vector_c(count, blocklength, stride, child.type, &made.type));
  }
  made.description =
      call(in_bytes ? "hvector" : "vector", count, blocklength, stride, child.description);
  for (std::int64_t i = 0; i < count; ++i) {
    made.append(child, blocklength, i * stride * (in_bytes ? 1 : child.extent));
  }
  return finish(std::move(made), std::move(child));
}

RandomTypes::Made RandomTypes::indexed(Made child, bool in_bytes, bool one_length) {
  const std::int64_t count = pick(options_.allow_empty && chance(10) ? 0 : 1, 8);
  const std::int64_t length = pick(options_.allow_empty && chance(10) ? 0 : 1, 3);
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(count), length);
  std::vector<std::int64_t> at(static_cast<std::size_t>(count));
  // Half of the lists step evenly, as lists in programs often do.
  const std::int64_t back = options_.forwards ? 0 : 1;
  const std::int64_t step = chance(50) ? pick(-3 * back, 6) * (in_bytes ? pick(1, 40) : 1) : 0;
  for (std::size_t i = 0; i < at.size(); ++i) {
    if (!one_length) lengths[i] = pick(options_.allow_empty ? 0 : 1, 3);
    at[i] = step != 0 ? static_cast<std::int64_t>(i) * step
                      : (in_bytes ? pick(-100 * back, 400) : pick(-6 * back, 24));
  }
  const auto n = static_cast<int>(count);
  const auto l = static_cast<int>(length);
  Made made;
  const char* name = nullptr;
  if (one_length && in_bytes) {
    name = "hindexed_block";
    STRAKE_CONSTRUCT(
        MPI_Type_create_hindexed_block(n, l, as<MPI_Aint>(at).data(), child.type, &made.type),
        MPI_Type_create_hindexed_block_c(count, length, as<MPI_Count>(at).data(), child.type,
                                         &made.type));
  } else if (one_length) {
    name = "indexed_block";
    STRAKE_CONSTRUCT(
        MPI_Type_create_indexed_block(n, l, as<int>(at).data(), child.type, &made.type),
        MPI_Type_create_indexed_block_c(count, length, as<MPI_Count>(at).data(), child.type,
                                        &made.type));
  } else if (in_bytes) {
    name = "hindexed";
    STRAKE_CONSTRUCT(MPI_Type_create_hindexed(n, as<int>(lengths).data(), as<MPI_Aint>(at).data(),
                                              child.type, &made.type),
                     MPI_Type_create_hindexed_c(count, as<MPI_Count>(lengths).data(),
                                                as<MPI_Count>(at).data(), child.type, &made.type));
  } else {
    name = "indexed";
    STRAKE_CONSTRUCT(
        MPI_Type_indexed(n, as<int>(lengths).data(), as<int>(at).data(), child.type, &made.type),
        MPI_Type_indexed_c(count, as<MPI_Count>(lengths).data(), as<MPI_Count>(at).data(),
                           child.type, &made.type));
  }
  made.description = one_length ? call(name, length, text(at), child.description)
                                : call(name, text(lengths), text(at), child.description);
  for (std::size_t i = 0; i < at.size(); ++i) {
    made.append(child, lengths[i], at[i] * (in_bytes ? 1 : child.extent));
  }
  return finish(std::move(made), std::move(child));
}

RandomTypes::Made RandomTypes::struct_of(Made first, int depth) {
  std::vector<Made> members;
  members.push_back(std::move(first));
  for (std::int64_t more = pick(0, 3); more > 0; --more) {
    members.push_back(make(static_cast<int>(pick(0, depth - 1))));
  }
  std::vector<std::int64_t> lengths, at;
  std::vector<MPI_Datatype> types;
  Made made;
  std::string parts;
  for (const Made& member : members) {
    lengths.push_back(pick(options_.allow_empty ? 0 : 1, 3));
    at.push_back(pick(-64, 512));
    types.push_back(member.type);
    made.append(member, lengths.back(), at.back());
    parts += (parts.empty() ? "" : ",") + member.description;
  }
  const auto n = static_cast<int>(members.size());
  STRAKE_CONSTRUCT(MPI_Type_create_struct(n, as<int>(lengths).data(), as<MPI_Aint>(at).data(),
                                          types.data(), &made.type),
                   MPI_Type_create_struct_c(n, as<MPI_Count>(lengths).data(),
                                            as<MPI_Count>(at).data(), types.data(), &made.type));
  made.description = call("struct", text(lengths), text(at), "[" + parts + "]");
  for (std::size_t i = 1; i < members.size(); ++i) members[i].free();
  return finish(std::move(made), std::move(members[0]));
}

RandomTypes::Made RandomTypes::subarray(Made child) {
  const std::int64_t ndims = pick(1, 4);
  std::vector<std::int64_t> sizes, subsizes, starts;
  for (std::int64_t d = 0; d < ndims; ++d) {
    sizes.push_back(pick(1, 6));
    subsizes.push_back(pick(1, sizes.back()));
    starts.push_back(pick(0, sizes.back() - subsizes.back()));
  }
  const int order = chance(50) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
  const auto n = static_cast<int>(ndims);
  Made made;
  STRAKE_CONSTRUCT(
      MPI_Type_create_subarray(n, as<int>(sizes).data(), as<int>(subsizes).data(),
                               as<int>(starts).data(), order, child.type, &made.type),
      MPI_Type_create_subarray_c(n, as<MPI_Count>(sizes).data(), as<MPI_Count>(subsizes).data(),
                                 as<MPI_Count>(starts).data(), order, child.type, &made.type));
  made.description = call("subarray", text(sizes), text(subsizes), text(starts),
                          order == MPI_ORDER_C ? "C" : "Fortran", child.description);
  // Count through the selected elements, the fastest dim first in the array's own order.
  std::vector<std::int64_t> index(sizes.size(), 0);
  for (std::int64_t left = product(subsizes); left > 0; --left) {
    std::int64_t element = 0, scale = 1;
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      const std::size_t d = order == MPI_ORDER_C ? sizes.size() - 1 - k : k;
      element += (starts[d] + index[d]) * scale;
      scale *= sizes[d];
    }
    made.append(child, 1, element * child.extent);
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      const std::size_t d = order == MPI_ORDER_C ? sizes.size() - 1 - k : k;
      if (++index[d] < subsizes[d]) break;
      index[d] = 0;
    }
  }
  return finish(std::move(made), std::move(child));
}

RandomTypes::Made RandomTypes::darray(Made child) {
  const std::int64_t ndims = pick(1, 3);
  std::vector<std::int64_t> sizes, distributions, blocks, grid;
  for (std::int64_t d = 0; d < ndims; ++d) {
    sizes.push_back(pick(1, 9));
    const std::int64_t kind = pick(0, 2);
    distributions.push_back(kind == 0   ? MPI_DISTRIBUTE_NONE
                            : kind == 1 ? MPI_DISTRIBUTE_BLOCK
                                        : MPI_DISTRIBUTE_CYCLIC);
    grid.push_back(kind == 0 ? 1 : pick(1, 3));
    const std::int64_t even = (sizes.back() + grid.back() - 1) / grid.back();
    const bool is_default = kind == 0 || chance(50);
    blocks.push_back(is_default  ? MPI_DISTRIBUTE_DFLT_DARG
                     : kind == 1 ? pick(even, even + 2)
                                 : pick(1, 3));
  }
  const std::int64_t processes = product(grid);
  const std::int64_t rank = pick(0, processes - 1);
  const int order = chance(50) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
  Made made;
  STRAKE_CONSTRUCT(MPI_Type_create_darray(static_cast<int>(processes), static_cast<int>(rank),
                                          static_cast<int>(ndims), as<int>(sizes).data(),
                                          as<int>(distributions).data(), as<int>(blocks).data(),
                                          as<int>(grid).data(), order, child.type, &made.type),
                   MPI_Type_create_darray_c(static_cast<int>(processes), static_cast<int>(rank),
                                            static_cast<int>(ndims), as<MPI_Count>(sizes).data(),
                                            as<int>(distributions).data(), as<int>(blocks).data(),
                                            as<int>(grid).data(), order, child.type, &made.type));
  made.description = call("darray", processes, rank, text(sizes), text(distributions), text(blocks),
                          text(grid), order == MPI_ORDER_C ? "C" : "Fortran", child.description);
  // Walk the whole array in its storage order and keep the elements that belong to `rank`.
  const std::size_t n = sizes.size();
  for (std::int64_t element = 0; element < product(sizes); ++element) {
    std::int64_t rest = element;
    std::vector<std::int64_t> owner(n);
    for (std::size_t k = 0; k < n; ++k) {
      const std::size_t d = order == MPI_ORDER_C ? n - 1 - k : k;
      const std::int64_t index = rest % sizes[d];
      rest /= sizes[d];
      std::int64_t block = blocks[d];
      if (distributions[d] == MPI_DISTRIBUTE_NONE) {
        block = sizes[d];
      } else if (block == MPI_DISTRIBUTE_DFLT_DARG) {
        const bool even = distributions[d] == MPI_DISTRIBUTE_BLOCK;
        block = even ? (sizes[d] + grid[d] - 1) / grid[d] : 1;
      }
      owner[d] = index / block % grid[d];
    }
    std::int64_t owner_rank = 0;
    for (std::size_t d = 0; d < n; ++d) owner_rank = owner_rank * grid[d] + owner[d];
    if (owner_rank == rank) made.append(child, 1, element * child.extent);
  }
  return finish(std::move(made), std::move(child));
}

RandomTypes::Made RandomTypes::resized(Made child) {
  const std::int64_t lb = pick(-32, 32);
  const std::int64_t extent = options_.forwards || chance(60)
                                  ? std::max<std::int64_t>(child.extent + pick(-8, 64), 1)
                                  : pick(-64, 200);
  Made made;
  STRAKE_CONSTRUCT(MPI_Type_create_resized(child.type, lb, extent, &made.type),
                   MPI_Type_create_resized_c(child.type, lb, extent, &made.type));
  made.description = call("resized", child.description, lb, extent);
  made.append(child, 1, 0);
  return finish(std::move(made), std::move(child));
}

RandomTypes::Made RandomTypes::dup(Made child) {
  Made made;
  MPI_Type_dup(child.type, &made.type);
  made.description = call("dup", child.description);
  made.append(child, 1, 0);
  made.ask_extent();
  child.free();
  return made;
}

}  // namespace strake::test
