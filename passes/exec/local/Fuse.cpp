//===- Fuse.cpp - Put ops that are one kernel into exec.fused
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Greedy, in program order: an op joins the kernel of one of its producers, or of a
// sibling that reads the same values, if the domain analysis says that the result is
// still one kernel and no path leaves the kernel and comes back. The kernels of its other
// producers join it there, as long as none of them has sums. Then a kernel whose values
// one other kernel alone reads joins that. What the backward pass computes from values of
// the forward pass stays in the backward pass, unless it is smaller than what it reads. Last,
// kernels make again what is cheaper to make than to read (Repetition.h).
//
//===----------------------------------------------------------------------===//

#include "dialects/exec/Exec.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/Origin.h"
#include "dialects/graph/PrecisionPolicy.h"
#include "dialects/spmd/Spmd.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "passes/exec/Passes.h"
#include "passes/exec/codegen/KernelDomain.h"
#include "passes/exec/local/BlockOrder.h"
#include "passes/exec/local/FusedGroups.h"
#include "passes/exec/local/KernelDependences.h"
#include "passes/exec/local/Repetition.h"
#include "llvm/ADT/SetVector.h"

namespace dtcc::exec {
#define GEN_PASS_DEF_FUSE
#include "passes/exec/Passes.h.inc"
} // namespace dtcc::exec

using namespace mlir;

namespace dtcc::exec {
namespace {

/// More buffers than this and addresses no longer fit into registers.
constexpr size_t kMostBuffers = 24;

/// Kernels that read a value and are tried for another reader of it, nearest first: a value may have any number of
/// them.
constexpr size_t kMostSiblings = 64;

class BlockFusion {
public:
  BlockFusion(Block &block)
      : block(block), kernels(block), dependences(block, [this](Operation *op) {
          Group *group = kernels.groupOf.lookup(op);
          return group ? ArrayRef<Operation *>(group->ops) : ArrayRef<Operation *>();
        }) {}
  void run();

private:
  void place(Operation *op);
  bool join(Group &group, ArrayRef<Operation *> more);
  Group *onlyReader(const Group &group) const;
  bool frees(const Group &group, const Group &reader) const;
  bool liesBetween(const Group &group, const Group &reader) const;
  bool merge(Group &group, Group &reader);
  void mergeIntoReaders();
  void noteReads(Operation *op, Group &group);
  SmallVector<Group *> siblingsOf(Operation *op);

  Block &block;
  FusedGroups kernels;
  /// The last kMostSiblings kernels that read a value, in the order of the ops that do.
  llvm::DenseMap<Value, SmallVector<Group *>> readersOf;
  llvm::DenseMap<Operation *, unsigned> numbers;
  /// The number of the last graph.barrier that an op depends on.
  llvm::DenseMap<Operation *, unsigned> fences;
  /// The number of the first spmd.send that depends on an op: other stages wait for it.
  llvm::DenseMap<Operation *, unsigned> sends;
  KernelDependences dependences;
};

/// 0: the forward pass, 1: what is computed of it once more, 2: gradients. Nothing for other ops.
static std::optional<int> passOf(Operation *op) {
  std::optional<graph::Phase> phase = op ? graph::findPhase(op) : std::nullopt;
  if (!phase || *phase == graph::Phase::Update)
    return std::nullopt;
  return graph::computesLoss(op) ? 0 : *phase == graph::Phase::Recompute ? 1 : 2;
}

static bool isAfter(Operation *op, Operation *other) {
  std::optional<int> mine = passOf(op), its = passOf(other);
  return mine && its && *mine > *its;
}

/// Whether `op` reads values of passes before its own alone and makes no less than it reads: in a kernel of such a pass
/// its result would be made early, and wait instead of what it reads.
static bool waitsInVain(Operation *op) {
  double makes = 0, reads = 0;
  for (Value result : op->getResults())
    makes += bytesOf(result);
  for (Value operand : op->getOperands()) {
    if (Operation *producer = operand.getDefiningOp();
        passOf(producer) && !isAfter(op, producer) && !isDuplicable(producer))
      return false;
    reads = std::max(reads, bytesOf(operand));
  }
  return makes >= reads;
}

/// Ops of a kernel. Each op that joins one is held against all that are in it, so that a chain of any length takes time
/// by its length.
constexpr size_t kMostOps = 128;

bool BlockFusion::join(Group &group, ArrayRef<Operation *> more) {
  if (group.ops.size() + more.size() > kMostOps)
    return false;
  SmallVector<Operation *> ops(group.ops);
  llvm::append_range(ops, more);
  llvm::sort(ops, [&](Operation *a, Operation *b) { return numbers.lookup(a) < numbers.lookup(b); });
  unsigned first = numbers.lookup(ops.front()), last = numbers.lookup(ops.back());
  for (Operation *op : ops) {
    // Recomputation stays with the backward pass that wants it: in one kernel with the forward
    // ops that it repeats it would have nothing to gain.
    if (first < fences.lookup(op))
      return false;
    // A message must not wait for ops that stand behind it.
    if (auto send = sends.find(op); send != sends.end() && send->second < last)
      return false;
  }
  SmallVector<Operation *> kernel = kernels.withDuplicates(ops);
  llvm::SmallPtrSet<Operation *, 16> inside(kernel.begin(), kernel.end());
  llvm::SmallPtrSet<Operation *, 16> members(ops.begin(), ops.end());
  auto isOutput = [&](Value value) { return members.contains(value.getDefiningOp()) && isReadOutside(value, members); };
  FailureOr<KernelDomain> domain = KernelDomain::analyze(kernel, isOutput);
  if (failed(domain) || dependences.leavesAndReturns(group.ops, more))
    return false;
  llvm::SmallPtrSet<Value, 16> buffers;
  for (Operation *member : kernel) {
    for (Value operand : member->getOperands())
      if (!inside.contains(operand.getDefiningOp()))
        buffers.insert(operand);
    for (Value result : member->getResults())
      if (isOutput(result))
        buffers.insert(result);
  }
  if (buffers.size() + domain->apart.size() > kMostBuffers)
    return false;
  group.ops = std::move(ops);
  group.last = last;
  for (Operation *op : more)
    kernels.groupOf[op] = &group;
  dependences.join(group.ops);
  return true;
}

/// The one kernel that reads what `group` makes, if nothing else does but ops that are no kernels and read sums that
/// are small beside it, as the gradient of a bias is.
Group *BlockFusion::onlyReader(const Group &group) const {
  constexpr double kSmall = 1.0 / 16;
  llvm::SmallPtrSet<OpOperand *, 16> seen;
  SmallVector<Operation *> work(group.ops);
  Group *reader = nullptr;
  double read = 0, stored = 0;
  while (!work.empty())
    for (OpOperand &use : work.pop_back_val()->getUses()) {
      if (!seen.insert(&use).second)
        continue;
      Operation *user = use.getOwner();
      Group *other = kernels.groupOf.lookup(user);
      if (other == &group)
        continue;
      if (!other && user->getBlock() == &block && isDuplicable(user) && isFusible(user)) {
        work.push_back(user); // repeated in each kernel that reads it
        continue;
      }
      if (other && reader && other != reader)
        return nullptr;
      reader = other ? other : reader;
      double &most = other ? read : stored;
      most = std::max(most, bytesOf(use.get()));
    }
  return stored <= kSmall * read ? reader : nullptr;
}

/// Whether clearly less would lie in memory with `group` as a kernel of its own before `reader`: what nobody reads
/// after it is half as much again as what it makes, or more.
bool BlockFusion::frees(const Group &group, const Group &reader) const {
  unsigned last = reader.last;
  llvm::SmallPtrSet<Value, 16> seen;
  double freed = 0, made = 0;
  for (Operation *op : group.ops) {
    for (Value operand : op->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      bool isOwn =
          producer && (kernels.groupOf.lookup(producer) == &group || (isDuplicable(producer) && isFusible(producer)));
      bool isLast = llvm::all_of(operand.getUsers(), [&](Operation *user) {
        Group *other = kernels.groupOf.lookup(user);
        return other == &group || (other != &reader && numbers.lookup(user) < last);
      });
      if (!isOwn && isLast && seen.insert(operand).second)
        freed += bytesOf(operand);
    }
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) { return kernels.groupOf.lookup(user) != &group; }))
        made += bytesOf(result);
  }
  return freed > 1.5 * made;
}

/// Whether what is no kernel, as a sum over the ranks is, reads what `group` makes and gives `reader` what it reads.
bool BlockFusion::liesBetween(const Group &group, const Group &reader) const {
  SmallVector<Operation *> both(group.ops);
  llvm::append_range(both, reader.ops);
  return dependences.leavesAndReturns(both, reader.ops);
}

static bool hasSums(const Group &group) {
  return llvm::any_of(group.ops, [](Operation *op) { return isa<graph::ReduceOp>(op); });
}

/// Makes one kernel of `group` and of `reader`, which reads what it makes. False, and nothing has changed, if they are
/// of different passes, if they are not one kernel, or if that would hold memory longer.
bool BlockFusion::merge(Group &group, Group &reader) {
  bool crosses = llvm::any_of(reader.ops, [&](Operation *op) {
    return llvm::any_of(group.ops, [&](Operation *other) { return isAfter(op, other); });
  });
  if (crosses || frees(group, reader) || liesBetween(group, reader) || !join(reader, group.ops))
    return false;
  for (Operation *op : group.ops)
    for (Value operand : op->getOperands())
      llvm::erase(readersOf[operand], &group);
  for (Operation *op : group.ops)
    noteReads(op, reader);
  group = Group();
  return true;
}

/// Merges a kernel into its only reader. An op that could join several kernels may have left such kernels behind.
void BlockFusion::mergeIntoReaders() {
  for (std::unique_ptr<Group> &group : llvm::reverse(kernels.groups))
    if (Group *reader = onlyReader(*group))
      merge(*group, *reader);
  kernels.eraseEmpty();
}

/// Kernels that read a value that `op` reads. A constant saves no read, because each kernel has it in its code.
SmallVector<Group *> BlockFusion::siblingsOf(Operation *op) {
  llvm::SetVector<Group *> siblings;
  for (Value operand : op->getOperands()) {
    auto readers = readersOf.find(operand);
    if (readers == readersOf.end() || matchPattern(operand, m_Constant()))
      continue;
    llvm::erase_if(readers->second, [](Group *group) { return group->ops.size() == kMostOps; });
    siblings.insert(readers->second.begin(), readers->second.end());
  }
  return siblings.takeVector();
}

void BlockFusion::place(Operation *op) {
  // Nearest first: producers, then other readers of the same values.
  llvm::SetVector<Group *> candidates;
  for (Value operand : op->getOperands())
    if (Operation *producer = operand.getDefiningOp())
      if (Group *group = kernels.groupOf.lookup(producer))
        candidates.insert(group);
  auto latestFirst = [](Group *a, Group *b) { return a->last > b->last; };
  SmallVector<Group *> producers = candidates.takeVector(), siblings = siblingsOf(op);
  llvm::sort(producers, latestFirst);
  llvm::sort(siblings, latestFirst);
  Group *found = nullptr;
  for (Group *group : llvm::concat<Group *>(producers, siblings))
    if (!(waitsInVain(op) && llvm::any_of(group->ops, [&](Operation *member) { return isAfter(op, member); })) &&
        join(*group, op)) {
      found = group;
      break;
    }
  if (!found) {
    found = kernels.groups.emplace_back(std::make_unique<Group>()).get();
    found->ops.push_back(op);
    found->last = numbers.lookup(op);
    kernels.groupOf[op] = found;
  }
  noteReads(op, *found);
  // The kernels of dy and of x become one in dy * x, before sums of dy keep them apart: the sums of dy and of dy * x
  // then read both once.
  if (!hasSums(*found))
    for (Group *group : producers)
      if (group != found && !hasSums(*group))
        merge(*group, *found);
}

void BlockFusion::noteReads(Operation *op, Group &group) {
  for (Value operand : op->getOperands()) {
    SmallVector<Group *> &readers = readersOf[operand];
    llvm::erase(readers, &group);
    readers.push_back(&group);
    if (readers.size() > kMostSiblings)
      readers.erase(readers.begin());
  }
}

/// Moves the group's ops, with clones of the duplicable ones, into one exec.fused.
void BlockFusion::run() {
  unsigned number = 0;
  for (Operation &op : block) {
    unsigned fence = isa<graph::BarrierOp>(op) ? number : 0;
    for (Value operand : op.getOperands())
      if (Operation *producer = operand.getDefiningOp())
        fence = std::max(fence, fences.lookup(producer));
    fences[&op] = fence;
    numbers[&op] = ++number;
  }
  for (Operation &op : llvm::reverse(block)) {
    if (isa<spmd::SendOp>(op))
      sends[&op] = numbers.lookup(&op);
    if (auto send = sends.find(&op); send != sends.end())
      for (unsigned first = send->second; Value operand : op.getOperands())
        if (Operation *producer = operand.getDefiningOp()) {
          auto [known, isNew] = sends.try_emplace(producer, first);
          known->second = std::min(known->second, first);
        }
  }
  for (Operation &op : block) {
    if (!isFusible(&op))
      continue;
    // Something that costs nothing is a kernel of its own only for readers that are not kernels.
    if (isDuplicable(&op) &&
        llvm::all_of(op.getUsers(), [&](Operation *user) { return user->getBlock() == &block && isFusible(user); }))
      continue;
    place(&op);
  }
  mergeIntoReaders();
  Repetition(kernels).run();
  for (std::unique_ptr<Group> &group : kernels.groups)
    kernels.outline(*group);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isFusible(&op) && isDuplicable(&op) && op.use_empty())
      op.erase();
  // A kernel stands where its last op stood; readers of its other values may stand before it.
  restoreOrder(block);
}

struct Fuse : impl::FuseBase<Fuse> {
  void runOnOperation() override {
    getOperation()->walk([](Operation *op) {
      if (isa<FusedOp>(op))
        return WalkResult::skip();
      for (Region &region : op->getRegions())
        for (Block &block : region)
          if (!isa<ModuleOp>(op))
            BlockFusion(block).run();
      return WalkResult::advance();
    });
    if (getContext().getRemarkEngine())
      tell();
  }

  void tell() {
    size_t kernels = 0, ops = 0;
    getOperation()->walk([&](FusedOp kernel) {
      ++kernels;
      ops += kernel.getBody().front().getOperations().size() - 1;
    });
    remark::passed(getOperation()->getLoc(), remark::RemarkOpts::name("fused").category(getArgument()))
        << remark::metric("Ops", ops) << remark::metric("Kernels", kernels);
  }
};
} // namespace
} // namespace dtcc::exec
