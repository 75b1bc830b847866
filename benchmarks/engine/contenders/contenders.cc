#include "contenders/contenders.h"

namespace bench::engine {
namespace {

constexpr Entry kEntries[] = {
    {kHeddle, make_heddle},
#ifdef HEDDLE_BENCH_TBB
    {"TBB task_group", make_tbb_task_group},
    {"TBB flow graph", make_tbb_flow_graph},
#endif
#ifdef HEDDLE_BENCH_OPENMP
    {"libgomp depend", make_libgomp},
#endif
#ifdef HEDDLE_BENCH_STARPU
    {"StarPU", make_starpu},
#endif
    {kSerial, make_serial},
};

}  // namespace

std::span<const Entry> entries() { return kEntries; }

}  // namespace bench::engine
