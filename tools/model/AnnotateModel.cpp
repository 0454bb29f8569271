//===- AnnotateModel.cpp - The model with the placement of its plan
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/model/AnnotateModel.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/Origin.h"
#include "dialects/spmd/Spmd.h"
#include "frontends/onnx/Annotate.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/spmd/layout/AssignStages.h"
#include "passes/spmd/layout/PlanAttribute.h"
#include "planner/step/Pins.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace dtcc;
using onnx::PlacedDim;

/// Read by another node, or on the way there.
static bool isHandedOn(Value result, StringRef node) {
  return llvm::any_of(result.getUsers(),
                      [&](Operation *user) { return isa<spmd::ReshardOp>(user) || spmd::nodeOf(user) != node; });
}

ModelShapes::ModelShapes(ModuleOp imported) {
  llvm::StringSet<> several;
  imported.walk([&](func::FuncOp function) {
    for (BlockArgument argument : function.getArguments())
      if (auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "graph.name"))
        inputs[name] = llvm::to_vector(cast<ShapedType>(argument.getType()).getShape());
    function.walk([&](Operation *op) {
      StringRef node = spmd::nodeOf(op);
      for (Value result : op->getResults()) {
        auto type = dyn_cast<ShapedType>(result.getType());
        if (node.empty() || !type || !isHandedOn(result, node))
          continue;
        auto [at, isNew] = results.try_emplace(node, llvm::to_vector(type.getShape()));
        if (!isNew && ArrayRef(at->second) != type.getShape())
          several.insert(node);
      }
    });
  });
  // A node of several outputs: which is which is not known.
  for (const auto &entry : several)
    results.erase(entry.getKey());
}

/// Finer dimensions of `type` as parts of those of the file; nothing where they do not match up, or the value is
/// partial.
static std::optional<std::vector<PlacedDim>> placedDims(spmd::TensorType type, ArrayRef<int64_t> whole) {
  spmd::Layout layout = type.getLayout();
  auto entries = spmd::entriesOf(type.getShape(), whole);
  if (!entries || !layout.partial.empty())
    return std::nullopt;
  std::vector<PlacedDim> dims;
  for (auto [i, entry] : llvm::enumerate(*entries))
    dims.push_back({entry, type.getShape()[i], layout.dims[i]});
  return dims;
}

/// Passes may have exchanged dimensions: equal ones that are split otherwise cannot be told apart.
static bool isAmbiguous(ArrayRef<PlacedDim> dims) {
  for (const PlacedDim &a : dims)
    for (const PlacedDim &b : dims)
      if (a.size == b.size && a.axes != b.axes)
        return true;
  return false;
}

LogicalResult dtcc::writeAnnotatedModel(ModuleOp placed, const ModelShapes &shapes, const Options &options,
                                        OutputFiles &files) {
  auto step = placed.lookupSymbol<func::FuncOp>("step");
  onnx::Placement placement;
  placement.mesh = spmd::toMesh(*placed.getOps<spmd::MeshOp>().begin());
  placement.name = "dtcc";
  for (const spmd::MeshAxis &axis : placement.mesh.axes)
    placement.name += (&axis == placement.mesh.axes.data() ? " " : ",") + axis.name + "=" + std::to_string(axis.size);
  if (spmd::PipelineAttr pipeline = spmd::planOf(placed).getPipeline())
    placement.stageAxis = pipeline.getAxis().str();
  for (auto state : placed.getOps<graph::StateOp>())
    if (auto layout = state->getAttrOfType<TypeAttr>(spmd::kLayoutAttr))
      if (auto dims = placedDims(cast<spmd::TensorType>(layout.getValue()), state.getSavedShape()))
        placement.tensors[state.getSavedName()] = std::move(*dims);
  for (BlockArgument argument : step.getArguments()) {
    auto name = step.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "graph.name");
    auto type = dyn_cast<spmd::TensorType>(argument.getType());
    if (auto shape = name ? shapes.inputs.find(name) : shapes.inputs.end(); type && shape != shapes.inputs.end())
      if (auto dims = placedDims(type, shape->second))
        placement.tensors[name] = std::move(*dims);
  }
  for (Operation &op : step.front()) {
    StringRef node = spmd::nodeOf(&op);
    if (node.empty() || !graph::getOrigin(&op) || graph::getPhase(&op) != graph::Phase::Forward)
      continue;
    if (std::optional<int64_t> stage = spmd::getStage(&op))
      placement.stages.try_emplace(node, *stage);
    auto shape = shapes.results.find(node);
    for (Value result : op.getResults())
      if (auto type = dyn_cast<spmd::TensorType>(result.getType());
          type && shape != shapes.results.end() && isHandedOn(result, node))
        if (auto dims = placedDims(type, shape->second); dims && !isAmbiguous(*dims))
          placement.results.try_emplace(node, std::move(*dims));
  }
  if (failed(onnx::writeAnnotated(placed.getContext(), options.input, placement,
                                  llvm::sys::path::parent_path(files.target()), files.part("model.onnx"))))
    return failure();
  return files.commit({{"model.onnx", files.target()}});
}
