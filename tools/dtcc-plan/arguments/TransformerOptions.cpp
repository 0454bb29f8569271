//===- TransformerOptions.cpp - A model by its sizes, on a cluster
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/arguments/TransformerOptions.h"
#include "planner/cluster/ClusterFile.h"
#include "tools/dtcc-plan/arguments/HubConfig.h"

using namespace dtcc;
using llvm::StringRef;

constexpr Word<cost::Width> kPrecisions[] = {{"bf16", cost::Width::B16},
                                             {"fp16", cost::Width::B16},
                                             {"f32", cost::Width::F32},
                                             {"fp8", cost::Width::F8},
                                             {"fp4", cost::Width::F4}};
/// Software other than dtcc.
constexpr Word<cost::Framework> kSoftware[] = {
#define DTCC_SOFTWARE(name, ...) {#name, cost::Framework::name},
#include "planner/cost/Software.def"
};

bool dtcc::isOwnSoftware(const Arguments &arguments) {
  return !arguments.has("software") || arguments.value("software").equals_insensitive("dtcc");
}

llvm::Expected<cost::Transformer> dtcc::readTransformer(const Arguments &arguments) {
  StringRef text = arguments.value("transformer");
  if (isHubConfig(text))
    return readHubConfig(text);
  std::string error;
  if (std::optional<cost::Transformer> model = cost::parseTransformer(text.str(), error))
    return *model;
  return llvm::createStringError(error);
}

static llvm::Expected<Word<cost::Framework>> readSoftware(StringRef name) {
  std::string names = "dtcc";
  for (const Word<cost::Framework> &word : kSoftware) {
    if (word.name.equals_insensitive(name))
      return word;
    names += ", " + word.name.str();
  }
  return llvm::createStringError("--software must be one of " + names + ", got: " + name);
}

llvm::Expected<cost::NamedSchedule> dtcc::readScheduleName(llvm::StringRef name) {
  std::optional<cost::NamedSchedule> named = cost::parseSchedule(name);
  if (!named || (cost::has(named->kind, cost::ScheduleRow::SeveralStages) && named->virtualStages < 2))
    return llvm::createStringError("--schedule must be one of " + cost::scheduleNames() + ", got: " + name);
  return *named;
}

llvm::Error dtcc::readTransformerOnCluster(const Arguments &arguments, TransformerOnCluster &result, bool mayMix) {
  for (StringRef needed : {"transformer", "cluster"})
    if (!arguments.has(needed))
      return llvm::createStringError("--" + needed + " must be given" +
                                     (needed == "transformer" ? ": a plan holds no sizes" : ": 8xh100, or a file"));
  llvm::Expected<cost::Transformer> model = readTransformer(arguments);
  if (!model)
    return model.takeError();
  llvm::Expected<cost::Cluster> cluster = cost::readCluster(arguments.value("cluster"));
  if (!cluster)
    return cluster.takeError();
  if (!cluster->isUniform() && !mayMix)
    return llvm::createStringError(
        "a model by its sizes is priced on devices of one kind (search takes several): name one of "
        "the kinds, got: --cluster=" +
        arguments.value("cluster"));
  if (llvm::Error error = cost::leaveFree(arguments.value("headroom"), *cluster))
    return error;
  result.model = *model;
  result.cluster = *cluster;
  llvm::Expected<Word<cost::Framework>> framework = readSoftware(arguments.value("software"));
  if (!framework)
    return framework.takeError();
  result.software = cost::softwareOf(framework->value);
  result.softwareName = framework->name.str();
  if (llvm::Error wrong = choose(arguments, "precision", kPrecisions, result.run.width))
    return wrong;
  for (const cost::NodeGroup &group : cluster->nodes)
    for (const auto &kind : group.devices)
      if (arguments.has("precision") && kind.device.peak(result.run.width) <= 0)
        return llvm::createStringError(std::string(kind.device.name) + " does not compute in " +
                                       arguments.value("precision") +
                                       ", got: --precision=" + arguments.value("precision"));
  result.run.attention = result.software.attention;
  result.run.tensorHidden = result.software.tensorHidden;
  result.run.dispatchesOnceANode = result.software.dispatchesOnceANode;
  result.run.stopsEarly = result.software.stopsEarly;
  result.run.contextHidden = 0.5;
  return llvm::Error::success();
}

llvm::Expected<plan::MeshSizes> dtcc::readMeshSizes(const Arguments &arguments) {
  std::string error;
  if (std::optional<plan::MeshSizes> sizes = plan::parseMeshSizes(arguments.value("mesh"), error))
    return *sizes;
  return llvm::createStringError("--mesh: " + error);
}
