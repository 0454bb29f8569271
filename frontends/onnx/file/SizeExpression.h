//===- SizeExpression.h - Arithmetic and conditions over named sizes
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dimensions of a file are expressions of names ("past + seq", "(n + d - 1) // d"), and the manifest of an export
// holds conditions on sizes ("seq <= 128 and batch % 2 == 0"). Both are written as Python writes them:
//
//   or, and, not; == != < <= > >= (one of them); &; + -; * / // %; - of one operand; **;
//   abs ceil floor int max min round sqrt; names, numbers and parentheses
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_FRONTENDS_ONNX_FILE_SIZEEXPRESSION_H
#define DTCC_FRONTENDS_ONNX_FILE_SIZEEXPRESSION_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <optional>

namespace dtcc::onnx {

/// The value of a name, or none: the expression then has no value either.
using SizeOfName = llvm::function_ref<std::optional<int64_t>(llvm::StringRef)>;

/// The whole number that `text` is, or none: it is no arithmetic over sizes, or leaves the whole numbers up to 2^53.
std::optional<int64_t> evaluateSize(llvm::StringRef text, SizeOfName sizeOf);

/// Whether the condition `text` holds, or none: it is no condition, or an operand leaves the numbers up to 2^53.
std::optional<bool> evaluateCondition(llvm::StringRef text, SizeOfName sizeOf);

} // namespace dtcc::onnx

#endif // DTCC_FRONTENDS_ONNX_FILE_SIZEEXPRESSION_H
