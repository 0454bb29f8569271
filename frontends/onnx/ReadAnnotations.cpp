//===- ReadAnnotations.cpp - A placement on several devices, as constraints
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Graph.h"
#include "frontends/onnx/Annotate.h"
#include "frontends/onnx/Model.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "onnx/onnx-ml.pb.h"
#include <map>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

/// Devices of a configuration beyond this are refused.
static constexpr int64_t kMostDevices = int64_t(1) << 20;

namespace {
class Reader {
public:
  Reader(const Model &model, ModuleOp module) : model(model), module(module) {}
  LogicalResult run();

private:
  LogicalResult read(const ::onnx::NodeProto &node, const ::onnx::NodeDeviceConfigurationProto &own);
  LogicalResult read(const ::onnx::ShardingSpecProto &spec, StringRef node);
  LogicalResult decide();
  InFlightDiagnostic wrong() { return emitError(model.loc()) << "device configuration '" << name << "': "; }

  const Model &model;
  ModuleOp module;
  std::string name;
  int64_t devices = 0, stageDevices = 0;
  llvm::StringMap<size_t> ranks;
  /// Parts of each dimension, by tensor.
  std::map<std::string, std::vector<int64_t>> parts;
};
} // namespace

LogicalResult Reader::read(const ::onnx::ShardingSpecProto &spec, StringRef node) {
  auto rank = ranks.find(spec.tensor_name());
  if (rank == ranks.end())
    return success(); // neither a parameter nor an input
  int64_t dims = int64_t(rank->second);
  std::vector<int64_t> own(size_t(dims), 1);
  for (const ::onnx::ShardedDimProto &dim : spec.sharded_dim()) {
    int64_t axis = dim.axis() < 0 ? dim.axis() + dims : dim.axis();
    if (axis < 0 || axis >= dims)
      return wrong() << "node '" << node << "' splits '" << spec.tensor_name() << "': the axis must be from " << -dims
                     << " to " << dims - 1 << ", got: " << dim.axis();
    for (const ::onnx::SimpleShardedDimProto &simple : dim.simple_sharding()) {
      if (simple.num_shards() < 1 || simple.num_shards() > devices)
        return wrong() << "node '" << node << "' splits '" << spec.tensor_name()
                       << "': the parts must be from 1 to the " << devices << " devices, got: " << simple.num_shards();
      own[size_t(axis)] = std::min(own[size_t(axis)] * simple.num_shards(), kMostDevices);
    }
  }
  auto [at, isNew] = parts.try_emplace(spec.tensor_name(), own);
  if (!isNew && at->second != own)
    return wrong() << "'" << spec.tensor_name() << "' must be split alike wherever it is read; node '" << node
                   << "' has it otherwise";
  return success();
}

LogicalResult Reader::read(const ::onnx::NodeProto &node, const ::onnx::NodeDeviceConfigurationProto &own) {
  for (const ::onnx::ShardingSpecProto &spec : own.sharding_spec()) {
    if (failed(read(spec, node.name())))
      return failure();
    if (!own.has_pipeline_stage() || stageDevices > 0)
      continue;
    llvm::SmallDenseMap<int64_t, int64_t> groups;
    for (const auto &entry : spec.index_to_device_group_map())
      groups[entry.key()] = entry.value_size();
    for (int64_t device : spec.device())
      stageDevices += groups.contains(device) ? groups[device] : 1;
  }
  return success();
}

/// Sizes of the axes and pins of the parameters: parameters are split over tp alone, inputs by their examples over dp
/// and by their positions over cp, stages lie on pp groups of devices.
LogicalResult Reader::decide() {
  OpBuilder builder(module.getContext());
  int64_t tp = 1, cp = 1, pp = stageDevices > 0 ? devices / stageDevices : 1;
  StringRef widest;
  for (auto state : module.getOps<graph::StateOp>())
    if (auto found = parts.find(state.getSavedName().str()); found != parts.end()) {
      int64_t all = llvm::product_of(found->second);
      if (all > 1 && tp > 1 && all != tp)
        return wrong() << "parameters must be split in as many parts, got: '" << widest << "' in " << tp << " and '"
                       << state.getSavedName() << "' in " << all;
      if (all > 1)
        tp = all, widest = state.getSavedName();
    }
  for (const auto &input : model.proto().graph().input())
    if (auto found = parts.find(input.name()); found != parts.end() && found->second.size() > 1)
      cp = std::max(cp, found->second[1]);
  if (devices % (tp * cp * pp))
    return wrong() << "tp=" << tp << " (parts of parameters), cp=" << cp << " (parts of positions) and pp=" << pp
                   << " (groups of stages) must divide the " << devices << " devices";
  SmallVector<Attribute> pins;
  for (auto state : module.getOps<graph::StateOp>()) {
    auto found = parts.find(state.getSavedName().str());
    if (found == parts.end())
      continue;
    std::string pin;
    for (char c : state.getSavedName())
      pin += (StringRef("*?[]{}\\").contains(c) ? "\\" : "") + std::string(1, c);
    pin += "=[";
    for (auto [i, size] : llvm::enumerate(found->second))
      pin += std::string(i ? "," : "") + (size > 1 ? "{tp}" : "{}");
    pins.push_back(builder.getStringAttr(pin + "]"));
  }
  std::string mesh = "dp=" + std::to_string(devices / (tp * cp * pp));
  for (auto [axis, size] : {std::pair("tp", tp), {"cp", cp}, {"pp", pp}})
    mesh += std::string(",") + axis + "=" + std::to_string(size);
  module->setAttr(kPlacementAttr,
                  builder.getDictionaryAttr({builder.getNamedAttr("devices", builder.getI64IntegerAttr(devices)),
                                             builder.getNamedAttr("mesh", builder.getStringAttr(mesh)),
                                             builder.getNamedAttr("pins", builder.getArrayAttr(pins))}));
  return success();
}

LogicalResult Reader::run() {
  const auto &configurations = model.proto().configuration();
  if (configurations.empty())
    return success();
  name = configurations[0].name();
  devices = configurations[0].num_devices();
  if (configurations.size() > 1)
    emitRemark(model.loc()) << "has " << configurations.size() << " device configurations; '" << name << "' is taken";
  if (devices < 1 || devices > kMostDevices)
    return wrong() << "the number of devices must be from 1 to " << kMostDevices << ", got: " << devices;
  // Parts over tp and over ep look alike.
  if (StringRef(name).starts_with("dtcc ") && StringRef(name).contains("ep=")) {
    emitRemark(model.loc()) << "device configuration '" << name << "' spreads experts, which is not read back";
    return success();
  }
  const auto &graph = model.proto().graph();
  for (const auto &tensor : graph.initializer())
    ranks[tensor.name()] = size_t(tensor.dims_size());
  for (const auto &input : graph.input())
    ranks[input.name()] = size_t(input.type().tensor_type().shape().dim_size());
  bool any = false;
  for (const ::onnx::NodeProto &node : graph.node())
    for (const auto &own : node.device_configurations())
      if (own.configuration_id() == name) {
        any = true;
        if (failed(read(node, own)))
          return failure();
      }
  return any ? decide() : success();
}

LogicalResult dtcc::onnx::readAnnotations(const Model &model, ModuleOp module) { return Reader(model, module).run(); }
