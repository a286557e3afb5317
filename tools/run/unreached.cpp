#include "unreached.hpp"

namespace strake::run {

using job::Letter;

std::string why_unreached(const std::set<Letter>& letters, bool all_static) {
  if (letters.contains(Letter::Started)) return {};
  if (letters.contains(Letter::WithMpi)) {
    return "no MPI call of this job reached Strake, so it changed no message: either MPI was never "
           "started, or its functions were looked up in the library itself (as ctypes, Julia and "
           "plugins opened with RTLD_DEEPBIND do)";
  }
  if (letters.contains(Letter::Emptied)) {
    return "Strake changed no message of this job: it started a program with an emptied "
           "environment "
           "(env -i), and can't be loaded into such a program";
  }
  if (all_static || letters.contains(Letter::WithoutMpi)) {
    return "no process of this job used MPI, as far as can be seen from this machine, so Strake "
           "changed no message";
  }
  return {};
}

}  // namespace strake::run
