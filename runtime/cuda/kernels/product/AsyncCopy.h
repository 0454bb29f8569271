//===- AsyncCopy.h - Copies to shared memory that a thread does not wait for
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// cp.async, of sm_80 and all later GPUs: bytes go from global to shared memory without
// passing registers. A thread groups its copies and later waits until all but its newest
// groups are there; other threads see them behind the barrier that follows.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_KERNELS_PRODUCT_ASYNCCOPY_H
#define DTCC_RUNTIME_CUDA_KERNELS_PRODUCT_ASYNCCOPY_H

#include "runtime/cuda/kernels/Mma.h"

namespace dtcc::rt::cuda {

/// Begins to copy 16 bytes, both ends aligned to 16; zeros are stored, and nothing is read, unless `exists`.
DTCC_DEVICE void copyUnitLater(void *shared, const void *global, bool exists) {
  const int bytes = exists ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(sharedAddress(shared)),
               "l"((const __attribute__((address_space(1))) void *)global), "r"(bytes)
               : "memory");
}
/// Ends the group of the copies that the thread has begun since the last one.
DTCC_DEVICE void endCopyGroup() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits until at most the newest `groups` groups of the thread are still under way.
template <int groups> DTCC_DEVICE void awaitCopyGroups() {
  asm volatile("cp.async.wait_group %0;" ::"n"(groups) : "memory");
}

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_KERNELS_PRODUCT_ASYNCCOPY_H
