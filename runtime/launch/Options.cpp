//===- Options.cpp - The command line of a program ------------ -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/launch/Options.h"

#include "runtime/core/Error.h"
#include "runtime/launch/arguments/Arguments.h"
#include "runtime/launch/arguments/OptionHelp.h"
#include "runtime/launch/arguments/Validators.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <iostream>

namespace dtcc::rt {
namespace {

/// "unknown option --stepz; did you mean --steps?" for the first unknown option among the arguments.
std::string suggestion(const CLI::App &app, const std::vector<std::string> &arguments) {
  for (std::string word : arguments) {
    word.resize(std::min(word.find('='), word.size()));
    if (word.rfind("--", 0) != 0 || app.get_option_no_throw(word))
      continue;
    std::string best = nearestOption(app, word);
    return "unknown option " + word + (best.empty() ? std::string() : "; did you mean " + best + "?");
  }
  return "";
}

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

/// Checks the options of evaluations against each other, and completes them.
void checkEvaluation(Options &options, const Image &image) {
  EvaluationOptions &eval = options.evaluation;
  eval.data.prefix = "--eval-";
  eval.data.documents = options.data.documents;
  if (options.data.documents.start && !options.data.documents.mark())
    failWith(Status::Usage, "--documents=start needs --eos=ID, the token that ends a document, or --bos=ID");
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
  if (rate.least > rate.base)
    failWith(Status::Usage, "--min-lr must be at most the rate ", rate.base, ", got: ", rate.least);
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

void addGeneration(CLI::App &app, GenerateOptions &generate, std::string &prompt) {
  std::string group = "Generation";
  app.add_option("--generate", generate.tokens, "Write the prompt and so many tokens behind it, and stop")
      ->transform(atLeast<int64_t>(1))
      ->group(group);
  app.add_option("--prompt-tokens", prompt, "Token ids to go on from, separated by commas")->group(group);
  app.add_option("--temperature", generate.temperature, "Draw tokens at this temperature (default: 0, the likeliest)")
      ->transform(atLeast(0.0))
      ->group(group);
  app.add_option("--top-k", generate.topK, "Draw among so many of the likeliest tokens (default: all)")
      ->transform(atLeast<int64_t>(1))
      ->group(group);
  app.add_option("--stop-token", generate.stop, "End behind this token")->transform(atLeast<int64_t>(0))->group(group);
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

} // namespace

std::optional<Options> parseOptions(int argc, char **argv, const Image &image, const Worlds &worlds, int &status) {
  Options options;
  options.rate.base = image.training().lr;
  options.rate.schedule = static_cast<LearningRate::Schedule>(image.training().schedule);
  options.rate.warmup = image.training().warmup;
  options.seed = image.training().seed;

  CLI::App app("Trains " + std::string(image.string(image.header().model)) + " on " + worlds.text() +
               ". Compiled by dtcc.");
  setHelp(app);
  // --help-table, for tools/options, has the options of all devices.
  const bool isTable = argc == 2 && std::string_view(argv[1]) == "--help-table";
  const bool hasGpus = image.isForGpus() || isTable, hasCores = !image.isForGpus() || isTable;
  std::string config; // Arguments reads it
  app.add_option("--config", config, "Options in a file of TOML, as steps = 100; the command line's win");
  std::string data = "Data";
  app.add_option("--data", options.data.data, "Folder of .npy files named like the inputs, or NAME=FILE (repeatable)")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false)
      ->group(data);
  app.add_option("--tokens", options.data.tokens,
                 "Token ids: files, folders or globs, separated by commas: .npy, .bin of llm.c or nanoGPT, or any with "
                 ":u8, :u16 or :u32 behind it; @WEIGHT behind each makes a mixture (repeatable)")
      ->join(',')
      ->expected(1)
      ->allow_extra_args(false)
      ->group(data);
  app.add_option("--shuffle", options.data.shuffle, "Shuffle the samples anew in each epoch, by this seed")
      ->transform(atLeast<uint64_t>(0))
      ->group(data);

  DocumentOptions &documents = options.data.documents;
  auto *eos = app.add_option("--eos", documents.eos, "Token that ends each document of --tokens")
                  ->transform(atLeast<int64_t>(0))
                  ->group(data);
  app.add_option("--bos", documents.bos, "Token that begins each document of --tokens, in place of --eos")
      ->transform(atLeast<int64_t>(0))
      ->excludes(eos)
      ->group(data);
  Words<bool> cuts{{"start", true}, {"cross", false}};
  app.add_option("--documents", documents.start, "start: windows start at documents; cross: one after the other")
      ->default_str("cross")
      ->transform(oneOf(cuts))
      ->group(data);

  std::string evaluation = "Evaluation";
  EvaluationOptions &eval = options.evaluation;
  app.add_option("--eval-tokens", eval.data.tokens, "Token ids to evaluate, as --tokens")
      ->join(',')
      ->expected(1)
      ->allow_extra_args(false)
      ->group(evaluation);
  app.add_option("--eval-data", eval.data.data, "Data to evaluate, as --data (repeatable)")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false)
      ->group(evaluation);
  app.add_option("--eval-fraction", options.data.heldOut,
                 "Evaluate this part of --tokens or --data, and train on the rest")
      ->check(fraction())
      ->group(evaluation);
  app.add_option("--eval-every", eval.every, "Steps between evaluations (default: at the end)")
      ->transform(atLeast<int64_t>(1))
      ->group(evaluation);
  app.add_option("--eval-steps", eval.steps, "Batches of an evaluation (default: all of the data)")
      ->transform(atLeast<int64_t>(1))
      ->group(evaluation);
  app.add_flag("--eval-only", eval.only, "Evaluate the newest checkpoint of --checkpoint, or the weights, and stop")
      ->group(evaluation);
  app.add_flag("--eval-average", eval.ofAverages,
               "Evaluate, generate and save the best with the averages of the parameters (dtcc --ema)")
      ->group(evaluation);
  app.add_option("--save-best", eval.best.path, "The model of the smallest loss of evaluations so far, as --save")
      ->group(evaluation);

  std::string prompt;
  addGeneration(app, options.generate, prompt);

  std::string training = "Training";
  app.add_option("--steps", options.steps, "Total number of optimizer steps (default: one pass over the data)")
      ->transform(atLeast<int64_t>(1))
      ->group(training);
  app.add_option("--epochs", options.epochs, "Passes over the data, in place of --steps")
      ->transform(atLeast<int64_t>(1))
      ->group(training);
  app.add_option("--lr", options.rate.base, "Learning rate")
      ->transform(atLeast(0.0))
      ->capture_default_str()
      ->group(training);
  Words<LearningRate::Schedule> schedules{{"constant", LearningRate::Constant},
                                          {"linear", LearningRate::Linear},
                                          {"cosine", LearningRate::Cosine},
                                          {"wsd", LearningRate::WarmupStableDecay},
                                          {"inverse-sqrt", LearningRate::InverseSqrt}};
  const char *compiled = "constant";
  for (const auto &[name, schedule] : schedules)
    compiled = schedule == options.rate.schedule ? name.c_str() : compiled;
  app.add_option("--lr-schedule", options.rate.schedule, "How the rate goes on after warm-up")
      ->default_str(compiled)
      ->transform(oneOf(schedules))
      ->group(training);
  app.add_option("--warmup", options.rate.warmup, "Steps over which the learning rate rises from 0")
      ->capture_default_str()
      ->transform(atLeast<int64_t>(0))
      ->group(training);
  app.add_option("--min-lr", options.rate.least, "Rate to which --lr-schedule falls")
      ->transform(atLeast(0.0))
      ->capture_default_str()
      ->group(training);
  app.add_option("--decay-steps", options.rate.decaySteps,
                 "Steps of the fall (default: all behind the warm-up; of wsd the last tenth)")
      ->transform(atLeast<int64_t>(1))
      ->group(training);
  app.add_option("--lr-restart", options.rate.restart,
                 "End the schedule at this step, and begin it anew behind it, with its warm-up")
      ->transform(atLeast<int64_t>(1))
      ->group(training);
  app.add_option("--seed", options.seed, "Seed of all random numbers")
      ->transform(atLeast<uint64_t>(0))
      ->capture_default_str()
      ->group(training);
  app.add_option("--weights", options.weights, "Start from this .safetensors file, or folder of a model and its index")
      ->group(training);

  Words<OnNonfinite> choices{
      {"stop", OnNonfinite::Stop}, {"skip", OnNonfinite::Skip}, {"rollback", OnNonfinite::Rollback}};
  app.add_option("--on-nonfinite", options.onNonfinite, "What happens where loss or gradient is NaN or infinite")
      ->default_str("stop")
      ->transform(oneOf(choices))
      ->group(training);

  Words<bool> overflows{{"stop", false}, {"drop", true}};
  app.add_option("--on-moe-overflow", options.mayDropRows,
                 "What happens to rows of experts beyond a rank's room for them (--moe-capacity of the compiler)")
      ->default_str("stop")
      ->transform(oneOf(overflows))
      ->group(training);

  app.add_option("--max-grad-norm-ratio", options.maxGradNormRatio,
                 "Take a step whose gradients' norm is above X times the median of the last 32 for such a step")
      ->transform(atLeast(1.0))
      ->group(training);

  std::string output = "Output", hidden; // what does nothing here is not shown
  app.add_option("--metrics", options.metrics, "JSON lines file with a line for each step")->group(output);
  app.add_option("--grad-norms", options.gradNormsEvery,
                 "Every N steps, --metrics has the norm of each parameter's gradient, before clipping")
      ->transform(atLeast<int64_t>(1))
      ->group(output);
  app.add_option("--save", options.save.path, "Trained model: FILE.safetensors, FOLDER/ of shards, or FILE.onnx")
      ->group(output);
  app.add_flag("--save-trained", options.save.trainedOnly, "Save only parameters that trained, such as adapters")
      ->group(output);
  app.add_flag("--save-merged", options.save.merged, "Save the layers with their adapters added, and no adapters")
      ->group(output);
  app.add_option("--save-average", options.saveAverage.path, "Averages of the parameters (dtcc --ema), as --save")
      ->group(output);
  Words<SaveType> types{
      {"model", SaveType::Model}, {"f32", SaveType::F32}, {"bf16", SaveType::BF16}, {"f16", SaveType::F16}};
  app.add_option("--save-type", options.save.type, "Type of saved floats; model: that of the model's file")
      ->default_str("model")
      ->transform(oneOf(types))
      ->group(output);
  app.add_option("--shard-size", options.save.shardBytes, "Largest shard of --save=FOLDER/, in bytes (default: 5GB)")
      ->transform(bytes())
      ->group(output);
  app.add_option("--checkpoint", options.checkpoint, "Folder of checkpoints")->group(output);
  app.add_option("--checkpoint-every", options.checkpointEvery, "Steps between checkpoints (default: at the end)")
      ->transform(atLeast<int64_t>(1))
      ->group(output);
  app.add_flag("--checkpoint-local", options.checkpointLocal, "Hosts share no folder: each keeps what its ranks write")
      ->group(output);
  app.add_option("--keep", options.keep.newest, "Newest checkpoints that stay (default: all)")
      ->transform(atLeast<int64_t>(1))
      ->group(output);
  app.add_option("--keep-every", options.keep.every, "Besides --keep, those of every N steps stay")
      ->transform(atLeast<int64_t>(1))
      ->group(output);
  app.add_flag("--resume", options.resume, "Go on from the newest whole checkpoint, if there is one")->group(output);
  app.add_flag("--resume-anyway", options.resumeAnyway, "Also with other data, another optimizer, model or seed")
      ->group(output);
  app.add_option("--profile", options.profile, "Trace for Perfetto; with --info, of the forecast")->group(output);
  std::string window;
  app.add_option("--profile-steps", window, "Steps of --profile: the first and the last (default: all)")->group(output);
  app.add_flag("--info", options.info, "Print plan, memory, forecast and defaults, and stop")->group(output);

  std::string machine = "Machine";
  app.add_option("--threads", options.threads, "Threads of each rank (default: cores / ranks)")
      ->transform(between(1, 4096))
      ->group(machine);
  // GPUs always do.
  app.add_flag("--overlap", options.overlap, "Run collectives on a thread of their own")
      ->group(hasCores ? machine : hidden);
  Words<GraphUse> uses{{"auto", GraphUse::Auto}, {"on", GraphUse::On}, {"off", GraphUse::Off}};
  if (hasGpus)
    app.add_option("--cuda-graph", options.graphs, "Launch steps as CUDA graphs: auto (if possible), on, off")
        ->transform(oneOf(uses))
        ->group(machine);
  Words<bool> attentions{{"auto", false}, {"own", true}};
  if (hasGpus)
    app.add_option("--attention", options.ownAttention, "auto (cuDNN's, if available) or own (equal bits in every run)")
        ->transform(oneOf(attentions))
        ->group(machine);
  app.add_option(
         "--tune", options.tune,
         "Measure at start which way of several computes matrix products, convolutions and GPUs' attention, and "
         "keep the choices in this file")
      ->group(machine);
  app.add_option("--hang-timeout", options.hangSeconds, "Seconds after which waiting counts as a hang")
      ->transform(atLeast<int>(1))
      ->capture_default_str()
      ->group(machine);
  std::string hosts = "Processes that no launcher knows";
  auto *rendezvous = app.add_option("--rendezvous", options.rendezvous,
                                    "HOST:PORT of rank 0, where ranks meet (default: as torchrun or srun say)")
                         ->group(hosts);
  auto *rank = app.add_option("--rank", options.rank, "Number of this process, from 0")
                   ->transform(atLeast<int64_t>(0))
                   ->needs(rendezvous)
                   ->group(hosts);
  auto *ranks =
      app.add_option("--ranks", options.ranks, "Ranks in all; without --rank they are threads, by the plan for so many")
          ->transform(atLeast<int64_t>(1))
          ->group(hosts);
  rank->needs(ranks);
  app.add_option("--token-file", options.tokenFile, "File of a secret that all ranks of the run have")->group(hosts);
  if (isTable) {
    std::cout << optionTable(optionRows(app));
    return std::nullopt;
  }
  options.choices = optionGroups(optionRows(app));
  Arguments arguments(app, argc, argv);
  options.record = arguments.configText();
  try {
    app.name(argv[0]);
    app.parse(std::vector<std::string>(arguments.words().rbegin(), arguments.words().rend()));
    if (options.rank >= 0 && options.rank >= options.ranks)
      failWith(Status::Usage, "--rank must be less than --ranks=", options.ranks, ", got: ", options.rank);
    options.hasSeed = app.count("--seed") > 0;
    options.resume |= options.resumeAnyway;
    checkEvaluation(options, image);
    checkProfile(options, window);
    checkGeneration(app, options, prompt, image);
    checkAverages(options, image);
    checkRate(app, options.rate);
    if (options.epochs > 0 && options.steps > 0)
      failWith(Status::Usage, "--epochs and --steps both say how long to train: give one of them");
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
    if (options.save.path.empty() && eval.best.path.empty() && options.saveAverage.path.empty() &&
        (app.count("--save-type") || app.count("--shard-size")))
      failWith(Status::Usage, app.count("--save-type") ? "--save-type" : "--shard-size", " needs --save");
    return options;
  } catch (const CLI::CallForHelp &) {
    std::cout << app.help();
    status = 0;
  } catch (const CLI::CallForVersion &) {
    std::cout << app.version() << "\n";
    status = 0;
  } catch (const CLI::ParseError &error) {
    std::string text = suggestion(app, arguments.words());
    if (std::vector<std::string> extras = app.remaining(); text.empty() && !extras.empty())
      text = "every argument must be an option, got: " + extras.front();
    std::cerr << "error: " << (text.empty() ? error.what() : text) << " (--help lists the options)\n";
    status = static_cast<int>(Status::Usage);
  }
  return std::nullopt;
}

} // namespace dtcc::rt
