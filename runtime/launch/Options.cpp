//===- Options.cpp - The command line of a program ------------ -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/launch/Options.h"

#include "runtime/core/Error.h"
#include "runtime/launch/arguments/Arguments.h"
#include "runtime/launch/arguments/DeclaredGroup.h"
#include "runtime/launch/arguments/OptionHelp.h"
#include "runtime/launch/arguments/Validators.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <iostream>

namespace dtcc::rt {
namespace {

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Declarations: a function for each group of --help
//===----------------------------------------------------------------------===//

/// The targets of the command line: the options, and texts that are parsed further once the whole line is read.
struct CommandLine {
  Options options;
  std::string config; /* Arguments reads the file before CLI11 sees the line */
  std::string promptTokens, profileSteps;
};

/// The devices whose options are shown.
struct ShownDevices {
  bool cores, gpus;
};

void declareData(CLI::App &app, DataOptions &options) {
  DeclaredGroup data(app, "Data");
  data.list("--data", options.data, "Folder of .npy files named like the inputs, or NAME=FILE (repeatable)");
  data.joined("--tokens", options.tokens,
              "Token ids: files, folders or globs, separated by commas: .npy, .bin of llm.c or nanoGPT, or any with "
              ":u8, :u16 or :u32 behind it; @WEIGHT behind each makes a mixture (repeatable)");
  data.number("--shuffle", options.shuffle, 0, "Shuffle the samples anew in each epoch, by this seed");
  DocumentOptions &documents = options.documents;
  CLI::Option *eos = data.number("--eos", documents.eos, 0, "Token that ends each document of --tokens");
  data.number("--bos", documents.bos, 0, "Token that begins each document of --tokens, in place of --eos")
      ->excludes(eos);
  data.word("--documents", documents.start, Words<bool>{{"start", true}, {"cross", false}}, "cross",
            "start: windows start at documents; cross: one after the other");
}

void declareEvaluation(CLI::App &app, Options &options) {
  DeclaredGroup evaluation(app, "Evaluation");
  EvaluationOptions &eval = options.evaluation;
  evaluation.joined("--eval-tokens", eval.data.tokens, "Token ids to evaluate, as --tokens");
  evaluation.list("--eval-data", eval.data.data, "Data to evaluate, as --data (repeatable)");
  evaluation
      .option("--eval-fraction", options.data.heldOut,
              "Evaluate this part of --tokens or --data, and train on the rest")
      ->check(fraction());
  evaluation.number("--eval-every", eval.every, 1, "Steps between evaluations (default: at the end)");
  evaluation.number("--eval-steps", eval.steps, 1, "Batches of an evaluation (default: all of the data)");
  evaluation.flag("--eval-only", eval.only, "Evaluate the newest checkpoint of --checkpoint, or the weights, and stop");
  evaluation.flag("--eval-average", eval.ofAverages,
                  "Evaluate, generate and save the best with the averages of the parameters (dtcc --ema)");
  evaluation.option("--save-best", eval.best.path, "The model of the smallest loss of evaluations so far, as --save");
}

void declareGeneration(CLI::App &app, GenerateOptions &options, std::string &promptTokens) {
  DeclaredGroup generation(app, "Generation");
  generation.number("--generate", options.tokens, 1, "Write the prompt and so many tokens behind it, and stop");
  generation.option("--prompt-tokens", promptTokens, "Token ids to go on from, separated by commas");
  generation.number("--temperature", options.temperature, 0,
                    "Draw tokens at this temperature (default: 0, the likeliest)");
  generation.number("--top-k", options.topK, 1, "Draw among so many of the likeliest tokens (default: all)");
  generation.number("--stop-token", options.stop, 0, "End behind this token");
}

/// The defaults of the rate are those with which the program was compiled.
void declareRate(DeclaredGroup &training, LearningRate &rate) {
  training.number("--lr", rate.base, 0, "Learning rate")->capture_default_str();
  const Words<LearningRate::Schedule> schedules{{"constant", LearningRate::Constant},
                                                {"linear", LearningRate::Linear},
                                                {"cosine", LearningRate::Cosine},
                                                {"wsd", LearningRate::WarmupStableDecay},
                                                {"inverse-sqrt", LearningRate::InverseSqrt}};
  std::string compiled = "constant";
  for (const auto &[name, schedule] : schedules)
    compiled = schedule == rate.schedule ? name : compiled;
  training.word("--lr-schedule", rate.schedule, schedules, compiled, "How the rate goes on after warm-up");
  training.number("--warmup", rate.warmup, 0, "Steps over which the learning rate rises from 0")->capture_default_str();
  training.number("--min-lr", rate.least, 0, "Rate to which --lr-schedule falls")->capture_default_str();
  training.number("--decay-steps", rate.decaySteps, 1,
                  "Steps of the fall (default: all behind the warm-up; of wsd the last tenth)");
  training.number("--lr-restart", rate.restart, 1,
                  "End the schedule at this step, and begin it anew behind it, with its warm-up");
}

void declareTraining(CLI::App &app, Options &options) {
  DeclaredGroup training(app, "Training");
  training.number("--steps", options.steps, 1, "Total number of optimizer steps (default: one pass over the data)");
  training.number("--epochs", options.epochs, 1, "Passes over the data, in place of --steps");
  declareRate(training, options.rate);
  training.number("--seed", options.seed, 0, "Seed of all random numbers")->capture_default_str();
  training.option("--weights", options.weights,
                  "Start from this .safetensors file, or folder of a model and its index");
  training.word(
      "--on-nonfinite", options.onNonfinite,
      Words<OnNonfinite>{{"stop", OnNonfinite::Stop}, {"skip", OnNonfinite::Skip}, {"rollback", OnNonfinite::Rollback}},
      "stop", "What happens where loss or gradient is NaN or infinite");
  training.word("--on-moe-overflow", options.mayDropRows, Words<bool>{{"stop", false}, {"drop", true}}, "stop",
                "What happens to rows of experts beyond a rank's room for them (--moe-capacity of the compiler)");
  training.number("--max-grad-norm-ratio", options.maxGradNormRatio, 1,
                  "Take a step whose gradients' norm is above X times the median of the last 32 for such a step");
}

void declareSaves(DeclaredGroup &output, Options &options) {
  output.option("--save", options.save.path, "Trained model: FILE.safetensors, FOLDER/ of shards, or FILE.onnx");
  output.flag("--save-trained", options.save.trainedOnly, "Save only parameters that trained, such as adapters");
  output.flag("--save-merged", options.save.merged, "Save the layers with their adapters added, and no adapters");
  output.option("--save-average", options.saveAverage.path, "Averages of the parameters (dtcc --ema), as --save");
  output.word("--save-type", options.save.type,
              Words<SaveType>{
                  {"model", SaveType::Model}, {"f32", SaveType::F32}, {"bf16", SaveType::BF16}, {"f16", SaveType::F16}},
              "model", "Type of saved floats; model: that of the model's file");
  output.option("--shard-size", options.save.shardBytes, "Largest shard of --save=FOLDER/, in bytes (default: 5GB)")
      ->transform(bytes());
}

void declareCheckpoints(DeclaredGroup &output, Options &options) {
  output.option("--checkpoint", options.checkpoint, "Folder of checkpoints");
  output.number("--checkpoint-every", options.checkpointEvery, 1, "Steps between checkpoints (default: at the end)");
  output.flag("--checkpoint-local", options.checkpointLocal, "Hosts share no folder: each keeps what its ranks write");
  output.number("--keep", options.keep.newest, 1, "Newest checkpoints that stay (default: all)");
  output.number("--keep-every", options.keep.every, 1, "Besides --keep, those of every N steps stay");
  output.flag("--resume", options.resume, "Go on from the newest whole checkpoint, if there is one");
  output.flag("--resume-anyway", options.resumeAnyway, "Also with other data, another optimizer, model or seed");
}

void declareOutput(CLI::App &app, Options &options, std::string &profileSteps) {
  DeclaredGroup output(app, "Output");
  output.option("--metrics", options.metrics, "JSON lines file with a line for each step");
  output.number("--grad-norms", options.gradNormsEvery, 1,
                "Every N steps, --metrics has the norm of each parameter's gradient, before clipping");
  declareSaves(output, options);
  declareCheckpoints(output, options);
  output.option("--profile", options.profile, "Trace for Perfetto; with --info, of the forecast");
  output.option("--profile-steps", profileSteps, "Steps of --profile: the first and the last (default: all)");
  output.flag("--info", options.info, "Print plan, memory, forecast and defaults, and stop");
}

void declareMachine(CLI::App &app, Options &options, ShownDevices shown) {
  DeclaredGroup machine(app, "Machine"), hidden(app, "");
  machine.option("--threads", options.threads, "Threads of each rank (default: cores / ranks)")
      ->transform(between(1, 4096));
  // A program for GPUs takes the option, but always does what it asks for.
  (shown.cores ? machine : hidden).flag("--overlap", options.overlap, "Run collectives on a thread of their own");
  if (shown.gpus) {
    machine.word("--cuda-graph", options.graphs,
                 Words<GraphUse>{{"auto", GraphUse::Auto}, {"on", GraphUse::On}, {"off", GraphUse::Off}}, "",
                 "Launch steps as CUDA graphs: auto (if possible), on, off");
    machine.word("--attention", options.ownAttention, Words<bool>{{"auto", false}, {"own", true}}, "",
                 "auto (cuDNN's, if available) or own (equal bits in every run)");
  }
  machine.option("--tune", options.tune,
                 "Measure at start which way of several computes matrix products, convolutions and GPUs' attention, "
                 "and keep the choices in this file");
  machine.number("--hang-timeout", options.hangSeconds, 1, "Seconds after which waiting counts as a hang")
      ->capture_default_str();
}

void declareProcesses(CLI::App &app, Options &options) {
  DeclaredGroup processes(app, "Processes that no launcher knows");
  CLI::Option *rendezvous = processes.option(
      "--rendezvous", options.rendezvous, "HOST:PORT of rank 0, where ranks meet (default: as torchrun or srun say)");
  CLI::Option *rank = processes.number("--rank", options.rank, 0, "Number of this process, from 0")->needs(rendezvous);
  CLI::Option *ranks = processes.number("--ranks", options.ranks, 1,
                                        "Ranks in all; without --rank they are threads, by the plan for so many");
  rank->needs(ranks);
  processes.option("--token-file", options.tokenFile, "File of a secret that all ranks of the run have");
}

/// Declares all options: --help lists them in this order.
void declareOptions(CLI::App &app, CommandLine &line, ShownDevices shown) {
  Options &options = line.options;
  app.add_option("--config", line.config, "Options in a file of TOML, as steps = 100; the command line's win");
  declareData(app, options.data);
  declareEvaluation(app, options);
  declareGeneration(app, options.generate, line.promptTokens);
  declareTraining(app, options);
  declareOutput(app, options, line.profileSteps);
  declareMachine(app, options, shown);
  declareProcesses(app, options);
}

//===----------------------------------------------------------------------===//
// The whole line
//===----------------------------------------------------------------------===//

/// The options that the program was compiled with, for what the command line does not say.
Options compiledOptions(const dtcc_training &training) {
  Options options;
  options.rate.base = training.lr;
  options.rate.schedule = static_cast<LearningRate::Schedule>(training.schedule);
  options.rate.warmup = training.warmup;
  options.seed = training.seed;
  return options;
}

/// Checks the parsed options against each other and against the program, and completes them.
void checkOptions(const CLI::App &app, CommandLine &line, const Image &image) {
  Options &options = line.options;
  if (options.rank >= 0 && options.rank >= options.ranks)
    failWith(Status::Usage, "--rank must be less than --ranks=", options.ranks, ", got: ", options.rank);
  options.hasSeed = app.count("--seed") > 0;
  options.resume |= options.resumeAnyway;
  checkEvaluation(options, image);
  checkProfile(options, line.profileSteps);
  checkGeneration(app, options, line.promptTokens, image);
  checkAverages(options, image);
  checkRate(app, options.rate);
  if (options.epochs > 0 && options.steps > 0)
    failWith(Status::Usage, "--epochs and --steps both say how long to train: give one of them");
  checkCheckpoints(options);
  checkGradNorms(options, image);
  checkSaves(app, options);
}

/// The reason why CLI11 refuses a line. Where CLI11's message is not in the style of this project, another replaces it.
std::string describeRefusal(const CLI::ParseError &error, const CLI::App &app, const Arguments &arguments) {
  std::string text = suggestion(app, arguments.words());
  if (!text.empty())
    return text;
  std::vector<std::string> extras = app.remaining();
  return extras.empty() ? error.what() : "every argument must be an option, got: " + extras.front();
}

} // namespace

std::optional<Options> parseOptions(int argc, char **argv, const Image &image, const Worlds &worlds, int &status) {
  CLI::App app("Trains " + std::string(image.string(image.header().model)) + " on " + worlds.text() +
               ". Compiled by dtcc.");
  setHelp(app);
  // --help-table, for tools/options, has the options of all devices.
  const bool isTable = argc == 2 && std::string_view(argv[1]) == "--help-table";
  CommandLine line;
  line.options = compiledOptions(image.training());
  declareOptions(app, line, {.cores = !image.isForGpus() || isTable, .gpus = image.isForGpus() || isTable});
  if (isTable) {
    std::cout << optionTable(optionRows(app));
    return std::nullopt;
  }
  line.options.choices = optionGroups(optionRows(app));
  Arguments arguments(app, argc, argv);
  line.options.record = arguments.configText();
  try {
    app.name(argv[0]);
    app.parse(std::vector<std::string>(arguments.words().rbegin(), arguments.words().rend()));
    checkOptions(app, line, image);
    return line.options;
  } catch (const CLI::CallForHelp &) {
    std::cout << app.help();
    status = 0;
  } catch (const CLI::CallForVersion &) {
    std::cout << app.version() << "\n";
    status = 0;
  } catch (const CLI::ParseError &error) {
    std::cerr << "error: " << describeRefusal(error, app, arguments) << " (--help lists the options)\n";
    status = static_cast<int>(Status::Usage);
  }
  return std::nullopt;
}

} // namespace dtcc::rt
