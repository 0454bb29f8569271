//===- Reduce.h - Element-wise reduction in a fixed order ----- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The arithmetic of every reducing collective. Sources are combined in the order
// in which they are given (the order of the group), one element at a time, so the
// result depends neither on how a buffer is cut nor on who computes a part.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_COLLECTIVE_REDUCE_H
#define DTCC_RUNTIME_COLLECTIVE_REDUCE_H

#include "runtime/abi/dtcc_rt.h"

#include <cstdint>
#include <span>

namespace dtcc::rt {

/// For every i in [begin, end): the reduction of sources[..][i] in order, written
/// to element i - shift of every destination. A destination may be one of the
/// sources at the same elements. bf16 and f16 accumulate in f32 and are rounded
/// once; integers wrap; a NaN wins a maximum or minimum.
void reduceElements(dtcc_dtype type, dtcc_reduction reduction, std::span<const void *const> sources,
                    std::span<void *const> destinations, int64_t begin, int64_t end, int64_t shift);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_COLLECTIVE_REDUCE_H
