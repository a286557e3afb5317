/// \file  Datatypes and communicators that are freed while operations are in flight, and handles
/// that are freed and used again for another type.
#include <array>

#include "described.hpp"

namespace {

void packs(const Described& type, std::uint64_t seed) {
  Image out(type, 2);
  out.fill(seed);
  std::vector<char> packed(static_cast<std::size_t>(2 * type.size()));
  int position = 0;
  CHECK_MPI(MPI_Pack(out.data(), 2, type.type, packed.data(), static_cast<int>(packed.size()),
                     &position, MPI_COMM_WORLD));
  CHECK_EQ(position, 2 * type.size());
  for (std::size_t i = 0; i < packed.size(); ++i)
    if (static_cast<std::byte>(packed[i]) != pattern(seed, i))
      return check::fail(__FILE__, __LINE__, "packed bytes are of another layout");
}

void type_freed_in_flight() {
  check::section("type freed in flight");
  for (int turn = 0; turn < 3; ++turn) {
    Described out_type = turn == 0   ? describe::small()
                         : turn == 1 ? describe::medium()
                                     : describe::large();
    Described in_type = turn == 0   ? describe::small()
                        : turn == 1 ? describe::medium()
                                    : describe::large();
    Image out(out_type, 1), in(in_type, 1);
    out.fill(1);
    MPI_Request requests[2];
    CHECK_MPI(
        MPI_Irecv(in.data(), 1, in_type.type, check::previous(), 1, MPI_COMM_WORLD, &requests[0]));
    in_type.release();
    // The freed handle is likely to be given to this one, of another layout and never communicated.
    Described other = describe::commit(describe::hvector(7, 5, 123, describe::byte()));
    CHECK_MPI(
        MPI_Isend(out.data(), 1, out_type.type, check::next(), 1, MPI_COMM_WORLD, &requests[1]));
    out_type.release();
    Described another = describe::commit(describe::hvector(3, 2, 45, describe::byte()));
    CHECK_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK(in.holds(1));
  }
}

void communicator_freed_in_flight() {
  check::section("communicator freed in flight");
  const Described type = describe::large();
  Image out(type, 1), in(type, 1);
  out.fill(2);
  MPI_Comm comm = MPI_COMM_NULL;
  CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  MPI_Request requests[2];
  CHECK_MPI(MPI_Irecv(in.data(), 1, type.type, check::previous(), 1, comm, &requests[0]));
  CHECK_MPI(MPI_Isend(out.data(), 1, type.type, check::next(), 1, comm, &requests[1]));
  CHECK_MPI(MPI_Comm_free(&comm));
  CHECK(comm == MPI_COMM_NULL);
  MPI_Comm later = MPI_COMM_NULL;
  CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &later));
  CHECK_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  CHECK(in.holds(2));
  CHECK_MPI(MPI_Comm_free(&later));
}

/// When a handle value comes back depends on what else is on the heap.
constexpr int kMostTurns = 1000;

/// The last handles that were freed. Nothing of it is on the heap, where handles of Open MPI are.
class Earlier {
 public:
  bool has(MPI_Datatype type) const {
    return std::find(handles_.begin(), handles_.end(), type) != handles_.end();
  }
  void add(MPI_Datatype type) {
    handles_[static_cast<std::size_t>(count_++) % handles_.size()] = type;
  }

 private:
  std::array<MPI_Datatype, 60> handles_{};
  int count_ = 0;
};

/// A handle value comes back with another layout: nothing remembered of the old one may be used.
void handles_used_again() {
  check::section("handles used again");
  int reused = 0;
  Earlier earlier;
  for (int turn = 0; turn < 60 || (reused == 0 && turn < kMostTurns); ++turn) {
    const int a = 1 + turn % 7, b = 1 + turn % 5, c = b + turn % 3;
    Described type = describe::commit(
        turn % 4 == 0   ? describe::vector(a, b, c, describe::integer())
        : turn % 4 == 1 ? describe::indexed({a, b, 1}, {40, 0, 20}, describe::integer())
        : turn % 4 == 2 ? describe::subarray(10, 12, a, b, 10 - a, 12 - b, describe::integer())
                        : describe::hvector(a, b, 4 * c + 4, describe::integer()));
    if (earlier.has(type.type)) ++reused;
    earlier.add(type.type);
    Image out(type, 2), in(type, 2);
    out.fill(static_cast<std::uint64_t>(turn));
    CHECK_MPI(MPI_Sendrecv(out.data(), 2, type.type, check::next(), 2, in.data(), 2, type.type,
                           check::previous(), 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(in.holds(static_cast<std::uint64_t>(turn)));
    packs(type, static_cast<std::uint64_t>(turn));
  }
  // Both libraries reuse handles in this loop; should that change, this test would prove less.
  CHECK(reused > 0);
}

/// A dup of a committed type is committed; it lives on when the first is freed, and the other way
/// round.
void dups() {
  check::section("dups");
  Described type = describe::medium();
  Image out(type, 1), in(type, 1);
  for (const bool free_first : {true, false}) {
    Described original = describe::medium();
    MPI_Datatype dup = MPI_DATATYPE_NULL;
    CHECK_MPI(MPI_Type_dup(original.type, &dup));
    MPI_Datatype use = dup;
    if (free_first) {
      original.release();
    } else {
      CHECK_MPI(MPI_Type_free(&dup));
      use = original.type;
    }
    out.fill(3);
    in.poison();
    CHECK_MPI(MPI_Sendrecv(out.data(), 1, use, check::next(), 3, in.data(), 1, use,
                           check::previous(), 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(in.holds(3));
    if (free_first) CHECK_MPI(MPI_Type_free(&dup));
  }
}

/// A dup of a predefined type can be freed, and its handle is another type's then.
void dups_of_predefined() {
  check::section("dups of predefined types");
  for (const MPI_Datatype of : {MPI_INT, MPI_DOUBLE_INT}) {
    MPI_Datatype dup = MPI_DATATYPE_NULL;
    CHECK_MPI(MPI_Type_dup(of, &dup));
    CHECK_MPI(MPI_Type_free(&dup));
    const Described type = describe::commit(describe::vector(40, 1, 3, describe::integer()));
    Image out(type, 1), in(type, 1);
    out.fill(5);
    CHECK_MPI(MPI_Sendrecv(out.data(), 1, type.type, check::next(), 5, in.data(), 1, type.type,
                           check::previous(), 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(in.holds(5));
  }
}

/// The types that a type was made of may go before it is committed and used.
void parts_freed() {
  check::section("parts freed");
  Described inner = describe::vector(3, 1, 2, describe::integer());
  Described middle = describe::contiguous(4, inner);
  inner.release();
  Described outer = describe::hvector(5, 2, 200, middle);
  middle.release();
  const Described type = describe::commit(std::move(outer));
  Image out(type, 2), in(type, 2);
  out.fill(4);
  CHECK_MPI(MPI_Sendrecv(out.data(), 2, type.type, check::next(), 4, in.data(), 2, type.type,
                         check::previous(), 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK(in.holds(4));
}

/// The handle of a member that the library gives out is to be freed; where it is the program's own
/// (MPICH), that one lives on, and all that works with it goes on working.
void members_asked_for() {
  check::section("members asked for");
  CHECK_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  int from[50], to[8], lengths[] = {3, 1, 4};
  MPI_Aint at[3];
  for (int i = 0; i < 50; ++i) from[i] = i;
  for (int i = 0; i < 3; ++i) CHECK_MPI(MPI_Get_address(&from[40 - 18 * i], &at[i]));
  MPI_Datatype inner = MPI_DATATYPE_NULL, outer = MPI_DATATYPE_NULL;
  CHECK_MPI(MPI_Type_create_hindexed(3, lengths, at, MPI_INT, &inner));
  CHECK_MPI(MPI_Type_commit(&inner));
  // MPICH 4.0 refuses MPI_BOTTOM here, unless the interposer knows the type.
  const auto pack = [&](MPI_Datatype type) {
    int position = 0;
    for (int& value : to) value = -1;
    const int code = MPI_Pack(MPI_BOTTOM, 1, type, to, sizeof to, &position, MPI_COMM_WORLD);
    if (code == MPI_SUCCESS)
      for (int i = 0; i < 8; ++i) CHECK_EQ(to[i], i < 3 ? 40 + i : i < 4 ? 22 : i);
    return check::class_name(code);
  };
  const std::string before = pack(inner);
  CHECK_MPI(MPI_Type_contiguous(2, inner, &outer));
  for (const bool commit : {false, true}) {
    MPI_Datatype members[2] = {MPI_DATATYPE_NULL, MPI_DATATYPE_NULL};
    int count = 0;
    MPI_Aint none = 0;
    for (MPI_Datatype& member : members) {
      CHECK_MPI(MPI_Type_get_contents(outer, 1, 0, 1, &count, &none, &member));
      CHECK_EQ(count, 2);
      if (commit) CHECK_MPI(MPI_Type_commit(&member));
    }
    CHECK_MPI(MPI_Type_free(&members[0]));
    if (commit) CHECK_EQ(pack(members[1]), before);
    CHECK_EQ(pack(inner), before);
    CHECK_MPI(MPI_Type_free(&members[1]));
    CHECK_EQ(pack(inner), before);
  }
  CHECK_MPI(MPI_Type_free(&outer));
  CHECK_EQ(pack(inner), before);
  CHECK_MPI(MPI_Type_free(&inner));
  CHECK_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

/// A library or a tool may free a type by a name that an interposer doesn't see.
void handles_freed_unseen() {
  check::section("handles freed unseen");
  int reused = 0;
  Earlier earlier;
  const auto free_unseen = [&](MPI_Datatype type) {
    earlier.add(type);
    CHECK_MPI(PMPI_Type_free(&type));
  };
  for (int turn = 0; turn < 24 || (reused == 0 && turn < kMostTurns); ++turn) {
    Described type = describe::commit(describe::indexed({1, 2, 1}, {0, 3, 9}, describe::integer()));
    reused += earlier.has(type.type);
    packs(type, 6);
    free_unseen(type.type);
    type.owned = false;
    // All three have the size of the first; the last two have its extent, too.
    const int kind = turn % 3;
    Described other = kind == 0   ? describe::indexed({1, 1}, {4, 0}, describe::integer())
                      : kind == 1 ? describe::indexed({1, 2, 1}, {0, 5, 9}, describe::integer())
                                  : describe::indexed({2, 1, 1}, {0, 5, 9}, describe::integer());
    reused += earlier.has(other.type);
    if (turn % 2 == 0) {
      other = describe::commit(std::move(other));
      packs(other, 6);
    }
    Described outer =
        describe::commit(describe::hvector(3, 1, 80, other));  // of what isn't committed, too
    reused += earlier.has(outer.type);
    packs(outer, 6);
    MPI_Datatype dup = MPI_DATATYPE_NULL;
    CHECK_MPI(MPI_Type_dup(outer.type, &dup));
    reused += earlier.has(dup);
    free_unseen(dup);
  }
  CHECK(reused > 0);
}

/// Committing twice changes nothing; a type committed but never used can be freed; many live at
/// once.
void many_types() {
  check::section("many types");
  std::vector<Described> types;
  for (int i = 0; i < 300; ++i) {
    types.push_back(
        describe::commit(describe::vector(2 + i % 9, 1 + i % 4, 5 + i, describe::byte())));
    if (i % 3 == 0) CHECK_MPI(MPI_Type_commit(&types.back().type));
  }
  for (std::size_t i = 0; i < types.size(); i += 7) {
    Image out(types[i], 1), in(types[i], 1);
    out.fill(i);
    CHECK_MPI(MPI_Sendrecv(out.data(), 1, types[i].type, check::next(), 5, in.data(), 1,
                           types[i].type, check::previous(), 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(in.holds(i));
  }
}

}  // namespace

int main(int argc, char** argv) {
  check::init(argc, argv);
  type_freed_in_flight();
  communicator_freed_in_flight();
  handles_used_again();
  dups();
  dups_of_predefined();
  parts_freed();
  members_asked_for();
  handles_freed_unseen();
  many_types();
  return check::finish();
}
