//===- CheckOptions.cpp - Options against each other and the program -- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/launch/options/CheckOptions.h"

#include "runtime/core/Error.h"

#include <algorithm>
#include <charconv>

namespace dtcc::rt {
namespace {

bool hasAverages(const Image &image) {
  return std::any_of(image.phases().begin(), image.phases().end(),
                     [](const dtcc_phase &phase) { return phase.use == DTCC_PHASE_EXCHANGES_AVERAGES; });
}

/// Checks the options of averages, and completes them.
void checkAverages(Options &options, const Image &image) {
  bool saves = !options.saveAverage.path.empty(), evaluates = options.evaluation.ofAverages;
  const char *option = saves ? "--save-average" : "--eval-average";
  if ((saves || evaluates) && !hasAverages(image))
    failWith(Status::Usage, option, " needs averages of the parameters: compile with --ema=0.999, without --no-eval");
  if (saves && !options.trains())
    failWith(Status::Usage, "--save-average saves what a run has trained: leave ",
             options.evaluation.only ? "--eval-only" : "--generate", " out");
  if (evaluates && !options.evaluation.isAsked() && !options.generate.isAsked())
    failWith(Status::Usage,
             "--eval-average needs data to evaluate: give --eval-tokens, --eval-data or --eval-fraction");
  options.saveAverage.type = options.save.type;
  options.saveAverage.shardBytes = options.save.shardBytes;
  options.saveAverage.trainedOnly = options.evaluation.best.trainedOnly = options.save.trainedOnly;
  options.saveAverage.merged = options.evaluation.best.merged = options.save.merged;
  const char *part = options.save.trainedOnly ? "--save-trained" : "--save-merged";
  if (options.save.trainedOnly && options.save.merged)
    failWith(Status::Usage, "--save-merged saves the whole model, and --save-trained a part: leave one out");
  if ((options.save.trainedOnly || options.save.merged) && options.save.path.empty() && !saves &&
      options.evaluation.best.path.empty())
    failWith(Status::Usage, part, " needs --save");
}

bool hasGradNorm(const Image &image) {
  return std::any_of(image.stages().begin(), image.stages().end(),
                     [](const dtcc_stage &stage) { return stage.scalars[DTCC_SCALAR_GRAD_NORM] != DTCC_NONE; });
}

/// Checks the options of documents against each other.
void checkDocuments(const CLI::App &app, const DocumentOptions &documents) {
  if (app.count("--eos") && app.count("--bos"))
    failWith(Status::Usage, "--eos and --bos both say where documents meet: give the one that the data has");
  if (documents.start && !documents.mark())
    failWith(Status::Usage, "--documents=start needs --eos=ID, the token that ends a document, or --bos=ID");
}

/// Checks the options of evaluations against each other, and completes them.
void checkEvaluation(Options &options, const Image &image) {
  EvaluationOptions &eval = options.evaluation;
  eval.data.prefix = "--eval-";
  eval.data.documents = options.data.documents;
  const double heldOut = options.data.heldOut;
  if (heldOut > 0 && eval.isAsked())
    failWith(Status::Usage, "--eval-fraction holds out a part of the data: give it, or --eval-tokens and --eval-data");
  if (heldOut > 0) {
    eval.data = options.data;
    eval.data.isHeldOut = true;
    eval.data.shuffle = {};
  }
  if (!eval.isAsked()) {
    const char *option = eval.only                ? "--eval-only"
                         : eval.every > 0         ? "--eval-every"
                         : eval.steps > 0         ? "--eval-steps"
                         : eval.best.path.empty() ? nullptr
                                                  : "--save-best";
    if (option)
      failWith(Status::Usage, option, " needs data to evaluate: give --eval-tokens, --eval-data or --eval-fraction");
    return;
  }
  if (image.stages()[0].evaluation == 0)
    failWith(Status::Usage, "this program has no evaluation: compile it without --no-eval");
  if (eval.only && (!eval.best.path.empty() || !options.save.path.empty()))
    failWith(Status::Usage, "--eval-only trains nothing that ", eval.best.path.empty() ? "--save" : "--save-best",
             " could save");
  eval.best.type = options.save.type;
  eval.best.shardBytes = options.save.shardBytes;
}

/// Refuses options of a schedule that the rate does not follow.
void checkRate(const CLI::App &app, const LearningRate &rate) {
  bool falls = rate.schedule != LearningRate::Constant;
  if (!falls && (app.count("--min-lr") || app.count("--decay-steps")))
    failWith(Status::Usage, app.count("--min-lr") ? "--min-lr" : "--decay-steps",
             " needs a rate that falls: give --lr-schedule=cosine, linear, wsd or inverse-sqrt");
  if (rate.schedule == LearningRate::InverseSqrt && app.count("--decay-steps"))
    failWith(Status::Usage,
             "--decay-steps is not for --lr-schedule=inverse-sqrt, whose rate falls as long as it trains");
  if (rate.restart > 0 && !falls && rate.warmup == 0)
    failWith(Status::Usage,
             "--lr-restart begins a schedule anew, and the rate is constant: give --lr-schedule or --warmup");
  if (rate.least > rate.base)
    failWith(Status::Usage, "--min-lr must be at most the rate ", rate.base, ", got: ", rate.least);
}

/// A program of several worlds takes the option in all of them: one whose experts are not split has no bound.
void checkOverflow(const CLI::App &app, const Worlds &worlds) {
  auto bounds = [](const dtcc_world &world) {
    const Image image(world.image, world.kernel_count);
    return std::any_of(image.commands().begin(), image.commands().end(), [](const dtcc_command &command) {
      return command.kind == DTCC_LIBRARY && command.op == DTCC_LIB_PACK_PICKS;
    });
  };
  if (app.count("--on-moe-overflow") && std::none_of(worlds.all().begin(), worlds.all().end(), bounds))
    failWith(Status::Usage,
             "--on-moe-overflow is for rows of experts beyond the room of a rank, and this program has room "
             "for all: leave it out, or compile with --moe-capacity=1.25");
}

/// The tokens of "1,2,3".
std::vector<int64_t> parseTokens(const std::string &text) {
  std::vector<int64_t> tokens;
  for (const char *at = text.data(), *end = at + text.size();; ++at) {
    auto [next, error] = std::from_chars(at, end, tokens.emplace_back());
    if (error != std::errc() || (next != end && *next != ','))
      failWith(Status::Usage, "--prompt-tokens must be token ids separated by commas, got: ", text);
    if (next == end)
      return tokens;
    at = next;
  }
}

/// The steps of "100:103", or of "100".
StepWindow parseWindow(const std::string &text) {
  StepWindow window{0, 0};
  const char *end = text.data() + text.size();
  auto [colon, error] = std::from_chars(text.data(), end, window.first);
  bool good = error == std::errc() && (colon == end || *colon == ':');
  window.last = window.first;
  if (good && colon != end) {
    auto [last, wrong] = std::from_chars(colon + 1, end, window.last);
    good = wrong == std::errc() && last == end;
  }
  if (!good || window.first < 1 || window.last < window.first)
    failWith(Status::Usage, "--profile-steps must be a first and a last step, as 100:103, got: ", text);
  return window;
}

/// Checks the options of the profile against each other.
void checkProfile(Options &options, const std::string &steps) {
  if (steps.empty())
    return;
  options.profileSteps = parseWindow(steps);
  if (options.profile.empty())
    failWith(Status::Usage, "--profile-steps needs --profile=FILE");
  if (options.info)
    failWith(Status::Usage, "--info draws the forecast of one step: leave --profile-steps out");
}

/// Checks the options of generation against each other, and completes them.
void checkGeneration(const CLI::App &app, Options &options, const std::string &prompt, const Image &image) {
  if (!options.generate.isAsked()) {
    for (const char *option : {"--prompt-tokens", "--temperature", "--top-k", "--stop-token"})
      if (app.count(option))
        failWith(Status::Usage, option, " needs --generate=N");
    return;
  }
  for (const char *option : {"--data", "--tokens", "--eval-data", "--eval-tokens", "--eval-fraction", "--eval-only",
                             "--eos", "--bos", "--documents", "--eval-every", "--steps", "--epochs", "--metrics",
                             "--save", "--save-best", "--profile", "--profile-steps"})
    if (app.count(option))
      failWith(Status::Usage, "--generate only writes tokens: leave ", option, " out");
  if (prompt.empty())
    failWith(Status::Usage, "--generate needs a prompt: give --prompt-tokens=ID,ID,..");
  options.generate.prompt = parseTokens(prompt);
  if (options.generate.topK > 0 && options.generate.temperature == 0)
    failWith(Status::Usage, "--top-k needs --temperature above 0: at 0 the likeliest token is always taken");
  const dtcc_stage &stage = image.stages()[0];
  if (uint32_t logits = stage.scalars[DTCC_SCALAR_PREDICTION]; logits == DTCC_NONE || image.views()[logits].rank == 0)
    failWith(Status::Usage, "this program cannot generate: that needs one cross entropy of tokens with an ignored "
                            "label, and a program compiled without --no-eval and without a split of positions");
}

/// Refuses options of checkpoints without a folder of checkpoints.
void checkCheckpoints(const Options &options) {
  if (options.keep.every > 0 && options.keep.newest == 0)
    failWith(Status::Usage, "--keep-every needs --keep=N");
  if (options.keep.newest > 0 && options.checkpoint.empty())
    failWith(Status::Usage, "--keep needs --checkpoint=DIR");
  const char *ofFolder = options.resume                ? "--resume"
                         : options.checkpointEvery > 0 ? "--checkpoint-every"
                         : options.checkpointLocal     ? "--checkpoint-local"
                                                       : nullptr;
  if (ofFolder && options.checkpoint.empty())
    failWith(Status::Usage, ofFolder, " needs --checkpoint=DIR");
  if (options.onNonfinite == OnNonfinite::Rollback && options.checkpoint.empty())
    failWith(Status::Usage, "--on-nonfinite=rollback needs --checkpoint=DIR");
}

/// Refuses options about norms of gradients that the program does not compute, or computes after it has updated.
void checkGradNorms(const Options &options, const Image &image) {
  const char *late = options.onNonfinite == OnNonfinite::Skip ? "--on-nonfinite=skip"
                     : options.maxGradNormRatio > 0           ? "--max-grad-norm-ratio"
                                                              : nullptr;
  if (late && updatesEarly(image))
    failWith(Status::Usage, late,
             " leaves updates out by the norm of all gradients, and this program has made them "
             "before (dtcc --update=early): take --on-nonfinite=rollback, or compile with --update=late");
  const char *normed = options.maxGradNormRatio > 0 ? "--max-grad-norm-ratio"
                       : options.gradNormsEvery > 0 ? "--grad-norms"
                                                    : nullptr;
  if (normed && !hasGradNorm(image))
    failWith(Status::Usage, normed, " needs the norm of the gradients, which this program does not compute");
  if (options.gradNormsEvery > 0 && options.metrics.empty())
    failWith(Status::Usage, "--grad-norms needs --metrics=FILE");
}

/// Refuses options about the form of saved models where no model is saved.
void checkSaves(const CLI::App &app, const Options &options) {
  bool saves = !options.save.path.empty() || !options.evaluation.best.path.empty() || !options.saveAverage.path.empty();
  if (!saves && (app.count("--save-type") || app.count("--shard-size")))
    failWith(Status::Usage, app.count("--save-type") ? "--save-type" : "--shard-size", " needs --save");
}

/// Checks the number of a process that no launcher started.
void checkProcesses(const CLI::App &app, const Options &options) {
  if (!app.count("--rank"))
    return;
  for (const char *option : {"--rendezvous=HOST:PORT", "--ranks=N"})
    if (std::string name(option, std::string_view(option).find('=')); !app.count(name))
      failWith(Status::Usage, "--rank needs ", option);
  if (options.rank >= options.ranks)
    failWith(Status::Usage, "--rank must be less than --ranks=", options.ranks, ", got: ", options.rank);
}

} // namespace

void checkOptions(const CLI::App &app, CommandLine &line, const Image &image, const Worlds &worlds) {
  Options &options = line.options;
  checkProcesses(app, options);
  options.hasSeed = app.count("--seed") > 0;
  options.resume |= options.resumeAnyway;
  checkDocuments(app, options.data.documents);
  checkEvaluation(options, image);
  checkProfile(options, line.profileSteps);
  checkGeneration(app, options, line.promptTokens, image);
  checkAverages(options, image);
  checkRate(app, options.rate);
  if (options.epochs > 0 && options.steps > 0)
    failWith(Status::Usage, "--epochs and --steps both say how long to train: give one of them");
  checkOverflow(app, worlds);
  checkCheckpoints(options);
  checkGradNorms(options, image);
  checkSaves(app, options);
}

} // namespace dtcc::rt
