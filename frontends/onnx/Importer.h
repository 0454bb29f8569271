//===- Importer.h - The state of one import
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The parts of an import (the file, the emitter of ops, states, names) and the walk over
// the nodes that joins them.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_FRONTENDS_ONNX_IMPORTER_H
#define DTCC_FRONTENDS_ONNX_IMPORTER_H

#include "frontends/onnx/Import.h"
#include "frontends/onnx/Prescan.h"
#include "frontends/onnx/Scopes.h"
#include "llvm/ADT/MapVector.h"

namespace dtcc::onnx {

class Bindings;

class Importer {
public:
  Importer(mlir::MLIRContext *context, llvm::StringRef path, const ImportOptions &options);

  mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>> run();

  // The parts of an import, for rules.
  SourceFile source;
  Emitter emitter;
  States states;
  Initializers initializers;
  Scopes scopes;
  mlir::func::FuncOp function;

  Tensor operand(const ::onnx::NodeProto &node, unsigned i);
  /// Operand i as numbers that are known now, or null. An initializer that is read so is no parameter.
  std::shared_ptr<const HostTensor> numbers(const ::onnx::NodeProto &node, unsigned i);
  bool isUsed(llvm::StringRef name) const { return scanned.used.contains(name); }
  /// Imports a branch, or a step of a loop, in the present scope and returns the values of its outputs.
  mlir::FailureOr<llvm::SmallVector<Tensor>> importBranch(const ::onnx::GraphProto &graph,
                                                          llvm::ArrayRef<Tensor> inputs);
  /// Counts a step of a loop that is written out. Fails, with a message, where a model would become too large.
  mlir::LogicalResult countUnrolled(const ::onnx::GraphProto &body);
  /// A number for the next random op.
  int64_t nextRandomId() { return randomIds++; }
  /// The batch that the file fixes and the one that was asked for instead; both 0: as the file has it.
  std::pair<int64_t, int64_t> newBatch() const { return rebatched; }
  /// Records a note on the current node. It is printed at the end of the import, once for all nodes with this text.
  void noteOfNode(const llvm::Twine &text);

private:
  /// Checks that every name in the options exists. An unknown name would train another model than was asked for.
  mlir::LogicalResult checkNames();
  mlir::LogicalResult bindInputs();
  /// Refuses sizes for which forward would do something else in Python than the file holds.
  mlir::LogicalResult checkSizes(const Bindings &bindings);
  mlir::LogicalResult importNodes(const google::protobuf::RepeatedPtrField<::onnx::NodeProto> &nodes);
  mlir::LogicalResult importNode(const ::onnx::NodeProto &node);
  mlir::LogicalResult importCall(const ::onnx::NodeProto &node, const ::onnx::FunctionProto &function);
  void printNodeNotes();

  RuleTable table;
  Prescan scanned;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  llvm::MapVector<mlir::StringAttr, llvm::SmallVector<mlir::Location>> nodeNotes;
  std::pair<int64_t, int64_t> rebatched = {0, 0};
  int64_t randomIds = 0;
  /// Nodes in the steps of loops written out so far.
  int64_t unrolled = 0;
  int callDepth = 0;
};

} // namespace dtcc::onnx

#endif // DTCC_FRONTENDS_ONNX_IMPORTER_H
