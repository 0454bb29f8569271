//===- BlockCodes.h - Where 8-bit codes of state lie -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A share of a bucket of codes has a byte for each cell, and behind them an f32 for each block of cells, its scale.
// States start at multiples of a block, and shares divide by it. So no block has cells of two tensors or of two shares:
// shares of ZeRO have the blocks of the whole bucket. The compiler plans the memory and the runtime finds the codes so.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_ABI_BLOCKCODES_H
#define DTCC_RUNTIME_ABI_BLOCKCODES_H

#include <cstdint>

namespace dtcc {

/// Cells of a block: those of the 8-bit optimizers of bitsandbytes since its version 0.43.
constexpr int64_t codeBlock = 256;

/// Bytes of `cells` codes with the scales of their blocks; `cells` divides by codeBlock.
constexpr int64_t codedBytes(int64_t cells) { return cells + cells / codeBlock * int64_t{sizeof(float)}; }

} // namespace dtcc

#endif // DTCC_RUNTIME_ABI_BLOCKCODES_H
