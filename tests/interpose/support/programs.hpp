/// \file  The programs that one executable holds, by name.
#pragma once

#include <map>
#include <string>

namespace programs {

using Main = int (*)(int argc, char** argv);

inline std::map<std::string, Main>& all() {
  static std::map<std::string, Main> programs;
  return programs;
}

struct Registered {
  Registered(const char* name, Main main) { all()[name] = main; }
};

}  // namespace programs
