//===- States.h - The states that an import has made
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A state is a float tensor that outlives a step. It starts as a trainable parameter;
// the finished graph shows what it is (frontends/onnx/Finish.h).
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_FRONTENDS_ONNX_STATES_STATES_H
#define DTCC_FRONTENDS_ONNX_STATES_STATES_H

#include "frontends/onnx/emit/Emitter.h"
#include "frontends/onnx/file/Model.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"
#include <string>

namespace dtcc::onnx {

/// A float initializer that became a state.
struct State {
  std::string name;
  StoredTensor stored;
  graph::StateOp op;
  /// The one read, at the top of the function.
  Tensor read;
  /// Initializers that are this state too.
  struct Tie {
    std::string name;
    bool transposed;
  };
  std::vector<Tie> ties;
  /// The file has a Constant node instead of an initializer.
  bool isConstant = false;
};

class States {
public:
  /// States are made before `function`, and read in it by `emitter`.
  States(Emitter &emitter, mlir::Location fileLoc) : emitter(emitter), fileLoc(fileLoc) {}
  void placeBefore(mlir::func::FuncOp newFunction) { function = newFunction; }

  /// Makes a state, with the bytes of `stored` if `hasValue`, and returns its read.
  Tensor make(const StoredTensor &stored, llvm::StringRef name, bool hasValue);
  /// The state made of that initializer, or null.
  State *find(llvm::StringRef name);
  /// The state that `read` reads, or null.
  State *find(const Tensor &read);
  std::vector<State> &all() { return list; }

  /// An initializer that is no parameter, though a gradient reaches it.
  void markBuffer(llvm::StringRef name) { buffers.insert(name); }
  bool isBuffer(const State &state) const { return buffers.contains(state.name); }

  /// `read` as the last write to its state left it.
  Tensor latest(const Tensor &read);
  /// Writes `value` to `state`, which is then a buffer, at the end of the step.
  void write(State &state, const Tensor &value);
  bool isWritten(State &state) const { return writes.contains(state.op.getSymName()); }
  /// Emits all writes.
  void emitWrites();

private:
  Emitter &emitter;
  mlir::Location fileLoc;
  mlir::func::FuncOp function;
  std::vector<State> list;
  llvm::StringMap<unsigned> byName;
  llvm::StringSet<> symbols = {"loss", "forward", "step"};
  llvm::StringSet<> buffers;
  /// Values written to states at the end of the step, by symbol.
  llvm::MapVector<llvm::StringRef, Tensor> writes;
};

} // namespace dtcc::onnx

#endif // DTCC_FRONTENDS_ONNX_STATES_STATES_H
