#pragma once

// The whole public API, but for heddle/cuda.h.

#include "heddle/cancel.h"
#include "heddle/device.h"
#include "heddle/dtype.h"
#include "heddle/engine.h"
#include "heddle/error.h"
#include "heddle/io.h"
#include "heddle/kvstore.h"
#include "heddle/memory.h"
#include "heddle/ndarray.h"
#include "heddle/operation.h"
#include "heddle/ops.h"
#include "heddle/options.h"
#include "heddle/random.h"
#include "heddle/recording.h"
#include "heddle/sample.h"
#include "heddle/scalar.h"
#include "heddle/shape.h"
#include "heddle/trace.h"
#include "heddle/unique_function.h"
#include "heddle/var.h"
