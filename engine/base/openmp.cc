#include "engine/base/openmp.h"

#include <algorithm>
#include <new>

#include <dlfcn.h>

#include "engine/base/cpus.h"

namespace heddle::base {
namespace {

template <class Function>
Function* find(const char* name) noexcept {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));  // NOLINT: what dlsym is for
}

}  // namespace

OpenMp::OpenMp(int workers) noexcept try {
  get_ = find<int()>("omp_get_max_threads");
  if (get_ == nullptr) return;
  share_ = std::max(1, usable_cpus() / workers);
  set_ = find<void(int)>("omp_set_num_threads");
} catch (const std::bad_alloc&) {  // then it has its own way
}

int OpenMp::share_cpus() const noexcept {
  if (set_ == nullptr) return 0;
  const int before = get_();
  if (before > share_) set_(share_);
  return before;
}

void OpenMp::restore(int threads) const noexcept {
  if (set_ != nullptr && get_() != threads) set_(threads);
}

}  // namespace heddle::base
