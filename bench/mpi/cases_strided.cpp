// Elements and rows at constant distance: what a column, a component of a vector field or a tile
// comes to.
#include "mpi/case.hpp"

namespace bench {
namespace {

Case strided(std::int64_t blocks, int block_elements, int stride_elements, MPI_Datatype element,
             std::int64_t element_bytes) {
  Case c;
  c.type = vector(static_cast<int>(blocks), block_elements, stride_elements, element);
  c.buffer_bytes = blocks * stride_elements * element_bytes;
  for (std::int64_t i = 0; i < blocks; ++i) {
    c.blocks.push_back({i * stride_elements * element_bytes, block_elements * element_bytes});
  }
  return c;
}

Case dense(std::int64_t bytes) {
  Case c;
  c.type = contiguous(static_cast<int>(bytes / 8), MPI_DOUBLE);
  c.buffer_bytes = bytes;
  c.blocks.push_back({0, bytes});
  return c;
}

}  // namespace

void add_strided_cases(CaseList& list, bool quick) {
  struct Payload {
    const char* name;
    std::int64_t bytes;
  };
  // 64 KiB stays in the second-level cache, 4 MiB with its gaps does not.
  const std::vector<Payload> payloads =
      quick ? std::vector<Payload>{{"4KiB", 4 << 10}}
            : std::vector<Payload>{{"64KiB", 64 << 10}, {"4MiB", 4 << 20}};
  for (const Payload payload : payloads) {
    for (const int element : {8, 16}) {
      for (const int stride : {2, 3, 4, 8}) {
        const MPI_Datatype type = element == 8 ? MPI_DOUBLE : MPI_C_DOUBLE_COMPLEX;
        list.push_back(
            {"strided/" + std::to_string(element) + "B_stride" + std::to_string(stride) + "_" +
                 payload.name,
             [=] { return strided(payload.bytes / element, 1, stride, type, element); }});
      }
    }
  }
  list.push_back({"rows/2KiB", [=] { return strided(quick ? 8 : 1024, 256, 512, MPI_DOUBLE, 8); }});
  for (const Payload payload : payloads) {
    list.push_back({std::string("dense/") + payload.name, [=] { return dense(payload.bytes); }});
  }
}

}  // namespace bench
