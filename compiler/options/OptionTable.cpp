//===- OptionTable.cpp - The command line of dtcc -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/console/ErrorStream.h"
#include "compiler/options/Options.h"
#include "planner/parallelism/Schedules.h"
#include "runtime/abi/console/ConfigFile.h"
#include "runtime/abi/console/NearestName.h"
#include "runtime/abi/console/NumberText.h"
#include "runtime/abi/console/OptionRow.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <cfloat>

using namespace mlir;
using namespace dtcc;

namespace {
/// One option: the field of Options that it sets, and what --help and the pages say of it.
struct Row {
  StringRef name, value, help, initial, example;
  std::string Options::*text = nullptr;
  std::vector<std::string> Options::*list = nullptr;
  int64_t Options::*integer = nullptr;
  double Options::*real = nullptr;
  bool Options::*flag = nullptr;
  /// Legal values, separated by '|'; empty: any.
  StringRef choices = "";
};
struct Group {
  StringRef title;
  std::vector<Row> rows;
};

Row text(StringRef name, StringRef value, std::string Options::*where, StringRef help, StringRef initial,
         StringRef example) {
  Row row{name, value, help, initial, example};
  row.text = where;
  return row;
}
/// The value is one of some words: all of them, as they are shown unless `shown` shortens the list.
Row word(StringRef name, StringRef choices, std::string Options::*where, StringRef help, StringRef initial,
         StringRef example, StringRef shown = "") {
  Row row = text(name, shown.empty() ? choices : shown, where, help, initial, example);
  row.choices = choices;
  return row;
}
Row list(StringRef name, StringRef value, std::vector<std::string> Options::*where, StringRef help, StringRef initial,
         StringRef example) {
  Row row{name, value, help, initial, example};
  row.list = where;
  return row;
}
Row integer(StringRef name, int64_t Options::*where, StringRef help, StringRef initial, StringRef example) {
  Row row{name, "N", help, initial, example};
  row.integer = where;
  return row;
}
Row real(StringRef name, double Options::*where, StringRef help, StringRef initial, StringRef example) {
  Row row{name, "X", help, initial, example};
  row.real = where;
  return row;
}
Row flag(StringRef name, bool Options::*where, StringRef help) {
  Row row{name, "", help, "", ""};
  row.flag = where;
  return row;
}

const std::vector<Group> &table() {
  static const std::string schedules = cost::scheduleNames() + ", or a file";
  using O = Options;
  static const std::vector<Group> groups{
      {"The model",
       {text("bind", "batch=8,seq=128", &O::bind, "values of symbolic dimensions; batch is the global batch", "",
             "batch=8,seq=128"),
        text("loss", "KIND:key=value,..", &O::loss, "attach a loss: cross_entropy, mse, bce, l1", "",
             "cross_entropy:logits=logits,labels=labels"),
        text("loss-output", "NAME", &O::lossOutput, "which output is the loss", "the only scalar", "loss"),
        list("trainable", "GLOB", &O::trainable, "the only parameters that train", "all that the loss reaches",
             "head.*"),
        list("freeze", "GLOB", &O::freeze, "parameters that do not train", "", "embed.*"),
        flag("mask-documents", &O::maskDocuments, "attend within documents, whose ends the program's --eos names"),
        list("tie", "A=B", &O::tie, "train two parameters as one", "", "wte.weight=lm_head.weight"),
        word("train-mode", "force|as-is", &O::trainMode, "switch norms and dropout to training, or not", "force",
             "as-is"),
        word("batch-norm", "global|rank", &O::batchNorm, "statistics of the whole batch, or of each rank", "global",
             "rank"),
        word("batch-losses", "whole|microbatch", &O::batchLosses,
             "means of the batch in a loss: of all, or of each micro-batch", "whole", "microbatch"),
        text("weights", "FOLDER|FILE", &O::weights, "start from .safetensors, which the program reads", "", "Llama/"),
        word("init", "model|random", &O::init, "start values", "model, if it has weights", "random"),
        text("external-root", "DIR", &O::externalRoot, "another folder that may hold external data", "", "weights")}},
      {"Training",
       {text("optimizer", "KIND:key=value,..", &O::optimizer,
             "adamw, adam, sgd, adagrad, lion, muon, lamb, adafactor, adamw8bit", "the model's, or adamw",
             "adamw:lr=3e-4,weight_decay=0.1"),
        real("clip", &O::clip, "clip by the global norm of the gradients", "the model's", "1.0"),
        list("group", "GLOB:lr=0.1x,..", &O::groups,
             "rate and decay of parameters, as lr=3e-5, lr=0.1x, weight_decay=0; the first that matches wins", "",
             "wte*:lr=0.1x,weight_decay=0"),
        real("ema", &O::ema, "keep averages of the parameters, a = X a + (1 - X) p after each step", "none", "0.999"),
        word("update", "late|early", &O::update,
             "when parameters change: behind the whole backward pass, or each once its gradient is complete", "late",
             "early"),
        list("decay", "GLOB", &O::decay, "parameters with weight decay", "all", "*.weight"),
        list("no-decay", "GLOB", &O::noDecay, "parameters without weight decay", "", "*bias"),
        word("precision", "f32|bf16|fp16", &O::precision, "type of products", "f32 on cores, bf16 on GPUs", "bf16"),
        real("loss-scale", &O::lossScale, "initial loss scale of fp16", "65536", "1024")}},
      {"The plan: options that are not given are searched",
       {text("cluster", "cpu:4|8xh100|FILE", &O::cluster, "the machines; cpu: this one", "cpu", "8xh100"),
        text("mesh", "dp=2,tp=2,..", &O::mesh, "dp, tp, cp, ep, pp; dp=2x4: ZeRO in 2 groups of 4", "", "dp=2,tp=2"),
        word("sequence-parallel", "on|off", &O::sequenceParallel, "split positions over tp between products", "", "on"),
        word("stationary-weights", "on|off", &O::stationaryWeights,
             "never gather what other ranks of tp hold of weights", "", "on"),
        word("cp-attention", "gather|alltoall|ring|auto", &O::cpAttention, "attention over cp", "auto", "ring"),
        word("cp-order", "zigzag|contiguous|auto", &O::cpOrder, "order of positions over ranks of cp", "auto",
             "zigzag"),
        word("moe-dispatch", "gather|alltoall|auto", &O::moeDispatch, "how tokens reach experts over ep", "auto",
             "alltoall"),
        real("moe-capacity", &O::moeCapacity,
             "room for rows of experts on a rank of ep, as a multiple of the mean; more are an error or dropped",
             "for all", "1.25"),
        integer("zero", &O::zero, "ZeRO stage, 0 to 3", "", "1"),
        integer("microbatches", &O::microbatches, "micro-batches of a step", "", "8"),
        text("schedule", "NAME|FILE.csv", &O::schedule, schedules, "", "1f1b"),
        word("recompute", "none|selective|full|auto", &O::recompute, "none, selective, full; auto: as little as fits",
             "", "selective", "none|..|auto"),
        word("offload", "none|optimizer|activations|all", &O::offload,
             "to host memory of GPUs: optimizer, activations, all", "", "optimizer", "none|.."),
        word("gradients", "f32|bf16", &O::gradients, "type in which gradients are kept and reduced", "f32", "bf16"),
        text("headroom", "5GiB", &O::headroom, "memory of a device that searched plans leave free", "none", "5GiB"),
        list("pin", "GLOB=LAYOUT", &O::pin, "fix the layout of a parameter or node", "", "wte=[{tp},{}]"),
        text("plan", "FILE.json", &O::plan, "a plan, or a part of one", "", "plan.json"),
        text("worlds", "2,4,..", &O::worlds, "a plan for each of these numbers of ranks, in one program", "",
             "2,4,8")}},
      {"Output",
       {text("o", "PROGRAM", &O::output, "where to write", "the model's name", "model"),
        text("config", "FILE.toml", &O::config, "options in a file, as zero = 1; the command line's win", "",
             "build.toml"),
        word("emit", "program|plan|graph|spmd|exec|llvm|ptx|onnx", &O::emit, "or plan, spmd, exec, llvm, ptx, onnx",
             "program", "plan", "program|graph|.."),
        text("mcpu", "native|NAME", &O::cpu, "processor to generate for; native: this one", "native", "x86-64-v3"),
        word("target", "cpu|cuda", &O::target, "processors or GPUs", "as in --cluster", "cuda"),
        text("gpu-arch", "sm_90,..", &O::gpuArch, "GPUs to generate for", "the cluster's", "sm_80,sm_90"),
        flag("tf32", &O::tf32, "round the factors of f32 products on GPUs"),
        word("weights-in", "program|file", &O::weightsIn,
             "where the model's start values go: into the program, or PROGRAM.weights beside it", "program", "file"),
        flag("no-eval", &O::noEval, "leave the evaluation (--eval-tokens, ..) out of the program"),
        flag("verify", &O::verify, "check the partitioned step by interpreters"),
        flag("progress", &O::progress, "print a line for each phase of the compiler"),
        flag("v", &O::verbose, "print the decisions of the compiler"),
        text("remarks", "PASSES", &O::remarks, "print what passes did; a regular expression of their whole names", "",
             "exec-.*"),
        flag("time-passes", &O::timePasses, "print the time of each pass"),
        list("print-ir-after", "PASS", &O::printIrAfter, "print the module after a pass", "", "exec-fuse"),
        list("print-ir-before", "PASS", &O::printIrBefore, "print the module before a pass", "", "exec-fuse"),
        flag("version", &O::version, "print the version"), flag("help", &O::help, "print this text")}}};
  return groups;
}

const Row *find(StringRef name) {
  for (const Group &group : table())
    for (const Row &row : group.rows)
      if (row.name == name)
        return &row;
  return nullptr;
}

std::string nearest(StringRef name) {
  std::vector<std::string> names;
  for (const Group &group : table())
    for (const Row &row : group.rows)
      names.push_back(row.name.str());
  return nearestName(name, names);
}

LogicalResult usage(const Twine &message) {
  errorStream() << message << "; see " << toolName() << " --help\n";
  return failure();
}

/// The option as it is typed: "--zero", or "-o" of one letter.
std::string typed(StringRef name) { return ((name.size() == 1 ? "-" : "--") + name).str(); }

/// Refuses an empty value too: "--weights=$FOLDER" of a script that forgot to set FOLDER would train something else.
LogicalResult set(const Row &row, StringRef value, Options &options) {
  if (value.empty()) {
    const bool isLetter = row.name.size() == 1;
    return usage(typed(row.name) + " must have a value: " + typed(row.name) + (isLetter ? " " : "=") + row.value);
  }
  if (row.name == "emit" && value == "dist") // an old spelling of the level
    value = "spmd";
  auto wrong = [&](StringRef wanted) { return usage(typed(row.name) + " must be " + wanted + ", got: " + value); };
  SmallVector<StringRef> choices;
  row.choices.split(choices, '|', -1, /*KeepEmpty=*/false);
  if (!choices.empty() && !llvm::is_contained(choices, value))
    return wrong(("one of " + row.choices).str());
  if (row.text)
    options.*row.text = value.str();
  if (row.list)
    (options.*row.list).push_back(value.str());
  if (row.integer && (value.getAsInteger(10, options.*row.integer) || options.*row.integer < 0))
    return wrong("a number of at least 0");
  if (row.real && (value.getAsDouble(options.*row.real) || !(options.*row.real >= 0)))
    return wrong("a number of at least 0");
  return success();
}
} // namespace

/// Refuses values out of range, and options that do not go together: an option that is silently ignored would train
/// something else than was asked for.
static LogicalResult checkOptions(const Options &options) {
  const bool scales = options.lossScale >= 0;
  if (scales && options.precision != "fp16")
    return usage("--loss-scale needs --precision=fp16");
  // Programs keep the scale in f32. An infinite one would stay infinite when it is halved, and leave out every step.
  if (scales && !(options.lossScale >= FLT_MIN && options.lossScale <= FLT_MAX))
    return usage("--loss-scale must be from 1.2e-38 to 3.4e38, got: " +
                 llvm::formatv("{0:e}", options.lossScale).str());
  if (options.verify && (options.emit == "graph" || options.emit == "plan" || options.emit == "onnx"))
    return usage("--verify checks the partitioned step, which --emit=" + options.emit + " does not make");
  if (options.emit == "onnx" && !StringRef(options.input).ends_with(".onnx"))
    return usage("--emit=onnx writes an ONNX model again, got: " + options.input);
  if (options.emit == "onnx" && (options.output.empty() || options.output == "-"))
    return usage("--emit=onnx must have a file to write: -o annotated.onnx");
  if (options.moeCapacity >= 0 && !(options.moeCapacity >= 1 && options.moeCapacity <= 1e6))
    return usage(Twine("--moe-capacity must be at ") + (options.moeCapacity < 1 ? "least 1" : "most 1000000") +
                 ", got: " + numberText(options.moeCapacity));
  if (options.moeCapacity >= 0 && options.moeDispatch == "gather")
    return usage(
        "--moe-capacity bounds the rows that ranks send to experts, and --moe-dispatch=gather sends all tokens: "
        "leave one of them out");
  if (options.microbatches == 0)
    return usage("--microbatches must be at least 1, got: 0");
  if (options.zero > 3)
    return usage("--zero must be 0, 1, 2 or 3, got: " + Twine(options.zero));
  return success();
}

/// Sets the options of a file, but for those that the command line has.
static LogicalResult readFile(StringRef path, const llvm::StringMap<StringRef> &typed, Options &options) {
  std::string error;
  std::optional<std::vector<ConfigOption>> file = readConfig(path.str(), error);
  if (!file)
    return usage(error);
  for (const ConfigOption &each : *file) {
    const Row *row = find(each.name);
    if (each.name == "config" || each.name == "help" || each.name == "version")
      return usage(each.place + "'" + each.name + "' is for the command line alone");
    if (!row) {
      std::string guess = nearest(each.name);
      return usage(each.place + "unknown option '" + each.name + "'" +
                   (guess.empty() ? "" : "; did you mean '" + guess + "'?"));
    }
    if (bool(row->flag) != each.isFlag)
      return usage(each.place + "'" + each.name + "' must be " +
                   (row->flag ? "true or false" : "a value, not true or false"));
    if (!row->list && each.values.size() > 1)
      return usage(each.place + "'" + each.name + "' takes one value, got a list");
    if (typed.contains(each.name))
      continue;
    if (row->flag)
      options.*row->flag = each.flag;
    for (const std::string &value : each.values)
      if (failed(set(*row, value, options)))
        return failure();
  }
  return success();
}

LogicalResult dtcc::parseOptions(int argc, const char *const *argv, Options &options) {
  llvm::StringMap<StringRef> typed;
  for (int i = 1; i < argc; ++i) {
    StringRef argument(argv[i]);
    if (!argument.starts_with("-") || argument == "-") {
      if (!options.input.empty())
        return usage("one model at a time, got: " + options.input + " and " + argument);
      options.input = argument.str();
      continue;
    }
    auto [name, value] = argument.ltrim('-').split('=');
    bool given = argument.contains('=');
    if (name == "h")
      name = "help";
    if (argument == "--help-table") {
      options.helpTable = true;
      return success();
    }
    if (name.starts_with("mlir-")) {
      options.mlir.push_back("--" + argument.ltrim('-').str());
      continue;
    }
    const Row *row = find(name);
    if (!row) {
      std::string guess = nearest(name);
      return usage("unknown option " + argument +
                   (!guess.empty()         ? "; did you mean " + ::typed(guess) + "?"
                    : toolName() == "dtcc" ? "; options of a run, as --steps, are those of the program that dtcc writes"
                                           : ""));
    }
    auto [before, isNew] = typed.try_emplace(name);
    if (row->flag) {
      if (given)
        return usage(::typed(name) + " takes no value");
      options.*row->flag = true;
      continue;
    }
    if (!given) {
      value = ++i < argc ? argv[i] : "";
    }
    if (!isNew && !row->list)
      return usage(::typed(name) + " must be given once, got: " + before->second + " and " + value);
    before->second = value;
    if (failed(set(*row, value, options)))
      return failure();
  }
  if (options.help || options.version)
    return success();
  if (!options.config.empty() && failed(readFile(options.config, typed, options)))
    return failure();
  if (options.input.empty())
    return usage(toolName() == "dtcc" ? "a model must be given: dtcc MODEL.onnx"
                                      : "a model must be given: MODEL.onnx --bind=batch=N,.., or --transformer=NAME");
  if (failed(checkOptions(options)))
    return failure();
  if (options.output.empty())
    options.output = options.emit == "program" ? llvm::sys::path::stem(options.input).str() : "-";
  return success();
}

static std::vector<OptionRow> optionRows() {
  std::vector<OptionRow> rows;
  for (const Group &group : table())
    for (const Row &row : group.rows)
      rows.push_back({group.title.str(), row.name.str(), row.value.str(), row.choices.str(), row.help.str(),
                      row.initial.str(), row.example.str(), row.list != nullptr});
  return rows;
}

void dtcc::printHelp(raw_ostream &stream) {
  stream << "dtcc MODEL [options] [-o PROGRAM]\n"
            "Compiles a model (.onnx, or .mlir text at any level) into a program that trains it.\n"
         << optionHelp(optionRows());
}

void dtcc::printHelpTable(raw_ostream &stream) { stream << optionTable(optionRows()); }
