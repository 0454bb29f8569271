//===- OpTable.h - Functions by the op that they are for -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pass whose subject are some kinds of ops has a row for each, a function that takes the
// op as what it is. What a pass asks of any op is an interface instead.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_INTERFACES_OPTABLE_H
#define DTCC_DIALECTS_INTERFACES_OPTABLE_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/StringMap.h"
#include <functional>
#include <optional>

namespace dtcc {

template <typename Result, typename... Args> class OpTable {
public:
  template <typename OpTy> OpTable &on(Result (*function)(OpTy, Args...)) {
    rows[OpTy::getOperationName()] = [function](mlir::Operation *op, Args... args) {
      return function(mlir::cast<OpTy>(op), args...);
    };
    return *this;
  }

  bool contains(mlir::Operation *op) const { return rows.contains(op->getName().getStringRef()); }
  /// Calls the function of the op's row. Nothing: it has none.
  std::optional<Result> operator()(mlir::Operation *op, Args... args) const {
    auto row = rows.find(op->getName().getStringRef());
    if (row == rows.end())
      return std::nullopt;
    return row->second(op, args...);
  }

private:
  llvm::StringMap<std::function<Result(mlir::Operation *, Args...)>> rows;
};

} // namespace dtcc

#endif // DTCC_DIALECTS_INTERFACES_OPTABLE_H
