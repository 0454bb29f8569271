//===- Annotate.h - An ONNX model with a placement on several devices
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ONNX files of IR version 11 on may say where nodes run and how their inputs and outputs
// are split: a configuration of devices, and for each node a pipeline stage and a sharding
// of tensors (onnx.proto, and ONNX's proposal ONNXMultiDeviceProposal.md). It knows
// splits and copies, and no partial sums.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_FRONTENDS_ONNX_ANNOTATE_H
#define DTCC_FRONTENDS_ONNX_ANNOTATE_H

#include "dialects/spmd/Layout.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Location.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringMap.h"

namespace dtcc::onnx {

/// A dimension of a tensor, or one of several into which it is seen to be cut, outermost first.
struct PlacedDim {
  /// The dimension of the ONNX tensor, its own size, and the axes that split it.
  int64_t dim = 0, size = 1;
  spmd::Axes axes;
};

struct Placement {
  /// The configuration's name, and the devices: a rank each. Axes of time split nothing.
  std::string name;
  spmd::Mesh mesh;
  /// The axis whose ranks have the stages, one after the other and again from the first; empty: no stages.
  std::string stageAxis;
  /// Initializers and inputs of the model, by their names.
  llvm::StringMap<std::vector<PlacedDim>> tensors;
  /// The first output and the stage of each node, by the node's name; a node without a name goes by its first output.
  llvm::StringMap<std::vector<PlacedDim>> results;
  llvm::StringMap<int64_t> stages;
};

/// Writes the model at `path` again to `target` with `placement` instead of what it said of devices. What is not placed
/// has no annotation. Weights in external data stay where they are: `finalFolder`, the folder that the file is going to
/// lie in, must then be that of the model. Failure after one message at the model.
mlir::LogicalResult writeAnnotated(mlir::MLIRContext *context, llvm::StringRef path, const Placement &placement,
                                   llvm::StringRef finalFolder, llvm::StringRef target);

class Model;

/// Attribute of a module that holds what an annotated model demands of a plan: the number of `devices`, the sizes of
/// the axes as --mesh has them, `pins` of parameters as --pin has them, and the `stages` of the nodes `stage_nodes`.
/// Results of nodes follow from the parameters and are not held. The first configuration counts. readAnnotations fails
/// after one message, and sets nothing if there are no annotations.
inline constexpr llvm::StringLiteral kPlacementAttr = "dtcc.placement";
mlir::LogicalResult readAnnotations(const Model &model, mlir::ModuleOp module);

} // namespace dtcc::onnx

#endif // DTCC_FRONTENDS_ONNX_ANNOTATE_H
