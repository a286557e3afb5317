/// \file  Draws a random program from a seed, action after action: the same on every rank.
#pragma once

#include <deque>
#include <vector>

#include "draw.hpp"
#include "model.hpp"
#include "program.hpp"
#include "shapes.hpp"

namespace random_program {

struct Options {
  std::uint64_t seed = 1;  ///< odd: begins when no rank has heard of another's shared memory
  int messages = 1000;
  int ranks = 1;
  bool on_device = false;
};

class Generator {
 public:
  explicit Generator(const Options& options);

  /// The next action; false: the program is over.
  bool next(Action& action);
  /// How many actions there were.
  [[nodiscard]] long step() const { return step_; }
  [[nodiscard]] const Model& model() const { return model_; }
  [[nodiscard]] Shapes& shapes() { return shapes_; }

 private:
  using Ids = std::vector<int>;
  /// A message that may still be in its sender's buffer.
  struct Buffered {
    int message;
    std::int64_t bytes;
  };
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  /// \{ Draw one action, or do nothing if it is not possible now (generator.cpp).
  void draw_any();
  void draw_send();
  void draw_receive();
  void draw_held_receive();
  void receive_held(int rank, int message);
  void draw_startall();
  /// \}
  /// \{ (generator_completions.cpp)
  void draw_completion();
  void draw_ask();
  void draw_probe(bool takes);
  void draw_probe_nothing();
  void draw_cancel_hopeless();
  void draw_cancel_matched();
  void draw_free();
  void detach_all();
  void complete_all(int rank);
  void cancel_hopeless(int receive);
  void barrier();
  /// \}
  /// \{ Several ranks together (generator_groups.cpp).
  void draw_cancel_send();
  void draw_pair();
  void pair(int comm, int source, int destination, int tag, std::int64_t bytes, Memory memory);
  void draw_cycle();
  void draw_race();
  void draw_make_comms();
  void draw_free_comm();
  void match_all(int comm);
  void begin();
  void end();
  /// \}

  Action& emit(Kind kind, std::vector<int> ranks, Ids operations = {});
  /// Notes that an operation runs from now on; one of a blocking call is settled at once.
  void begun(int id);
  void settle(int id);
  void start(int id);
  void send_matching(int receive);
  void receive_first(int comm, int destination);

  [[nodiscard]] std::int64_t draw_bytes(int leaf_bytes);
  [[nodiscard]] Memory draw_memory();
  /// One that others had, with at least `least` and at most `most` bytes; if there is none, a count
  /// of -1.
  [[nodiscard]] Shape draw_kept(std::int64_t least, std::int64_t most, int leaf_bytes);
  [[nodiscard]] Shape draw_shape(std::int64_t most, int leaf_bytes);
  /// The room for a message of so many bytes.
  [[nodiscard]] Shape draw_room(std::int64_t bytes, int leaf_bytes);
  [[nodiscard]] Call draw_send_call(int receive, int rank, std::int64_t bytes);
  [[nodiscard]] int draw_comm(bool races = false);
  [[nodiscard]] int draw_source(const Comm& comm, int destination);
  [[nodiscard]] int draw_inactive(bool sends);
  [[nodiscard]] bool may_truncate(std::int64_t bytes, std::int64_t room) const;
  [[nodiscard]] bool may_buffer(int rank, std::int64_t bytes) const;
  [[nodiscard]] bool is_completable(const Operation& operation) const;
  [[nodiscard]] bool is_busy(int rank) const { return outstanding_[at(rank)].size() >= kBusy; }
  [[nodiscard]] const Operation& op(int id) const { return model_.operation(id); }
  int world_rank(int comm, int rank) const { return model_.comms[at(comm)].members[at(rank)]; }

  static constexpr std::size_t kBusy = 24;     ///< operations of a rank
  static constexpr std::size_t kWaiting = 10;  ///< messages or receives without a match
  static constexpr std::size_t kInactive = 6;  ///< persistent requests of a rank
  static constexpr long kForgets = 500;        ///< steps between two calls of Model::forget
  static constexpr int kTags = 4;
  static constexpr int kHopelessTag = 500;
  static constexpr int kFirstOwnTag = 1000;  ///< of sends that are cancelled

  Options options_;
  Draw draw_;
  Shapes shapes_;
  Model model_;
  std::deque<Action> actions_;
  std::vector<Ids> outstanding_;                 ///< by rank: begun, neither settled nor freed
  std::vector<Ids> inactive_;                    ///< by rank: persistent requests
  std::vector<Ids> held_;                        ///< by rank: messages
  std::vector<std::vector<Buffered>> buffered_;  ///< by rank
  Ids freed_;
  std::vector<Shape> kept_;  ///< shapes that are used again
  int race_comm_ = 0;
  int epoch_ = 0, messages_ = 0, own_tags_ = 0;
  long step_ = 0, forgotten_ = 0;
  bool is_begun_ = false, is_ending_ = false;
};

/// The buffer for buffered sends of each rank, and how many messages' bytes may be in it.
constexpr int kBufferBytes = 4 << 20;
constexpr std::int64_t kBufferedBytes = 1 << 20;

}  // namespace random_program
