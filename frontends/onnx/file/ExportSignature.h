//===- ExportSignature.h - What PyTorch notes of a module's tensors
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// torch.onnx.export(dynamo=True) lists the tensors of the module in the graph's metadata, a line each:
//
//   p_head_weight: PARAMETER target='head.weight'
//   b_positions: BUFFER target='positions' persistent=True
//   c_scales: CONSTANT_TENSOR target='scales'
//
// An initializer that keeps such a name holds that tensor. The exporter also computes with initializers: a product of
// two parameters is then one initializer with a name of its own, and the file lacks both parameters.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_FRONTENDS_ONNX_FILE_EXPORTSIGNATURE_H
#define DTCC_FRONTENDS_ONNX_FILE_EXPORTSIGNATURE_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <string>
#include <vector>

namespace dtcc::onnx {

class Model;

class ExportSignature {
public:
  /// Reads the metadata of `model`, if there is any. Lines of another form are no message: nobody writes them by hand.
  void read(const Model &model);
  bool exists() const { return !parameters.empty(); }
  bool isParameter(llvm::StringRef name) const { return parameters.contains(name); }
  /// Whether an initializer holds a buffer or a constant of the module, which do not train.
  bool isConstant(llvm::StringRef name) const { return constants.contains(name); }
  /// Initializers of floats that hold no tensor of the module, neither as it is nor moved.
  llvm::ArrayRef<std::string> computed() const { return computedOnExport; }
  /// Parameters that the file lacks: the module does not use them, or the exporter computed with them.
  llvm::ArrayRef<std::string> missing() const { return missingParameters; }

private:
  llvm::StringSet<> parameters, constants;
  std::vector<std::string> computedOnExport, missingParameters;
};

} // namespace dtcc::onnx

#endif // DTCC_FRONTENDS_ONNX_FILE_EXPORTSIGNATURE_H
