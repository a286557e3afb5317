#include "random_traffic.hpp"

#include <algorithm>

#include "check.hpp"
#include "described.hpp"

namespace random_collectives {

Shuffle Traffic::draw(int step) const {
  Draw draw(mix({seed_, 7, static_cast<std::uint64_t>(step)}));
  Shuffle shuffle;
  if (draw.chance(40)) return shuffle;
  std::vector<int> possible;
  for (std::size_t i = 0; i < comms_.size(); ++i)
    if (!comms_[i].is_inter()) possible.push_back(static_cast<int>(i));
  shuffle.comm = draw.pick(possible);
  const auto size = comms_[static_cast<std::size_t>(shuffle.comm)].groups[0].size();
  shuffle.way = static_cast<Shuffle::Way>(draw.number(1, static_cast<int>(Shuffle::Way::kImprobe)));
  shuffle.shift = static_cast<int>(draw.index(size));
  shuffle.bytes = draw.number(0, draw.chance(30) ? 100000 : 2000);
  return shuffle;
}

bool Traffic::is_mine(const Shuffle& shuffle) const {
  return shuffle.way != Shuffle::Way::kNothing &&
         comms_[static_cast<std::size_t>(shuffle.comm)].handle != MPI_COMM_NULL;
}

std::uint64_t Traffic::message(int step, int source) const {
  return mix({seed_, 8, static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(source)});
}

void Traffic::begin(int step, std::vector<MPI_Request>& requests) {
  const Shuffle shuffle = draw(step);
  const Comm& comm = comms_[static_cast<std::size_t>(shuffle.comm)];
  const int size = static_cast<int>(comm.groups[0].size()), rank = comm.rank_of(check::rank());
  const auto bytes = static_cast<std::size_t>(shuffle.bytes);
  sent_.resize(bytes);
  received_.assign(bytes, std::byte{0});
  write_pattern(sent_.data(), message(step, rank), 0, bytes);
  requests.push_back(MPI_REQUEST_NULL);
  CHECK_MPI(MPI_Isend(sent_.data(), shuffle.bytes, MPI_BYTE, (rank + shuffle.shift) % size, step,
                      comm.handle, &requests.back()));
  if (shuffle.way == Shuffle::Way::kIrecv) {
    requests.push_back(MPI_REQUEST_NULL);
    CHECK_MPI(MPI_Irecv(received_.data(), shuffle.bytes, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG,
                        comm.handle, &requests.back()));
  } else {
    receive(shuffle.way, comm.handle);
  }
}

void Traffic::receive(Shuffle::Way way, MPI_Comm comm) {
  const int bytes = static_cast<int>(received_.size());
  MPI_Message message = MPI_MESSAGE_NULL;
  int found = 0;
  switch (way) {
    case Shuffle::Way::kProbe:
      CHECK_MPI(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status_));
      break;
    case Shuffle::Way::kIprobe:
      while (found == 0) CHECK_MPI(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &found, &status_));
      break;
    case Shuffle::Way::kMprobe:
      CHECK_MPI(MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &message, &status_));
      break;
    case Shuffle::Way::kImprobe:
      while (found == 0)
        CHECK_MPI(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &found, &message, &status_));
      break;
    default:
      break;
  }
  if (message != MPI_MESSAGE_NULL) {
    CHECK_MPI(MPI_Mrecv(received_.data(), bytes, MPI_BYTE, &message, &status_));
  } else {
    CHECK_MPI(
        MPI_Recv(received_.data(), bytes, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status_));
  }
}

std::string Traffic::check(int step, const MPI_Status& status) const {
  const Shuffle shuffle = draw(step);
  const Comm& comm = comms_[static_cast<std::size_t>(shuffle.comm)];
  const int size = static_cast<int>(comm.groups[0].size());
  const int source = (comm.rank_of(check::rank()) + size - shuffle.shift) % size;
  int bytes = -1;
  CHECK_MPI(MPI_Get_count(&status, MPI_BYTE, &bytes));
  if (status.MPI_SOURCE != source || status.MPI_TAG != step || bytes != shuffle.bytes) {
    return "a message of rank " + std::to_string(status.MPI_SOURCE) + " with tag " +
           std::to_string(status.MPI_TAG) + " of " + std::to_string(bytes) + " B, not of rank " +
           std::to_string(source) + " with tag " + std::to_string(step) + " of " +
           std::to_string(shuffle.bytes) + " B";
  }
  std::vector<std::byte> expected(received_.size());
  write_pattern(expected.data(), message(step, source), 0, expected.size());
  return expected == received_ ? "" : "a message's contents are wrong";
}

std::string Traffic::probe(int step, int comm) const {
  const MPI_Comm handle = comms_[static_cast<std::size_t>(comm)].handle;
  int found = 0, bytes = -1;
  MPI_Status status{};
  CHECK_MPI(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, handle, &found, &status));
  if (found == 0) return {};
  CHECK_MPI(MPI_Get_count(&status, MPI_BYTE, &bytes));
  if (status.MPI_TAG >= step && status.MPI_TAG < steps_) {
    const Shuffle shuffle = draw(status.MPI_TAG);
    if (shuffle.way != Shuffle::Way::kNothing && shuffle.comm == comm && shuffle.bytes == bytes)
      return {};
  }
  return "MPI_Iprobe finds a message that nobody sent: of rank " +
         std::to_string(status.MPI_SOURCE) + " with tag " + std::to_string(status.MPI_TAG) +
         " of " + std::to_string(bytes) + " B";
}

void Traffic::end(int step) {
  CHECK_MPI(MPI_Barrier(comms_[static_cast<std::size_t>(draw(step).comm)].handle));
}

}  // namespace random_collectives
