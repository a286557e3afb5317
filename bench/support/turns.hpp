/// \file  Several jobs measure the same cases in turns, a slice of the samples at a time. So their
/// times are of the same minute, and can be compared.
#pragma once

#include <semaphore.h>

namespace bench {

/// A job's place in the ring that BENCH_TURNS=NAME,JOB,JOBS describes (bench/support/jobs.py). A
/// job that joined has the machine until it calls `next`; its ranks take part alike. Without
/// BENCH_TURNS all of it does nothing.
class Turns {
 public:
  /// The object of this process.
  static Turns& instance();

  /// Waits for the others to arrive and for the first turn. Ends the process with status 1 if none
  /// comes in minutes, as after another job's failure. `meanwhile` is called now and then during
  /// each wait: another rank of this job may need it to end its slice.
  void join(int rank, void (*meanwhile)());
  /// Gives the turn away and waits for the next one.
  void next();
  void leave();

 private:
  void take();
  void pass();

  sem_t* mine_ = nullptr;    // tokens for this rank of this job
  sem_t* theirs_ = nullptr;  // for the same rank of the next job
  void (*meanwhile_)() = nullptr;
};

}  // namespace bench
