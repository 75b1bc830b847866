#include "contender.h"

namespace bench::engine {

std::vector<std::unique_ptr<Contender>> make_contenders() {
  std::vector<std::unique_ptr<Contender>> contenders;
  contenders.push_back(make_heddle());
#ifdef HEDDLE_BENCH_TBB
  contenders.push_back(make_tbb_task_group());
  contenders.push_back(make_tbb_flow_graph());
#endif
#ifdef HEDDLE_BENCH_OPENMP
  contenders.push_back(make_libgomp());
#endif
#ifdef HEDDLE_BENCH_STARPU
  contenders.push_back(make_starpu());
#endif
  contenders.push_back(make_serial());
  return contenders;
}

}  // namespace bench::engine
