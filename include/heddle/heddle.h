#pragma once

// The whole public API.

#include "heddle/device.h"    // IWYU pragma: export
#include "heddle/dtype.h"     // IWYU pragma: export
#include "heddle/engine.h"    // IWYU pragma: export
#include "heddle/error.h"     // IWYU pragma: export
#include "heddle/io.h"        // IWYU pragma: export
#include "heddle/kvstore.h"   // IWYU pragma: export
#include "heddle/ndarray.h"   // IWYU pragma: export
#include "heddle/ops.h"       // IWYU pragma: export
#include "heddle/options.h"   // IWYU pragma: export
#include "heddle/random.h"    // IWYU pragma: export
#include "heddle/shape.h"     // IWYU pragma: export
#include "heddle/trace.h"     // IWYU pragma: export
#include "heddle/var.h"       // IWYU pragma: export
