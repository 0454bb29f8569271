//===- World.h - The plans of a compiled program -------------- -*- C -*-======//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A compiled program has one or several *worlds*: a plan, with its code, for each number
// of ranks that it was compiled for. Each world is an object file with a dtcc_world in the
// section "dtcc_worlds", and the linker puts the rows side by side. The symbols that a row
// points to are local to the object, so that worlds do not meet. `main` hands all rows to
// the runtime, which chooses one before it reads an image.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_ABI_WORLD_H
#define DTCC_RUNTIME_ABI_WORLD_H

#include "runtime/abi/dtcc_rt.h"

/// The plan of a program for one number of ranks.
typedef struct dtcc_world {
  const void *image;
  const dtcc_kernel *kernels;
  uint64_t kernel_count;
  int64_t ranks; /* product of the rank axes of the image; no two worlds of a program have the same */
} dtcc_world;

#endif // DTCC_RUNTIME_ABI_WORLD_H
