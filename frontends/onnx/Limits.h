//===- Limits.h - What operators leave out, and what stands in for others
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Text for users: the message that lists unsupported nodes, and SUPPORTED.md, which the
// node conformance test writes.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_FRONTENDS_ONNX_LIMITS_H
#define DTCC_FRONTENDS_ONNX_LIMITS_H

#include "llvm/ADT/StringRef.h"

namespace dtcc::onnx {

/// Forms of an operator that its rule refuses; empty if it takes everything that its definition allows.
llvm::StringRef limitOf(llvm::StringRef op);

/// The nearest thing that works for an operator without a rule; empty: nothing is known.
llvm::StringRef insteadOf(llvm::StringRef op);

} // namespace dtcc::onnx

#endif // DTCC_FRONTENDS_ONNX_LIMITS_H
