/// \file  The ranks of a job run one case together: rank 0 leads, the others follow.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "case.hpp"

namespace strake::measure {

/// The steps that rank 0 orders.
enum class Order : std::int64_t;

/// Rank 0's side. Cases of Scope::Process run only here. Each step of other cases runs on all
/// ranks; a fault of one rank ends the step on all.
class Leader {
 public:
  /// `team` may be null: one process.
  explicit Leader(Team* team) : team_(team) {}
  /// Dismisses the other ranks (serve() returns there).
  ~Leader();
  Leader(const Leader&) = delete;
  Leader& operator=(const Leader&) = delete;

  /// `index`: the case's place in the list of the plug-in that brought the team. The steps:
  /// \throws std::exception  this rank's fault, or that another has one, which it has printed
  void make(const Case& what, std::int64_t index);
  double run(std::int64_t iterations);
  /// \throws WrongData  also where another rank has it
  void verify();
  /// Ends the case, after a fault too.
  void drop() noexcept;

 private:
  template <typename Step>
  double together(Order order, std::int64_t value, Step step);

  Team* team_;
  bool shared_ = false;  ///< all ranks take part in this case
  std::unique_ptr<Instance> instance_;
};

/// The other ranks' side: returns when the leader dismisses them.
void serve(Team& team, const std::vector<Case>& cases);

}  // namespace strake::measure
