/// \file  500 messages between random ranks: random derived types of unlike shape on both sides,
/// every way to send and to receive, shorter messages than receives; every byte is checked, gaps
/// included. All ranks draw the same numbers, so each knows what every other does.
#include <random>

#include "described.hpp"

namespace {

constexpr std::uint32_t kSeed = 20240517;
constexpr int kMessages = 500;
constexpr int kBatch = 25;  // in flight together

class Draw {
 public:
  explicit Draw(std::uint32_t seed) : engine_(seed) {}
  /// Modulo rather than a library distribution: those differ between standard libraries.
  int between(int low, int high) {
    return low + static_cast<int>(engine_() % static_cast<std::uint32_t>(high - low + 1));
  }

 private:
  std::mt19937 engine_;
};

/// Displacements of blocks that do not overlap, in shuffled order: place by place with random gaps.
std::vector<MPI_Aint> places(Draw& draw, const std::vector<int>& lengths, std::ptrdiff_t extent,
                             std::ptrdiff_t unit) {
  std::vector<std::size_t> order(lengths.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1],
              order[static_cast<std::size_t>(draw.between(0, static_cast<int>(i) - 1))]);
  std::vector<MPI_Aint> at(lengths.size());
  MPI_Aint place = unit * draw.between(-3, 3);
  for (const std::size_t block : order) {
    at[block] = place;
    place += lengths[block] * extent + unit * draw.between(0, 9);
  }
  return at;
}

/// A type whose bytes do not overlap, also when it is repeated: children keep lb = 0 and all bytes
/// inside.
Described random_type(Draw& draw, int depth) {
  if (depth == 0) return describe::byte();
  Described child = random_type(draw, depth - 1);
  const int budget = std::max(1, 3000 / std::max(1, child.size()));
  const int n = draw.between(1, std::min(12, budget));
  const int length = draw.between(1, std::max(1, std::min(7, budget / n)));
  const auto extent = static_cast<int>(child.extent);
  Described made;
  switch (draw.between(0, 6)) {
    case 0:
      made = describe::contiguous(n * length, child);
      break;
    case 1:
      made = describe::vector(n, length, length + draw.between(0, 5), child);
      break;
    case 2:
      made = describe::hvector(n, length, length * extent + draw.between(0, 40), child);
      break;
    case 3: {
      std::vector<int> lengths;
      for (int i = 0; i < n; ++i) lengths.push_back(draw.between(0, length));
      lengths.push_back(1);
      std::vector<int> at;
      for (const MPI_Aint place : places(draw, lengths, 1, 1))
        at.push_back(static_cast<int>(place));
      made = describe::indexed(lengths, at, child);
      break;
    }
    case 4: {
      std::vector<int> lengths;
      for (int i = 0; i < n; ++i) lengths.push_back(draw.between(0, length));
      lengths.push_back(1);
      made = describe::hindexed(lengths, places(draw, lengths, extent, 1), child);
      break;
    }
    case 5: {
      const int rows = draw.between(1, n), columns = draw.between(1, length);
      const int more = draw.between(0, 3);
      made = describe::subarray(rows + more, columns + 2, rows, columns, draw.between(0, more),
                                draw.between(0, 2), child);
      break;
    }
    default: {
      const Described flat = describe::byte();
      const std::vector<int> lengths = {length, draw.between(1, 30)};
      MPI_Aint gap = draw.between(0, 20);
      made = describe::structure(lengths, {0, child.lb + length * extent + gap}, {&child, &flat});
      break;
    }
  }
  // Repetition must not overlap: lb at the first byte's place, extent past the last.
  std::ptrdiff_t low = made.bytes.front(), high = low;
  for (const std::ptrdiff_t offset : made.bytes) {
    low = std::min(low, offset);
    high = std::max(high, offset + 1);
  }
  return describe::resized(low, high - low + draw.between(0, 10), made);
}

enum class Send { kSend, kIsend, kIssend, kSsend, kPersistent };
enum class Receive { kIrecv, kPersistent, kRecv, kMrecv, kProbe };

struct Message {
  int source = 0, destination = 0, tag = 0;
  Send send = Send::kIsend;
  Receive receive = Receive::kIrecv;
  int out_count = 1, in_count = 1;
  std::unique_ptr<Described> out_type, in_type;
  std::unique_ptr<Image> out, in;
  MPI_Request out_request = MPI_REQUEST_NULL, in_request = MPI_REQUEST_NULL;
  bool posted_early() const {
    return receive == Receive::kIrecv || receive == Receive::kPersistent;
  }
};

Message draw_message(Draw& draw, std::uint64_t seed) {
  Message m;
  m.source = draw.between(0, check::size() - 1);
  m.destination = draw.between(0, check::size() - 1);
  m.tag = draw.between(0, 2);
  m.receive = static_cast<Receive>(draw.between(0, 4));
  m.send = static_cast<Send>(draw.between(0, 4));
  // A blocking send is safe only towards a receive that is posted before the receiver blocks.
  if (!m.posted_early() && (m.send == Send::kSend || m.send == Send::kSsend)) m.send = Send::kIsend;
  m.out_type = std::make_unique<Described>(describe::commit(random_type(draw, draw.between(1, 3))));
  m.in_type = std::make_unique<Described>(describe::commit(random_type(draw, draw.between(1, 3))));
  m.out_count = draw.between(0, 20) == 0 ? 0 : draw.between(1, 6);
  if (draw.between(0, 15) == 0) m.out_count *= 40;  // some past every eager limit
  const int bytes = m.out_count * m.out_type->size();
  m.in_count = (bytes + m.in_type->size() - 1) / m.in_type->size() + draw.between(0, 2);
  if (m.source == check::rank()) {
    m.out = std::make_unique<Image>(*m.out_type, m.out_count);
    m.out->fill(seed);
  }
  if (m.destination == check::rank()) m.in = std::make_unique<Image>(*m.in_type, m.in_count);
  return m;
}

void start_receive(Message& m) {
  if (m.receive == Receive::kIrecv) {
    CHECK_MPI(MPI_Irecv(m.in->data(), m.in_count, m.in_type->type, m.source, m.tag, MPI_COMM_WORLD,
                        &m.in_request));
  } else {
    CHECK_MPI(MPI_Recv_init(m.in->data(), m.in_count, m.in_type->type, m.source, m.tag,
                            MPI_COMM_WORLD, &m.in_request));
    CHECK_MPI(MPI_Start(&m.in_request));
  }
}

void start_send(Message& m) {
  void* const data = m.out->data();
  const MPI_Datatype type = m.out_type->type;
  const int n = m.out_count, to = m.destination;
  switch (m.send) {
    case Send::kSend:
      return CHECK_MPI(MPI_Send(data, n, type, to, m.tag, MPI_COMM_WORLD));
    case Send::kSsend:
      return CHECK_MPI(MPI_Ssend(data, n, type, to, m.tag, MPI_COMM_WORLD));
    case Send::kIsend:
      return CHECK_MPI(MPI_Isend(data, n, type, to, m.tag, MPI_COMM_WORLD, &m.out_request));
    case Send::kIssend:
      return CHECK_MPI(MPI_Issend(data, n, type, to, m.tag, MPI_COMM_WORLD, &m.out_request));
    case Send::kPersistent:
      CHECK_MPI(MPI_Send_init(data, n, type, to, m.tag, MPI_COMM_WORLD, &m.out_request));
      return CHECK_MPI(MPI_Start(&m.out_request));
  }
}

void finish_receive(Message& m, MPI_Status& status) {
  MPI_Message message = MPI_MESSAGE_NULL;
  switch (m.receive) {
    case Receive::kRecv:
      CHECK_MPI(MPI_Recv(m.in->data(), m.in_count, m.in_type->type, m.source, m.tag, MPI_COMM_WORLD,
                         &status));
      break;
    case Receive::kMrecv:
      CHECK_MPI(MPI_Mprobe(m.source, m.tag, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
      CHECK_MPI(MPI_Mrecv(m.in->data(), m.in_count, m.in_type->type, &message, &status));
      break;
    case Receive::kProbe:
      CHECK_MPI(MPI_Probe(m.source, m.tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      CHECK_MPI(MPI_Recv(m.in->data(), m.in_count, m.in_type->type, m.source, m.tag, MPI_COMM_WORLD,
                         &status));
      break;
    default:
      CHECK_MPI(MPI_Wait(&m.in_request, &status));
      if (m.receive == Receive::kPersistent) CHECK_MPI(MPI_Request_free(&m.in_request));
  }
}

void batch(Draw& draw, int first) {
  std::vector<Message> messages;
  for (int i = 0; i < kBatch; ++i)
    messages.push_back(draw_message(draw, static_cast<std::uint64_t>(first + i)));
  const int me = check::rank();
  // Early receives and the sends they match come before the late ones, so that order of matching is
  // known.
  for (Message& m : messages)
    if (m.destination == me && m.posted_early()) start_receive(m);
  for (const bool early : {true, false})
    for (Message& m : messages)
      if (m.source == me && m.posted_early() == early) start_send(m);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    Message& m = messages[i];
    if (m.destination != me) continue;
    MPI_Status status{};
    finish_receive(m, status);
    const int bytes = m.out_count * m.out_type->size();
    CHECK_EQ(status.MPI_SOURCE, m.source);
    CHECK_EQ(status.MPI_TAG, m.tag);
    int count = -1;
    CHECK_MPI(MPI_Get_elements(&status, m.in_type->type, &count));
    CHECK_EQ(count, bytes);
    CHECK_MPI(MPI_Get_count(&status, m.in_type->type, &count));
    CHECK_EQ(count, bytes % m.in_type->size() == 0 ? bytes / m.in_type->size() : MPI_UNDEFINED);
    CHECK(m.in->holds(static_cast<std::uint64_t>(first) + i, static_cast<std::size_t>(bytes)));
  }
  for (Message& m : messages) {
    if (m.source != me) continue;
    CHECK_MPI(MPI_Wait(&m.out_request, MPI_STATUS_IGNORE));
    if (m.send == Send::kPersistent) CHECK_MPI(MPI_Request_free(&m.out_request));
  }
}

}  // namespace

int main(int argc, char** argv) {
  check::init(argc, argv);
  check::section("random messages");
  Draw draw(kSeed);
  for (int first = 0; first < kMessages; first += kBatch) batch(draw, first);
  check::note("seed %u, %d messages", kSeed, kMessages);
  return check::finish();
}
