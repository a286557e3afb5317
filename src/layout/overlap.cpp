#include "layout/overlap.hpp"

#include <algorithm>

namespace strake {
namespace {

/// Among the bytes that begin before: those that end last, and those of other users that do.
struct Furthest {
  Touched first;
  Touched other;
  void add(const Touched& touched) {
    if (touched.end > first.end) {
      if (touched.user != first.user) other = first;
      first = touched;
    } else if (touched.user != first.user && touched.end > other.end) {
      other = touched;
    }
  }
};

}  // namespace

std::optional<Overlap> find_overlap(std::vector<Touched>& all) {
  std::ranges::sort(all, {}, &Touched::begin);
  Furthest reads;
  Furthest writes;
  for (const Touched& touched : all) {
    const Touched& written =
        touched.written && writes.first.user == touched.user ? writes.other : writes.first;
    if (touched.begin < written.end) return Overlap{touched.begin, written, touched};
    if (touched.written && touched.begin < reads.first.end)
      return Overlap{touched.begin, reads.first, touched};
    (touched.written ? writes : reads).add(touched);
  }
  return std::nullopt;
}

}  // namespace strake
