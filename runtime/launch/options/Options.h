//===- Options.h - A program's options as a value -------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The options of a compiled program as a value; `PROGRAM --help` lists them.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_LAUNCH_OPTIONS_OPTIONS_H
#define DTCC_RUNTIME_LAUNCH_OPTIONS_OPTIONS_H

#include "runtime/abi/console/OptionRow.h"
#include "runtime/checkpoint/folder/CheckpointFolder.h"
#include "runtime/checkpoint/save/Save.h"
#include "runtime/data/Batches.h"
#include "runtime/device/Device.h"
#include "runtime/generate/GenerateOptions.h"
#include "runtime/image/Trace.h"
#include "runtime/launch/options/LearningRate.h"

#include <optional>
#include <string>

namespace dtcc::rt {

/// Options of evaluations: their data, and when they run.
struct EvaluationOptions {
  DataOptions data;  /* files of its own, or the part of the training data that is held out */
  int64_t every = 0; /* steps; 0: at the end only */
  int64_t steps = 0; /* batches; 0: all of the data */
  bool only = false; /* nothing is trained */
  SaveOptions best;  /* the model of the smallest loss */
  /// Whether evaluations, generation and the best model use the averages of the parameters.
  bool ofAverages = false;
  bool isAsked() const { return data.areGiven(); }
};

/// Answer of a run to a step whose loss or gradient is not finite: end, go on without its update, or go back to the
/// newest checkpoint and go on with the data behind the step.
enum class OnNonfinite { Stop, Skip, Rollback };

struct Options {
  DataOptions data;
  EvaluationOptions evaluation;
  GenerateOptions generate;
  int64_t steps = 0;  /* 0: as many as `epochs` passes over the data take */
  int64_t epochs = 0; /* 0: one, if `steps` is 0 */
  LearningRate rate;
  std::string metrics;
  int64_t gradNormsEvery = 0;    /* steps between norms of gradients by parameter; 0: none */
  std::string record;            /* the options that were given, as a file of --config */
  SaveOptions save, saveAverage; /* the parameters, and their averages */
  std::string weights;           /* empty: what the compiler was told, or stored */
  std::string checkpoint;
  bool checkpointLocal = false; /* each host keeps the files of its ranks */
  int64_t checkpointEvery = 0;  /* 0: at the end only */
  KeepOptions keep;
  bool resume = false, resumeAnyway = false;
  OnNonfinite onNonfinite = OnNonfinite::Stop;
  bool mayDropRows = false;    /* of experts, beyond a rank's room for them */
  double maxGradNormRatio = 0; /* to the median of the last steps' norms; 0: none */
  std::string profile;
  StepWindow profileSteps;
  uint64_t seed = 0;
  bool hasSeed = false; /* --seed was given */
  bool info = false;
  std::vector<OptionGroup> choices; /* all options of the program, for --info */
  int threads = 0;                  /* of each rank; 0: cores / ranks */
  bool overlap = false;
  std::string tune;          /* file of choices; empty: nothing is measured */
  bool ownAttention = false; /* of programs for GPUs: not cuDNN's */
  int hangSeconds = 600;
  std::string rendezvous;       /* HOST:PORT; empty: as the launcher says */
  int64_t rank = -1, ranks = 0; /* as --rank and --ranks say; -1, 0: the launcher does */
  std::string tokenFile;
  GraphUse graphs = GraphUse::Auto; /* of programs for GPUs */

  /// Whether the run has steps, and does not only evaluate or generate.
  bool trains() const { return !evaluation.only && !generate.isAsked(); }
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_LAUNCH_OPTIONS_OPTIONS_H
