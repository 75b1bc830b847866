#pragma once

// What functions have that kernels of a GPU call, too. The build defines it for CUDA sources; for
// all others it is nothing.
#ifndef HEDDLE_HOST_DEVICE
#define HEDDLE_HOST_DEVICE
#endif
