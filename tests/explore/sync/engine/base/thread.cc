#include "engine/base/thread.h"

#include <utility>

namespace heddle::base {

Thread start_thread(const std::string& name, std::function<void()> body) {
  return Thread(name, std::move(body));
}

}  // namespace heddle::base
