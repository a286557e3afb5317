/// \file  Messages with the same source, tag and communicator never overtake each other, whatever
/// the method of each; wildcards, communicators and intercommunicators keep their meaning.
#include "described.hpp"

namespace {

/// The mix that travels different ways: contiguous and derived, from one element to hundreds of
/// KiB.
std::vector<Described> mix() {
  std::vector<Described> types;
  types.push_back(describe::small());
  types.push_back(describe::large());
  types.push_back(describe::commit(describe::contiguous(50000, describe::integer())));
  types.push_back(describe::medium());
  types.push_back(describe::commit(describe::contiguous(1, describe::byte())));
  types.push_back(describe::commit(describe::hvector(3, 1, 9, describe::byte())));
  types.push_back(
      describe::commit(describe::subarray(300, 200, 250, 90, 10, 20, describe::integer())));
  return types;
}

constexpr int kTurns = 4;

/// Everyone sends the whole mix, with one tag, to the next rank: by blocking calls while receives
/// are posted ahead, by nonblocking ones, and received by wildcards where only one source can
/// match.
void never_overtaking(MPI_Comm comm, int to, int from) {
  const std::vector<Described> types = mix();
  for (int way = 0; way < 4; ++way) {
    const char* const names[] = {"order: receives posted first", "order: sends posted first",
                                 "order: blocking sends", "order: wildcards"};
    check::section(names[way]);
    std::vector<Image> out, in;
    std::vector<MPI_Request> sends, receives;
    const std::size_t messages = types.size() * kTurns;
    for (std::size_t i = 0; i < messages; ++i) {
      out.emplace_back(types[i * 5 % types.size()], 1);
      in.emplace_back(types[i * 5 % types.size()], 1);
      out.back().fill(1000 * static_cast<std::uint64_t>(way) + i);
    }
    const auto post_receives = [&] {
      for (std::size_t i = 0; i < messages; ++i) {
        receives.push_back(MPI_REQUEST_NULL);
        const bool any = way == 3;
        CHECK_MPI(MPI_Irecv(in[i].data(), 1, types[i * 5 % types.size()].type,
                            any ? MPI_ANY_SOURCE : from, any ? MPI_ANY_TAG : 3, comm,
                            &receives.back()));
      }
    };
    if (way != 1) post_receives();
    for (std::size_t i = 0; i < messages; ++i) {
      const MPI_Datatype type = types[i * 5 % types.size()].type;
      if (way == 2) {
        CHECK_MPI(MPI_Send(out[i].data(), 1, type, to, 3, comm));
        continue;
      }
      sends.push_back(MPI_REQUEST_NULL);
      auto* const send = i % 3 == 0 ? MPI_Issend : MPI_Isend;
      CHECK_MPI(send(out[i].data(), 1, type, to, 3, comm, &sends.back()));
    }
    if (way == 1) post_receives();
    std::vector<MPI_Status> statuses(messages);
    CHECK_MPI(MPI_Waitall(static_cast<int>(messages), receives.data(), statuses.data()));
    CHECK_MPI(MPI_Waitall(static_cast<int>(sends.size()), sends.data(), MPI_STATUSES_IGNORE));
    for (std::size_t i = 0; i < messages; ++i) {
      CHECK(in[i].holds(1000 * static_cast<std::uint64_t>(way) + i));
      CHECK_EQ(statuses[i].MPI_SOURCE, from);
      CHECK_EQ(statuses[i].MPI_TAG, 3);
    }
    MPI_Barrier(comm);  // a wildcard must not see the next way's messages
  }
}

/// One tag, and every function that sends in turn: some leave at once, others are packed first.
void every_kind_of_send(int to, int from) {
  check::section("order: every kind of send");
  const std::vector<Described> types = mix();
  constexpr std::size_t kKinds = 8;
  const std::size_t messages = kKinds * types.size();
  std::vector<Image> out, in;
  std::vector<MPI_Request> receives(messages), sends, persistent;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < messages; ++i) {
    const Described& type = types[i % types.size()];
    out.emplace_back(type, 1);
    in.emplace_back(type, 1);
    out[i].fill(i);
    bytes += out[i].size_bytes() + MPI_BSEND_OVERHEAD + 4096;
    CHECK_MPI(MPI_Irecv(in[i].data(), 1, type.type, from, 6, MPI_COMM_WORLD, &receives[i]));
  }
  std::vector<char> room(bytes);
  CHECK_MPI(MPI_Buffer_attach(room.data(), static_cast<int>(bytes)));
  MPI_Barrier(MPI_COMM_WORLD);  // the receives are posted
  for (std::size_t i = 0; i < messages; ++i) {
    const MPI_Datatype type = types[i % types.size()].type;
    MPI_Request request = MPI_REQUEST_NULL;
    const auto start = [&](auto* init) {
      CHECK_MPI(init(out[i].data(), 1, type, to, 6, MPI_COMM_WORLD, &request));
      CHECK_MPI(MPI_Start(&request));
      persistent.push_back(request);
    };
    const auto send = [&](auto* isend) {
      CHECK_MPI(isend(out[i].data(), 1, type, to, 6, MPI_COMM_WORLD, &request));
      sends.push_back(request);
    };
    switch (i % kKinds) {
      case 0:
      case 2:
        send(MPI_Isend);
        break;
      case 1:
        start(MPI_Bsend_init);
        break;
      case 3:
        send(MPI_Ibsend);
        break;
      case 4:
        start(MPI_Send_init);
        break;
      case 5:
        CHECK_MPI(MPI_Bsend(out[i].data(), 1, type, to, 6, MPI_COMM_WORLD));
        break;
      case 6:
        start(MPI_Rsend_init);
        break;
      default:
        send(MPI_Irsend);
    }
  }
  CHECK_MPI(MPI_Waitall(static_cast<int>(messages), receives.data(), MPI_STATUSES_IGNORE));
  CHECK_MPI(MPI_Waitall(static_cast<int>(sends.size()), sends.data(), MPI_STATUSES_IGNORE));
  for (MPI_Request& request : persistent) {
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_Request_free(&request));
  }
  for (std::size_t i = 0; i < messages; ++i) CHECK(in[i].holds(i));
  void* detached = nullptr;
  int size = 0;
  CHECK_MPI(MPI_Buffer_detach(&detached, &size));
}

/// Message of the handler below, in host memory, since Strake passes on what a handler calls.
struct FromHandler {
  std::vector<int> values;
  int to = 0;
} from_handler;

void send_values(MPI_Comm* comm, int*, ...) {
  const int count = static_cast<int>(from_handler.values.size());
  CHECK_MPI(MPI_Send(from_handler.values.data(), count, MPI_INT, from_handler.to, 12, *comm));
}

/// An error handler sends, too.
void sent_by_an_error_handler(int to, int from) {
  check::section("order: Isend, and Send by an error handler");
  const Described type = describe::large();
  MPI_Comm comm = MPI_COMM_NULL;
  CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  CHECK_MPI(MPI_Comm_create_errhandler(send_values, &handler));
  CHECK_MPI(MPI_Comm_set_errhandler(comm, handler));
  for (int turn = 0; turn < kTurns; ++turn) {
    Image out(type, 1), in(type, 1);
    out.fill(1);
    from_handler = {std::vector<int>(out.size_bytes() / sizeof(int), turn), to};
    std::vector<int> values(from_handler.values.size(), -1);
    MPI_Request requests[3];
    CHECK_MPI(MPI_Irecv(in.data(), 1, type.type, from, 12, comm, &requests[0]));
    CHECK_MPI(MPI_Irecv(values.data(), static_cast<int>(values.size()), MPI_INT, from, 12, comm,
                        &requests[1]));
    CHECK_MPI(MPI_Isend(out.data(), 1, type.type, to, 12, comm, &requests[2]));
    MPI_Request refused = MPI_REQUEST_NULL;
    (void)MPI_Irecv(&turn, 1, MPI_INT, check::size(), 12, comm, &refused);
    CHECK_MPI(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
    CHECK(in.holds(1));
    CHECK(values == from_handler.values);
  }
  CHECK_MPI(MPI_Errhandler_free(&handler));
  CHECK_MPI(MPI_Comm_free(&comm));
}

/// The sender uses a derived type, the receiver contiguous memory, and the other way round,
/// alternating.
void unlike_types(int to, int from) {
  check::section("order: unlike types on both sides");
  const Described derived = describe::medium();
  const Described dense = describe::commit(describe::contiguous(512 * 3, describe::integer()));
  constexpr std::size_t kMessages = 12;
  std::vector<Image> out, in;
  MPI_Request requests[2 * kMessages];
  for (std::size_t i = 0; i < kMessages; ++i) {
    const Described& theirs = i % 3 == 0 ? derived : dense;
    const Described& mine = i % 2 == 0 ? derived : dense;
    out.emplace_back(theirs, 1);
    in.emplace_back(mine, 1);
    out.back().fill(i);
    CHECK_MPI(MPI_Irecv(in[i].data(), 1, mine.type, from, 4, MPI_COMM_WORLD, &requests[i]));
  }
  for (std::size_t i = 0; i < kMessages; ++i)
    CHECK_MPI(MPI_Isend(out[i].data(), 1, i % 3 == 0 ? derived.type : dense.type, to, 4,
                        MPI_COMM_WORLD, &requests[kMessages + i]));
  CHECK_MPI(MPI_Waitall(2 * kMessages, requests, MPI_STATUSES_IGNORE));
  for (std::size_t i = 0; i < kMessages; ++i) CHECK(in[i].holds(i));
}

/// A wildcard receive posted before a specific one takes the first message, and the other way
/// round.
void wildcard_before_specific(int to, int from) {
  check::section("order: wildcard and specific receives");
  const Described type = describe::large();
  for (const bool wildcard_first : {true, false}) {
    Image first(type, 1), second(type, 1), out_a(type, 1), out_b(type, 1);
    out_a.fill(1);
    out_b.fill(2);
    MPI_Request requests[4];
    CHECK_MPI(MPI_Irecv(first.data(), 1, type.type, wildcard_first ? MPI_ANY_SOURCE : from,
                        wildcard_first ? MPI_ANY_TAG : 5, MPI_COMM_WORLD, &requests[0]));
    CHECK_MPI(MPI_Irecv(second.data(), 1, type.type, wildcard_first ? from : MPI_ANY_SOURCE,
                        wildcard_first ? 5 : MPI_ANY_TAG, MPI_COMM_WORLD, &requests[1]));
    CHECK_MPI(MPI_Isend(out_a.data(), 1, type.type, to, 5, MPI_COMM_WORLD, &requests[2]));
    CHECK_MPI(MPI_Isend(out_b.data(), 1, type.type, to, 5, MPI_COMM_WORLD, &requests[3]));
    CHECK_MPI(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
    CHECK(first.holds(1));
    CHECK(second.holds(2));
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

/// Rank 0 receives from everyone by MPI_ANY_SOURCE; each source's messages come in its own order.
void many_sources() {
  check::section("order: many sources");
  const Described type = describe::medium();
  constexpr int kEach = 10;
  constexpr int kTag = 66;  // used by nothing else: the others may be a step ahead
  if (check::rank() == 0) {
    std::vector<int> seen(static_cast<std::size_t>(check::size()), 0);
    for (int i = 0; i < kEach * (check::size() - 1); ++i) {
      Image in(type, 1);
      MPI_Status status{};
      CHECK_MPI(MPI_Recv(in.data(), 1, type.type, MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, &status));
      const auto source = static_cast<std::size_t>(status.MPI_SOURCE);
      CHECK(in.holds(source * 100 + static_cast<std::uint64_t>(seen[source]++)));
    }
    for (int r = 1; r < check::size(); ++r) CHECK_EQ(seen[static_cast<std::size_t>(r)], kEach);
  } else {
    for (int i = 0; i < kEach; ++i) {
      Image out(type, 1);
      out.fill(static_cast<std::uint64_t>(check::rank() * 100 + i));
      CHECK_MPI(MPI_Send(out.data(), 1, type.type, 0, kTag, MPI_COMM_WORLD));
    }
  }
}

/// Tags are chosen, not order: the receiver takes them backwards.
void tags_backwards(int to, int from) {
  check::section("tags backwards");
  const std::vector<Described> types = mix();
  std::vector<Image> out;
  std::vector<MPI_Request> sends(types.size());
  for (std::size_t i = 0; i < types.size(); ++i) {
    out.emplace_back(types[i], 1);
    out.back().fill(i);
    CHECK_MPI(MPI_Isend(out[i].data(), 1, types[i].type, to, static_cast<int>(i), MPI_COMM_WORLD,
                        &sends[i]));
  }
  for (std::size_t i = types.size(); i-- > 0;) {
    Image in(types[i], 1);
    MPI_Status status{};
    CHECK_MPI(
        MPI_Recv(in.data(), 1, types[i].type, from, static_cast<int>(i), MPI_COMM_WORLD, &status));
    CHECK(in.holds(i));
    CHECK_EQ(status.MPI_TAG, static_cast<int>(i));
  }
  CHECK_MPI(MPI_Waitall(static_cast<int>(sends.size()), sends.data(), MPI_STATUSES_IGNORE));
}

/// Equal tags on different communicators do not meet.
void communicators_apart(int to, int from) {
  check::section("communicators apart");
  const Described type = describe::medium();
  MPI_Comm comms[3] = {MPI_COMM_WORLD, MPI_COMM_NULL, MPI_COMM_NULL};
  CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]));
  CHECK_MPI(MPI_Comm_split(MPI_COMM_WORLD, 0, check::rank(), &comms[2]));
  std::vector<Image> out, in;
  MPI_Request requests[6];
  for (std::size_t i = 0; i < 3; ++i) {
    out.emplace_back(type, 1);
    in.emplace_back(type, 1);
    out[i].fill(i);
  }
  for (std::size_t i = 0; i < 3; ++i)
    CHECK_MPI(MPI_Irecv(in[i].data(), 1, type.type, MPI_ANY_SOURCE, 7, comms[i], &requests[i]));
  for (std::size_t i = 3; i-- > 0;)
    CHECK_MPI(MPI_Isend(out[i].data(), 1, type.type, to, 7, comms[i], &requests[3 + i]));
  MPI_Status statuses[6];
  CHECK_MPI(MPI_Waitall(6, requests, statuses));
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(in[i].holds(i));
    CHECK_EQ(statuses[i].MPI_SOURCE, from);
  }
  CHECK_MPI(MPI_Comm_free(&comms[1]));
  CHECK_MPI(MPI_Comm_free(&comms[2]));
}

#if MPI_VERSION >= 4
/// Messages sent before an Isendrecv leave before it, whether Strake or the library sends either.
void isendrecv(int to, int from) {
  check::section("order: Isendrecv after Isend");
  const Described type = describe::large();
  for (const bool replace : {false, true}) {
    Image out(type, 1), in(type, 1);
    out.fill(11);
    const int sent = 7;
    int value = replace ? sent : 0;
    MPI_Request requests[3];
    CHECK_MPI(MPI_Irecv(in.data(), 1, type.type, from, 11, MPI_COMM_WORLD, &requests[0]));
    CHECK_MPI(MPI_Isend(out.data(), 1, type.type, to, 11, MPI_COMM_WORLD, &requests[1]));
    if (replace) {
      CHECK_MPI(MPI_Isendrecv_replace(&value, 1, MPI_INT, to, 11, from, 11, MPI_COMM_WORLD,
                                      &requests[2]));
    } else {
      CHECK_MPI(MPI_Isendrecv(&sent, 1, MPI_INT, to, 11, &value, 1, MPI_INT, from, 11,
                              MPI_COMM_WORLD, &requests[2]));
    }
    CHECK_MPI(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
    CHECK(in.holds(11));
    CHECK_EQ(value, sent);
  }
}
#endif

/// Even ranks on one side, odd ones on the other; ranks in calls are those of the remote group.
void intercommunicator() {
  check::section("intercommunicator");
  if (check::size() < 2) return;
  const int side = check::rank() % 2;
  MPI_Comm local = MPI_COMM_NULL, inter = MPI_COMM_NULL;
  CHECK_MPI(MPI_Comm_split(MPI_COMM_WORLD, side, check::rank(), &local));
  CHECK_MPI(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, 1 - side, 8, &inter));
  int remote = 0, mine = 0;
  CHECK_MPI(MPI_Comm_remote_size(inter, &remote));
  CHECK_MPI(MPI_Comm_rank(local, &mine));
  const Described type = describe::large();
  // Everyone sends to every remote rank, and receives from each.
  const auto partners = static_cast<std::size_t>(remote);
  std::vector<Image> out, in;
  std::vector<MPI_Request> requests(2 * partners);
  for (std::size_t r = 0; r < partners; ++r) {
    out.emplace_back(type, 1);
    in.emplace_back(type, 1);
    out[r].fill(static_cast<std::uint64_t>(10 * mine) + r);
    CHECK_MPI(MPI_Irecv(in[r].data(), 1, type.type, static_cast<int>(r), 9, inter, &requests[r]));
  }
  for (std::size_t r = 0; r < partners; ++r)
    CHECK_MPI(MPI_Isend(out[r].data(), 1, type.type, static_cast<int>(r), 9, inter,
                        &requests[partners + r]));
  std::vector<MPI_Status> statuses(2 * partners);
  CHECK_MPI(MPI_Waitall(static_cast<int>(2 * partners), requests.data(), statuses.data()));
  for (std::size_t r = 0; r < partners; ++r) {
    CHECK(in[r].holds(10 * r + static_cast<std::uint64_t>(mine)));
    CHECK_EQ(statuses[r].MPI_SOURCE, static_cast<int>(r));
  }
  CHECK_MPI(MPI_Barrier(inter));
  CHECK_MPI(MPI_Comm_free(&inter));
  CHECK_MPI(MPI_Comm_free(&local));
}

}  // namespace

int main(int argc, char** argv) {
  check::init(argc, argv);
  const int size = check::size(), rank = check::rank();
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  never_overtaking(MPI_COMM_WORLD, to, from);
  MPI_Comm reversed = MPI_COMM_NULL;
  CHECK_MPI(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed));
  const int place = size - 1 - rank;
  never_overtaking(reversed, (place + 1) % size, (place + size - 1) % size);
  CHECK_MPI(MPI_Comm_free(&reversed));
  every_kind_of_send(to, from);
  sent_by_an_error_handler(to, from);
  unlike_types(to, from);
  wildcard_before_specific(to, from);
  many_sources();
  tags_backwards(to, from);
  communicators_apart(to, from);
#if MPI_VERSION >= 4
  isendrecv(to, from);
#endif
  intercommunicator();
  return check::finish();
}
