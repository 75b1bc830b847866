#include "engine/base/openmp.h"

#include <algorithm>
#include <new>

#include <dlfcn.h>

#include "engine/base/cpus.h"

namespace heddle::base {
namespace {

/// A function of the OpenMP runtime, or null. heddle uses none itself, so it links none.
template <class Function>
Function* find(const char* name) noexcept {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));  // NOLINT: what dlsym is for
}

}  // namespace

void share_cpus_with_openmp(int workers) noexcept try {
  auto* const get = find<int()>("omp_get_max_threads");
  auto* const set = find<void(int)>("omp_set_num_threads");
  if (get == nullptr || set == nullptr) return;
  set(std::max(1, std::min(usable_cpus() / workers, get())));
} catch (const std::bad_alloc&) {  // then it has its own way
}

}  // namespace heddle::base
