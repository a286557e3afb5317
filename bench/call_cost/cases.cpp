#include "call_cost/cases.hpp"

#include <array>
#include <memory>

namespace bench {
namespace {

constexpr int kPitch = 13;  // from one box to the next: three to a dimension of the grid
constexpr std::int64_t kCells = Boxes::kGridBytes / 8;
constexpr int kPeer = 1;
constexpr int kShort = 8;
constexpr int kRoomy = 2048;  // too short for shared memory, longer than a header message
using Body = std::function<void()>;
using Prepare = std::function<Body(const Functions&)>;

// A message of box `i` at both ends, or, without a derived type, of `dense` bytes.
struct Message {
  MPI_Datatype type;
  int count;
};

Message message_of(const Boxes& boxes, int i, int dense) {
  if (dense > 0) return {MPI_BYTE, dense};
  return {boxes.types()[static_cast<std::size_t>(i)].get(), 1};
}

std::byte* sent_from(const Boxes& boxes, int i, int dense) { return boxes.from() + dense * i; }

std::byte* received_at(const Boxes& boxes, int i, int dense) { return boxes.to() + dense * i; }

Prepare isend_wait(const Boxes& b, int dense) {
  return [&b, m = message_of(b, 0, dense)](const Functions& f) -> Body {
    return [&b, &f, m] {
      MPI_Request request;
      f.MPI_Isend(b.from(), m.count, m.type, kPeer, 0, MPI_COMM_WORLD, &request);
      f.MPI_Wait(&request, MPI_STATUS_IGNORE);
    };
  };
}

Prepare irecv_wait(const Boxes& b, int dense) {
  return [&b, m = message_of(b, 0, dense)](const Functions& f) -> Body {
    return [&b, &f, m] {
      MPI_Request request;
      MPI_Status status;
      f.MPI_Irecv(b.to(), m.count, m.type, kPeer, 0, MPI_COMM_WORLD, &request);
      f.MPI_Wait(&request, &status);
    };
  };
}

Prepare send_recv(const Boxes& b, int dense) {
  return [&b, m = message_of(b, 0, dense)](const Functions& f) -> Body {
    return [&b, &f, m] {
      f.MPI_Send(b.from(), m.count, m.type, kPeer, 0, MPI_COMM_WORLD);
      f.MPI_Recv(b.to(), m.count, m.type, kPeer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    };
  };
}

Prepare sendrecv(const Boxes& b, int dense) {
  return [&b, m = message_of(b, 0, dense)](const Functions& f) -> Body {
    return [&b, &f, m] {
      f.MPI_Sendrecv(b.from(), m.count, m.type, kPeer, 0, b.to(), m.count, m.type, kPeer, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    };
  };
}

Prepare many(const Boxes& b, int count, int dense) {
  return [&b, count, dense](const Functions& f) -> Body {
    return [&b, &f, count, dense, requests = std::vector<MPI_Request>(2 * count)]() mutable {
      MPI_Request* next = requests.data();
      for (int i = 0; i < count; ++i) {
        const auto [type, elements] = message_of(b, i, dense);
        f.MPI_Irecv(received_at(b, i, dense), elements, type, kPeer, i, MPI_COMM_WORLD, next++);
      }
      for (int i = 0; i < count; ++i) {
        const auto [type, elements] = message_of(b, i, dense);
        f.MPI_Isend(sent_from(b, i, dense), elements, type, kPeer, i, MPI_COMM_WORLD, next++);
      }
      f.MPI_Waitall(2 * count, requests.data(), MPI_STATUSES_IGNORE);
    };
  };
}

// Persistent requests, freed by the functions that made them.
class Persistent {
 public:
  Persistent(const Boxes& b, const Functions& f, int count, int dense)
      : f_(f), requests_(static_cast<std::size_t>(2 * count)) {
    MPI_Request* next = requests_.data();
    for (int i = 0; i < count; ++i) {
      const auto [type, elements] = message_of(b, i, dense);
      f.MPI_Recv_init(received_at(b, i, dense), elements, type, kPeer, i, MPI_COMM_WORLD, next++);
    }
    for (int i = 0; i < count; ++i) {
      const auto [type, elements] = message_of(b, i, dense);
      f.MPI_Send_init(sent_from(b, i, dense), elements, type, kPeer, i, MPI_COMM_WORLD, next++);
    }
  }
  Persistent(const Persistent&) = delete;
  Persistent& operator=(const Persistent&) = delete;
  ~Persistent() {
    for (MPI_Request& request : requests_) f_.MPI_Request_free(&request);
  }
  void one_by_one() {
    for (MPI_Request& request : requests_) f_.MPI_Start(&request);
    for (auto at = requests_.rbegin(); at != requests_.rend(); ++at) {
      f_.MPI_Wait(&*at, MPI_STATUS_IGNORE);
    }
  }
  void all() {
    f_.MPI_Startall(static_cast<int>(requests_.size()), requests_.data());
    f_.MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
  }

 private:
  const Functions& f_;
  std::vector<MPI_Request> requests_;
};

Prepare persistent(const Boxes& b, int count, int dense) {
  return [&b, count, dense](const Functions& f) -> Body {
    const auto requests = std::make_shared<Persistent>(b, f, count, dense);
    if (count == 1) return [requests] { requests->one_by_one(); };
    return [requests] { requests->all(); };
  };
}

}  // namespace

Boxes::Boxes(int edge)
    : edge_(edge), grids_(2 * kGridBytes), packed_(std::int64_t{8} * edge * edge * edge) {
  for (int i = 0; i < kBoxes; ++i) {
    const std::array<int, 3> sizes{kGrid, kGrid, kGrid};
    const std::array<int, 3> subsizes{edge, edge, edge};
    const std::array<int, 3> starts{1 + kPitch * (i / 9), 1 + kPitch * (i / 3 % 3),
                                    1 + kPitch * (i % 3)};
    types_.push_back(subarray(sizes, subsizes, starts, MPI_DOUBLE));
    types_.back().commit();
  }
  fill();
}

void Boxes::fill() {
  for (std::int64_t i = 0; i < kCells; ++i) {
    reinterpret_cast<double*>(from())[i] = static_cast<double>(i);
    reinterpret_cast<double*>(to())[i] = -1;
  }
}

int Boxes::wrong_cells(int boxes) const {
  int wrong = 0;
  const auto inside = [&](int at) { return at % kPitch >= 1 && at % kPitch <= edge_; };
  for (int z = 0; z < kGrid; ++z) {
    for (int y = 0; y < kGrid; ++y) {
      for (int x = 0; x < kGrid; ++x) {
        const std::int64_t i = (std::int64_t{z} * kGrid + y) * kGrid + x;
        const int box = (z / kPitch * 3 + y / kPitch) * 3 + x / kPitch;
        const bool in_grid = z / kPitch < 3 && y / kPitch < 3 && x / kPitch < 3;
        const bool moved = in_grid && box < boxes && inside(z) && inside(y) && inside(x);
        wrong += reinterpret_cast<const double*>(to())[i] != (moved ? static_cast<double>(i) : -1);
      }
    }
  }
  return wrong;
}

void Boxes::pack(int boxes) {
  for (int i = 0; i < boxes; ++i) {
    int position = 0;
    MPI_Pack(from(), 1, types_[static_cast<std::size_t>(i)].get(), packed_.data(), box_bytes(),
             &position, MPI_COMM_WORLD);
  }
}

void Boxes::unpack(int boxes) {
  for (int i = 0; i < boxes; ++i) {
    int position = 0;
    MPI_Unpack(packed_.data(), box_bytes(), &position, to(), 1,
               types_[static_cast<std::size_t>(i)].get(), MPI_COMM_WORLD);
  }
}

std::vector<CallCase> call_cases(std::vector<Boxes>& boxes) {
  Boxes& first = boxes.front();
  const auto bytes = [](const Boxes& b) { return std::to_string(b.box_bytes()) + "B"; };
  std::vector<CallCase> cases = {
      {"isend_wait_8B", 1, nullptr, 0, isend_wait(first, kShort)},
      {"irecv_wait_8B", 1, nullptr, 0, irecv_wait(first, kShort)},
      {"send_recv_8B", 2, nullptr, 0, send_recv(first, kShort)},
      {"sendrecv_8B", 2, nullptr, 0, sendrecv(first, kShort)},
      {"start_wait_8B", 2, nullptr, 0, persistent(first, 1, kShort)},
      {"26_irecv_isend_waitall_8B", 2 * Boxes::kBoxes, nullptr, 0,
       many(first, Boxes::kBoxes, kShort)},
      {"26_irecv_isend_waitall_2048B", 2 * Boxes::kBoxes, nullptr, 0,
       many(first, Boxes::kBoxes, kRoomy)},
      {"26_startall_waitall_8B", 2 * Boxes::kBoxes, nullptr, 0,
       persistent(first, Boxes::kBoxes, kShort)},
      {"isend_wait_box_" + bytes(first), 1, &first, 1, isend_wait(first, 0), false},
      {"irecv_isend_waitall_box_" + bytes(first), 2, &first, 1, many(first, 1, 0)},
      {"send_recv_box_" + bytes(first), 2, &first, 1, send_recv(first, 0)},
      {"sendrecv_box_" + bytes(first), 2, &first, 1, sendrecv(first, 0)},
      {"start_wait_box_" + bytes(first), 2, &first, 1, persistent(first, 1, 0)}};
  for (Boxes& b : boxes) {
    cases.push_back({"26_irecv_isend_waitall_box_" + bytes(b), 2 * Boxes::kBoxes, &b, Boxes::kBoxes,
                     many(b, Boxes::kBoxes, 0)});
    cases.push_back({"26_startall_waitall_box_" + bytes(b), 2 * Boxes::kBoxes, &b, Boxes::kBoxes,
                     persistent(b, Boxes::kBoxes, 0)});
  }
  return cases;
}

}  // namespace bench
