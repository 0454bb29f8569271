//===- Step.h - Seconds of a training step
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From layers, op by op, to the time of a step: stages, pipeline, reduction of gradients,
// update, host. Free of MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_COST_STEP_H
#define DTCC_PLANNER_COST_STEP_H

#include "planner/cost/Collectives.h"
#include "planner/cost/Software.h"
#include "planner/parallelism/Parallelism.h"
#include <array>

namespace dtcc::cost {

using plan::Parallelism;

struct StageLayer {
  size_t layer = 0; // of StepProblem::layers
  double count = 1;
};

struct StepProblem {
  Device device;
  Fabric fabric;
  HostSide host;
  Software software;
  Parallelism parallel;
  /// Kinds of layers, and which of them a stage has.
  std::vector<Layer> layers;
  std::vector<std::vector<StageLayer>> stages;
  /// Lets a stage send on equally many bytes wherever it ends.
  void setLeavingBytes(double bytes) {
    for (Layer &layer : layers)
      layer.leavingBytes = bytes;
  }
};

/// Two scales that measured runs of a machine correct: of what devices do, and of hosts.
struct Calibration {
  double device = 1, host = 1;
};

struct StepSeconds {
  /// Kernels, recomputation and update included; `recompute` is the part of it.
  double compute = 0, recompute = 0;
  /// Communication that nothing hides, by what it serves.
  double tensor = 0, data = 0, stages = 0;
  /// Waiting for other stages; for the host.
  double bubble = 0, host = 0;
  double total() const { return compute + tensor + data + stages + bubble + host; }
};

/// `problem` has at least one stage; every sum is of the rank that needs most.
StepSeconds priceStep(const StepProblem &problem, const Constants &constants, const Calibration &calibration = {});

/// Seconds that a layer adds to a micro-batch of its rank: kernels, exposed communication,
/// waits for the host, gathers of units.
struct LayerSeconds {
  double forward = 0, inputGradient = 0, weightGradient = 0, recompute = 0;
  double total() const { return forward + inputGradient + weightGradient + recompute; }
};
/// Prices every layer of the problem, whose stages need not be set.
std::vector<LayerSeconds> priceLayers(const StepProblem &problem, const Constants &constants);
/// A layer in its modes, which differ in what they compute again and in the bytes that go to the host and come back.
struct LayerInModes {
  struct Mode {
    /// Part of the forward pass that is computed again for the backward pass.
    Work recompute;
    double hostBytes = 0;
  };
  /// The layer without what its modes say.
  Layer layer;
  std::vector<Mode> modes;
};
/// Prices the layers of many problems with equal layers. Parts that do not depend on the data-parallel ranks are
/// computed once, and of these what does not depend on the mode once for all modes.
class PricedLayers {
public:
  /// `problem`: the device, the software, the ranks of tp, and whether gathers of stage 3 run beside the kernels.
  PricedLayers(const StepProblem &problem, const std::vector<LayerInModes> &layers, const Constants &constants);
  /// priceLayers of a problem that has the rest of the plan, and need not have the layers: each layer in all of its
  /// modes, then the next.
  std::vector<LayerSeconds> price(const StepProblem &problem, const Constants &constants) const;

private:
  /// Kernels, communication, copies, host of a pass.
  struct Pass {
    double compute = 0, tensor = 0, data = 0, host = 0;
  };
  /// A layer without what it computes again, for equal bytes of the host. Nothing is copied beside weight gradients,
  /// and no host is waited for there.
  struct Layer {
    Pass forward, input;
    double weightCompute = 0, weightTensor = 0;
    double fillable = 0, parameters = 0, expertParameters = 0;
  };
  struct Mode {
    /// The number of its layer among `layers`.
    uint32_t layer;
    /// Seconds of all that is computed again, of which no plan hides a part.
    double recompute;
  };
  std::vector<Layer> layers;
  std::vector<Mode> modes;
};
/// The parts of it for a simulation, which finds itself what hides what: passes without their units,
/// and units gathered for the forward and the backward pass, gradients scattered.
struct UnitSeconds {
  LayerSeconds passes;
  double gatherForward = 0, gatherBackward = 0, scatter = 0;
};
std::vector<UnitSeconds> priceUnits(const StepProblem &problem, const Constants &constants,
                                    const Calibration &calibration = {});
/// Elements that a rank holds before ZeRO: of what all ranks of dp and cp have, and of experts; and the matrices among
/// them that are orthogonalized.
struct HeldParameters {
  double shared = 0, experts = 0;
  OrthogonalMatrices matrices = {};
  void add(const Layer &layer, double count) {
    shared += count * layer.parameters;
    experts += count * layer.expertParameters;
    matrices.add(layer.matrices, count);
  }
};
/// The end of a step on a rank that holds `parameters`, nothing hidden.
struct EndSeconds {
  double reduce = 0, gather = 0, update = 0;
};
EndSeconds priceEnd(const StepProblem &problem, const Constants &constants, const HeldParameters &parameters,
                    const Calibration &calibration = {});
/// Factor by which many ranks are slower than one, because they wait for the slowest.
double straggling(const Parallelism &plan, const Constants &constants);
/// Gradients reduced and parameters updated at the end of a step, on a rank that holds
/// `parameters`; a backward pass of a micro-batch takes it `backward` seconds.
double secondsAtEnd(const StepProblem &problem, const Constants &constants, const HeldParameters &parameters,
                    double backward);
/// Seconds of the messages of `bytes` from a stage to its neighbour for one micro-batch, both ways.
double secondsToSendOn(const StepProblem &problem, double bytes, const Constants &constants);

} // namespace dtcc::cost

#endif // DTCC_PLANNER_COST_STEP_H
