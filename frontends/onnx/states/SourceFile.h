//===- SourceFile.h - A file, and what is said of its training
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The model, with the four things that say how it trains: the manifest of dtcc's own
// export or PyTorch's notes, the form of a file that is a training graph, and the options of the user.
// Everything is read before the first op is made; the import only asks.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_FRONTENDS_ONNX_STATES_SOURCEFILE_H
#define DTCC_FRONTENDS_ONNX_STATES_SOURCEFILE_H

#include "frontends/onnx/file/ExportSignature.h"
#include "frontends/onnx/file/ImportOptions.h"
#include "frontends/onnx/file/Manifest.h"
#include "frontends/onnx/file/Model.h"
#include "frontends/onnx/training/TrainingForm.h"
#include "onnx/onnx-ml.pb.h"

namespace dtcc::onnx {

struct SourceFile {
  SourceFile(mlir::MLIRContext *context, llvm::StringRef path, const ImportOptions &options);

  /// Reads the file and what it says of its training. Failure after one message.
  mlir::LogicalResult load();
  /// Whether norms and dropouts in inference form are put into training form. A file with a manifest has every
  /// submodule in the mode that it trains in.
  bool forcesTraining() const { return options.forceTraining && !manifest.exists(); }
  bool isFromPyTorch() const;
  /// The function of the file that defines a node, or null.
  const ::onnx::FunctionProto *findFunction(const ::onnx::NodeProto &node) const;

  ImportOptions options;
  Model model;
  Manifest manifest;
  /// PyTorch's own notes, for files without a manifest.
  ExportSignature signature;
  /// Loss, optimizer and parameters of a file that is a training graph.
  std::optional<TrainingForm> form;
  /// The element type of most parameters of the file, if that is not f32.
  mlir::Type parameterType;

private:
  mlir::LogicalResult takeForm();
  void widenParameters();

  /// Functions of the model by domain, name and overload.
  llvm::StringMap<const ::onnx::FunctionProto *> functions;
};

} // namespace dtcc::onnx

#endif // DTCC_FRONTENDS_ONNX_STATES_SOURCEFILE_H
