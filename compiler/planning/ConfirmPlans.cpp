//===- ConfirmPlans.cpp - The plan whose program is the best
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/planning/ConfirmPlans.h"
#include "compiler/console/ErrorStream.h"
#include "compiler/console/StatusLine.h"
#include "compiler/pipeline/RunPasses.h"
#include "compiler/planning/LowerPlan.h"
#include "planner/problem/InParallel.h"
#include "planner/search/CompareNext.h"
#include "runtime/abi/console/AmountText.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <deque>

using namespace mlir;
using namespace dtcc;

/// Share by which the estimate of a plan is taken to be too high at most, beside the forecast of the fastest program or
/// the first estimate. Of 87 programs of the plans with the least estimates for Llama 3 8B, 70B and 405B, GPT 1T,
/// Mixtral 8x7B and DeepSeek-V3 on 32 to 16,384 H100s, one is forecast below its estimate by more, 5.5 %
/// (docs/measurements.md).
static constexpr double kEstimateError = 0.05;
/// Number of plans that are compared at most, and that are lowered to be compared, those that turn out too large among
/// them: it bounds the time of a search. Of up to 14 programs near the best plans of 45 searches the fastest was missed
/// by more than 0.5 % in three (docs/planner.md).
static constexpr size_t kCompared = 4, kLowered = 6;
/// Plans that are lowered at most until one fits; those that are refused at once cost little.
static constexpr size_t kTries = 24, kRefusals = 48;
/// Number of plans, smallest first, that are lowered if all of the best are too large.
static constexpr size_t kSmallest = 6;
/// Number of times that a shape is solved again for less memory.
static constexpr int kSolves = 2;
/// Left free when a plan is solved again: its error changes with it.
static constexpr double kMargin = 0.995;

static double withoutCommunicators(const plan::MemoryParts &memory) { return memory.total() - memory.communicators; }

/// ", with 12 blocks recomputed,": plans of a shape differ in it. Empty if none is.
static std::string withRecomputed(const plan::PlanReport &report) {
  size_t blocks = report.recomputed();
  return blocks == 0 ? "" : llvm::formatv(", with {0} block{1} recomputed,", blocks, blocks == 1 ? "" : "s").str();
}

namespace {

struct Candidate {
  plan::ShapePlan plan;
  /// The plan's report, by the estimate.
  plan::PlanReport report;
  /// Largest estimate that is allowed; 0 means the memory of the device.
  double limit = 0;
  int solves = 0;
  /// The program, if the plan was lowered before its turn.
  std::optional<LoweredPlan> lowered;
};

class Confirmation {
public:
  Confirmation(ModuleOp module, const Options &options, SearchResult &result, bool silent)
      : module(module), options(options), quiet(withoutShowing(options)), result(result), silent(silent) {
    for (auto [plan, report] : llvm::zip_equal(result.shapes, result.report.plans))
      row.push_back({std::move(plan), std::move(report), 0, 0, std::nullopt});
  }
  LogicalResult run();

private:
  struct Tried {
    Candidate candidate;
    plan::PlanReport report;
    LoweredPlan lowered;
  };
  static Tried unlowered(Candidate candidate);
  /// Bytes of a device that a lowered program may use.
  double usableBytes(const Tried &tried) const {
    return result.pricer->facts().usableBytes(tried.candidate.plan.shape, tried.lowered.separateBytes);
  }
  /// Whether a plan of the row may become the first if `before` more plans are lowered before it.
  bool mayWin(const Candidate &candidate, size_t before) const;
  /// Whether the program of a plan could be faster than the fastest so far, or before there is one than that of the
  /// first of the row. What all estimates of a model err by alike
  /// does not count: an estimate is compared with the first one too.
  bool isNear(const Candidate &candidate) const;
  /// Puts the row into the order of its estimates.
  void sortRow();
  /// Brings the plan to place `at` of the row that is to be compared behind those before it (compareNext). Until a
  /// program fits, the first place is that of the least estimate.
  void bringForward(size_t at);
  /// Lowers the first of the row, and on other cores those behind it whose turn comes if the first changes nothing.
  void lowerAhead();
  /// Takes the first of the row, which is lowered: what becomes of it, if it may be taken.
  std::optional<Tried> next();
  Tried judge(Candidate candidate);
  /// Keeps the faster of the best program so far and another.
  void compare(Tried tried);
  /// Solves the shape of `before` again, whose program needs `times` the estimated memory. The plans of the shape whose
  /// blocks are all alike are tried too: a mixture's estimate says little of theirs.
  void solveAgain(const Candidate &before, double times);
  /// A plan of a shape that was tried before.
  Candidate another(const plan::Parallelism &shape, plan::StageSolution stages, double limit, int solves);
  /// Puts a plan into the row.
  void insert(Candidate made);
  void passOver(const Tried &tried);
  /// Leaves out the plans of the row that are told to take less than `seconds`: they were not compiled, and those
  /// before them were too large.
  void leaveOutFaster(double seconds);
  /// Makes the program of `tried` that of the result, with the notes about it.
  void takeProgram(Tried &tried);
  /// Lists `tried` as the first plan of the result; those that were compared and the row follow it.
  void listPlans(Tried tried);
  LogicalResult accept(Tried tried);
  /// Takes the first plan that fits by its estimate, or the first of all: no program can be compiled for devices of
  /// several kinds.
  LogicalResult acceptMixed();
  LogicalResult refuse();

  ModuleOp module;
  const Options &options;
  /// The options without those that print what passes do.
  const Options quiet;
  SearchResult &result;
  bool silent;
  /// The candidates in the order of their estimates, but for those that were brought forward.
  std::deque<Candidate> row;
  /// The fastest program so far of those that may be taken.
  std::optional<Tried> best;
  /// Reports of the plans whose programs are slower, fastest first, with the plans.
  std::vector<std::pair<plan::PlanReport, plan::ShapePlan>> slower;
  /// The estimate of the first plan that was compared, which is the least.
  double firstEstimate = 0;
  /// Plans of the row that were taken.
  size_t taken = 0;
  /// The plan that needs least, if all are too large.
  std::optional<Tried> least;
  /// The first refusal.
  std::optional<Diagnostic> refusal;
  size_t refusals = 0, tooLarge = 0;
};

} // namespace

bool Confirmation::mayWin(const Candidate &candidate, size_t before) const {
  const size_t compared = best ? 1 + slower.size() : 0;
  return !best || (compared + before < kCompared && taken + before < kLowered && isNear(candidate));
}

bool Confirmation::isNear(const Candidate &candidate) const {
  const double least = best ? std::max(best->report.seconds, firstEstimate) : row.front().plan.seconds;
  return (1 - kEstimateError) * candidate.plan.seconds < least;
}

void Confirmation::sortRow() {
  auto isBefore = [](const Candidate &a, const Candidate &b) { return a.plan.seconds < b.plan.seconds; };
  // Few are out of order, and a candidate is costly to copy.
  for (auto at = row.begin(); at != row.end(); ++at)
    std::rotate(std::upper_bound(row.begin(), at, *at, isBefore), at, std::next(at));
}

void Confirmation::bringForward(size_t at) {
  std::vector<plan::ComparedPlan> known, waiting;
  if (best)
    known.push_back({best->candidate.plan.shape, best->candidate.plan.seconds});
  for (const auto &[report, plan] : slower)
    known.push_back({plan.shape, plan.seconds});
  for (size_t i = 0; i < row.size(); ++i)
    if (i < at)
      known.push_back({row[i].plan.shape, row[i].plan.seconds});
    else if (waiting.empty() || isNear(row[i]))
      waiting.push_back({row[i].plan.shape, row[i].plan.seconds});
    else
      break;
  if (known.empty())
    return;
  const auto chosen = row.begin() + ptrdiff_t(at + plan::compareNext(known, waiting));
  std::rotate(row.begin() + ptrdiff_t(at), chosen, chosen + 1);
}

void Confirmation::lowerAhead() {
  struct Work {
    Candidate *candidate;
    plan::Plan plan;
    double limit;
  };
  std::vector<Work> works;
  const size_t most = std::min({plan::threads(), kCompared, row.size()});
  for (size_t i = 0; i < most; ++i) {
    if (i > 0)
      bringForward(i);
    if (!mayWin(row[i], i))
      break;
    if (row[i].lowered)
      continue;
    const plan::ShapePlan &plan = row[i].plan;
    // Without a limit, and with a mesh that is given, any may be what is taken in the end.
    double usable = result.pricer->facts().usableBytes(plan.shape, /*separate=*/0);
    bool isLimited = usable > 0 && !result.anyMemory && !result.meshGiven;
    works.push_back({&row[i], result.pricer->write(plan.shape, plan.stages),
                     isLimited ? usable : std::numeric_limits<double>::infinity()});
  }
  std::string others = works.size() > 1 ? llvm::formatv(" and {0} more", works.size() - 1).str() : "";
  std::optional<Status> status;
  if (!silent)
    status.emplace("compile " + works.front().candidate->plan.shape.str() + others);
  plan::inParallel(works.size(), [&](size_t i) {
    works[i].candidate->lowered = lowerPlan(module, quiet, works[i].plan, works[i].limit);
  });
}

Confirmation::Tried Confirmation::judge(Candidate candidate) {
  plan::PlanReport estimate = candidate.report;
  LoweredPlan lowered = std::move(*candidate.lowered);
  candidate.lowered.reset();
  Tried tried{std::move(candidate), std::move(estimate), std::move(lowered)};
  if (!tried.lowered.module)
    return tried;
  double usable = usableBytes(tried);
  plan::PlanReport &report = tried.report;
  report.confirm(tried.lowered.most(), tried.lowered.separateBytes);
  if (tried.lowered.step)
    report.forecast(*tried.lowered.step);
  if (report.stages.size() == tried.lowered.stages.size())
    for (auto [stage, memory] : llvm::zip_equal(report.stages, tried.lowered.stages))
      stage.memory = memory;
  const cost::HostSide &host = result.machine.host;
  report.hostLack = std::max(0.0, tried.lowered.mostWithHost() - host.memoryBytes);
  report.fits = (usable <= 0 || tried.lowered.most().total() <= usable) && report.hostLack == 0;
  return tried;
}

Candidate Confirmation::another(const plan::Parallelism &shape, plan::StageSolution stages, double limit, int solves) {
  Candidate made{{shape, std::move(stages), 0}, {}, limit, solves, std::nullopt};
  made.plan.seconds = result.pricer->refine(shape, made.plan.stages);
  made.report = result.pricer->describe(made.plan);
  return made;
}

void Confirmation::insert(Candidate made) {
  auto at = llvm::find_if(row, [&](const Candidate &other) { return other.plan.seconds > made.plan.seconds; });
  row.insert(at, std::move(made));
}

void Confirmation::solveAgain(const Candidate &before, double times) {
  const plan::Parallelism &shape = before.plan.shape;
  if (before.solves == 0)
    for (plan::StageSolution &alike : result.pricer->others(shape, plan::kNever))
      if (!alike.isInfeasible() && alike.modes != before.plan.stages.modes)
        if (Candidate made = another(shape, std::move(alike), before.limit, before.solves + 1);
            made.report.memory.total() <= before.report.memory.total())
          insert(std::move(made));
  if (before.solves == kSolves)
    return;
  double limit = kMargin * result.pricer->facts().usableBytes(shape) / times;
  if (before.limit > 0)
    limit = std::min(limit, kMargin * before.limit);
  // A mixture is faster, and its program may again need more than it is told to.
  const std::vector<uint32_t> &modes = before.plan.stages.modes;
  if (!modes.empty() && llvm::all_equal(modes)) {
    for (plan::StageSolution &alike : result.pricer->alikeWithin(shape, limit))
      if (alike.modes == modes)
        insert(another(shape, std::move(alike), limit, before.solves + 1));
    return;
  }
  plan::StageSolution again = result.pricer->solveWithin(shape, limit);
  if (!again.isInfeasible())
    insert(another(shape, std::move(again), limit, before.solves + 1));
}

void Confirmation::passOver(const Tried &tried) {
  plan::PassedPlan passed{tried.candidate.plan.shape,
                          "the compiler refuses it: " + (tried.lowered.refusal ? tried.lowered.refusal->str() : "")};
  if (tried.lowered.module && tried.report.hostLack > 0)
    passed.why = llvm::formatv("its program leaves {0} to the host of a rank, {1} more than that has",
                               formatBytes(tried.lowered.mostWithHost()), formatBytes(tried.report.hostLack));
  else if (tried.lowered.module)
    passed.why = llvm::formatv("its program{0} needs {1}, {2} more than there is; the estimate was {3}",
                               withRecomputed(tried.report), formatBytes(tried.report.memory.total()),
                               formatBytes(tried.lowered.most().total() - usableBytes(tried)),
                               formatBytes(tried.report.estimated->total()));
  result.report.passed.push_back(std::move(passed));
}

void Confirmation::compare(Tried tried) {
  if (!best) {
    firstEstimate = tried.report.estimatedSeconds();
    best = std::move(tried);
    return;
  }
  if (tried.report.seconds < best->report.seconds)
    std::swap(*best, tried);
  auto at = llvm::find_if(slower, [&](const auto &other) { return other.first.seconds > tried.report.seconds; });
  slower.insert(at, {std::move(tried.report), std::move(tried.candidate.plan)});
}

void Confirmation::leaveOutFaster(double seconds) {
  auto isFaster = [&](const Candidate &other) { return other.report.seconds < seconds; };
  const size_t count = size_t(llvm::count_if(row, isFaster));
  if (count == 0)
    return;
  result.report.passed.push_back(
      {llvm::find_if(row, isFaster)->plan.shape,
       llvm::formatv("it was not compiled{0}: the {1} before it were too large",
                     count > 1 ? llvm::formatv(", nor were {0} others that are told to be faster", count - 1).str()
                               : "",
                     tooLarge)});
  llvm::erase_if(row, isFaster);
}

void Confirmation::takeProgram(Tried &tried) {
  for (Diagnostic &note : tried.lowered.notes)
    module.getContext()->getDiagEngine().emit(std::move(note));
  result.lowered = std::move(tried.lowered.module);
  // Passes show this program alone, not those that it was compared with.
  if (showsPasses(options))
    result.lowered =
        lowerPlan(module, options, result.pricer->write(tried.candidate.plan.shape, tried.candidate.plan.stages))
            .module;
}

void Confirmation::listPlans(Tried tried) {
  sortRow();
  result.shapes.clear();
  plan::SearchReport &report = result.report;
  report.plans.clear();
  result.shapes.push_back(std::move(tried.candidate.plan));
  report.plans.push_back(std::move(tried.report));
  report.estimateError = kEstimateError;
  report.compared = report.plans.front().estimatedParts ? 1 + slower.size() : 0;
  double told = report.plans.front().estimatedSeconds();
  for (auto &[other, plan] : slower) {
    told = std::min(told, other.estimatedSeconds());
    report.plans.push_back(std::move(other));
    result.shapes.push_back(std::move(plan));
  }
  leaveOutFaster(told);
  if (report.compared > 0)
    report.uncompared = size_t(llvm::count_if(row, [&](const Candidate &other) { return isNear(other); }));
  for (Candidate &other : row) {
    report.plans.push_back(std::move(other.report));
    result.shapes.push_back(std::move(other.plan));
  }
}

LogicalResult Confirmation::accept(Tried tried) {
  takeProgram(tried);
  listPlans(std::move(tried));
  plan::explainPlans(result.report);
  return success();
}

LogicalResult Confirmation::refuse() {
  if (silent)
    return failure();
  if (!least && refusal) {
    module.getContext()->getDiagEngine().emit(std::move(*refusal));
    return failure();
  }
  if (least && least->report.hostLack > 0) {
    errorStream() << "no plan fits: of the " << result.report.passed.size()
                  << " best ones that were compiled, the one that needs least (" << least->candidate.plan.shape.str()
                  << ") leaves " << formatBytes(least->lowered.mostWithHost()) << " to the host of a rank, which has "
                  << formatBytes(result.machine.host.memoryBytes) << '\n';
    return failure();
  }
  errorStream() << "no plan fits: of the " << result.report.passed.size()
                << " best ones that were compiled, none needs less than "
                << formatBytes(least ? least->report.memory.total() : 0) << " a rank ("
                << (least ? least->candidate.plan.shape.str() : "") << "), and a rank has "
                << formatBytes(least ? usableBytes(*least) + least->report.memory.communicators : 0) << '\n';
  return failure();
}

Confirmation::Tried Confirmation::unlowered(Candidate candidate) {
  plan::PlanReport estimate = candidate.report;
  return Tried{std::move(candidate), std::move(estimate), {}};
}

std::optional<Confirmation::Tried> Confirmation::next() {
  if (!row.front().lowered)
    lowerAhead();
  Candidate candidate = std::move(row.front());
  row.pop_front();
  ++taken;
  Tried tried = judge(std::move(candidate));
  if (tried.lowered.module && (tried.report.fits || result.anyMemory))
    return tried;
  passOver(tried);
  if (!tried.lowered.module) {
    if (refusals++ == 0)
      refusal = std::move(tried.lowered.refusal);
    return std::nullopt;
  }
  ++tooLarge;
  double times = tried.lowered.most().total() / withoutCommunicators(*tried.report.estimated);
  solveAgain(tried.candidate, times);
  if (!least || tried.lowered.most().total() < least->lowered.most().total())
    least = std::move(tried);
  return std::nullopt;
}

LogicalResult Confirmation::acceptMixed() {
  auto fits = [](const Candidate &candidate) { return candidate.report.fits; };
  auto first = result.anyMemory ? row.begin() : llvm::find_if(row, fits);
  if (first == row.end())
    first = row.begin();
  for (const Candidate &other : llvm::make_range(row.begin(), first))
    result.report.passed.push_back(
        {other.plan.shape,
         llvm::formatv("by the estimate it holds {0}, {1} more than a device may use",
                       formatBytes(other.report.memory.total()), formatBytes(result.report.excess(other.report)))});
  Tried tried = unlowered(std::move(*first));
  row.erase(row.begin(), std::next(first));
  return accept(std::move(tried));
}

LogicalResult Confirmation::run() {
  if (result.pricer->isMixed())
    return acceptMixed();
  loadDialects(*module.getContext(), options);
  while (tooLarge < kTries && refusals < kRefusals && !row.empty()) {
    sortRow();
    bringForward(0);
    if (!mayWin(row.front(), 0))
      break;
    if (std::optional<Tried> tried = next())
      compare(std::move(*tried));
  }
  if (best)
    return accept(std::move(*best));
  if (least && result.meshGiven) {
    compare(std::move(*least));
    return accept(std::move(*best));
  }
  // The fastest are all too large, if by little: a slower one that is told to hold much less is better than none.
  auto bytes = [](const Candidate &candidate) { return candidate.report.memory.total(); };
  while (tooLarge < kTries + kSmallest && refusals < kRefusals && !row.empty()) {
    auto smallest = llvm::min_element(row, [&](const auto &a, const auto &b) { return bytes(a) < bytes(b); });
    std::rotate(row.begin(), smallest, smallest + 1);
    if (std::optional<Tried> tried = next()) {
      compare(std::move(*tried));
      return accept(std::move(*best));
    }
  }
  return refuse();
}

LogicalResult dtcc::confirmPlans(ModuleOp module, const Options &options, SearchResult &result, bool silent) {
  return Confirmation(module, options, result, silent).run();
}
