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
// The metadata of a node has the call that it was made of, with the names on the left: so the file tells which
// parameter an operand is, also where the exporter moved it or merged it with another of equal numbers.
//
// An initializer that keeps such a name holds that tensor. The exporter also computes with initializers: a product of
// two parameters is then one initializer with a name of its own, and the file lacks both parameters.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_FRONTENDS_ONNX_FILE_EXPORTSIGNATURE_H
#define DTCC_FRONTENDS_ONNX_FILE_EXPORTSIGNATURE_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <string>
#include <vector>

namespace onnx {
class NodeProto;
} // namespace onnx

namespace dtcc::onnx {

class Model;

/// The rule by which PyTorch's exporter drops a bias of zeros.
inline constexpr llvm::StringLiteral kRemoveBiasRule = "RemoveOptionalBias";
/// Whether PyTorch's exporter notes at a node that a rewriting rule made it.
bool madeByRule(const ::onnx::NodeProto &node, llvm::StringRef rule);

class ExportSignature {
public:
  /// Reads the metadata of `model`, if there is any. Lines of another form are no message: nobody writes them by hand.
  void read(const Model &model);
  bool exists() const { return !parameters.empty(); }
  bool isParameter(llvm::StringRef name) const { return parameters.contains(name); }
  /// Whether an initializer holds a buffer or a constant of the module, which do not train.
  bool isConstant(llvm::StringRef name) const { return constants.contains(name); }
  /// Initializers of floats that hold no tensor of the module, neither as it is nor moved, but may have been computed
  /// of missing parameters. If none is missing, such initializers are the exporter's own constants.
  llvm::ArrayRef<std::string> computed() const { return computedOnExport; }
  /// Parameters that the file lacks: the module does not use them, or the exporter computed with them.
  llvm::ArrayRef<std::string> missing() const { return missingParameters; }

  /// The parameter of the module that operand `i` of a node is, a tensor of `rank` dimensions; empty: nothing tells.
  /// Parameters that the module ties have one name here.
  llvm::StringRef parameterOf(const ::onnx::NodeProto &node, unsigned i, size_t rank) const;

private:
  /// Names in the exporter's trace to those of the module.
  llvm::MapVector<llvm::StringRef, llvm::StringRef> traced;
  llvm::StringSet<> parameters, constants;
  std::vector<std::string> computedOnExport, missingParameters;
};

} // namespace dtcc::onnx

#endif // DTCC_FRONTENDS_ONNX_FILE_EXPORTSIGNATURE_H
