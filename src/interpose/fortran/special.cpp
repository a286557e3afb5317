#include "interpose/fortran/special.hpp"

#include <string>
#include <vector>

namespace strake::interpose::fortran {

std::string text(const void* fortran, std::size_t length) {
  const std::string padded(static_cast<const char*>(fortran), length);
  const auto first = padded.find_first_not_of(' ');
  return first == std::string::npos
             ? std::string{}
             : padded.substr(first, padded.find_last_not_of(' ') + 1 - first);
}

Arguments::Arguments(const void* fortran, std::size_t length, std::size_t step) {
  const auto* element = static_cast<const char*>(fortran);
  for (std::string word = text(element, length); !word.empty(); word = text(element, length)) {
    words_.push_back(std::move(word));
    element += length * step;
  }
  for (std::string& word : words_) {
    pointers_.push_back(word.data());
  }
  pointers_.push_back(nullptr);
}

namespace {

/// Whether MPI may be asked about it. If not, the C wrapper reports the error.
bool is_communicator(MPI_Comm comm) { return comm != MPI_Comm{} && comm != MPI_COMM_NULL; }

/// A spawn reads its lists only on the root.
bool is_root(MPI_Comm comm, int root) {
  int rank = 0;
  return is_communicator(comm) && PMPI_Comm_rank(comm, &rank) == MPI_SUCCESS && rank == root;
}

}  // namespace

Degrees alltoall_degrees(MPI_Comm comm) {
  int is_inter = 0;
  int ranks = 0;
  if (is_communicator(comm) && PMPI_Comm_test_inter(comm, &is_inter) == MPI_SUCCESS) {
    is_inter != 0 ? PMPI_Comm_remote_size(comm, &ranks) : PMPI_Comm_size(comm, &ranks);
  }
  return {ranks, ranks};
}

Degrees neighbor_degrees(MPI_Comm comm) {
  int topology = MPI_UNDEFINED;
  int in = 0;
  int out = 0;
  if (is_communicator(comm)) {
    PMPI_Topo_test(comm, &topology);
  }
  if (topology == MPI_CART) {
    int dimensions = 0;
    PMPI_Cartdim_get(comm, &dimensions);
    in = out = 2 * dimensions;
  } else if (topology == MPI_GRAPH) {
    int rank = 0;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Graph_neighbors_count(comm, rank, &in);
    out = in;
  } else if (topology == MPI_DIST_GRAPH) {
    int is_weighted = 0;
    PMPI_Dist_graph_neighbors_count(comm, &in, &out, &is_weighted);
  }
  return {out, in};
}

void Entry<&MPI_Comm_spawn>::call(void* command, void* arguments, void* most, void* info,
                                  void* root, void* comm, void* spawned, void* errcodes,
                                  MPI_Fint* ierror, std::size_t command_length,
                                  std::size_t argument_length) {
  const auto c_comm = to_c<MPI_Comm>(integer(comm));
  std::vector<Arguments> words;
  if (is_root(c_comm, integer(root)) && !is_argv_null(arguments)) {
    words.emplace_back(arguments, argument_length, 1);
  }
  report(MPI_Comm_spawn(
             text(command, command_length).c_str(), words.empty() ? MPI_ARGV_NULL : words[0].data(),
             integer(most), to_c<MPI_Info>(integer(info)), integer(root), c_comm,
             Handles<MPI_Comm>(spawned, 1).data(),
             ignores_errcodes(errcodes) ? MPI_ERRCODES_IGNORE : static_cast<int*>(errcodes)),
         ierror);
}

void Entry<&MPI_Comm_spawn_multiple>::call(void* count, void* commands, void* arguments, void* most,
                                           void* infos, void* root, void* comm, void* spawned,
                                           void* errcodes, MPI_Fint* ierror,
                                           std::size_t command_length,
                                           std::size_t argument_length) {
  const auto c_comm = to_c<MPI_Comm>(integer(comm));
  const int programs = is_root(c_comm, integer(root)) ? length(count) : 0;
  std::vector<std::string> names;
  std::vector<Arguments> words;
  std::vector<char*> name_pointers;
  std::vector<char**> word_pointers;
  for (int i = 0; i < programs; ++i) {
    names.push_back(text(static_cast<char*>(commands) + i * command_length, command_length));
    if (!is_argv_null(arguments)) {
      // One row of a (programs, *) array: in Fortran's order its elements are `programs` apart.
      words.emplace_back(static_cast<char*>(arguments) + i * argument_length, argument_length,
                         programs);
    }
  }
  name_pointers.reserve(names.size());
  for (std::string& name : names) {
    name_pointers.push_back(name.data());
  }
  word_pointers.reserve(words.size());
  for (Arguments& list : words) {
    word_pointers.push_back(list.data());
  }
  report(MPI_Comm_spawn_multiple(
             integer(count), name_pointers.data(),
             words.empty() ? MPI_ARGVS_NULL : word_pointers.data(), static_cast<const int*>(most),
             HandleList<MPI_Info>(infos, programs).data(), integer(root), c_comm,
             Handles<MPI_Comm>(spawned, 1).data(),
             ignores_errcodes(errcodes) ? MPI_ERRCODES_IGNORE : static_cast<int*>(errcodes)),
         ierror);
}

}  // namespace strake::interpose::fortran
