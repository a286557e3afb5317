// A plug-in of one rank for the command's tests. Its cases succeed, throw, or receive wrong data,
// or take their time.
#include <chrono>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "measure/case.hpp"

namespace {

using namespace strake::measure;

class Standin final : public Instance {
 public:
  explicit Standin(std::string name) : name_(std::move(name)) {
    if (name_ == "standin/make") throw std::runtime_error("there is no such thing here");
  }
  double run(std::int64_t iterations) override {
    if (name_ == "standin/run") throw std::runtime_error("it broke");
    if (name_ == "standin/slow") std::this_thread::sleep_for(std::chrono::milliseconds(300));
    if (name_ == "standin/endless") std::this_thread::sleep_for(std::chrono::minutes(5));
    return static_cast<double>(iterations) * 1e-3;
  }
  void verify() override {
    if (name_ == "standin/wrong") throw WrongData("byte 7 is 1, not 2");
  }

 private:
  std::string name_;
};

class OneRank final : public Team {
  [[nodiscard]] std::string library() const override { return "Stand-in MPI 1.0"; }
};

class StandinPlugin final : public Plugin {
 public:
  Team* team() override { return &team_; }
  std::vector<Case> cases() override {
    std::vector<Case> all;
    for (const char* name :
         {"standin/good", "standin/second", "standin/third", "standin/fourth", "standin/make",
          "standin/run", "standin/wrong", "standin/slow", "standin/endless"}) {
      Case what;
      what.name = name;
      what.bytes = 1000;
      what.quick = true;
      what.scope = Scope::Job;
      what.make = [what] { return std::make_unique<Standin>(what.name); };
      all.push_back(what);
    }
    return all;
  }
  int gpu_aware() override { return problem() == nullptr ? 1 : -1; }
  std::string gpu_aware_problem() override { return problem() == nullptr ? "" : problem(); }
  std::string machine() override { return R"({"driver": "1.0"})"; }

 private:
  static const char* problem() { return std::getenv("STANDIN_PROBLEM"); }

  OneRank team_;
};

}  // namespace

extern "C" __attribute__((visibility("default"))) Plugin* strake_make_measure_plugin(int version) {
  return version == kPluginVersion ? new StandinPlugin : nullptr;
}
