//===- PriceBlocks.h - Work, communication and memory of each block
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Turns a placed step into the input of the cost model (planner/cost/Work.h), op by op in local
// sizes: products by their rows, columns and inner columns, attention, bytes of all other ops,
// and seconds of reshards by the planner that later emits them. Memory is counted value by value.
//
// The layouts are found once for a placement, and sums over them are stored as products of
// extents. A price for another mesh or another number of samples is therefore arithmetic.
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

/// The work of one block, for one micro-batch of a rank.
struct BlockWork {
  cost::Work forward, inputGradient, weightGradient;
  /// Work that no input reaches: it is done once a step.
  cost::Work once;
  /// Work that is done again for the backward pass, by plan::Recompute.
  std::array<cost::Work, kRecomputeModes> again;
  /// Numbers of attentions and of expert layers, whose communication over cp and ep is priced separately.
  double attentions = 0, expertLayers = 0;
  /// Whether experts are sent their rows again, by plan::Recompute.
  std::array<bool, kRecomputeModes> sendsAgain{};
  /// Whether a mode computes anything again.
  bool computesAgain(plan::Recompute mode) const {
    const cost::Work &work = again[size_t(mode)];
    return work.kernelBytes > 0 || !work.gemms.empty() || !work.attentions.empty();
  }
};

/// Bytes and elements of one block, for one micro-batch of a rank.
struct BlockMemory {
  /// Bytes that wait for the backward pass, by plan::Recompute.
  std::array<double, kRecomputeModes> heldBytes{};
  /// If weight gradients are apart, bytes of those that wait which weight gradients read, and bytes that input
  /// gradients leave for them (gradients, and values computed again for both), by plan::Recompute.
  std::array<double, kRecomputeModes> weightBytes{}, leftBytes{};
  /// Bytes of a chunk of logits and of their gradient, which are never whole. Not a part of the other fields.
  double logitBytes = 0;
  /// Bytes of logits still alive when the classifier's gradient is computed: all chunks, if there are several.
  double lateLogitBytes = 0;
  /// Bytes at the peak of the block besides those that are held, by plan::Recompute.
  std::array<double, kRecomputeModes> workingBytes{};
  /// Largest scratch memory of a library operation of a GPU.
  double scratchBytes = 0;
  /// Bytes that are kept all the time: tables, casts of parameters.
  double onceBytes = 0;
  /// Bytes of resharded copies of parameters. With several micro-batches each copy is made once a step and kept. With
  /// one micro-batch only the copies made in the forward pass stay alive (broughtHeldBytes).
  double broughtBytes = 0;
  std::array<double, kRecomputeModes> broughtHeldBytes{};
  /// Trained elements of a rank, those of experts apart, and bytes of other states. A state counts in the block that
  /// reads it first; `sharedParameters` counts states that earlier blocks read.
  double parameters = 0, expertParameters = 0, sharedParameters = 0, frozenBytes = 0;
  /// Elements among `parameters` that later blocks read too.
  double tiedParameters = 0;
  /// Bytes of copies of these elements in the compute type, if that is narrower.
  double copyBytes = 0, expertCopyBytes = 0, sharedCopyBytes = 0;
  /// Bytes of activations that a stage which ends here sends on: the maximum over repeated blocks.
  double leavingBytes = 0;
  /// Bytes of the places in which these wait to be sent, each as large as the largest of them.
  double leavingRoomBytes = 0;
};

struct BlockCost : BlockWork, BlockMemory {};

/// The sizes of a machine that decide which bytes kernels move, and how many at least.
struct KernelSizes {
  /// Largest logits of a chunk, in bytes.
  int64_t logitsBytes = 0;
  /// Bytes that a GPU moves in the time in which it starts a kernel: no kernel takes less than these. 0 for processors.
  double startBytes = 0;
  /// Whether library operations share scratch memory, as on GPUs (exec::Target::plansWorkspace). Those of processors
  /// have buffers of their own.
  bool plansWorkspace = false;
  static KernelSizes of(const cost::Machine &machine);
};

/// Costs of each type of block for one placement, for any sizes of the mesh and any number of samples.
class BlockPrices {
public:
  /// `plan` places the step: its ops and states say which dimensions the axes of the model split. `sizes` are
  /// those of its machine. `exchange` is the communication of attention over split positions, `capacity` that of expert
  /// layers (plan::OpPlan::capacity; 0: none). The constructor finds the layouts for all calls of `price`.
  BlockPrices(const BlockTable &table, const plan::Plan &plan, KernelSizes sizes,
              SequenceExchange exchange = SequenceExchange::Cheaper, double capacity = 0);

  /// `plan` has the placement of the constructor's plan; its mesh and its batch axes give the local sizes. `reshards`
  /// are the prices of its mesh.
  std::vector<BlockCost> price(const plan::Plan &plan, ReshardPrices &reshards) const;
  /// Messages of the reshards so priced, of a step: a program's collectives over axes of the model. The phase is
  /// "microbatch", for all micro-batches together, or "once".
  std::vector<CollectiveRow> collectives(const plan::Plan &plan, ReshardPrices &reshards) const;

private:
  /// A dimension of a shard: `size`, split by `shared`, then by the axes of `axes`.
  struct Extent {
    int64_t size;
    SharedBy shared;
    uint32_t axes;
    auto operator<=>(const Extent &) const = default;
  };
  /// The dimensions of a shard, by their number among the lists of extents. Shards that are alike have one list, whose
  /// cells are counted once for each mesh.
  struct Extents {
    uint32_t list = 0;
  };
  struct Bytes {
    Extents extents;
    double each = 0;
    /// With a capacity of experts: rows of picks for each of these cells, which then lie packed; 0: they do not.
    double packed = 0;
  };
  /// Bytes that an op reads. If indices name rows of a table, it reads no more than it makes of them.
  struct Read {
    Bytes bytes;
    std::optional<Bytes> most;
    /// Bytes that its kernel reads from memory, if they are others (KernelTraffic.h).
    std::optional<Bytes> moved;
  };
  struct Result {
    Bytes bytes;
    bool isWritten;
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
    cost::Work BlockWork::*phase;
    std::array<bool, kRecomputeModes> again{};
    /// Views and constants do nothing.
    bool works = false, attends = false, dispatches = false;
    /// Whether each row of its products picks a matrix. Its last factors are those of an expert layer: picks, matrices,
    /// the pair of gate and up, their width, and channels in and out.
    bool picks = false;
    Extents sizes = {};
    llvm::SmallVector<Result, 2> results = {};
    llvm::SmallVector<Read, 3> reads = {};
    /// How often its kernels read their operands.
    double passes = 1;
    cost::Width width = cost::Width::F32;
    /// Roles of the factors, if the op is a contraction of two operands; else empty.
    llvm::SmallVector<Role> roles = {};
    std::optional<Attends> attention = std::nullopt;
    /// The kernel that computes it, perhaps with its neighbours (KernelTraffic.h).
    uint32_t kernel = 0;
    /// Values that kernels between the products of an expert layer move: rows that are sorted by expert and come back,
    /// and what the activation reads and writes.
    llvm::SmallVector<Bytes, 3> between = {};
  };
  /// A value in the layouts that its readers need, in the order of the program. The first layout is that of the
  /// producer. Each other layout is computed once, from the nearest earlier layout.
  struct Brought {
    struct Form {
      Layout layout;
      Extents extents;
      /// The reader: an op, or with `ofState` the state of the op's result. Without meaning for the first form.
      uint32_t op;
      bool ofState;
      /// Number of repeated blocks that the block of the op represents.
      double blocks;
    };
    llvm::SmallVector<Form, 2> forms;
    int64_t elementBytes;
    /// Number of values that this one represents.
    int64_t times;
    /// Whether the value depends on no input, so that it is resharded once a step.
    bool once;
    /// The op that makes it, if that is one of `ops`.
    std::optional<uint32_t> maker = std::nullopt;
    /// The number among `values` of what it stands for, if that has memory.
    std::optional<uint32_t> stored = std::nullopt;
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
    /// The rows that experts are sent, by plan::Recompute: those that wait for the backward pass, and those that are
    /// sent again for it.
    std::array<std::optional<Bytes>, kRecomputeModes> waiting = {}, again = {};
  };
  static constexpr uint32_t kNoBlock = ~0u;
  /// A value that has memory.
  struct StoredValue {
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
  KernelSizes sizes;
  SequenceExchange exchange;
  double capacity;
  /// The first list is empty.
  std::vector<std::vector<Extent>> extents{{}};
  std::vector<Axes> axes{Axes()};
  std::vector<OpWork> ops;
  std::vector<Brought> brought;
  std::vector<State> states;
  std::vector<Copies> copies;
  std::vector<ExpertRows> rows;
  /// Parameters in resharded layouts, and values in the order of the table, including those of no block.
  std::vector<StoredValue> parameters, values;
  /// Values that wait in the layout in which a block of another type read them first, for that type. Where a stage
  /// begins between the two, they are on the reader's stage.
  std::vector<StoredValue> gathered;
  /// For each block, the bytes that a stage which begins with the block receives.
  std::vector<std::vector<Bytes>> entering;
};

} // namespace dtcc::spmd

#endif // DTCC_PLANNER_MODEL_PRICEBLOCKS_H
