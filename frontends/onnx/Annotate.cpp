//===- Annotate.cpp - An ONNX model with a placement on several devices
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/Annotate.h"
#include "frontends/onnx/file/Model.h"
#include "mlir/IR/Diagnostics.h"
#include "onnx/onnx-ml.pb.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <fstream>
#include <limits>
#include <map>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

/// The first version of files that have these annotations.
static constexpr int64_t kFirstVersion = 11;

namespace {
class Annotator {
public:
  Annotator(::onnx::ModelProto &model, const Placement &placement) : model(model), placement(placement) {}
  void run();

private:
  void annotate(NodeProto &node);
  void addSharding(::onnx::NodeDeviceConfigurationProto &to, const std::string &tensor,
                   const std::vector<PlacedDim> &dims, std::optional<int64_t> stage);
  void addDevices(::onnx::ShardingSpecProto &to, const spmd::Axes &axes, std::optional<int64_t> stage);

  ::onnx::ModelProto &model;
  const Placement &placement;
};
} // namespace

/// The devices of each part in the order of the parts; a number below 0 stands for several that have copies.
void Annotator::addDevices(::onnx::ShardingSpecProto &to, const spmd::Axes &axes, std::optional<int64_t> stage) {
  std::map<int64_t, std::vector<int64_t>> parts;
  for (int64_t rank = 0; rank < placement.mesh.ranks(); ++rank) {
    if (stage && !placement.stageAxis.empty()) {
      int64_t ranks = placement.mesh.product({placement.stageAxis});
      if (placement.mesh.coordinate(rank, 0, placement.stageAxis) != *stage % ranks)
        continue;
    }
    parts[placement.mesh.index(rank, 0, axes)].push_back(rank);
  }
  int64_t group = 0;
  for (const auto &[part, ranks] : parts) {
    if (ranks.size() == 1) {
      to.add_device(ranks.front());
      continue;
    }
    to.add_device(--group);
    ::onnx::IntIntListEntryProto *entry = to.add_index_to_device_group_map();
    entry->set_key(group);
    for (int64_t rank : ranks)
      entry->add_value(rank);
  }
}

void Annotator::addSharding(::onnx::NodeDeviceConfigurationProto &to, const std::string &tensor,
                            const std::vector<PlacedDim> &dims, std::optional<int64_t> stage) {
  ::onnx::ShardingSpecProto *spec = to.add_sharding_spec();
  spec->set_tensor_name(tensor);
  spmd::Axes axes;
  auto spaceAxes = [&](const PlacedDim &dim) {
    spmd::Axes own;
    for (const std::string &axis : dim.axes)
      if (!placement.mesh.isTime(axis))
        own.push_back(axis);
    return own;
  };
  for (size_t first = 0; first < dims.size();) {
    size_t end = first;
    bool splits = false;
    while (end < dims.size() && dims[end].dim == dims[first].dim)
      splits |= !spaceAxes(dims[end++]).empty();
    if (splits) {
      ::onnx::ShardedDimProto *sharded = spec->add_sharded_dim();
      sharded->set_axis(dims[first].dim);
      for (size_t i = first; i < end; ++i) {
        spmd::Axes own = spaceAxes(dims[i]);
        axes.insert(axes.end(), own.begin(), own.end());
        ::onnx::SimpleShardedDimProto *simple = sharded->add_simple_sharding();
        simple->set_dim_value(dims[i].size);
        simple->set_num_shards(placement.mesh.product(own));
      }
    }
    first = end;
  }
  addDevices(*spec, axes, stage);
}

std::string dtcc::onnx::nameOf(const NodeProto &node) {
  return !node.name().empty() ? node.name() : node.output_size() ? node.output(0) : "";
}

void Annotator::annotate(NodeProto &node) {
  node.clear_device_configurations();
  const std::string name = nameOf(node);
  ::onnx::NodeDeviceConfigurationProto own;
  own.set_configuration_id(placement.name);
  std::optional<int64_t> stage;
  if (auto found = placement.stages.find(name); found != placement.stages.end()) {
    stage = found->second;
    own.set_pipeline_stage(int32_t(*stage));
  }
  for (const std::string &input : node.input())
    if (auto found = placement.tensors.find(input); found != placement.tensors.end())
      addSharding(own, input, found->second, stage);
  if (auto found = placement.results.find(name); found != placement.results.end() && node.output_size() > 0)
    addSharding(own, node.output(0), found->second, stage);
  if (own.has_pipeline_stage() || own.sharding_spec_size() > 0)
    *node.add_device_configurations() = std::move(own);
}

void Annotator::run() {
  model.set_ir_version(std::max<int64_t>(model.ir_version(), kFirstVersion));
  model.clear_configuration();
  ::onnx::DeviceConfigurationProto *configuration = model.add_configuration();
  configuration->set_name(placement.name);
  configuration->set_num_devices(int32_t(placement.mesh.ranks()));
  for (NodeProto &node : *model.mutable_graph()->mutable_node())
    annotate(node);
}

static bool isExternal(const TensorProto &tensor) { return tensor.data_location() == TensorProto::EXTERNAL; }

LogicalResult dtcc::onnx::writeAnnotated(MLIRContext *context, StringRef path, const Placement &placement,
                                         StringRef finalFolder, StringRef target) {
  Model model(context, path, "", {}, /*dataOptional=*/true);
  if (failed(model.load()))
    return failure();
  ::onnx::ModelProto message = model.proto();
  StringRef folder = llvm::sys::path::parent_path(path);
  auto orHere = [](StringRef folder) { return folder.empty() ? StringRef(".") : folder; };
  if (llvm::any_of(message.graph().initializer(), isExternal) &&
      !llvm::sys::fs::equivalent(orHere(folder), orHere(finalFolder)))
    return emitError(model.loc()) << "has weights in external data, which the annotated model names too: it must be "
                                     "written into the same folder, got: "
                                  << orHere(finalFolder);
  Annotator(message, placement).run();
  if (message.ByteSizeLong() > size_t(std::numeric_limits<int>::max()))
    return emitError(model.loc()) << "an annotated ONNX file must be smaller than 2 GiB: with "
                                  << placement.mesh.ranks() << " devices it has " << message.ByteSizeLong() << " bytes";
  std::ofstream stream(target.str(), std::ios::binary);
  if (!message.SerializeToOstream(&stream) || !stream.flush())
    return emitError(model.loc()) << "cannot write the annotated model to " << target;
  return success();
}
