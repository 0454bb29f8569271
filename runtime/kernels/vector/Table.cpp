//===- Table.cpp - The kernels of this instruction set -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/vector/Table.h"

#include "runtime/kernels/vector/Simd.h"

#define DTCC_STRING(x) #x
#define DTCC_NAME(x) DTCC_STRING(x)

namespace dtcc::rt::DTCC_SIMD_LEVEL {

const VectorKernels table = {
    DTCC_NAME(DTCC_SIMD_LEVEL),
    lanes,
    attention,
    attentionGrad,
    rowStatistics,
    shiftedExponential,
    sumSquares,
    addTo,
    adam,
    sgd,
    adagrad,
    lion,
    widen,
    narrow,
    productBlock,
    largestOfWindows,
    takeLarger,
    winogradKernels,
    winograd,
    winogradSum,
    winogradKernelGrad,
    recurrentStep,
    recurrentReset,
    recurrentStepGrad,
    recurrentResetGrad,
};

} // namespace dtcc::rt::DTCC_SIMD_LEVEL
