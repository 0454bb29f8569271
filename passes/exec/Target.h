//===- Target.h - What programs for different processors have different
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each target is a row of kTargets. Passes get the columns that they need as options, and no pass asks which target it
// compiles for. The generators of passes/exec/codegen write a target's code, one generator a target. All targets have
// the same library ops (runtime/abi/LibraryOps.def).
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_EXEC_TARGET_H
#define DTCC_PASSES_EXEC_TARGET_H

#include "passes/spmd/layout/ProductPadding.h"
#include "runtime/abi/dtcc_rt.h"
#include <cassert>
#include <cstdint>
#include <string_view>

namespace dtcc::exec {

/// Epilogues that the library of matrix products applies before it stores a result.
struct ProductEpilogues {
  /// Adds a row to every row of the result.
  bool bias = false;
  /// Takes gelu, by tanh, of the result and keeps the input of gelu; or multiplies the result by the slope of gelu.
  bool gelu = false;
  /// Sums the rows of a factor. Beside the product that is the gradient of a weight, the sum is that of its bias.
  bool biasGradient = false;
};

struct Target {
  /// Name of the target.
  std::string_view name;
  /// Default of --precision.
  std::string_view precision;
  /// Kind of memory that holds the arenas.
  dtcc_memory memory;
  /// Alignment in bytes of arenas, buffers and slots: a cache line on processors; on GPUs the alignment of the
  /// allocator, which the libraries' fastest kernels need.
  int64_t alignment;
  /// Largest logits of a chunk, in bytes of f32: a processor's cores are busy with few rows, and read the gradient
  /// while it is in their caches; a GPU wants some thousand rows of a vocabulary of 50,000 in a product.
  int64_t logitsBytes;
  /// Dimensions of products that are padded. Tensor cores are fed in units of 16 bytes, which are 8 halves, and tiles
  /// of products are multiples of 64 wide.
  spmd::ProductPadding padding;
  /// Wide rows of other matrices that products read or write start at multiples of this number of bytes (rowBytes()).
  /// 0: rows lie densely. Tensor cores are fed in units of 16 bytes, and the library's kernels for rows that start
  /// elsewhere, as most rows of 50,257 logits do, reach a fraction of the others' speed.
  int64_t rowAlignment;
  /// Whether scratch memory of library ops is planned. Ops of processors use memory of their threads.
  bool plansWorkspace;
  /// Whether rows on their way to experts are packed before they are sent. Processors read them where they lie.
  bool packsRows;
  /// Whether the gradient of a convolution's kernel of one pixel is a sum of products, one for each image. A GPU copies
  /// images faster than it starts commands, and computes one product of copies.
  bool splitsSums;
  /// Whether images of halves lie with their channels last, along which tensor cores multiply.
  bool channelsLast;
  /// Number of commands that a copy between device and host memory is planned to take: a layer of a transformer has a
  /// dozen (Liveness.h). 0: the host's memory is the device's, so that no value is copied.
  int64_t copyCommands;
  /// Whether commands of two streams run at the same time, so that parameters may have a communicator of their own.
  /// Processors run them so with --overlap alone, and their cores are busy.
  bool runsStreams;
  /// Epilogues of products. A processor's fused kernels do the same on rows that are still in its caches.
  ProductEpilogues epilogues;
  /// The symbol of the runtime that creates the device of these programs. The linker is told to keep it, and so no
  /// program carries the device of another target. Null: the device that all programs have.
  const char *device;
};

/// The first is the default.
inline constexpr Target kTargets[] = {
    {"cpu", "f32", DTCC_MEMORY_HOST, 64, int64_t(64) << 20, {}, 0, false, false, true, false, 0, false, {}, nullptr},
    {"cuda",
     "bf16",
     DTCC_MEMORY_DEVICE,
     256,
     int64_t(512) << 20,
     {8, 64},
     128,
     true,
     true,
     false,
     true,
     12,
     true,
     {true, true, true},
     "dtcc_create_cuda_device"},
};

/// Narrower rows lie densely: heads of attention are read as one with their neighbours.
inline constexpr int64_t kWideRow = 4096, kUnitOfProducts = 16;

/// Distance from the start of a row of `bytes` to the start of the next row.
constexpr int64_t rowBytes(int64_t bytes, int64_t alignment) {
  if (alignment == 0 || bytes < kWideRow || bytes % kUnitOfProducts == 0)
    return bytes;
  return (bytes + alignment - 1) / alignment * alignment;
}

/// Null if there is none of that name.
constexpr const Target *findTarget(std::string_view name) {
  for (const Target &target : kTargets)
    if (target.name == name)
      return &target;
  return nullptr;
}

} // namespace dtcc::exec

#endif // DTCC_PASSES_EXEC_TARGET_H
