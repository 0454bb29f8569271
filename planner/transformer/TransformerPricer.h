//===- TransformerPricer.h - Shapes of a transformer's plan on a uniform cluster
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The search over shapes, priced by the cost model of planner/cost: a model given by its
// sizes, devices of one kind. Blocks are an embedding, layers alike and a head; a layer
// keeps its activations or computes them again in full. What is said twice to the two
// models agrees: times of layers come from priceLayers, and the best plans are priced
// again by priceStep, which knows windows and waits that do not add up by layers.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_TRANSFORMER_TRANSFORMERPRICER_H
#define DTCC_PLANNER_TRANSFORMER_TRANSFORMERPRICER_H

#include "planner/cluster/Cluster.h"
#include "planner/search/ShapeSearch.h"
#include "planner/transformer/Transformer.h"
#include "llvm/Support/Error.h"

namespace dtcc::plan {

using cost::DeviceKind;

struct TransformerProblem {
  cost::Transformer model;
  cost::Device device;
  cost::Fabric fabric;
  cost::Software software;
  /// `samples` follows from the shape.
  cost::RunSetting run;
  int64_t devices = 1;
  /// Samples of a step.
  int64_t batch = 1;
  /// The host. If its memory is known, optimizer state and activations may be offloaded to it.
  cost::HostSide host;
  bool mayOffloadActivations = true;
  /// The recomputation of all layers; if absent, each layer has its own mode.
  std::optional<Recompute> recompute = {};
  /// All device kinds of a heterogeneous cluster, the first that of `device`. A stage lies on one kind.
  std::vector<DeviceKind> kinds = {};
};

/// Sizes of the axes that the model allows: parts of heads (not more than twice the key and
/// value heads' whole), of positions, stages of at least one layer.
ShapeSpace shapeSpaceOf(const TransformerProblem &problem);

/// The space of `problem` with what of `given` is one size where the space of `before` has several:
/// what was asked for on one number of devices, on another.
ShapeSpace shapeSpaceOf(const TransformerProblem &problem, const ShapeSpace &given, const TransformerProblem &before);

class TransformerPricer : public ShapePricer {
public:
  explicit TransformerPricer(const TransformerProblem &problem, const cost::Constants &constants = {})
      : given(problem), constants(constants) {}
  double bound(const Parallelism &shape) override;
  double closerBound(const Parallelism &shape) override;
  StageProblem problem(const Parallelism &shape) override;
  StageSolution solve(const Parallelism &shape) override;
  double refine(const Parallelism &shape, const StageSolution &solution) override {
    return price(shape, solution).total();
  }
  double refineBelow(const Parallelism &shape, const StageSolution &solution, double below) override {
    return price(shape, solution, below).total();
  }
  std::optional<cost::StepTimeline> timeline(const Parallelism &shape, const StageSolution &solution,
                                             bool record = true) override;
  /// A solved shape as a step to price or to simulate.
  cost::StepProblem stepOf(const Parallelism &shape, const StageSolution &solution) const;
  /// The parts of a solved shape's step by the formulas (cost/Step.h); where its simulation ends later, the waits
  /// that these do not know count as bubble, or with one stage as communication of dp. A step that takes at least
  /// `below` by the formulas is not simulated.
  cost::StepSeconds price(const Parallelism &shape, const StageSolution &solution, double below = kNever) const;
  /// Numbers of layers that are recomputed as a whole, and of those whose saved activations are offloaded.
  int64_t recomputed(const StageSolution &solution) const;
  /// Whether a layer in this mode computes anything again.
  static bool recomputes(uint32_t mode);
  int64_t offloaded(const StageSolution &solution) const;

private:
  cost::StepProblem stepOf(const Parallelism &shape, size_t kind = 0) const;
  /// A solved shape whose stages all lie on devices of a kind.
  cost::StepProblem stepOn(const Parallelism &shape, const StageSolution &solution, size_t kind) const;
  llvm::Expected<cost::StepTimeline> simulateOn(const Parallelism &shape, const StageSolution &solution,
                                                bool record) const;
  cost::StepSeconds priceMixed(const Parallelism &shape, const StageSolution &solution) const;
  /// The problem on devices of one kind.
  StageProblem problemOn(const Parallelism &shape, size_t kind) const;
  void addModes(const Parallelism &shape, size_t kind, StageProblem &problem) const;
  size_t kinds() const { return given.kinds.empty() ? 1 : given.kinds.size(); }
  /// Bytes of the optimizer that the host of a device of a stage of mean size holds.
  double hostBytesOf(const cost::StepProblem &step) const;
  bool mayOffload(const cost::StepProblem &step, double inFlight, double kept) const;

  TransformerProblem given;
  cost::Constants constants;
};

} // namespace dtcc::plan

#endif // DTCC_PLANNER_TRANSFORMER_TRANSFORMERPRICER_H
