#include "tests/conformance/target.h"

namespace heddle::conformance {

// On the CPU and on simulated devices the callable itself runs in its turn.
void in_stream(const RunContext&, std::function<void()> work) { work(); }

}  // namespace heddle::conformance
