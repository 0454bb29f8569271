//===- PriceBlocks.h - What a rank computes, sends and keeps of each block
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From a placed step to the input of the cost model (planner/cost/Work.h), op by op in local
// sizes: products by their rows, columns and inner columns, attention, bytes of all else,
// seconds of reshards by the planner that later emits them. Memory likewise, value by value.
//
// The layouts are found once for a placement, and what is added up of them is written down as
// products of extents: a price for another mesh or another number of examples is arithmetic.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_MODEL_PRICEBLOCKS_H
#define DTCC_PLANNER_MODEL_PRICEBLOCKS_H

#include "passes/spmd/program/CollectiveSummary.h"
#include "passes/spmd/reshard/ReshardPrices.h"
#include "planner/cost/Work.h"
#include "planner/model/BlockTable.h"
#include "planner/placement/SequencePlacement.h"

namespace dtcc::spmd {

/// The work and memory of one block, for one micro-batch of a rank.
struct BlockCost {
  cost::Work forward, inputGradient, weightGradient;
  /// Work that no input reaches: it is done once a step.
  cost::Work once;
  /// Work that is done again and bytes that wait for the backward pass, by plan::Recompute.
  std::array<cost::Work, kRecomputeModes> again;
  std::array<double, kRecomputeModes> heldBytes{};
  /// If weight gradients are apart, bytes of those that wait which weight gradients read, and bytes that input
  /// gradients leave for them (gradients, and values computed again for both), by plan::Recompute.
  std::array<double, kRecomputeModes> weightBytes{}, leftBytes{};
  /// A chunk of logits and of their gradient, which exist nowhere whole; part of no other number.
  double logitBytes = 0;
  /// Bytes of logits still alive when the classifier's gradient is computed: all chunks, if there are several.
  double lateLogitBytes = 0;
  /// Bytes at the peak of the block besides those that are held, by plan::Recompute.
  std::array<double, kRecomputeModes> workingBytes{};
  /// Largest scratch memory of a library operation of a GPU.
  double scratchBytes = 0;
  /// Held all the time: tables, casts of parameters.
  double onceBytes = 0;
  /// Parameters that are brought to other layouts than they lie in: with several micro-batches once a step, and held
  /// all the time; with one, by plan::Recompute, those wait that are brought in the forward pass.
  double broughtBytes = 0;
  std::array<double, kRecomputeModes> broughtHeldBytes{};
  /// Trained elements that a rank has, those of experts apart, and bytes of other states. A state counts where it is
  /// first read; `shared` elements are of states that were read in blocks before.
  double parameters = 0, expertParameters = 0, sharedParameters = 0, frozenBytes = 0;
  /// Those of `parameters` that later blocks read too.
  double tiedParameters = 0;
  /// Bytes of copies of these in the type that their readers compute in, where that is narrower.
  double copyBytes = 0, expertCopyBytes = 0, sharedCopyBytes = 0;
  /// Activations that a stage which begins here receives, of blocks alike the one that gets most.
  double enteringBytes = 0;
  /// Attentions and expert layers, whose exchanges over cp and ep are priced apart.
  double attentions = 0, expertLayers = 0;
};

/// Costs per type of blocks for one placement, in whatever sizes of the mesh and number of examples.
class BlockPrices {
public:
  /// `plan` places the step: its ops and states say what axes of the model split; `logitsBytes`: largest logits of a
  /// chunk; `exchange`: what attentions do where positions are split. Layouts are found here, for all calls of `price`.
  BlockPrices(const BlockTable &table, const plan::Plan &plan, int64_t logitsBytes,
              SequenceExchange exchange = SequenceExchange::Cheaper);

  /// `plan`: placed alike; its mesh and its batch axes say the local sizes. `reshards`: of its mesh.
  std::vector<BlockCost> price(const plan::Plan &plan, ReshardPrices &reshards) const;
  /// Messages of the reshards so priced, of a step: a program's collectives over axes of the model. The phase is
  /// "microbatch", for all micro-batches together, or "once".
  std::vector<CollectiveRow> collectives(const plan::Plan &plan, ReshardPrices &reshards) const;

private:
  /// A dimension of a local part: `size`, shared out, then divided over the axes of `axes`.
  struct Extent {
    int64_t size;
    SharedBy shared;
    uint32_t axes;
  };
  struct Extents {
    uint32_t begin = 0, end = 0;
  };
  struct Bytes {
    Extents extents;
    double each = 0;
  };
  /// Bytes that an op reads. If indices name rows of a table, it reads no more than it makes of them.
  struct Read {
    Bytes bytes;
    std::optional<Bytes> most;
  };
  enum class Role : uint8_t { Count, Inner, Row, Column };
  struct Attends {
    Extents queries;
    double size, length;
    bool causal, backward;
  };
  struct OpWork {
    mlir::Operation *op;
    uint32_t type;
    cost::Work BlockCost::*phase;
    std::array<bool, kRecomputeModes> again{};
    /// Views and constants do nothing.
    bool works = false, attends = false, dispatches = false;
    Extents sizes = {};
    llvm::SmallVector<Bytes, 2> results = {};
    llvm::SmallVector<Read, 3> reads = {};
    cost::Width width = cost::Width::F32;
    /// Roles of the factors, if the op is a contraction of two operands; else empty.
    llvm::SmallVector<Role> roles = {};
    std::optional<Attends> attention = std::nullopt;
  };
  /// A value in the layouts in which it is wanted, in the order of the program: the first as it is made, each of the
  /// others made once, from the nearest of those before it.
  struct Brought {
    struct Form {
      Layout layout;
      Extents extents;
      /// For whom: an op, or in `ofState` the state of what the op makes. Nothing for the first form.
      uint32_t op;
      bool ofState;
      /// How many blocks are like that of the op.
      double blocks;
    };
    llvm::SmallVector<Form, 2> forms;
    int64_t elementBytes;
    /// How many values are like it.
    int64_t times;
    /// No input reaches it: it is brought once a step.
    bool once;
  };
  struct State {
    uint32_t type;
    Extents extents;
    double each, copy;
    bool trained, ofExperts;
  };
  struct Copies {
    const BlockTable::Tied *tied;
    Extents extents;
  };
  struct Logits {
    Extents extents;
    double each, narrow;
  };
  /// Memory that an expert layer of a type of blocks needs besides the values of the step.
  struct ExpertRows {
    uint32_t type;
    std::array<Bytes, 2> bytes;
  };
  static constexpr uint32_t kNoBlock = ~0u;
  /// A value that has memory.
  struct Held {
    /// The type of its block, or kNoBlock.
    uint32_t type;
    Bytes bytes;
    bool once = false;
    std::optional<Logits> logits = std::nullopt;
    /// Layouts to which a parameter is brought.
    std::vector<Bytes> brought{};
    /// Bytes that wait for the backward pass, those of them for weight gradients, and those that input gradients leave
    /// for weight gradients.
    std::array<std::vector<Bytes>, kRecomputeModes> waiting{}, ofWeights{}, left{};
  };
  class Builder;
  class Evaluation;

  const BlockTable &table;
  int64_t logitsBytes;
  SequenceExchange exchange;
  std::vector<Extent> extents;
  std::vector<Axes> axes{Axes()};
  std::vector<OpWork> ops;
  std::vector<Brought> brought;
  std::vector<State> states;
  std::vector<Copies> copies;
  std::vector<ExpertRows> rows;
  /// Parameters that wait as they were brought; values in the order of the table's, those of no block too.
  std::vector<Held> parameters, values;
  /// Per block: what a stage that begins with it receives.
  std::vector<std::pair<uint32_t, std::vector<Bytes>>> entering;
};

/// Largest logits of a chunk, of the target for a machine's devices.
int64_t logitsBytesOf(const cost::Machine &machine);

/// Per type of blocks. `plan` places the step: its ops and states, its mesh and its batch axes say the local sizes.
std::vector<BlockCost> priceBlocks(const PlacementInput &input, const StepValues &values, const plan::Plan &plan,
                                   const cost::Machine &machine);

/// BlockPrices::collectives of such a plan.
std::vector<CollectiveRow> pricedCollectives(const PlacementInput &input, const StepValues &values,
                                             const plan::Plan &plan, const cost::Machine &machine);

} // namespace dtcc::spmd

#endif // DTCC_PLANNER_MODEL_PRICEBLOCKS_H
