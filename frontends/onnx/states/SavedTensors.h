//===- SavedTensors.h - What saving needs to know of a file
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attributes by which a program saves its model (dialects/graph/SavedAs.h).
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_FRONTENDS_ONNX_STATES_SAVEDTENSORS_H
#define DTCC_FRONTENDS_ONNX_STATES_SAVEDTENSORS_H

#include "frontends/onnx/states/SourceFile.h"
#include "frontends/onnx/states/States.h"

namespace dtcc::onnx {

/// Attaches types in which parameters are stored, names of tied ones, and tensors that the step does not use.
void describeTensors(mlir::ModuleOp module, SourceFile &source, llvm::MutableArrayRef<State> states);

/// Attaches the file itself without its parameters, or what prevents it.
void describeOnnx(mlir::ModuleOp module, SourceFile &source, llvm::MutableArrayRef<State> states);

} // namespace dtcc::onnx

#endif // DTCC_FRONTENDS_ONNX_STATES_SAVEDTENSORS_H
