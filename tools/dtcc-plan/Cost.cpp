//===- Cost.cpp - What a training run costs
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/Cost.h"
#include "planner/transformer/Memory.h"
#include "tools/dtcc-plan/RunForecast.h"
#include "tools/dtcc-plan/queries/GraphAdvisor.h"
#include "tools/dtcc-plan/tables/PrintReport.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace dtcc;
using llvm::StringRef;

std::vector<StringRef> dtcc::costValues() {
  std::vector<StringRef> values = queryValues({"micro-batch", "tokens", "price", "step-seconds"});
  llvm::erase_if(values, [](StringRef value) { return value == "top" || value == "offload"; });
  return values;
}

namespace {
struct Forecast : TransformerOnCluster {
  plan::Parallelism plan;
  double batch = 0;
};

llvm::Error setSchedule(StringRef name, plan::Parallelism &plan) {
  if (plan.pp == 1)
    return name.empty() ? llvm::Error::success()
                        : llvm::createStringError("--schedule needs stages, as --mesh=pp=2, got: --schedule=" + name);
  llvm::Expected<cost::NamedSchedule> named = readScheduleName(name.empty() ? "1f1b" : name);
  if (!named)
    return named.takeError();
  plan.schedule = named->kind;
  plan.virtualStages = named->virtualStages;
  return llvm::Error::success();
}
} // namespace

/// The plan of the options: what is not given is the rest of the devices as data parallelism.
static llvm::Error readPlanOptions(const Arguments &arguments, const plan::Plan *file, StringRef path,
                                   Forecast &forecast) {
  plan::Parallelism &plan = forecast.plan;
  plan.zero = 1;
  if (llvm::Error error = choose(arguments, "recompute", kRecomputations, plan.recompute))
    return error;
  if (file) {
    plan = plan::parallelismOf(*file);
    for (const spmd::MeshAxis &axis : file->mesh.axes)
      if (!axis.time && !plan::MeshSizes().find(StringRef(axis.name).split('.').first))
        return llvm::createStringError(path + ": an axis must be mb, dp, ep, cp, tp or pp, got: " + axis.name);
  }
  llvm::Expected<plan::MeshSizes> mesh = readMeshSizes(arguments);
  if (!mesh)
    return mesh.takeError();
  plan.setDegrees(*mesh);
  int64_t devices = forecast.cluster.devices();
  if (!file && !mesh->dp && devices % plan.ranks() == 0)
    plan.dp = devices / plan.ranks();
  if (plan.ranks() != devices)
    return llvm::createStringError("the plan must take all " + llvm::Twine(devices) + " devices of " +
                                   forecast.cluster.name + ", got: " + llvm::Twine(plan.ranks()));
  int64_t experts = std::max<int64_t>(1, int64_t(forecast.model.experts)), stage = plan.ranks() / plan.pp;
  if (stage % plan.ep || experts % plan.ep)
    return llvm::createStringError("ep must divide the " + llvm::Twine(stage) + " ranks of a stage and the " +
                                   llvm::Twine(experts) + " experts, got: " + llvm::Twine(plan.ep));
  if (arguments.has("zero")) {
    if (arguments.value("zero").getAsInteger(10, plan.zero) || plan.zero < 0 || plan.zero > 3)
      return llvm::createStringError("--zero must be 0, 1, 2 or 3, got: " + arguments.value("zero"));
  }
  if (llvm::Error error = readGradientType(arguments, plan.gradients))
    return error;
  if (double(plan.pp) > forecast.model.layers)
    return llvm::createStringError("stages must be at most the " + llvm::Twine(int64_t(forecast.model.layers)) +
                                   " layers, got: " + llvm::Twine(plan.pp));
  plan.sequenceParallel = plan.tp > 1 && forecast.software.sequenceParallel;
  return file && file->pipeline ? llvm::Error::success() : setSchedule(arguments.value("schedule"), plan);
}

static llvm::Error readBatch(const Arguments &arguments, Forecast &forecast) {
  plan::Parallelism &plan = forecast.plan;
  if (llvm::Error error = refuseTwoCuts(arguments))
    return error;
  llvm::Expected<int64_t> micro = arguments.count("micro-batch", 1), batch = arguments.count("batch", 0),
                          count = arguments.count("microbatches", 0);
  if (!micro || !batch || !count)
    return llvm::joinErrors(llvm::joinErrors(micro.takeError(), batch.takeError()), count.takeError());
  if (*count) {
    // One sample of each rank in each, if no batch is given.
    int64_t slices = plan.dp * *count;
    if (*batch % slices)
      return llvm::createStringError("--batch must divide by the " + llvm::Twine(slices) + " micro-batches of all " +
                                     "ranks of dp, got: " + llvm::Twine(*batch));
    *batch = *batch ? *batch : slices;
    *micro = *batch / slices;
  }
  forecast.run.samples = double(*micro);
  forecast.batch = double(*batch ? *batch : *micro * plan.dp * plan.microbatches);
  int64_t slice = *micro * plan.dp, all = int64_t(forecast.batch);
  if (all % slice != 0)
    return llvm::createStringError("--batch must divide by the " + llvm::Twine(slice) +
                                   " samples that all ranks take at once, got: " + llvm::Twine(all));
  plan.microbatches = all / slice;
  return llvm::Error::success();
}

/// A step of the transformer on its devices.
static RunForecast priceSizes(const Forecast &given) {
  cost::StepProblem problem =
      cost::makeStepProblem(given.model, given.plan, given.run, given.software, given.device(), given.cluster.fabric());
  const cost::NodeGroup &node = given.cluster.nodes[0];
  cost::Calibration scales{node.deviceScale, node.hostScale};
  const plan::Parallelism &plan = given.plan;
  RunForecast forecast;
  forecast.heading = llvm::formatv("{0:f2} billion parameters on {1}: dp={2} tp={3} cp={4} pp={5}, ZeRO {6}, {7} "
                                   "micro-batches of {8}",
                                   given.model.parameters() / 1e9, given.cluster.name, plan.dp, plan.tp, plan.cp,
                                   plan.pp, plan.zero, plan.microbatches, given.run.samples)
                         .str();
  forecast.note = "clusters of one kind differ by some 10 %";
  forecast.software = given.softwareName;
  forecast.parameters = given.model.parameters();
  forecast.ranks = plan.ranks();
  forecast.microbatches = plan.microbatches;
  forecast.step = cost::priceStep(problem, cost::Constants(), scales);
  forecast.itemsPerStep = given.batch * given.model.sequence;
  forecast.utilisation = given.model.flops() * double(given.batch) / forecast.step.total() / double(plan.ranks()) /
                         given.device().peak(given.run.width);
  forecast.memoryBytes = cost::forecastMemory(given.model, plan, given.run, given.software).total();
  forecast.capacity = given.device().memoryBytes - given.device().headroomBytes;
  forecast.device = given.device().name;
  forecast.fits = cost::fitsIn(forecast.memoryBytes, given.device());
  return forecast;
}

/// A plan of a graph, or the best one under what is given.
static llvm::Expected<RunForecast> priceGraph(const PlanQuery &query, StringRef path,
                                              const std::optional<plan::Plan> &plan) {
  llvm::Expected<plan::SearchReport> report = query.search(1, /*record=*/false, /*anyMemory=*/plan.has_value());
  if (!report)
    return report.takeError();
  plan::PlanReport priced = report->plans.front();
  if (plan) {
    plan::Parallelism shape = plan::shapeOf(plan::parallelismOf(*plan));
    if (llvm::Error error = query.checkRanks(path, shape.ranks(), *report))
      return std::move(error);
    std::optional<plan::PlanReport> given = GraphAdvisor(query, *report).price(*plan);
    if (!given)
      return llvm::createStringError("the plan cannot be placed on this model, got: " + shape.str());
    priced = *given;
    // The plan's own stages; on one kind alone nothing is mixed.
    report->note.clear();
    if (plan->pipeline && !plan->pipeline->devices.empty())
      report->note = plan::noteOfMixedDevices(llvm::join(plan->pipeline->devices, ", "));
  }
  RunForecast forecast;
  forecast.heading = headingOf(*report) + ": " + priced.shape.str();
  forecast.readStep(*report);
  forecast.note = report->note;
  if (priced.estimatedParts)
    forecast.note = "forecast from the commands of its program";
  forecast.microbatches = priced.shape.microbatches;
  forecast.step = priced.parts;
  if (double share = report->utilisation(priced); share > 0)
    forecast.utilisation = share;
  forecast.memoryBytes = priced.memory.total();
  forecast.hostBytes = priced.memory.host;
  forecast.capacity = report->memoryBytes;
  forecast.device = query.kinds.empty() ? report->device : "device of the first kind (" + report->device + ")";
  forecast.fits = priced.fits;
  return forecast;
}

/// A program by itself, or by the plan in it; a model by its sizes or its graph; each with a plan or without.
static llvm::Expected<RunForecast> readForecast(const Arguments &arguments, double &price) {
  std::string planFile, model;
  for (const std::string &input : arguments.inputs()) {
    bool isModel = StringRef(input).ends_with(".onnx") || StringRef(input).ends_with(".mlir");
    std::string &place = isModel ? model : planFile;
    if (!place.empty())
      return llvm::createStringError("cost takes a plan or program and a model, got: " + place + " and " + input);
    place = input;
  }
  std::optional<PlanOrProgram> file;
  if (!planFile.empty()) {
    llvm::Expected<PlanOrProgram> read = PlanOrProgram::read(planFile);
    if (!read)
      return read.takeError();
    file = std::move(*read);
    llvm::Expected<double> measured = arguments.number("step-seconds", 0);
    if (!measured)
      return measured.takeError();
    bool isAlone = file->program && model.empty() && !arguments.has("transformer");
    if (isAlone && arguments.has("headroom"))
      return llvm::createStringError("--headroom is left free by plans of a model: a program is made, got: " +
                                     planFile);
    if (isAlone)
      return forecastProgram(*file, *measured);
    if (!file->plan)
      return llvm::createStringError(planFile +
                                     ": the program has no plan: it was compiled from text of a lower level");
  }
  if (arguments.has("step-seconds"))
    return llvm::createStringError("--step-seconds is the measured time of a program, and none was given");
  if (!model.empty() || (arguments.has("transformer") && isOwnSoftware(arguments))) {
    llvm::Expected<PlanQuery> query = PlanQuery::read(model, arguments);
    if (!query)
      return query.takeError();
    price = query->pricePerHour;
    return priceGraph(*query, planFile, file ? file->plan : std::nullopt);
  }
  if (llvm::Error wrong = refuseFileValues(arguments, {"schedule", "recompute"}))
    return std::move(wrong);
  if (!arguments.has("transformer"))
    return llvm::createStringError(
        planFile.empty() ? std::string("a model must be given: a file, --transformer=NAME, or a program of dtcc")
                         : planFile + ": a plan holds no model; name the model, or --transformer");
  Forecast forecast;
  if (llvm::Error wrong = readTransformerOnCluster(arguments, forecast))
    return std::move(wrong);
  if (llvm::Error wrong = readPlanOptions(arguments, file ? &*file->plan : nullptr, planFile, forecast))
    return std::move(wrong);
  if (llvm::Error wrong = readBatch(arguments, forecast))
    return std::move(wrong);
  price = forecast.cluster.pricePerHour() / double(forecast.cluster.devices());
  return priceSizes(forecast);
}

llvm::Error dtcc::printCost(const Arguments &arguments, llvm::raw_ostream &stream) {
  double price = 0;
  llvm::Expected<RunForecast> forecast = readForecast(arguments, price);
  if (!forecast)
    return forecast.takeError();
  if (llvm::Error error = forecast->readRun(arguments, price))
    return error;
  arguments.has("json") ? printForecastJson(*forecast, stream) : printForecast(*forecast, stream);
  return llvm::Error::success();
}
