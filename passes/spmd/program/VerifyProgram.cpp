//===- VerifyProgram.cpp - Checks the programs of a rank before they become commands
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ends the sharding phases. The verifiers of single ops know one op; this pass checks the facts that hold between ops
// of a program, and between the programs of a pipeline.
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Graph.h"
#include "passes/spmd/Passes.h"
#include "passes/spmd/program/StageExchanges.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace dtcc::spmd {
#define GEN_PASS_DEF_SPMDVERIFYPROGRAM
#include "passes/spmd/Passes.h.inc"

namespace {

/// The cells that a state takes of a bucket.
struct Range {
  int64_t begin, end;
  graph::StateOp state;
};

/// Every state lies inside its buckets, apart from all others.
LogicalResult verifyStates(ModuleOp module) {
  SymbolTable symbols(module);
  llvm::StringMap<SmallVector<Range>> ranges;
  for (auto state : module.getOps<graph::StateOp>()) {
    auto layout = state->getAttrOfType<TypeAttr>(kLayoutAttr);
    auto type = layout ? dyn_cast<TensorType>(layout.getValue()) : TensorType();
    auto places = bucketsOf(state);
    if (!type || places.empty())
      return state.emitOpError("must have a layout and a place in a bucket once programs are made");
    auto mesh = symbols.lookup<MeshOp>(type.getMesh().getValue());
    if (!mesh)
      return state.emitOpError("must lie on a mesh of the module, got: ") << type;
    int64_t cells = localType(type, toMesh(mesh)).getNumElements();
    for (auto [name, offset] : places) {
      auto bucket = symbols.lookup<BucketOp>(name.getValue());
      if (!bucket)
        return state.emitOpError("must lie in a bucket of the module, got: ") << name;
      if (offset < 0 || offset + cells > int64_t(bucket.getLength()))
        return state.emitOpError("must lie within the ") << bucket.getLength() << " elements of " << name << ", got: ["
                                                         << offset << ", " << offset + cells << ")";
      ranges[name.getValue()].push_back({offset, offset + cells, state});
    }
  }
  for (auto &entry : ranges) {
    SmallVector<Range> &all = entry.second;
    llvm::sort(all, [](const Range &a, const Range &b) { return a.begin < b.begin; });
    for (auto [first, second] : llvm::zip(all, llvm::drop_begin(all)))
      if (second.begin < first.end)
        return second.state.emitOpError("must not share elements of @")
               << entry.first() << " with @" << first.state.getSymName() << ", got: [" << second.begin << ", "
               << second.end << ") beside [" << first.begin << ", " << first.end << ")";
  }
  return success();
}

/// Values are local, and nothing reads a unit that is released.
LogicalResult verifyValues(ProgramOp program) {
  WalkResult result = program.walk([](Operation *op) {
    for (Type type : op->getResultTypes())
      if (isa<TensorType>(type))
        return op->emitOpError("must be on local tensors by now, got: ") << type, WalkResult::interrupt();
    auto release = dyn_cast<ReleaseOp>(op);
    if (!release)
      return WalkResult::advance();
    for (Operation *user : release.getUnit().getUsers())
      if (user != op && user->getBlock() == op->getBlock() && !user->isBeforeInBlock(op))
        return user->emitOpError("reads a unit that is released before"), WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

struct VerifyProgramPass : impl::SpmdVerifyProgramBase<VerifyProgramPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    ModuleOp module = getOperation();
    SmallVector<ProgramOp> programs(module.getOps<ProgramOp>());
    if (programs.empty()) {
      module.emitError("needs an spmd.program: run spmd-lower-to-program first");
      return signalPassFailure();
    }
    if (failed(verifyStates(module)))
      return signalPassFailure();
    for (ProgramOp program : programs)
      if (failed(verifyValues(program)))
        return signalPassFailure();
    if (!programs.front().getStage())
      return;
    std::vector<plan::ExchangeProgram> stages;
    for (ProgramOp program : programs)
      stages.push_back(exchangesOf(program, programs.size()));
    if (std::string problem = plan::checkExchanges(stages); !problem.empty()) {
      programs.front().emitOpError(problem);
      signalPassFailure();
    }
  }
};
} // namespace
} // namespace dtcc::spmd
