#include "tests/support/fake_cuda_runtime.h"

namespace {

/// Gives the GPUs that the program is emulated 8 MiB each.
[[maybe_unused]] const bool g_is_shrunk = [] {
  heddle::support::shrink_fake_cuda(std::size_t{8} << 20U);
  return true;
}();

}  // namespace
