//===- OptionTable.cpp - The command line of dtcc -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/console/ErrorStream.h"
#include "compiler/options/Options.h"
#include "planner/parallelism/Schedules.h"
#include "runtime/abi/ConfigFile.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Path.h"
#include <functional>

using namespace mlir;
using namespace dtcc;

namespace {
/// One option: the field of Options that it sets, and its line of --help.
struct Row {
  StringRef name, value, help;
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

Row text(StringRef name, StringRef value, std::string Options::*where, StringRef help, StringRef choices = "") {
  Row row{name, value, help};
  row.text = where;
  row.choices = choices;
  return row;
}
Row list(StringRef name, StringRef value, std::vector<std::string> Options::*where, StringRef help) {
  Row row{name, value, help};
  row.list = where;
  return row;
}
Row integer(StringRef name, int64_t Options::*where, StringRef help) {
  Row row{name, "N", help};
  row.integer = where;
  return row;
}
Row flag(StringRef name, bool Options::*where, StringRef help) {
  Row row{name, "", help};
  row.flag = where;
  return row;
}

const std::vector<Group> &table() {
  static const std::vector<Group> groups = [] {
    Row clip{"clip", "X", "clip by the global norm of the gradients"};
    clip.real = &Options::clip;
    Row lossScale{"loss-scale", "X", "initial loss scale of fp16; default: 65536"};
    lossScale.real = &Options::lossScale;
    static const std::string schedules = cost::scheduleNames() + ", or a file";
    return std::vector<Group>{
        {"The model",
         {text("bind", "batch=8,seq=128", &Options::bind, "values of symbolic dimensions"),
          text("loss", "KIND:key=value,..", &Options::loss, "attach a loss: cross_entropy, mse, bce, l1"),
          text("loss-output", "NAME", &Options::lossOutput, "which output is the loss"),
          list("trainable", "GLOB", &Options::trainable, "parameters that train"),
          list("freeze", "GLOB", &Options::freeze, "parameters that do not train"),
          list("tie", "A=B", &Options::tie, "train two parameters as one"),
          text("train-mode", "force|as-is", &Options::trainMode, "switch norms and dropout to training, or not",
               "force|as-is"),
          text("batch-norm", "global|rank", &Options::batchNorm, "statistics of the whole batch, or of each rank",
               "global|rank"),
          text("weights", "FOLDER|FILE", &Options::weights, "start from .safetensors, which the program reads"),
          text("init", "model|random", &Options::init, "start values: the model's, or random", "model|random"),
          text("external-root", "DIR", &Options::externalRoot, "another folder that may hold external data")}},
        {"Training",
         {text("optimizer", "KIND:key=value,..", &Options::optimizer, "adamw, adam, sgd, adagrad, lion"), clip,
          list("decay", "GLOB", &Options::decay, "parameters with weight decay"),
          list("no-decay", "GLOB", &Options::noDecay, "parameters without weight decay"),
          text("precision", "f32|bf16|fp16", &Options::precision, "type of products; f32 on cores, bf16 on GPUs",
               "f32|bf16|fp16"),
          lossScale}},
        {"The plan: options that are not given are searched",
         {text("cluster", "cpu:4|8xh100|FILE", &Options::cluster, "the machines; cpu: this one"),
          text("mesh", "dp=2,tp=2,..", &Options::mesh, "dp, tp, cp, ep, pp; dp=2x4: ZeRO in 2 groups of 4"),
          text("sequence-parallel", "on|off", &Options::sequenceParallel, "split positions over tp between products",
               "on|off"),
          text("cp-attention", "gather|..|auto", &Options::cpAttention,
               "attention over cp: gather, alltoall, ring, auto", "gather|alltoall|ring|auto"),
          text("cp-order", "zigzag|contiguous|auto", &Options::cpOrder, "order of positions over ranks of cp",
               "zigzag|contiguous|auto"),
          text("moe-dispatch", "gather|alltoall|auto", &Options::moeDispatch, "how tokens reach experts over ep",
               "gather|alltoall|auto"),
          integer("zero", &Options::zero, "ZeRO stage, 0 to 3"),
          integer("microbatches", &Options::microbatches, "micro-batches of a step"),
          text("schedule", "NAME|FILE.csv", &Options::schedule, schedules),
          text("recompute", "none|..|auto", &Options::recompute, "none, selective, full; auto: as little as fits",
               "none|selective|full|auto"),
          text("offload", "none|..", &Options::offload, "to host memory of GPUs: optimizer, activations, all",
               "none|optimizer|activations|all"),
          list("pin", "GLOB=LAYOUT", &Options::pin, "fix the layout of a parameter or node: wte=[{tp},{}]"),
          text("plan", "FILE.json", &Options::plan, "a plan, or a part of one")}},
        {"Output",
         {text("o", "PROGRAM", &Options::output, "where to write; default: the model's name"),
          text("config", "FILE.toml", &Options::config, "options in a file, as zero = 1; the command line's win"),
          text("emit", "program|graph|..", &Options::emit, "or plan, spmd, exec, llvm, ptx, onnx",
               "program|plan|graph|spmd|exec|llvm|ptx|onnx"),
          text("mcpu", "native|NAME", &Options::cpu, "processor to generate for; native: this one"),
          text("target", "cpu|cuda", &Options::target, "processors or GPUs; default: as in --cluster", "cpu|cuda"),
          text("gpu-arch", "sm_90,..", &Options::gpuArch, "GPUs to generate for; default: the cluster's"),
          flag("tf32", &Options::tf32, "round the factors of f32 products on GPUs"),
          flag("no-eval", &Options::noEval,
               "leave the evaluation out of the program (its --eval-tokens, --eval-every)"),
          flag("verify", &Options::verify, "check the partitioned step by interpreters"),
          flag("progress", &Options::progress, "print a line for each phase of the compiler"),
          flag("v", &Options::verbose, "print the decisions of the compiler"),
          flag("time-passes", &Options::timePasses, "print the time of each pass"),
          list("print-ir-after", "PASS", &Options::printIrAfter, "print the module after a pass, as exec-fuse"),
          list("print-ir-before", "PASS", &Options::printIrBefore, "print the module before a pass"),
          flag("version", &Options::version, "the version"), flag("help", &Options::help, "this text")}},
    };
  }();
  return groups;
}

const Row *find(StringRef name) {
  for (const Group &group : table())
    for (const Row &row : group.rows)
      if (row.name == name)
        return &row;
  return nullptr;
}

StringRef nearest(StringRef name) {
  StringRef best;
  unsigned distance = 4;
  for (const Group &group : table())
    for (const Row &row : group.rows)
      if (unsigned d = name.edit_distance(row.name, true, distance); d < distance) {
        distance = d;
        best = row.name;
      }
  return best;
}

LogicalResult usage(const Twine &message) {
  errorStream() << message << "; see dtcc --help\n";
  return failure();
}

LogicalResult set(const Row &row, StringRef value, Options &options) {
  if (row.name == "emit" && value == "dist") // an old spelling of the level
    value = "spmd";
  auto wrong = [&](StringRef wanted) { return usage("--" + row.name + " must be " + wanted + ", got: " + value); };
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

/// Refuses what is part of the command line's contract and not built yet: an option that
/// is silently ignored trains something else than was asked for.
static LogicalResult refuseLater(const Options &options) {
  if (options.lossScale > 0 && options.precision != "fp16")
    return usage("--loss-scale needs --precision=fp16");
  if (options.verify && (options.emit == "graph" || options.emit == "plan" || options.emit == "onnx"))
    return usage("--verify checks the partitioned step, which --emit=" + options.emit + " does not make");
  if (options.emit == "onnx" && !StringRef(options.input).ends_with(".onnx"))
    return usage("--emit=onnx writes an ONNX model again, got: " + options.input);
  if (options.emit == "onnx" && (options.output.empty() || options.output == "-"))
    return usage("--emit=onnx must have a file to write: -o annotated.onnx");
  if (options.zero > 3)
    return usage("--zero must be 0, 1, 2 or 3, got: " + Twine(options.zero));
  return success();
}

/// Sets the options of a file, but for those that the command line has.
static LogicalResult readFile(StringRef path, const llvm::StringSet<> &typed, Options &options) {
  std::string error;
  std::optional<std::vector<ConfigOption>> file = readConfig(path.str(), error);
  if (!file)
    return usage(error);
  for (const ConfigOption &each : *file) {
    const Row *row = find(each.name);
    if (each.name == "config" || each.name == "help" || each.name == "version")
      return usage(each.place + "'" + each.name + "' is for the command line alone");
    if (!row) {
      StringRef guess = nearest(each.name);
      return usage(each.place + "unknown option '" + each.name + "'" +
                   (guess.empty() ? "" : "; did you mean '" + guess.str() + "'?"));
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
  llvm::StringSet<> typed;
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
    if (name.starts_with("mlir-")) {
      options.mlir.push_back("--" + argument.ltrim('-').str());
      continue;
    }
    const Row *row = find(name);
    if (!row) {
      StringRef guess = nearest(name);
      return usage("unknown option " + argument + (guess.empty() ? "" : "; did you mean --" + guess.str() + "?"));
    }
    typed.insert(name);
    if (row->flag) {
      if (given)
        return usage("--" + name + " takes no value");
      options.*row->flag = true;
      continue;
    }
    if (!given) {
      if (++i == argc)
        return usage("--" + name + " must have a value: --" + name + "=" + row->value);
      value = argv[i];
    }
    if (failed(set(*row, value, options)))
      return failure();
  }
  if (options.help || options.version)
    return success();
  if (!options.config.empty() && failed(readFile(options.config, typed, options)))
    return failure();
  if (options.input.empty())
    return usage("a model must be given: dtcc MODEL.onnx");
  if (failed(refuseLater(options)))
    return failure();
  if (options.output.empty())
    options.output = options.emit == "program" ? llvm::sys::path::stem(options.input).str() : "-";
  return success();
}

void dtcc::printHelp(raw_ostream &stream) {
  stream << "dtcc MODEL [options] [-o PROGRAM]\n"
            "Compiles a model (.onnx, or .mlir text at any level) into a program that trains it.\n";
  for (const Group &group : table()) {
    stream << '\n' << group.title << '\n';
    for (const Row &row : group.rows) {
      std::string left = (row.name.size() == 1 ? "  -" : "  --") + row.name.str();
      if (!row.value.empty())
        left += (row.name == "o" ? " " : "=") + row.value.str();
      stream << left;
      stream.indent(left.size() < 32 ? 32 - left.size() : 1) << row.help << '\n';
    }
  }
}
