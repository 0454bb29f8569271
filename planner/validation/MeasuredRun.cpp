//===- MeasuredRun.cpp - A training run that somebody measured
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "planner/validation/MeasuredRun.h"
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

namespace dtcc::cost {

namespace {
std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), [](unsigned char c) { return std::tolower(c); });
  return result;
}
bool has(std::string_view text, std::string_view word) { return text.find(word) != std::string_view::npos; }

/// Words in notes and names of models for which the model has no answer.
struct Exclusion {
  std::string_view word, reason;
};
constexpr Exclusion kExclusions[] = {
    {"lora", "trains adapters only"},
    {"bert", "an encoder"},
    {"mamba", "not a transformer alone"},
    {"power-limited", "the part ran at an unknown limit of power"},
    {"techniques added one after another", "saves memory by what no column says"},
};

class Reader {
public:
  Reader(const RunTable &table, size_t row, std::string &error) : table(table), row(row), error(error) {}
  bool read(MeasuredRun &run);

private:
  double number(std::string_view column, double missing = 0);
  void model(MeasuredRun &run);
  void experts(MeasuredRun &run);
  void machine(MeasuredRun &run);
  void plan(MeasuredRun &run);
  void settings(MeasuredRun &run);
  void leave(MeasuredRun &run, std::string reason) {
    if (run.scope.empty())
      run.scope = std::move(reason);
  }

  const RunTable &table;
  size_t row;
  std::string &error;
  std::string notes;
};
} // namespace

double Reader::number(std::string_view column, double missing) {
  std::string_view cell = table.cell(row, column);
  if (cell.empty())
    return missing;
  double value = 0;
  auto [end, code] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (code != std::errc() || end != cell.data() + cell.size() || !(value >= 0) || !std::isfinite(value)) {
    if (error.empty())
      error = table.location(row) + ": column " + std::string(column) +
              " must hold a number of at least 0, got: " + std::string(cell);
    return missing;
  }
  return value;
}

void Reader::model(MeasuredRun &run) {
  Transformer &model = run.model;
  model.layers = number("layers");
  model.hidden = number("hidden");
  for (auto [value, name] : {std::pair{model.layers, "layers"}, {model.hidden, "hidden"}})
    if (value < 1)
      leave(run, std::string("no ") + name);
  // Heads of 128 columns are the rule where a source is silent.
  model.heads = number("heads", std::max(1.0, std::round(model.hidden / 128)));
  model.kvHeads = number("kv_heads", model.heads);
  model.ffn = number("ffn_hidden", 4 * model.hidden);
  model.vocabulary = number("vocab", 50304);
  model.sequence = number("seq_len");
  if (model.sequence < 1)
    leave(run, "no seq_len");
  // Two matrices of 4 h are the rule of GPT, three narrower ones that of LLaMA; the number of
  // parameters decides where it is known.
  model.gated = model.ffn != 4 * model.hidden;
  model.tied = !model.gated;
  if (double stated = number("params_b") * 1e9; stated > 0 && run.scope.empty()) {
    double best = 1e300;
    for (bool gated : {false, true})
      for (bool tied : {!gated, gated}) {
        Transformer candidate = model;
        candidate.gated = gated;
        candidate.tied = tied;
        double off = std::abs(std::log(candidate.parameters() / stated));
        if (off < best - 0.005) {
          best = off;
          model.gated = gated;
          model.tied = tied;
        }
      }
  }
  if (number("moe_experts") > 0)
    experts(run);
}

/// Fills in sizes of experts that no column states, from the table of models, by the model's name.
void Reader::experts(MeasuredRun &run) {
  run.apart = "experts";
  Transformer &model = run.model;
  if (std::optional<Transformer> known = findTransformer(lower(table.cell(row, "model")), /*prefix=*/true);
      known && known->experts > 0) {
    known->layers = model.layers;
    known->sequence = model.sequence;
    known->leadingDense = std::min(known->leadingDense, std::max(0.0, known->layers - 1));
    model = *known;
    return;
  }
  model.gated = true;
  model.tied = false;
  model.experts = number("moe_experts");
  model.chosen = number("moe_topk", 1);
  model.expertFfn = model.ffn;
}

double statedNetwork(std::string_view words, double devicesPerNode) {
  std::string text = lower(words);
  size_t omni = text.find("omni-path link");
  if (omni != std::string::npos)
    return std::atof(text.c_str()) * 12.5e9 / devicesPerNode;
  size_t unit = text.find("gb/s");
  if (unit == std::string::npos)
    return 0;
  // The last statement of a rate a device wins over one a node.
  if (size_t device = text.find("gb/s per gpu"); device != std::string::npos)
    unit = device;
  size_t start = text.find_last_not_of("0123456789. ", unit - 1);
  double rate = std::atof(text.c_str() + (start == std::string::npos ? 0 : start + 1)) / 8 * 1e9;
  std::string_view rest = std::string_view(text).substr(unit);
  if (!rest.starts_with("gb/s per node") && !rest.starts_with("gb/s edr per node") &&
      !rest.starts_with("gb/s per instance"))
    return rate;
  size_t times = text.find("x ");
  double ports = times != std::string::npos && times > 0 && std::isdigit(text[times - 1])
                     ? std::atof(text.c_str() + text.find_last_not_of("0123456789", times - 1) + 1)
                     : 1;
  return rate * ports / devicesPerNode;
}

void Reader::machine(MeasuredRun &run) {
  std::string_view name = table.cell(row, "gpu");
  const Device *device = findDevice(name);
  if (!device)
    return leave(run, name.empty() ? "no kind of device" : "an unknown kind of device: " + std::string(name));
  if (device->architecture == Architecture::CDNA)
    leave(run, "no measured run of this maker's devices to fit");
  run.device = *device;
  int64_t perNode = int64_t(number("gpus_per_node", 8));
  run.fabric = fabricOf(*device, perNode);
  if (double stated = statedNetwork(table.cell(row, "interconnect"), double(std::max<int64_t>(perNode, 1))))
    run.fabric.network.bytesPerSecond = stated;
}

void Reader::plan(MeasuredRun &run) {
  Parallelism &plan = run.plan;
  double devices = number("gpus"), micro = number("micro_batch");
  run.globalBatch = number("global_batch");
  plan.tp = int64_t(number("tp"));
  plan.pp = int64_t(number("pp"));
  plan.dp = int64_t(number("dp"));
  plan.cp = int64_t(number("cp", 1));
  plan.virtualStages = std::max<int64_t>(1, int64_t(number("vpp", 1)));
  plan.ep = std::max<int64_t>(1, int64_t(number("ep", 1)));
  for (auto [value, column] : {std::pair{devices, "gpus"},
                               {double(plan.tp), "tp"},
                               {double(plan.pp), "pp"},
                               {double(plan.dp), "dp"},
                               {micro, "micro_batch"},
                               {run.globalBatch, "global_batch"}})
    if (value <= 0)
      return leave(run, std::string("no ") + column);
  if (double(plan.ranks()) != devices)
    return leave(run, "tp x cp x dp x pp is not gpus");
  if (run.model.experts <= 0)
    plan.ep = 1;
  else if ((plan.tp * plan.dp * plan.cp) % plan.ep != 0 || int64_t(run.model.experts) % plan.ep != 0)
    return leave(run, "ep does not divide the ranks of a stage, or the experts");
  run.setting.samples = micro;
  double microbatches = run.globalBatch / (micro * double(plan.dp));
  plan.microbatches = std::max<int64_t>(1, std::llround(microbatches));
  if (std::abs(microbatches - double(plan.microbatches)) > 0.01)
    leave(run, "the global batch is no whole number of micro-batches");
  std::string schedule = lower(table.cell(row, "schedule"));
  if (plan.pp > 1)
    plan.schedule = schedule == "zb-1p" || schedule == "zero-bubble" ? PipelineKind::ZeroBubble
                    : schedule == "zb-2p"                            ? PipelineKind::ZeroBubble2
                    : plan.virtualStages > 1                         ? PipelineKind::Interleaved
                                                                     : PipelineKind::OneForwardOneBackward;
  if (double(plan.pp * plan.virtualStages) > run.model.layers + 2)
    leave(run, "more stages than layers");
}

void Reader::settings(MeasuredRun &run) {
  Software &software = run.software;
  Parallelism &plan = run.plan;
  std::string_view recompute = table.cell(row, "recompute");
  run.statesRecompute = !recompute.empty();
  plan.recompute = plan::parseRecompute(recompute).value_or(software.recompute);
  plan.zero = int(number("zero_stage", plan.dp * plan.cp > 1 ? software.zero : 0));
  plan.sequenceParallel = plan.tp > 1 && number("seq_parallel", software.sequenceParallel) > 0;
  if (size_t group = notes.find("fsdp group "); group != std::string::npos)
    if (int64_t ranks = std::atoll(notes.c_str() + group + 11); ranks > 0 && (plan.dp * plan.cp) % ranks == 0)
      plan.groups = plan.dp * plan.cp / ranks;

  std::string precision = lower(table.cell(row, "precision"));
  // Products with a scale a row reach little more than 16-bit ones.
  run.setting.width = has(precision, "rowwise") ? Width::B16
                      : has(precision, "fp4")   ? Width::F4
                      : has(precision, "fp8")   ? Width::F8
                                                : Width::B16;
  // DeepSpeed's bf16 adds gradients in f32, whole on every rank; moments are shared alone.
  if (software.framework == Framework::MegatronDeepSpeed && has(precision, "bf16")) {
    software.wholeBytes += 6;
    software.sharedBytes -= 4;
  }
  double flash = number("flash_attention", -1);
  if (flash == 0)
    software.attention = AttentionKernel::Plain;
  if (flash == 1 && software.attention == AttentionKernel::Plain)
    software.attention = AttentionKernel::Flash;
  if (has(notes, "compile") && software.host == HostMode::Eager) {
    software.host = HostMode::Compiled;
    software.fused = true;
  }
  software.autocast = has(notes, "amp_");
  // Composer reduces in f32 where it casts by itself.
  if (software.autocast)
    software.gradientBytes = 4;
  if (has(notes, "asynctp"))
    software.tensorHidden = 0.7;
  run.setting.attention = software.attention;
  run.setting.paddedVocabulary = software.paddedVocabulary;
  run.setting.tensorHidden = software.tensorHidden;
  run.setting.dispatchesOnceANode = software.dispatchesOnceANode;
  run.setting.stopsEarly = software.stopsEarly;
  run.setting.contextHidden = 0.5;
  run.setting.selectiveOps = software.framework == Framework::TorchTitan;
  std::string_view offload = table.cell(row, "offload");
  plan.offload.activations = offload == "activations to CPU";
  if (plan.offload.activations)
    run.apart = "offload";
  else if (!offload.empty() && offload != "none")
    leave(run, "offload: " + std::string(offload));
}

bool Reader::read(MeasuredRun &run) {
  run.id = table.cell(row, "id");
  run.source = run.id.substr(0, run.id.rfind('-'));
  notes = lower(table.cell(row, "notes"));
  run.software = softwareOf(std::string(table.cell(row, "source")) + " " + notes);
  run.seconds = number("measured_step_time_s");
  run.memoryGib = number("measured_memory_gib");
  run.outOfMemory = has(notes, "oom in the source");
  model(run);
  machine(run);
  plan(run);
  settings(run);
  std::string name = lower(table.cell(row, "model"));
  for (const Exclusion &exclusion : kExclusions)
    if (has(notes, exclusion.word) || has(name, exclusion.word))
      leave(run, std::string(exclusion.reason));
  return error.empty();
}

std::optional<MeasuredRun> readRun(const RunTable &table, size_t row, std::string &error) {
  MeasuredRun run;
  error.clear();
  if (!Reader(table, row, error).read(run))
    return std::nullopt;
  return run;
}

MemoryBytes MeasuredRun::memory() const {
  MemoryBytes bytes = forecastMemory(model, plan, setting, software);
  // Only the running layer has its activations on the device; those of the other layers are offloaded.
  if (plan.offload.activations)
    bytes.activations /= std::max(1.0, model.layers / double(plan.pp));
  return bytes;
}

bool MeasuredRun::fits() const {
  MeasuredRun least = *this;
  if (!statesRecompute)
    least.plan.recompute = Recompute::Full;
  return fitsIn(least.memory().total(), device);
}

StepProblem MeasuredRun::problem() const {
  StepProblem problem = makeStepProblem(model, plan, setting, software, device, fabric);
  if (plan.offload.activations)
    moveToHost(problem.layers[0], keptBytes(model, plan, setting, software));
  return problem;
}

} // namespace dtcc::cost
