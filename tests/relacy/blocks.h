#pragma once

namespace heddle::relacy {

/// Called, while a test is simulated, before a block of base/block_cache.h is given back, so when
/// the object in it has been destroyed. Null: nothing is.
using BeforeFree = void (*)();
void call_before_free(BeforeFree before_free);

}  // namespace heddle::relacy
