//===- Cost.cpp - What a training run costs
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/Cost.h"
#include "passes/cost/ClusterFile.h"
#include "passes/cost/Memory.h"
#include "passes/plan/Plan.h"
#include "tools/dtcc-plan/TextTable.h"
#include "tools/dtcc-plan/TransformerOptions.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace dtcc;
using llvm::StringRef;

static constexpr StringRef kValues[] = {"transformer", "cluster",  "mesh",      "batch",    "micro-batch", "zero",
                                        "recompute",   "schedule", "precision", "software", "tokens",      "price"};
static constexpr StringRef kFlags[] = {"json"};
llvm::ArrayRef<StringRef> dtcc::costValues() { return kValues; }
llvm::ArrayRef<StringRef> dtcc::costFlags() { return kFlags; }

namespace {
constexpr Word<cost::Recomputation> kRecomputations[] = {{"none", cost::Recomputation::None},
                                                         {"selective", cost::Recomputation::Selective},
                                                         {"full", cost::Recomputation::Full}};
struct Forecast : TransformerOnCluster {
  cost::Parallel plan;
  double batch = 0, tokens = 0, price = 0;
  cost::StepSeconds step;
  cost::MemoryBytes memory;

  double tokensPerStep() const { return batch * model.sequence; }
  double tokensPerSecond() const { return tokensPerStep() / step.total(); }
  double seconds() const { return tokens / tokensPerSecond(); }
  double deviceHours() const { return seconds() / 3600 * double(plan.ranks()); }
  /// Share of the 16-bit peak in products of the model: 6 FLOP a parameter and token, and attention.
  double utilisation() const {
    double flops = 6 * model.parameters() + 6 * model.layers * model.hidden * model.sequence;
    return flops * tokensPerSecond() / double(plan.ranks()) / device().peak(cost::Width::B16);
  }
};

/// The place of an axis of a plan or of --mesh.
int64_t *degree(cost::Parallel &plan, StringRef axis) {
  struct Row {
    StringRef name;
    int64_t cost::Parallel::*degree;
  };
  static constexpr Row rows[] = {{"tp", &cost::Parallel::tp},
                                 {"cp", &cost::Parallel::cp},
                                 {"dp", &cost::Parallel::dp},
                                 {"pp", &cost::Parallel::pp},
                                 {"mb", &cost::Parallel::microbatches}};
  for (const Row &row : rows)
    if (axis.split('.').first == row.name)
      return &(plan.*row.degree);
  return nullptr;
}

llvm::Error setSchedule(StringRef name, cost::Parallel &plan) {
  auto [kind, chunks] = name.split(':');
  using cost::PipelineKind;
  static constexpr Word<PipelineKind> kinds[] = {{"1f1b", PipelineKind::OneForwardOneBackward},
                                                 {"gpipe", PipelineKind::OneForwardOneBackward},
                                                 {"interleaved", PipelineKind::Interleaved},
                                                 {"zero-bubble", PipelineKind::ZeroBubble1}};
  if (plan.pp == 1)
    return llvm::Error::success();
  for (const auto &known : kinds)
    if (kind == known.name || name.empty()) {
      plan.schedule = known.value;
      if (known.value == PipelineKind::Interleaved &&
          (chunks.getAsInteger(10, plan.virtualStages) || plan.virtualStages < 2))
        break;
      return llvm::Error::success();
    }
  return llvm::createStringError("--schedule must be gpipe, 1f1b, interleaved:STAGES or zero-bubble, got: " + name);
}

/// Degrees from a plan: what it says of its mesh, ZeRO, recomputation and schedule.
llvm::Error readDegrees(StringRef path, Forecast &forecast, std::string &schedule) {
  llvm::Expected<plan::Plan> plan = plan::readPlan(path);
  if (!plan)
    return plan.takeError();
  for (const auto &axis : plan->mesh.axes) {
    int64_t *place = degree(forecast.plan, axis.name);
    if (!place)
      return llvm::createStringError(path + ": an axis must be mb, dp, cp, tp or pp, got: " + axis.name);
    *place *= axis.size;
  }
  forecast.plan.zero = int(plan->zero);
  forecast.plan.recompute = plan->recompute == plan::Recompute::Full        ? cost::Recomputation::Full
                            : plan->recompute == plan::Recompute::Selective ? cost::Recomputation::Selective
                                                                            : cost::Recomputation::None;
  if (plan->pipeline)
    schedule = plan->pipeline->schedule;
  return llvm::Error::success();
}

llvm::Error readMesh(StringRef text, cost::Parallel &plan) {
  llvm::SmallVector<StringRef> parts;
  text.split(parts, ',', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts) {
    auto [name, size] = part.split('=');
    int64_t *place = name == "mb" ? nullptr : degree(plan, name);
    if (!place || size.getAsInteger(10, *place) || *place < 1)
      return llvm::createStringError("--mesh must be tp=N,cp=N,dp=N,pp=N with numbers of at least 1, got: " + text);
  }
  return llvm::Error::success();
}
} // namespace

/// The plan of the options: what is not given is the rest of the devices as data parallelism.
static llvm::Error readPlanOptions(const Arguments &arguments, Forecast &forecast) {
  cost::Parallel &plan = forecast.plan;
  std::string schedule = arguments.value("schedule").str();
  bool fromFile = !arguments.inputs().empty();
  plan.zero = 1;
  if (llvm::Error error = choose(arguments, "recompute", kRecomputations, plan.recompute))
    return error;
  if (fromFile)
    if (llvm::Error error = readDegrees(arguments.inputs()[0], forecast, schedule))
      return error;
  if (llvm::Error error = readMesh(arguments.value("mesh"), plan))
    return error;
  int64_t devices = forecast.cluster.devices();
  if (!fromFile && !arguments.value("mesh").contains("dp=") && devices % plan.ranks() == 0)
    plan.dp = devices / plan.ranks();
  if (plan.ranks() != devices)
    return llvm::createStringError("the plan must take all " + llvm::Twine(devices) + " devices of " +
                                   forecast.cluster.name + ", got: " + llvm::Twine(plan.ranks()));
  if (arguments.has("zero")) {
    if (arguments.value("zero").getAsInteger(10, plan.zero) || plan.zero < 0 || plan.zero > 3)
      return llvm::createStringError("--zero must be 0, 1, 2 or 3, got: " + arguments.value("zero"));
  }
  if (double(plan.pp) > forecast.model.layers)
    return llvm::createStringError("stages must be at most the " + llvm::Twine(int64_t(forecast.model.layers)) +
                                   " layers, got: " + llvm::Twine(plan.pp));
  plan.sequenceParallel = plan.tp > 1 && forecast.software.sequenceParallel;
  return setSchedule(schedule, plan);
}

static llvm::Error readBatch(const Arguments &arguments, Forecast &forecast) {
  cost::Parallel &plan = forecast.plan;
  llvm::Expected<int64_t> micro = arguments.count("micro-batch", 1), batch = arguments.count("batch", 0);
  if (!micro || !batch)
    return llvm::joinErrors(micro.takeError(), batch.takeError());
  forecast.run.examples = double(*micro);
  forecast.batch = double(*batch ? *batch : *micro * plan.dp * plan.microbatches);
  int64_t slice = *micro * plan.dp, all = int64_t(forecast.batch);
  if (all % slice != 0)
    return llvm::createStringError("--batch must divide by the " + llvm::Twine(slice) +
                                   " examples that all ranks take at once, got: " + llvm::Twine(all));
  plan.microbatches = all / slice;
  return llvm::Error::success();
}

static llvm::Error readForecast(const Arguments &arguments, Forecast &forecast) {
  if (arguments.inputs().size() > 1)
    return llvm::createStringError("cost takes at most one plan");
  if (llvm::Error wrong = readTransformerOnCluster(arguments, forecast))
    return wrong;
  if (llvm::Error wrong = readPlanOptions(arguments, forecast))
    return wrong;
  if (llvm::Error wrong = readBatch(arguments, forecast))
    return wrong;
  double ownPrice = forecast.cluster.pricePerHour() / double(forecast.cluster.devices());
  llvm::Expected<double> tokens = arguments.number("tokens", 0), price = arguments.number("price", ownPrice);
  if (!tokens || !price)
    return llvm::joinErrors(tokens.takeError(), price.takeError());
  forecast.tokens = *tokens;
  forecast.price = *price;
  return llvm::Error::success();
}

namespace {
struct Part {
  StringRef name, key;
  double cost::StepSeconds::*seconds;
};
} // namespace
static constexpr Part kParts[] = {{"compute", "compute", &cost::StepSeconds::compute},
                                  {"tensor parallelism, exposed", "tensor", &cost::StepSeconds::tensor},
                                  {"gradients and parameters, exposed", "data", &cost::StepSeconds::data},
                                  {"sends between stages, exposed", "stages", &cost::StepSeconds::stages},
                                  {"pipeline bubble", "bubble", &cost::StepSeconds::bubble},
                                  {"waiting for the host", "host", &cost::StepSeconds::host}};

static void printText(const Forecast &forecast, llvm::raw_ostream &stream) {
  const cost::Parallel &plan = forecast.plan;
  double total = forecast.step.total();
  printHeading(stream, llvm::formatv("{0:f2} billion parameters on {1}: dp={2} tp={3} cp={4} pp={5}, ZeRO {6}, {7} "
                                     "micro-batches of {8}",
                                     forecast.model.parameters() / 1e9, forecast.cluster.name, plan.dp, plan.tp,
                                     plan.cp, plan.pp, plan.zero, plan.microbatches, forecast.run.examples)
                           .str());
  stream << llvm::formatv("  {0,-36} {1,10} s   clusters of one kind differ by some 10 %\n", "a step",
                          llvm::formatv("{0:f3}", total).str());
  for (const Part &part : kParts)
    if (double seconds = forecast.step.*part.seconds; seconds > 0)
      stream << llvm::formatv("    {0,-34} {1,10} s {2,4:f0} %\n", part.name, llvm::formatv("{0:f3}", seconds).str(),
                              100 * seconds / total);
  stream << llvm::formatv("  {0,-36} {1,10}     {2:f0} % of the 16-bit peak in the model's products\n",
                          "tokens a second", formatCount(uint64_t(forecast.tokensPerSecond())),
                          100 * forecast.utilisation());
  double capacity = forecast.device().memoryBytes;
  stream << llvm::formatv("  {0,-36} {1,10}     {2} {3} of a {4}\n", "memory of a device",
                          formatBytes(forecast.memory.total()),
                          cost::fitsIn(forecast.memory.total(), capacity) ? "fits in the" : "does not fit in the",
                          formatBytes(capacity), forecast.device().name);
  if (forecast.tokens <= 0)
    return;
  stream << llvm::formatv("  {0:e1} tokens: {1:f1} days, {2} device-hours", forecast.tokens, forecast.seconds() / 86400,
                          formatCount(uint64_t(forecast.deviceHours())));
  if (forecast.price > 0)
    stream << llvm::formatv(", ${0} at ${1:f2} an hour", formatCount(uint64_t(forecast.deviceHours() * forecast.price)),
                            forecast.price);
  else
    stream << "; --price=X gives dollars";
  stream << '\n';
}

static void printJson(const Forecast &forecast, llvm::raw_ostream &stream) {
  llvm::json::OStream out(stream, 2);
  out.object([&] {
    out.attribute("parameters", forecast.model.parameters());
    out.attribute("devices", forecast.plan.ranks());
    out.attribute("microbatches", forecast.plan.microbatches);
    out.attributeObject("step_seconds", [&] {
      out.attribute("total", forecast.step.total());
      for (const Part &part : kParts)
        out.attribute(part.key, forecast.step.*part.seconds);
      out.attribute("recompute", forecast.step.recompute);
    });
    out.attribute("tokens_per_second", forecast.tokensPerSecond());
    out.attribute("utilisation", forecast.utilisation());
    out.attribute("memory_bytes", forecast.memory.total());
    out.attribute("fits", cost::fitsIn(forecast.memory.total(), forecast.device().memoryBytes));
    if (forecast.tokens > 0) {
      out.attribute("days", forecast.seconds() / 86400);
      out.attribute("device_hours", forecast.deviceHours());
      if (forecast.price > 0)
        out.attribute("dollars", forecast.deviceHours() * forecast.price);
    }
  });
  stream << '\n';
}

llvm::Error dtcc::printCost(const Arguments &arguments, llvm::raw_ostream &stream) {
  Forecast forecast;
  if (llvm::Error error = readForecast(arguments, forecast))
    return error;
  cost::StepProblem problem = cost::makeStepProblem(forecast.model, forecast.plan, forecast.run, forecast.software,
                                                    forecast.device(), forecast.cluster.fabric());
  const cost::NodeGroup &node = forecast.cluster.nodes[0];
  cost::Calibration scales{node.deviceScale, node.hostScale};
  forecast.step = cost::priceStep(problem, cost::Constants(), scales);
  forecast.memory = cost::forecastMemory(forecast.model, forecast.plan, forecast.run, forecast.software);
  arguments.has("json") ? printJson(forecast, stream) : printText(forecast, stream);
  return llvm::Error::success();
}
