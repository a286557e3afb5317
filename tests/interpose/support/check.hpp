/// \file  Shared parts of the interposer's test programs: checks tagged with rank and place, one
/// verdict of all ranks, notes printed in rank order, and a watchdog that names the section that
/// hangs.
///
/// The programs are plain MPI programs. They run without and with the interposer, and must print
/// the same. Each has a main() of its own; programs.cpp calls one of them, or several in a row,
/// each with communicators of its own for the world and itself, unless it asks for MPI's.
#pragma once

#include <dlfcn.h>
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include "memory.hpp"

namespace check {

struct State {
  int rank = 0;
  int size = 1;
  std::atomic<int> failures{0};
  std::mutex mutex;
  std::string notes;
  std::atomic<const char*> section{"start"};
};

inline State& state() {
  static State s;
  return s;
}
/// Whether other programs run before and after this one, between one MPI_Init and one MPI_Finalize
/// (programs.cpp).
inline bool& together() {
  static bool programs_run_together = false;
  return programs_run_together;
}
/// \{ Below, MPI_COMM_WORLD and MPI_COMM_SELF are duplicates of MPI's where programs run together,
/// unless a program needs the errors that MPI raises on those two.
inline MPI_Comm& world() {
  static MPI_Comm comm = MPI_COMM_WORLD;
  return comm;
}
inline MPI_Comm& self() {
  static MPI_Comm comm = MPI_COMM_SELF;
  return comm;
}
#undef MPI_COMM_WORLD
#undef MPI_COMM_SELF
#define MPI_COMM_WORLD check::world()
#define MPI_COMM_SELF check::self()
/// \}
inline int rank() { return state().rank; }
inline int size() { return state().size; }
/// \{ The neighbours in the ring of all ranks.
inline int next() { return (rank() + 1) % size(); }
inline int previous() { return (rank() + size() - 1) % size(); }
/// \}

/// Names what runs from here on; `name` must be a literal.
inline void section(const char* name) { state().section = name; }

/// Adds a line to what this rank prints at the end. Only what is the same in every run.
__attribute__((format(printf, 1, 2))) inline void note(const char* format, ...) {
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  std::scoped_lock lock(state().mutex);
  state().notes += "[" + std::to_string(rank()) + "] " + line + "\n";
}

/// Messages past this number are counted, not printed: one wrong byte is often followed by a
/// million.
constexpr int kPrintedFailures = 12;

inline void fail(const char* file, int line, const std::string& what) {
  if (++state().failures > kPrintedFailures) return;
  std::fprintf(stderr, "FAILED rank %d of %d, %s:%d, in '%s': %s\n", rank(), size(), file, line,
               state().section.load(), what.c_str());
}

inline std::string error_text(int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  return text;
}

/// The name of an error code's class, for the classes that these programs provoke.
inline std::string class_name(int code) {
  int error_class = code;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &error_class);
  const struct {
    int value;
    const char* name;
  } names[] = {{MPI_SUCCESS, "MPI_SUCCESS"},
               {MPI_ERR_BUFFER, "MPI_ERR_BUFFER"},
               {MPI_ERR_COUNT, "MPI_ERR_COUNT"},
               {MPI_ERR_TYPE, "MPI_ERR_TYPE"},
               {MPI_ERR_TAG, "MPI_ERR_TAG"},
               {MPI_ERR_COMM, "MPI_ERR_COMM"},
               {MPI_ERR_RANK, "MPI_ERR_RANK"},
               {MPI_ERR_REQUEST, "MPI_ERR_REQUEST"},
               {MPI_ERR_ROOT, "MPI_ERR_ROOT"},
               {MPI_ERR_OP, "MPI_ERR_OP"},
               {MPI_ERR_ARG, "MPI_ERR_ARG"},
               {MPI_ERR_UNKNOWN, "MPI_ERR_UNKNOWN"},
               {MPI_ERR_TRUNCATE, "MPI_ERR_TRUNCATE"},
               {MPI_ERR_OTHER, "MPI_ERR_OTHER"},
               {MPI_ERR_INTERN, "MPI_ERR_INTERN"},
               {MPI_ERR_PENDING, "MPI_ERR_PENDING"},
               {MPI_ERR_IN_STATUS, "MPI_ERR_IN_STATUS"}};
  for (const auto& entry : names)
    if (entry.value == error_class) return entry.name;
  return "class " + std::to_string(error_class);
}

inline void require_success(const char* file, int line, const char* call, int code) {
  if (code != MPI_SUCCESS) fail(file, line, std::string(call) + " gave " + error_text(code));
}

template <class A, class B>
void require_equal(const char* file, int line, const char* a_text, const char* b_text, const A& a,
                   const B& b) {
  if (a == b) return;
  std::ostringstream what;
  what << a_text << " is " << a << ", expected " << b_text << " = " << b;
  fail(file, line, what.str());
}

#define CHECK(condition) \
  ((condition) ? void() : check::fail(__FILE__, __LINE__, "not true: " #condition))
/// First the value found, then the one expected.
#define CHECK_EQ(a, b) check::require_equal(__FILE__, __LINE__, #a, #b, (a), (b))
#define CHECK_MPI(call) check::require_success(__FILE__, __LINE__, #call, (call))

/// A hang is a result: say where, then end the whole job. The longest program takes 5 s on two idle
/// cores.
constexpr unsigned kWatchdogSeconds = 60;

inline void on_signal(int number) {
  char text[1024];
  std::snprintf(text, sizeof text, "FAILED rank %d of %d %s in '%s'\n", rank(), size(),
                number == SIGALRM ? "hangs" : "crashes", state().section.load());
  if (write(STDERR_FILENO, text, std::strlen(text)) < 0 || number == SIGALRM) _exit(124);
  signal(number, SIG_DFL);  // on return the fault happens again and ends the rank
}

/// A preloaded library that interposes nothing would pass every comparison: the run script sets
/// TEST_PRELOADED, and then MPI_Send must be the interposer's.
inline void require_preloaded() {
  if (std::getenv("TEST_PRELOADED") == nullptr) return;
  Dl_info info{};
  void* const symbol = dlsym(RTLD_DEFAULT, "MPI_Send");
  if (symbol == nullptr || dladdr(symbol, &info) == 0 ||
      std::strstr(info.dli_fname, "libstrake-mpi") == nullptr)
    fail(__FILE__, __LINE__,
         std::string("MPI_Send comes from ") + (info.dli_fname ? info.dli_fname : "nowhere"));
}

/// A test with the shared heap must have it.
inline void require_heap() {
  if (std::getenv("TEST_PRELOADED") == nullptr || std::getenv("STRAKE_SHARED_HEAP") == nullptr)
    return;
  // The view begins with its version and whether the heap is in use (memory/sharing/heap_view.hpp).
  const auto* const view =
      static_cast<const std::uint32_t*>(dlsym(RTLD_DEFAULT, "strake_heap_view"));
  constexpr std::uint32_t kOn = 1;
  if (view == nullptr || view[1] != kOn) fail(__FILE__, __LINE__, "the shared heap is not in use");
}

/// The common part of init() and of a program that calls MPI_Init by itself, or has but sessions.
/// `comm` holds all ranks.
inline void started(MPI_Comm comm, int argc, char** argv) {
  MPI_Comm_rank(comm, &state().rank);
  MPI_Comm_size(comm, &state().size);
  for (const int number : {SIGALRM, SIGSEGV, SIGBUS}) signal(number, on_signal);
  alarm(kWatchdogSeconds);
  require_preloaded();
  require_heap();
  for (int i = 1; i < argc; ++i)
    if (std::string(argv[i]) == "--device" && !test_memory::use_device(rank())) {
      if (rank() == 0) std::printf("no device\n");
      int world = 0;
      MPI_Initialized(&world);
      if (world != 0) MPI_Finalize();
      std::exit(77);  // what CTest is told to show as skipped
    }
}

/// After MPI_Init.
inline void started(int argc, char** argv) { started(MPI_COMM_WORLD, argc, argv); }

/// MPI_Init; TEST_THREADS=multiple: with MPI_THREAD_MULTIPLE.
inline void start_mpi(int argc, char** argv) {
  if (std::getenv("TEST_THREADS") == nullptr) {
    MPI_Init(&argc, &argv);
  } else {
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  }
}

/// The beginning of main.
inline void init(int argc, char** argv) {
  if (!together()) start_mpi(argc, argv);
  started(argc, argv);
}

/// Prints every rank's notes in rank order and the verdict of all ranks. `comm` holds all ranks.
/// Before MPI_Finalize. Where a check has failed, it ends the job, unless programs run together.
inline bool verdict(MPI_Comm comm = MPI_COMM_WORLD) {
  section("verdict");
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
  constexpr int kNotesTag = 30000;
  const std::string& mine = state().notes;
  if (rank() == 0) {
    std::fputs(mine.c_str(), stdout);
    for (int from = 1; from < size(); ++from) {
      int length = 0;
      MPI_Recv(&length, 1, MPI_INT, from, kNotesTag, comm, MPI_STATUS_IGNORE);
      std::vector<char> text(static_cast<std::size_t>(length) + 1, '\0');
      MPI_Recv(text.data(), length, MPI_CHAR, from, kNotesTag, comm, MPI_STATUS_IGNORE);
      std::fputs(text.data(), stdout);
    }
  } else {
    const int length = static_cast<int>(mine.size());
    MPI_Send(&length, 1, MPI_INT, 0, kNotesTag, comm);
    MPI_Send(mine.data(), length, MPI_CHAR, 0, kNotesTag, comm);
  }
  int mine_failed = state().failures;
  int failed = 0;
  MPI_Allreduce(&mine_failed, &failed, 1, MPI_INT, MPI_SUM, comm);
  if (rank() == 0) std::puts(failed == 0 ? "ok" : "failed");
  std::fflush(stdout);
  if (failed != 0 && !together()) MPI_Abort(comm, 1);
  return failed == 0;
}

/// The end of main.
inline int finish() {
  const bool passed = verdict();
  if (together()) return passed ? 0 : 1;
  section("MPI_Finalize");
  MPI_Finalize();
  return 0;
}

}  // namespace check
