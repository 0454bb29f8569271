//===- StageProblem.h - Which stage gets which blocks, where, keeping what
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The problem under every pipeline: a row of blocks is cut into stages; each stage runs
// on one class of devices and each of its blocks in one of its modes (keep activations,
// recompute them, move them away), so that no device holds more than it has and a step
// ends soonest. One stage is the problem of recomputation alone.
//
// A step of a pipeline whose stages take t_s a micro-batch, send_s for all messages and tail_s at its end, lasts
//
//   max_s (rounds * t_s + filled_s + send_s + tail_s) + sum_s (ramp * t_s - filled_s)
//
// where of m micro-batches rounds = m - ramp. The stage that decides waits for ramp * t_s - filled_s of each other
// stage: ramp is 1 for GPipe and 1F1B (Narayanan et al. 2021), 1 / V for V interleaved stages a rank (ibid.), and 1 for
// ZB-H1 (Qi et al. 2023), where filled_s = 2 W_s makes F + B - W of F + B + W. For equal stages these are the papers'
// formulas. The modes of a block have the same weight gradients, so the sum of filled_s is known before stages are.
//
// Check the problem, solve, verify the solution: each is a function on plain values.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_PROBLEM_STAGEPROBLEM_H
#define DTCC_PLANNER_PROBLEM_STAGEPROBLEM_H

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace dtcc::plan {

/// The seconds of what cannot run.
inline constexpr double kNever = std::numeric_limits<double>::infinity();

/// One way to run a block on one class of devices.
struct BlockMode {
  /// Forward and backward of one micro-batch.
  double seconds = 0;
  /// Bytes of saved activations on the device, for each micro-batch in flight.
  double heldBytes = 0;
  /// Bytes of activations offloaded to the host. Not a limit of the problem: a mode for which the host has no room is
  /// not offered.
  double hostBytes = 0;
  /// Bytes of recomputed values on the device while the block runs, in addition to the working bytes of its type.
  double workingBytes = 0;
  bool operator==(const BlockMode &) const = default;
};

/// The mode that offloads the saved activations; `seconds` includes their copies. Even if the copies overlap fully with
/// kernels, the mode is slower by a millionth, so that values which fit stay on the device.
BlockMode keptByHost(double seconds, double bytes);

/// A type of repeated blocks. A model of 96 layers has one type of 96 blocks, and two more for
/// the blocks before and after them.
struct BlockType {
  /// Modes for each class of devices: at least one, and equally many for every class.
  std::vector<std::vector<BlockMode>> modes;
  /// Bytes on the device all the time: parameters, gradients, optimizer state.
  double stateBytes = 0;
  /// Bytes on the device while the block runs. A stage needs the maximum over its blocks.
  double workingBytes = 0;
  /// Seconds of a step that a stage ending with this block spends on messages to the next stage, both ways. The last
  /// stage sends nothing.
  double sendSeconds = 0;
  /// Seconds once a step: exposed gradient reductions, and the update of parameters.
  double tailSeconds = 0;
  /// Seconds of the bubble that weight gradients of the block fill.
  double filledSeconds = 0;
};

struct DeviceClass {
  /// Stages that its devices can run: each takes a whole group of devices of one class.
  int64_t stages = 1;
  double memoryBytes = 0;
};

struct StageProblem {
  std::vector<BlockType> types;
  /// Type of each block, in the order of the forward pass.
  std::vector<uint32_t> blocks;
  std::vector<DeviceClass> classes;
  /// Micro-batches in flight of each stage at its peak. The length is the number of stages.
  /// 1F1B has min(m, stages - s).
  std::vector<double> inFlight;
  double rounds = 1, ramp = 1;
  /// The block that each stage must begin with; empty if stages are free.
  std::vector<uint32_t> begins;
  /// Whether a stage stands for a rank with several runs of blocks, which are dealt out afterwards. Only the mean of
  /// all loads then bounds the greatest.
  bool isDealt = false;

  size_t stages() const { return inFlight.size(); }
  /// The sum of filledSeconds over all blocks.
  double filledSeconds() const;
  bool mayBegin(size_t stage, size_t block) const { return begins.empty() || begins[stage] == block; }
  bool mayEnd(size_t stage, size_t end) const {
    return begins.empty() || end == (stage + 1 < begins.size() ? begins[stage + 1] : blocks.size());
  }
  /// Adds the modes and limits of the same blocks on other device kinds. Bytes that blocks need once become those of
  /// the kind that needs most.
  void addClasses(const StageProblem &others);
  /// Takes the lesser of each time and of the ramp, the lesser state and the larger memory of another problem of the
  /// same blocks and classes. A time that changes in one direction with what the two differ in is no less between them,
  /// so that no problem between them takes less than quickBound of this.
  void takeLess(const StageProblem &other);
  /// Returns an error, or "": more stages than blocks, a class without devices, a negative
  /// number or NaN.
  std::string check() const;
};

struct StageSolution {
  struct Stage {
    uint32_t firstBlock = 0; // the next stage's first block ends it
    uint32_t deviceClass = 0;
    double seconds = 0, bytes = 0; // a micro-batch, without messages; the peak
  };
  std::vector<Stage> stages;
  /// Mode of each block.
  std::vector<uint32_t> modes;
  double seconds = 0;
  /// Lower bound on the seconds of all solutions. Equal to `seconds` if the search ran to its end.
  double lowerBound = 0;

  /// Whether no solution fits the memory.
  bool isInfeasible() const { return stages.empty(); }
};

/// Verifies a solution by computing its times and bytes from the problem alone; infinity
/// for one that is not allowed.
double costOf(const StageProblem &problem, const StageSolution &solution);

/// Exact: for every kind of run of blocks the modes that no other choice beats in both
/// time and memory, then a dynamic program over stages, positions and classes for the
/// least sum of times under a bound of the greatest, the bound lowered until nothing
/// better is left. At most `maxRounds` bounds are tried; past that the solution's bound
/// says how far it may be off.
StageSolution solve(const StageProblem &problem, unsigned maxRounds = 200);

/// Solves one problem repeatedly while the memory of its devices falls. Parts that do not depend on memory are computed
/// once.
class StageSolver {
public:
  /// The problem must live as long.
  explicit StageSolver(const StageProblem &problem);
  ~StageSolver();
  StageSolution solve(unsigned maxRounds = 200);

private:
  class Search;
  std::unique_ptr<Search> search;
};

/// All cuts, classes and modes, for small problems: the oracle.
StageSolution solveExhaustively(const StageProblem &problem);

} // namespace dtcc::plan

#endif // DTCC_PLANNER_PROBLEM_STAGEPROBLEM_H
