//===- Bindings.h - Values of symbolic dimensions
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dimensions of inputs are numbers, names, or simple expressions of names
// ("past + seq", "(n + d - 1) // d"). All names must be bound.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_FRONTENDS_ONNX_BINDINGS_H
#define DTCC_FRONTENDS_ONNX_BINDINGS_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringMap.h"
#include <optional>
#include <string>
#include <vector>

namespace dtcc::onnx {

class Bindings {
public:
  /// Problems of the list itself (contradictions, values below 1) are noted for `problems`.
  explicit Bindings(llvm::ArrayRef<std::pair<std::string, int64_t>> values);

  /// The value of a dimension; problems are collected. `where` names the dimension in messages.
  int64_t evaluate(llvm::StringRef expression, llvm::StringRef where);
  /// Whether a condition on sizes holds, or none: it cannot be computed. The sizes it reads are added to `sizes`.
  std::optional<bool> holds(llvm::StringRef condition, std::vector<std::string> &sizes) const;
  /// The size that `--bind=INPUT.DIMENSION=SIZE` gives to a dimension whose size the file fixes, if it does.
  std::optional<int64_t> fixedSize(llvm::StringRef input, size_t dimension);
  void addProblem(std::string problem) { problems.push_back(std::move(problem)); }
  /// All problems as one message, with bindings that nothing used; empty if there are none.
  std::string summary();

private:
  llvm::StringMap<int64_t> values;
  llvm::StringMap<bool> used;
  std::vector<std::string> problems, unbound;
};

} // namespace dtcc::onnx

#endif // DTCC_FRONTENDS_ONNX_BINDINGS_H
