//===- ShapeSearch.cpp - Best bounds first
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/search/ShapeSearch.h"
#include "planner/problem/InParallel.h"
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <tuple>

namespace dtcc::plan {

ShapePricer::~ShapePricer() = default;

Parallelism shapeOf(Parallelism parallelism) {
  parallelism.recompute = Recompute::None;
  parallelism.offload.activations = false;
  return parallelism;
}

static std::vector<int64_t> divisorsOf(int64_t number) {
  std::vector<int64_t> divisors;
  for (int64_t i = 1; i * i <= number; ++i)
    if (number % i == 0) {
      divisors.push_back(i);
      if (i * i != number)
        divisors.push_back(number / i);
    }
  std::sort(divisors.begin(), divisors.end());
  return divisors;
}

using AddShape = std::function<void(const Parallelism &)>;

/// The schedules and virtual stages of a shape whose sizes are set.
static void addSchedules(const ShapeSpace &space, Parallelism shape, const AddShape &addShape) {
  if (shape.pp == 1)
    return addShape(shape);

  for (PipelineKind schedule : space.schedules) {
    shape.schedule = schedule;
    shape.virtualStages = 1;
    if (!cost::has(schedule, cost::ScheduleRow::SeveralStages)) {
      addShape(shape);
      continue;
    }
    if (shape.microbatches % shape.pp)
      continue;
    auto add = [&] {
      if (space.virtualStages.value_or(shape.virtualStages) == shape.virtualStages)
        addShape(shape);
    };
    if (space.unevenStages) {
      for (shape.virtualStages = 2; shape.pp * shape.virtualStages <= space.layers; ++shape.virtualStages)
        add();
      continue;
    }
    // Layers that do not divide alone may with the embedding and the head counted as one each.
    for (int64_t layers : {space.layers, space.layers + 2})
      for (shape.virtualStages = 2; shape.pp * shape.virtualStages <= layers; ++shape.virtualStages)
        if (layers % (shape.pp * shape.virtualStages) == 0)
          add();
  }
}

/// The exchanges of attentions, with their schedules, of a shape whose sizes are set.
static void addExchanges(const ShapeSpace &space, Parallelism shape, const AddShape &addShape) {
  for (SequenceExchange exchange : space.exchanges) {
    shape.exchange = shape.cp > 1 ? exchange : SequenceExchange::Cheaper;
    if (shape.cp > 1 || exchange == space.exchanges.front())
      addSchedules(space, shape, addShape);
  }
}

/// Sequence parallelism and stationary weights, which shapes with tp alone can have.
static void addTensorForms(const ShapeSpace &space, Parallelism shape, const AddShape &addShape) {
  // A space with both values gives a shape without tp once; a space with one value gives it for that one.
  auto isRepeated = [&](bool value, const std::vector<bool> &values) {
    return value && shape.tp == 1 && values.size() > 1;
  };
  for (bool sequenceParallel : space.sequenceParallel) {
    if (isRepeated(sequenceParallel, space.sequenceParallel))
      continue;
    shape.sequenceParallel = sequenceParallel && shape.tp > 1;
    for (bool stationaryWeights : space.stationaryWeights) {
      if (isRepeated(stationaryWeights, space.stationaryWeights))
        continue;
      shape.stationaryWeights = stationaryWeights && shape.tp > 1;
      addExchanges(space, shape, addShape);
    }
  }
}

/// Where the state of a shape lies whose sizes and micro-batches are set: shared by a stage of ZeRO, or offloaded.
static void addStates(const ShapeSpace &space, Parallelism shape, const AddShape &addShape) {
  for (int zero : space.zero) {
    if (zero > 0 && shape.dp * shape.cp == 1)
      continue;
    shape.zero = zero;
    for (bool onHost : space.hostOptimizer) {
      shape.offload.optimizer = onHost;
      addTensorForms(space, shape, addShape);
    }
  }
}

/// The micro-batches of a shape whose axes have their sizes.
static void addMicrobatches(const ShapeSpace &space, Parallelism shape, const AddShape &addShape) {
  const int64_t samplesOfRank = space.batch / shape.dp;
  for (int64_t microbatches : divisorsOf(samplesOfRank)) {
    const int64_t samples = samplesOfRank / microbatches;
    if (space.microbatches.value_or(microbatches) != microbatches ||
        space.microbatchSamples.value_or(samples) != samples)
      continue;
    shape.microbatches = microbatches;
    addStates(space, shape, addShape);
  }
}

/// The sizes of ep of a shape whose other axes have theirs: experts are spread over ranks of dp, cp and maybe tp.
static void addExpertAxes(const ShapeSpace &space, Parallelism shape, const AddShape &addShape) {
  for (int64_t ep : space.ep) {
    if ((shape.dp * shape.cp * (space.expertsOverTensor ? shape.tp : 1)) % ep)
      continue;
    shape.ep = ep;
    if ((space.dp && *space.dp != shape.meshDp()) || shape.meshDp() % space.groups)
      continue;
    addMicrobatches(space, shape, addShape);
  }
}

/// Adds the shapes that use all devices, whatever their kinds.
static void addShapes(const ShapeSpace &space, const AddShape &addShape) {
  Parallelism shape;
  shape.groups = space.groups;
  shape.gradients = space.gradients;
  for (int64_t tp : space.tp)
    for (int64_t cp : space.cp)
      for (int64_t pp : space.pp) {
        const int64_t ofModel = tp * cp * pp;
        if (space.devices % ofModel || space.batch % (space.devices / ofModel))
          continue;
        shape.tp = tp;
        shape.cp = cp;
        shape.pp = pp;
        shape.dp = space.devices / ofModel;
        addExpertAxes(space, shape, addShape);
      }
}

std::vector<int64_t> stagesOfKinds(const std::vector<int64_t> &kinds, const Parallelism &shape) {
  std::vector<int64_t> stages;
  for (int64_t devices : kinds)
    stages.push_back(devices / (shape.tp * shape.cp * shape.dp));
  return stages;
}

ShapeList enumerateShapes(const ShapeSpace &space) {
  ShapeList shapes;
  AddShape keep = [&](const Parallelism &shape) { shapes.push_back(shape); };
  addShapes(space, keep);
  if (space.kinds.empty())
    return shapes;
  shapes.eraseIf([&](const Parallelism &shape) {
    std::vector<int64_t> stages = stagesOfKinds(space.kinds, shape);
    return std::accumulate(stages.begin(), stages.end(), int64_t(0)) < shape.pp;
  });
  std::vector<int64_t> counts = {space.devices};
  for (int64_t devices : space.kinds)
    if (std::find(counts.begin(), counts.end(), devices) == counts.end()) {
      counts.push_back(devices);
      ShapeSpace alone = space;
      alone.devices = devices;
      addShapes(alone, keep);
    }
  return shapes;
}

namespace {

constexpr double kUnpriced = std::numeric_limits<double>::infinity();
/// Plans that take so many times as long as the best are wanted only until there are a few.
constexpr double kFar = 2;
constexpr size_t kFew = 24;

/// The plans that a search of `keep` plans wants.
enum class Wanted {
  /// The best by the finer model, the best by the model of the search, and those that were priced on the way.
  Ranking,
  /// The best by the finer model alone.
  Best
};

/// The search of one space: shapes in the order of their bounds.
class BestFirst {
public:
  BestFirst(ShapeList given, ShapePricer &pricer, size_t keep, Wanted wanted)
      : shapes(std::move(given)), pricer(pricer), keep(keep), wanted(wanted), threaded(pricer.prepare(shapes)) {}
  ShapeResult run();

private:
  /// Neighbours in a family, with a bound that is of all of them.
  struct Bounded {
    double bound;
    uint32_t family;
    /// The first of the shapes, and their number.
    int32_t first = 0, count = 1;
    /// Whether the bound is the closer one.
    bool isClose = false;
    /// Shapes with equal bounds stay in the order of the space.
    bool operator>(const Bounded &other) const {
      return std::tie(bound, family, first) > std::tie(other.bound, other.family, other.first);
    }
  };
  Parallelism shapeOf(const Bounded &bounded, int32_t number = 0) const {
    return shapes.families()[bounded.family].with(bounded.first + number);
  }
  /// A solved shape: its best plan in the model of the search, and the plans that were priced by the finer model.
  struct Solved {
    ShapePlan first;
    std::vector<ShapePlan> others;
  };
  void forAll(size_t count, const std::function<void(size_t)> &each);
  void boundAll();
  /// Counts the shapes if none of them fits; whether that is so.
  bool countInfeasible(const Bounded &bounded);
  /// Keeps what may fit, and counts what does not.
  void push(Bounded bounded);
  Bounded pop();
  /// Returns a shape with its closer bound, or the shapes of a family, each with its own.
  std::vector<Bounded> closerThan(const Bounded &coarse) const;
  /// Shapes that may still be wanted, at most `most` of them, in the order of their closer bounds.
  std::vector<Bounded> next(size_t most);
  Solved solve(const Parallelism &shape, double best);
  /// Seconds by the finer model that a plan must be below to become one of the best that are wanted.
  double limit() const { return wanted == Wanted::Ranking ? best : finest.size() < keep ? kUnpriced : finest.front(); }
  bool isEnough(double bound) const;
  void add(Solved solved);
  void rank();

  ShapeList shapes;
  ShapePricer &pricer;
  size_t keep;
  Wanted wanted;
  bool threaded;
  /// Shapes that were not solved yet, as a heap with the least bound on top.
  std::vector<Bounded> open;
  /// Least time by the finer model so far.
  double best = kUnpriced;
  /// Modelled times of the `keep` best shapes, the greatest on top.
  std::vector<double> times;
  /// The `keep` least times by the finer model, the greatest on top, if the best alone are wanted.
  std::vector<double> finest;
  ShapeResult result;
};

} // namespace

void BestFirst::forAll(size_t count, const std::function<void(size_t)> &each) {
  if (threaded)
    return inParallel(count, each);
  for (size_t i = 0; i < count; ++i)
    each(i);
}

void BestFirst::boundAll() {
  /// Fewer shapes are bounded one by one, which takes as long as to bound all of them together.
  constexpr int64_t kFamily = 3;
  open.reserve(shapes.families().size());
  for (uint32_t number = 0; const ShapeFamily &family : shapes.families()) {
    const auto count = int32_t(family.count), step = count < kFamily ? 1 : count;
    for (int32_t first = 0; first < count; first += step)
      open.push_back({0, number, first, step});
    ++number;
  }
  forAll(open.size(), [&](size_t i) {
    Bounded &each = open[i];
    each.bound = each.count == 1 ? pricer.bound(shapeOf(each))
                                 : pricer.boundBetween(shapeOf(each), shapeOf(each, each.count - 1));
  });
  std::erase_if(open, [&](const Bounded &each) { return countInfeasible(each); });
  std::make_heap(open.begin(), open.end(), std::greater<>());
}

bool BestFirst::countInfeasible(const Bounded &bounded) {
  const bool fits = std::isfinite(bounded.bound);
  result.infeasible += fits ? 0 : bounded.count;
  return !fits;
}

void BestFirst::push(Bounded bounded) {
  if (countInfeasible(bounded))
    return;
  open.push_back(bounded);
  std::push_heap(open.begin(), open.end(), std::greater<>());
}

BestFirst::Bounded BestFirst::pop() {
  std::pop_heap(open.begin(), open.end(), std::greater<>());
  Bounded least = open.back();
  open.pop_back();
  return least;
}

std::vector<BestFirst::Bounded> BestFirst::closerThan(const Bounded &coarse) const {
  std::vector<Bounded> each;
  for (int32_t i = 0; i < coarse.count; ++i) {
    const bool isClose = coarse.count == 1;
    const Parallelism shape = shapeOf(coarse, i);
    const double bound = isClose ? pricer.closerBound(shape) : pricer.bound(shape);
    each.push_back({std::max(coarse.bound, bound), coarse.family, coarse.first + i, 1, isClose});
  }
  return each;
}

std::vector<BestFirst::Bounded> BestFirst::next(size_t most) {
  /// Closer bounds that are computed at once.
  constexpr size_t kAtOnce = 64;
  std::vector<Bounded> found, coarse;
  std::vector<std::vector<Bounded>> closer;
  while (found.size() < most && !open.empty() && !isEnough(open.front().bound)) {
    if (open.front().isClose) {
      found.push_back(pop());
      continue;
    }
    coarse.clear();
    while (coarse.size() < (threaded ? kAtOnce : 1) && !open.empty() && !open.front().isClose)
      coarse.push_back(pop());
    closer.assign(coarse.size(), {});
    forAll(coarse.size(), [&](size_t i) { closer[i] = closerThan(coarse[i]); });
    for (const std::vector<Bounded> &some : closer)
      std::for_each(some.begin(), some.end(), [&](const Bounded &each) { push(each); });
  }
  return found;
}

/// Solves a shape. Its plans are priced by the finer model where they may be faster than `limit`, since no finer price
/// is below that of the search.
BestFirst::Solved BestFirst::solve(const Parallelism &shape, double limit) {
  Solved solved{{shape, pricer.solve(shape), kUnpriced}, {}};
  StageSolution &stages = solved.first.stages;
  if (stages.isInfeasible() || stages.lowerBound >= limit)
    return solved;
  double below = limit;
  auto price = [&](const StageSolution &solution) {
    if (wanted == Wanted::Ranking)
      return pricer.refine(shape, solution);
    // A shape has one plan among the best, so the next must be faster than this one.
    double seconds = pricer.refineBelow(shape, solution, below);
    below = std::min(below, seconds);
    return seconds;
  };
  if (stages.seconds < below)
    solved.first.seconds = price(stages);
  for (StageSolution &other : pricer.others(shape, below))
    if (!other.isInfeasible() && other.seconds < below) {
      double seconds = price(other);
      solved.others.push_back({shape, std::move(other), seconds});
    }
  return solved;
}

/// Can no shape with at least this bound be the best, nor be among the plans that are wanted beside it?
bool BestFirst::isEnough(double bound) const {
  if (bound < limit())
    return false;
  if (wanted == Wanted::Best)
    return true;
  return times.size() >= keep ? bound >= times.front() : times.size() >= kFew && bound >= kFar * best;
}

/// Adds a number to a heap of the `most` least, the greatest on top.
static void addLeast(std::vector<double> &least, double number, size_t most) {
  least.push_back(number);
  std::push_heap(least.begin(), least.end());
  if (least.size() > most) {
    std::pop_heap(least.begin(), least.end());
    least.pop_back();
  }
}

void BestFirst::add(Solved solved) {
  result.modelled = std::min(result.modelled, solved.first.stages.seconds);
  // The fastest plan of a shape is listed.
  ShapePlan *fastest = &solved.first;
  for (ShapePlan &other : solved.others)
    if (other.seconds < fastest->seconds)
      fastest = &other;
  best = std::min(best, fastest->seconds);
  if (wanted == Wanted::Ranking) {
    addLeast(times, solved.first.stages.seconds, keep);
  } else {
    // A shape that is not below the limit has no exact price.
    if (fastest->seconds >= limit())
      return;
    addLeast(finest, fastest->seconds, keep);
  }
  result.plans.push_back(std::move(*fastest));
}

/// Prices what may be listed and was not priced yet, and sorts.
void BestFirst::rank() {
  auto modelled = [](const ShapePlan &a, const ShapePlan &b) { return a.stages.seconds < b.stages.seconds; };
  std::sort(result.plans.begin(), result.plans.end(), modelled);
  size_t number = 0;
  std::erase_if(result.plans, [&](const ShapePlan &plan) { return number++ >= keep && plan.seconds == kUnpriced; });
  forAll(result.plans.size(), [&](size_t i) {
    ShapePlan &plan = result.plans[i];
    if (plan.seconds == kUnpriced)
      plan.seconds = pricer.refine(plan.shape, plan.stages);
  });
  std::sort(result.plans.begin(), result.plans.end(), [](const ShapePlan &a, const ShapePlan &b) {
    return std::tie(a.seconds, a.stages.seconds) < std::tie(b.seconds, b.stages.seconds);
  });
  if (result.plans.size() > keep)
    result.plans.resize(keep);
}

ShapeResult BestFirst::run() {
  /// Shapes that are solved at once; what is solved beyond the last that is wanted does not count. The first plans say
  /// which others need no price, so a search for the best begins with few.
  constexpr size_t kAtOnce = 16;
  size_t atOnce = wanted == Wanted::Best ? 1 : kAtOnce;
  result.shapes = shapes.size();
  result.modelled = kUnpriced;
  boundAll();
  double lowest = kUnpriced;
  std::vector<Solved> solved;
  for (bool ends = false; !ends;) {
    std::vector<Bounded> shapes = next(threaded ? atOnce : 1);
    atOnce = std::min(2 * atOnce, kAtOnce);
    solved.resize(shapes.size());
    // The plans that are priced do not depend on which thread is the first.
    forAll(shapes.size(), [&, before = limit()](size_t i) { solved[i] = solve(shapeOf(shapes[i]), before); });
    ends = shapes.empty();
    for (size_t i = 0; i < shapes.size() && !ends; ++i) {
      if (isEnough(shapes[i].bound)) {
        lowest = std::min(lowest, shapes[i].bound);
        ends = true;
        break;
      }
      ++result.solved;
      if (solved[i].first.stages.isInfeasible()) {
        ++result.infeasible;
        continue;
      }
      lowest = std::min(lowest, solved[i].first.stages.lowerBound);
      add(std::move(solved[i]));
    }
  }
  if (!open.empty())
    lowest = std::min(lowest, open.front().bound);
  if (result.plans.empty())
    return std::move(result);
  result.lowerBound = lowest;
  rank();
  return std::move(result);
}

ShapeResult searchShapes(ShapeList shapes, ShapePricer &pricer, size_t keep) {
  return BestFirst(std::move(shapes), pricer, keep, Wanted::Ranking).run();
}

ShapeResult searchBest(ShapeList shapes, ShapePricer &pricer, size_t count) {
  return BestFirst(std::move(shapes), pricer, count, Wanted::Best).run();
}

} // namespace dtcc::plan
