//===- Device.h - What kernels need of CUDA, without its headers
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels are compiled by clang alone, without a CUDA toolkit: the few attributes and
// builtins that they use have their names here. A kernel is
//
//   DTCC_KERNEL(sum_rows, SumRows, 256) { ... p.x[...] ... }
//
// with its structure of parameters as `p`, blocks of 256 threads, and its predicate looked
// at before: with one that is 0 it does nothing. SequenceOrder.h and other constexpr
// functions of the runtime can be called.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_KERNELS_DEVICE_H
#define DTCC_RUNTIME_CUDA_KERNELS_DEVICE_H

#include <cstdint>

#define DTCC_DEVICE __attribute__((device)) inline __attribute__((always_inline))
/// Inlines a lambda, if written behind its parameters, so that its captures stay in registers.
#define DTCC_INLINE __attribute__((always_inline))
#define DTCC_SHARED __attribute__((shared)) static

#define DTCC_KERNEL(NAME, PARAMETERS, THREADS) DTCC_KERNEL_BLOCKS(NAME, PARAMETERS, THREADS, 1)
/// Registers are shared out so that a multiprocessor holds at least BLOCKS blocks.
#define DTCC_KERNEL_BLOCKS(NAME, PARAMETERS, THREADS, BLOCKS)                                                          \
  static DTCC_DEVICE void NAME##Body(const PARAMETERS &p);                                                             \
  extern "C" __attribute__((global)) __attribute__((launch_bounds(THREADS, BLOCKS))) void NAME(                        \
      const int32_t *predicate, const PARAMETERS p) {                                                                  \
    if (predicate == nullptr || *predicate != 0)                                                                       \
      NAME##Body(p);                                                                                                   \
  }                                                                                                                    \
  static DTCC_DEVICE void NAME##Body(const PARAMETERS &p)

namespace dtcc::rt::cuda {

constexpr int warpSize = 32;

DTCC_DEVICE int threadIndex() { return __nvvm_read_ptx_sreg_tid_x(); }
DTCC_DEVICE int blockThreads() { return __nvvm_read_ptx_sreg_ntid_x(); }
DTCC_DEVICE int64_t blockX() { return __nvvm_read_ptx_sreg_ctaid_x(); }
DTCC_DEVICE int64_t blockY() { return __nvvm_read_ptx_sreg_ctaid_y(); }
DTCC_DEVICE int64_t blockZ() { return __nvvm_read_ptx_sreg_ctaid_z(); }
DTCC_DEVICE int64_t blocksX() { return __nvvm_read_ptx_sreg_nctaid_x(); }
DTCC_DEVICE int64_t blocksZ() { return __nvvm_read_ptx_sreg_nctaid_z(); }
DTCC_DEVICE int lane() { return threadIndex() & (warpSize - 1); }
DTCC_DEVICE int warp() { return threadIndex() / warpSize; }
/// All threads of the block arrive before any goes on.
DTCC_DEVICE void synchronize() { __syncthreads(); }

/// The value of the lane whose number differs in the bits of `mask`. All lanes of the warp call it.
DTCC_DEVICE float exchange(float value, int mask) { return __nvvm_shfl_sync_bfly_f32(0xffffffffu, value, mask, 31); }
DTCC_DEVICE int exchange(int value, int mask) { return __nvvm_shfl_sync_bfly_i32(0xffffffffu, value, mask, 31); }
DTCC_DEVICE double exchange(double value, int mask) {
  int64_t bits = __builtin_bit_cast(int64_t, value);
  int low = exchange(static_cast<int>(bits), mask), high = exchange(static_cast<int>(bits >> 32), mask);
  return __builtin_bit_cast(double, (static_cast<int64_t>(high) << 32) | static_cast<uint32_t>(low));
}

/// 2^x within 2 units in the last place; denormals are 0.
DTCC_DEVICE float exp2Approximate(float x) { return __nvvm_ex2_approx_ftz_f(x); }

/// Dynamic shared memory of the launch, aligned to 16.
extern __attribute__((shared)) __attribute__((aligned(16))) unsigned char dynamicShared[];

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_KERNELS_DEVICE_H
