#include "contender.h"

namespace bench::engine {

std::vector<std::unique_ptr<Contender>> make_contenders() {
  std::vector<std::unique_ptr<Contender>> contenders;
  contenders.push_back(make_heddle());
#ifdef HEDDLE_BENCH_TBB
  contenders.push_back(make_tbb_task_group());
#endif
#ifdef HEDDLE_BENCH_OPENMP
  contenders.push_back(make_libgomp());
#endif
  contenders.push_back(make_serial());
  return contenders;
}

}  // namespace bench::engine
