//===- Initialization.h - The initialization graph of training information
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The graph has no inputs, and says how initializers start where training starts anew:
// --init=random. Random values and constants are understood, one node each.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_FRONTENDS_ONNX_TRAINING_INITIALIZATION_H
#define DTCC_FRONTENDS_ONNX_TRAINING_INITIALIZATION_H

#include "dialects/graph/Graph.h"
#include "frontends/onnx/file/Model.h"
#include "frontends/onnx/training/GraphIndex.h"

namespace dtcc::onnx {

/// Checks that each initialization_binding of `info` leads from an output of its initialization graph to an initializer
/// of `index`. If `used`, adds to `starts` how these start.
mlir::LogicalResult readInitialization(Model &model, ::onnx::TrainingInfoProto &info, const GraphIndex &index,
                                       bool used, llvm::StringMap<graph::InitAttr> &starts);

} // namespace dtcc::onnx

#endif // DTCC_FRONTENDS_ONNX_TRAINING_INITIALIZATION_H
