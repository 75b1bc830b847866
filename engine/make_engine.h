#pragma once

#include <memory>

#include "engine/engine_core.h"

namespace heddle::detail {

/// The engine of options.kind. Throws std::invalid_argument for an option out of range.
std::shared_ptr<EngineCore> make_engine(const EngineOptions& options);

}  // namespace heddle::detail
