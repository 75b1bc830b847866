#include "gpu/questions.h"

#include <array>

namespace bench::gpu {

std::span<const Question> questions() {
  static constexpr std::array kQuestions = {
      Question{"memory", "how often is CUDA asked for memory, and for how much?", &memory},
      Question{"blocks", "what does a block of memory cost that the pool has?", &blocks},
      Question{"chain", "what does the engine add to kernels in a row that do nothing?", &chain},
      Question{"recording", "what does a kernel cost in a chain that was recorded once?",
               &recorded_chain},
      Question{"bandwidth", "how much of the memory's bandwidth does an addition get?", &bandwidth},
      Question{"product", "what does the engine add to cuBLAS?", &product},
      Question{"waits", "how often does a thread block for a GPU?", &synchronizations},
  };
  return kQuestions;
}

}  // namespace bench::gpu
