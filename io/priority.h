#pragma once

namespace heddle::io {

/// Of the operations that prepare input. They are short and few batches ahead: they go before
/// computing, which would otherwise wait for them.
inline constexpr int kPriority = 1 << 20;

}  // namespace heddle::io
