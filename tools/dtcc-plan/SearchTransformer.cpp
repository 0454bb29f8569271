//===- SearchTransformer.cpp - Plans of a model that is given by its sizes
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/SearchTransformer.h"
#include "passes/plan/TransformerReport.h"
#include "tools/dtcc-plan/PrintReport.h"
#include "tools/dtcc-plan/TextTable.h"
#include "tools/dtcc-plan/TransformerOptions.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace dtcc;
using llvm::StringRef;

static constexpr StringRef kValues[] = {"transformer",  "cluster",   "batch",    "mesh", "zero",
                                        "microbatches", "precision", "software", "top"};
static constexpr StringRef kFlags[] = {"json"};
llvm::ArrayRef<StringRef> dtcc::searchTransformerValues() { return kValues; }
llvm::ArrayRef<StringRef> dtcc::searchTransformerFlags() { return kFlags; }

/// What --mesh gives is the one size of its axis.
static llvm::Error readMesh(StringRef text, plan::ShapeSpace &space) {
  llvm::SmallVector<StringRef> parts;
  text.split(parts, ',', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts) {
    auto [name, number] = part.split('=');
    int64_t size = 0;
    std::vector<int64_t> *axis = llvm::StringSwitch<std::vector<int64_t> *>(name)
                                     .Case("tp", &space.tp)
                                     .Case("cp", &space.cp)
                                     .Case("pp", &space.pp)
                                     .Default(nullptr);
    if ((!axis && name != "dp") || number.getAsInteger(10, size) || size < 1)
      return llvm::createStringError("--mesh must be tp=N,cp=N,dp=N,pp=N with numbers of at least 1, got: " + text);
    if (space.devices % size)
      return llvm::createStringError("--mesh must divide the " + llvm::Twine(space.devices) + " devices, got: " + part);
    if (!axis)
      space.dp = size;
    else if (llvm::is_contained(*axis, size))
      *axis = {size};
    else
      return llvm::createStringError(
          "the model does not allow " + part + "; " + name + " may be " +
          llvm::join(llvm::map_range(*axis, [](int64_t each) { return std::to_string(each); }), ", "));
  }
  return llvm::Error::success();
}

static llvm::Error readSpace(const Arguments &arguments, const plan::TransformerProblem &problem,
                             plan::ShapeSpace &space) {
  space = plan::shapeSpaceOf(problem);
  if (llvm::Error error = readMesh(arguments.value("mesh"), space))
    return error;
  if (arguments.has("zero")) {
    int zero;
    if (arguments.value("zero").getAsInteger(10, zero) || zero < 0 || zero > 3)
      return llvm::createStringError("--zero must be 0, 1, 2 or 3, got: " + arguments.value("zero"));
    space.zero = {zero};
  }
  llvm::Expected<int64_t> microbatches = arguments.count("microbatches", 0);
  if (!microbatches)
    return microbatches.takeError();
  if (*microbatches)
    space.microbatches = *microbatches;
  return llvm::Error::success();
}

/// The least power of two of as many devices that holds the model under what is given.
static llvm::Error noneFits(plan::TransformerProblem problem, const plan::ShapeSpace &given, size_t tried) {
  std::string message = llvm::formatv("no plan fits: {0} shapes were tried on {1} x {2} of {3}", tried, problem.devices,
                                      problem.device.name, formatBytes(problem.device.memoryBytes));
  constexpr int64_t most = 1 << 16;
  for (int64_t devices = problem.devices * 2; devices <= most; devices *= 2) {
    problem.devices = devices;
    problem.batch = std::max(problem.batch, devices);
    plan::ShapeSpace space = plan::shapeSpaceOf(problem);
    auto keep = [](std::vector<int64_t> &sizes, const std::vector<int64_t> &before) {
      if (before.size() == 1 && before[0] > 1)
        sizes = before;
    };
    keep(space.tp, given.tp);
    keep(space.cp, given.cp);
    keep(space.pp, given.pp);
    space.zero = given.zero;
    plan::TransformerPricer pricer(problem);
    plan::ShapeResult result = plan::searchShapes(plan::enumerateShapes(space), pricer, 1);
    if (!result.plans.empty())
      return llvm::createStringError(message + "; " + llvm::Twine(devices) + " would hold it, as " +
                                     result.plans[0].shape.str());
  }
  return llvm::createStringError(message + "; nor on up to " + llvm::Twine(most));
}

llvm::Error dtcc::searchTransformer(const Arguments &arguments, llvm::raw_ostream &stream) {
  if (!arguments.inputs().empty())
    return llvm::createStringError("search takes a model or --transformer, got both: " + arguments.inputs()[0]);
  TransformerOnCluster given;
  if (llvm::Error error = readTransformerOnCluster(arguments, given))
    return error;
  plan::TransformerProblem problem{given.model,    given.device(), given.cluster.fabric(),
                                   given.software, given.run,      given.cluster.devices()};
  llvm::Expected<int64_t> batch = arguments.count("batch", problem.devices), top = arguments.count("top", 10);
  if (!batch || !top)
    return llvm::joinErrors(batch.takeError(), top.takeError());
  problem.batch = *batch;
  plan::ShapeSpace space;
  if (llvm::Error error = readSpace(arguments, problem, space))
    return error;
  std::vector<plan::PlanShape> shapes = plan::enumerateShapes(space);
  if (shapes.empty())
    return llvm::createStringError("no sizes of axes take all " + llvm::Twine(problem.devices) +
                                   " devices and divide the batch of " + llvm::Twine(*batch) + " as given");
  plan::TransformerPricer pricer(problem);
  plan::ShapeResult result = plan::searchShapes(shapes, pricer, std::max<size_t>(100, size_t(*top)));
  if (result.plans.empty())
    return noneFits(problem, space, shapes.size());
  plan::SearchReport report = plan::reportOf(problem, pricer, result, size_t(*top));
  StringRef name = arguments.value("transformer");
  report.model = name.contains('=') ? "" : name.str();
  report.cluster = given.cluster.name;
  for (StringRef option : {"mesh", "zero", "microbatches", "precision", "software"})
    if (arguments.has(option))
      report.given.push_back(("--" + option + "=" + arguments.value(option)).str());
  arguments.has("json") ? printReportJson(report, stream) : printReport(report, stream);
  return llvm::Error::success();
}
