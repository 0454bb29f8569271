//===- Options.h - What the user of dtcc asks for -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A value, filled from the command line by the table of OptionTable.cpp, with values as they were written. What they
// ask of a plan is a PlanRequest.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_COMPILER_OPTIONS_OPTIONS_H
#define DTCC_COMPILER_OPTIONS_OPTIONS_H

#include "mlir/Support/LLVM.h"
#include "planner/cluster/Machine.h"
#include "planner/cost/BucketSize.h"
#include "planner/transformer/Transformer.h"
#include <string>
#include <vector>

namespace dtcc {

struct Options {
  std::string input, output;
  /// The model by its sizes, in place of a file; `input` is its name then.
  std::optional<cost::Transformer> sizes;
  /// The file of --config. Its options are among the others.
  std::string config;
  std::string emit = "program";

  // The model.
  std::string bind, loss, lossOutput, externalRoot;
  /// "model" or "random"; if empty, the model decides.
  std::string init;
  /// A checkpoint from which parameters start.
  std::string weights;
  std::string trainMode = "force", batchNorm = "global", batchLosses = "whole";
  std::vector<std::string> trainable, freeze, tie;
  /// Whether attention stays within documents, and positions count from their starts.
  bool maskDocuments = false;

  // Training.
  /// If empty, the model's optimizer, or AdamW if the model names none.
  std::string optimizer;
  /// Norm to which gradients are clipped. If negative, the model's norm, or no clipping if the model names none.
  double clip = -1;
  std::vector<std::string> decay, noDecay, groups;
  /// "early": parameters change as soon as their gradients are complete. Else behind the whole backward pass.
  std::string update;
  double ema = 0; /* weight of the averages of parameters; 0: there are none */
  std::string precision;
  /// Whether --precision was not given, so that the model's type, or else the target, decides.
  bool precisionAssumed = false;
  /// Initial value of fp16's dynamic loss scale; if negative, PyTorch's.
  double lossScale = -1;

  // The plan.
  std::string cluster = "cpu", mesh, schedule, recompute, offload, gradients, headroom, plan, sequenceParallel,
              stationaryWeights;
  std::string cpAttention = "auto", cpOrder = "auto";
  std::string moeDispatch = "auto";
  /// Room for rows of experts on a rank of ep, in means of what ranks receive; negative: for all.
  double moeCapacity = -1;
  std::vector<std::string> pin;
  /// Numbers of ranks that the program has a plan for; empty: one, as the other options say.
  std::string worlds;
  int64_t zero = -1, microbatches = -1;

  // The code.
  /// A row of passes/exec/Target.h; resolveTarget chooses one if it is not given.
  std::string target;
  /// Processor to compile for; if empty, that of this machine.
  std::string cpu;
  /// GPU architectures to compile for; if empty, that of the cluster.
  std::string gpuArch;
  /// Whether kernels are assembled for the architectures of `gpuArch`.
  bool assemble = false;
  /// The place of the model's start values: "program" or "file".
  std::string weightsIn = "program";
  /// Whether the program has no evaluation.
  bool noEval = false;
  bool tf32 = false;
  /// Memory of a GPU of the cluster, in bytes.
  double deviceMemory = 0;
  /// Host memory per GPU, in bytes; 0 if the cluster does not say.
  double hostMemory = 0;
  /// The GPUs of the cluster.
  std::optional<cost::Machine> machine;
  /// Minimum size of a bucket that is gathered or reduced on its own, in bytes (cost::Machine::latencyBytes).
  double latencyBytes = cost::kLatencyBytes;
  /// Bytes that ranks gather in the time of a FLOP (cost::Machine::bytesPerFlop).
  double bytesPerFlop = 0;
  /// Peak of a device of the cluster in matrix products of --precision, in FLOP/s.
  double devicePeak = 0;

  // Options of messages and checks.
  /// Passes around which the module is printed.
  std::vector<std::string> printIrBefore, printIrAfter;
  /// A regular expression of whole names of passes, whose remarks are printed; empty: none are.
  std::string remarks;
  /// MLIR's own options, as they were written (--mlir-timing).
  std::vector<std::string> mlir;
  bool verify = false, progress = false, verbose = false, timePasses = false, help = false, version = false;
  /// --help-table was given, for tools/options.
  bool helpTable = false;
};

/// Exit statuses of every tool (docs/exit-status.md).
enum ExitStatus { kDone = 0, kBadInput = 1, kWrongUsage = 2, kInterrupted = 3 };

/// Fills `options`; on wrong usage prints one message and returns failure.
mlir::LogicalResult parseOptions(int argc, const char *const *argv, Options &options);
void printHelp(llvm::raw_ostream &stream);

/// Prints the options as lines of fields between tabs, from which tools/options makes pages.
void printHelpTable(llvm::raw_ostream &stream);

} // namespace dtcc

#endif // DTCC_COMPILER_OPTIONS_OPTIONS_H
