//===- ContractSpec.h - The letters of a contraction
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// "btc,chd->bthd" taken apart. Transposes of operands and of the result are nothing
// but other orders of the letters.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_GRAPH_CONTRACTSPEC_H
#define DTCC_DIALECTS_GRAPH_CONTRACTSPEC_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace dtcc::graph {

struct ContractSpec {
  std::string lhs, rhs, result;

  /// `spec` is that of a verified op, or to be verified.
  static ContractSpec parse(llvm::StringRef spec);
  std::string str() const;
  /// Every letter once, those of the result first: the order of the factor map.
  std::string letters() const;
  /// The factor of each letter of `term`.
  llvm::SmallVector<int64_t> factorsOf(llvm::StringRef term) const;
};

/// Verifies that `text` is a contraction of two operands of one element type to a result of that or a wider one.
mlir::LogicalResult verifyContraction(mlir::Operation *op, llvm::StringRef text, mlir::Value lhs, mlir::Value rhs,
                                      mlir::Value y);

} // namespace dtcc::graph

#endif // DTCC_DIALECTS_GRAPH_CONTRACTSPEC_H
