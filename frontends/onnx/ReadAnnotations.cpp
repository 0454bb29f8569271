//===- ReadAnnotations.cpp - A placement on several devices, as constraints
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Graph.h"
#include "frontends/onnx/Annotate.h"
#include "frontends/onnx/file/Model.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "onnx/onnx-ml.pb.h"
#include <map>
#include <set>

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
  int64_t expertRanks(graph::StateOp state) const;
  InFlightDiagnostic wrong() { return emitError(model.loc()) << "device configuration '" << name << "': "; }

  const Model &model;
  ModuleOp module;
  std::string name;
  int64_t devices = 0, stageDevices = 0;
  llvm::StringMap<size_t> ranks;
  /// Parts of each dimension, by tensor.
  std::map<std::string, std::vector<int64_t>> parts;
  /// For a tensor whose first dimension is split, the shard of each device, in ascending order of devices. For a tensor
  /// of several stages, the shards of the first stage that is read.
  std::map<std::string, std::vector<int64_t>> firstParts;
  /// Names of nodes and their stages.
  SmallVector<Attribute> stageNodes;
  SmallVector<int64_t> stages;
};

/// Index of the shard that each device of a sharding holds: devices in ascending order, shards in row-major order.
std::vector<int64_t> partOfDevices(const ::onnx::ShardingSpecProto &spec) {
  std::map<int64_t, int64_t> partOf;
  for (auto [part, device] : llvm::enumerate(spec.device())) {
    auto group = llvm::find_if(spec.index_to_device_group_map(),
                               [device = device](const auto &entry) { return entry.key() == device; });
    if (group == spec.index_to_device_group_map().end())
      partOf[device] = int64_t(part);
    else
      for (int64_t each : group->value())
        partOf[each] = int64_t(part);
  }
  std::vector<int64_t> parts;
  for (auto [device, part] : partOf)
    parts.push_back(part);
  return parts;
}
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
  int64_t all = llvm::product_of(own);
  if (dims > 0 && own[0] > 1 && spec.device_size() == all) {
    std::vector<int64_t> first = partOfDevices(spec);
    for (int64_t &part : first)
      part /= all / own[0];
    firstParts.try_emplace(spec.tensor_name(), std::move(first));
  }
  auto [at, isNew] = parts.try_emplace(spec.tensor_name(), own);
  if (!isNew && at->second != own)
    return wrong() << "'" << spec.tensor_name() << "' must be split alike wherever it is read; node '" << node
                   << "' has it otherwise";
  return success();
}

LogicalResult Reader::read(const ::onnx::NodeProto &node, const ::onnx::NodeDeviceConfigurationProto &own) {
  if (own.has_pipeline_stage()) {
    stageNodes.push_back(StringAttr::get(module.getContext(), nameOf(node)));
    stages.push_back(own.pipeline_stage());
  }
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

/// Ranks of ep that hold experts of a parameter apart: devices that have the same samples have the same part of a
/// first dimension that ep splits, and differ in one that tp splits. Matrices are never of experts.
int64_t Reader::expertRanks(graph::StateOp state) const {
  auto own = firstParts.find(state.getSavedName().str());
  if (own == firstParts.end() || state.getSavedShape().size() < 3)
    return 1;
  for (const auto &input : model.proto().graph().input()) {
    auto samples = firstParts.find(input.name());
    if (samples == firstParts.end() || samples->second.size() != own->second.size())
      continue;
    std::map<int64_t, std::set<int64_t>> together;
    for (auto [sample, part] : llvm::zip_equal(samples->second, own->second))
      together[sample].insert(part);
    size_t most = 1;
    for (const auto &[sample, seen] : together)
      most = std::max(most, seen.size());
    return parts.at(state.getSavedName().str())[0] / int64_t(most);
  }
  return 1;
}

/// Sizes of the axes and pins of the parameters: parameters are split over tp, those of experts over ep too, inputs by
/// their samples over dp and ep and by their positions over cp, stages lie on pp groups of devices.
LogicalResult Reader::decide() {
  OpBuilder builder(module.getContext());
  int64_t tp = 1, cp = 1, ep = 1, pp = stageDevices > 0 ? devices / stageDevices : 1;
  StringRef widest, spread;
  for (auto state : module.getOps<graph::StateOp>())
    if (auto found = parts.find(state.getSavedName().str()); found != parts.end()) {
      int64_t experts = expertRanks(state), all = llvm::product_of(found->second) / experts;
      if (experts > 1 && ep > 1 && experts != ep)
        return wrong() << "experts must be spread alike, got: '" << spread << "' over " << ep << " and '"
                       << state.getSavedName() << "' over " << experts;
      if (experts > 1)
        ep = experts, spread = state.getSavedName();
      if (all > 1 && tp > 1 && all != tp)
        return wrong() << "parameters must be split in as many parts, got: '" << widest << "' in " << tp << " and '"
                       << state.getSavedName() << "' in " << all;
      if (all > 1)
        tp = all, widest = state.getSavedName();
    }
  for (const auto &input : model.proto().graph().input())
    if (auto found = parts.find(input.name()); found != parts.end() && found->second.size() > 1)
      cp = std::max(cp, found->second[1]);
  // Experts that the file has one by one have no dimension that could be split.
  if (ep == 1 && StringRef(name).starts_with("dtcc ") && StringRef(name).contains("ep=")) {
    emitRemark(model.loc()) << "device configuration '" << name
                            << "' is ignored: it splits experts, and the file has parameters of single experts";
    return success();
  }
  if (devices % (tp * cp * pp * ep))
    return wrong() << "tp=" << tp << " (parts of parameters), cp=" << cp << " (parts of positions)"
                   << (ep > 1 ? ", ep=" + std::to_string(ep) + " (experts)" : "") << " and pp=" << pp
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
    int64_t experts = expertRanks(state);
    for (auto [i, size] : llvm::enumerate(found->second))
      pin += std::string(i ? "," : "") + (size > (i ? 1 : experts) ? "{tp}" : "{}");
    pins.push_back(builder.getStringAttr(pin + "]"));
  }
  std::string mesh = "dp=" + std::to_string(devices / (tp * cp * pp * ep));
  for (auto [axis, size] : {std::pair("tp", tp), {"cp", cp}, {"pp", pp}})
    mesh += std::string(",") + axis + "=" + std::to_string(size);
  if (ep > 1)
    mesh += ",ep=" + std::to_string(ep);
  module->setAttr(kPlacementAttr,
                  builder.getDictionaryAttr({builder.getNamedAttr("devices", builder.getI64IntegerAttr(devices)),
                                             builder.getNamedAttr("mesh", builder.getStringAttr(mesh)),
                                             builder.getNamedAttr("pins", builder.getArrayAttr(pins)),
                                             builder.getNamedAttr("stage_nodes", builder.getArrayAttr(stageNodes)),
                                             builder.getNamedAttr("stages", builder.getDenseI64ArrayAttr(stages))}));
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
