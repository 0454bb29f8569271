//===- Fuse.cpp - Put ops that are one kernel into exec.fused
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Greedy, in program order: an op joins the kernel of one of its producers, or of a
// sibling that reads the same values, if the domain analysis says that the result is
// still one kernel and no path leaves the kernel and comes back. Then a kernel whose values
// one other kernel alone reads joins that. What the backward pass computes from values of
// the forward pass stays in the backward pass, unless it is smaller than what it reads. Last,
// a kernel recomputes a value instead of reading it if its operands have at most half the bytes:
// the f32 form of a 16-bit value, or a difference to a mean. If that kernel is the only other
// reader, operands of about the same size suffice, because the value is then not stored at all.
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
#include "passes/exec/local/KernelDependences.h"
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

struct Group {
  SmallVector<Operation *> ops; // in program order
  unsigned last = 0;            // the number of the last op
};

class BlockFusion {
public:
  BlockFusion(Block &block)
      : block(block), dependences(block, [this](Operation *op) {
          Group *group = groupOf.lookup(op);
          return group ? ArrayRef<Operation *>(group->ops) : ArrayRef<Operation *>();
        }) {}
  void run();

private:
  void place(Operation *op);
  bool join(Group &group, ArrayRef<Operation *> more);
  Group *onlyReader(const Group &group) const;
  bool frees(const Group &group, const Group &reader) const;
  bool liesBetween(const Group &group, const Group &reader) const;
  void mergeIntoReaders();
  bool isKernel(ArrayRef<Operation *> ops) const;
  bool sourcesAreKernels(Operation *op, const Group &reader) const;
  bool mayKeepOperands(Operation *op, const Group &group) const;
  bool repeat(Operation *op, Group &reader, ArrayRef<OpOperand *> uses, bool isOnlyReader);
  void repeatInReaders();
  /// The kernel that `op` would be in: its ops and clones of duplicable operands' ops.
  SmallVector<Operation *> withDuplicates(ArrayRef<Operation *> ops) const;
  SmallVector<Group *> siblingsOf(Operation *op);
  void outline(Group &group);

  Block &block;
  SmallVector<std::unique_ptr<Group>> groups;
  llvm::DenseMap<Operation *, Group *> groupOf;
  /// The last kMostSiblings kernels that read a value, in the order of the ops that do.
  llvm::DenseMap<Value, SmallVector<Group *>> readersOf;
  llvm::DenseMap<Operation *, unsigned> numbers;
  /// The number of the last graph.barrier that an op depends on.
  llvm::DenseMap<Operation *, unsigned> fences;
  /// The number of the first spmd.send that depends on an op: other stages wait for it.
  llvm::DenseMap<Operation *, unsigned> sends;
  /// The kernel's own copy of a value that it repeats, by kernel and value.
  llvm::DenseMap<std::pair<Group *, Value>, Value> repeated;
  KernelDependences dependences;
};

/// The order of the block, in which copies have places, too.
static bool isEarlier(Operation *a, Operation *b) { return a->isBeforeInBlock(b); }

/// Ops whose results are repeated in each kernel that reads them, in program order.
SmallVector<Operation *> BlockFusion::withDuplicates(ArrayRef<Operation *> ops) const {
  llvm::SetVector<Operation *> all(ops.begin(), ops.end());
  for (size_t i = 0; i < all.size(); ++i)
    for (Value operand : all[i]->getOperands())
      if (Operation *producer = operand.getDefiningOp();
          producer && producer->getBlock() == &block && isDuplicable(producer) && isFusible(producer))
        all.insert(producer);
  SmallVector<Operation *> sorted(all.begin(), all.end());
  llvm::sort(sorted, isEarlier);
  return sorted;
}

/// Whether something that is not in the kernel reads the value. A duplicable op is
/// in each kernel that reads it.
static bool isReadOutside(Value value, const llvm::SmallPtrSetImpl<Operation *> &members) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (members.contains(user))
      return false;
    if (!isDuplicable(user) || !isFusible(user))
      return true;
    return llvm::any_of(user->getResults(), [&](Value result) { return isReadOutside(result, members); });
  });
}

static double bytesOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? double(type.getNumElements()) * llvm::divideCeil(type.getElementTypeBitWidth(), 8) : 0;
}

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
  SmallVector<Operation *> kernel = withDuplicates(ops);
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
    groupOf[op] = &group;
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
      Group *other = groupOf.lookup(user);
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
      bool isOwn = producer && (groupOf.lookup(producer) == &group || (isDuplicable(producer) && isFusible(producer)));
      bool isLast = llvm::all_of(operand.getUsers(), [&](Operation *user) {
        Group *other = groupOf.lookup(user);
        return other == &group || (other != &reader && numbers.lookup(user) < last);
      });
      if (!isOwn && isLast && seen.insert(operand).second)
        freed += bytesOf(operand);
    }
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) { return groupOf.lookup(user) != &group; }))
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

/// Merges a kernel into its only reader. An op that could join several kernels may have left such kernels behind.
void BlockFusion::mergeIntoReaders() {
  for (std::unique_ptr<Group> &group : llvm::reverse(groups)) {
    Group *reader = onlyReader(*group);
    bool crosses = reader && llvm::any_of(reader->ops, [&](Operation *op) {
                     return llvm::any_of(group->ops, [&](Operation *other) { return isAfter(op, other); });
                   });
    if (reader && !crosses && !frees(*group, *reader) && !liesBetween(*group, *reader) && join(*reader, group->ops))
      *group = Group();
  }
  llvm::erase_if(groups, [](const std::unique_ptr<Group> &group) { return group->ops.empty(); });
}

/// Whether a kernel may make the op's result again for next to nothing: no op that multiplies, since a product and a
/// sum in one kernel may round once.
static bool isRepeatable(Operation *op) {
  if (auto cast = dyn_cast<graph::CastOp>(op))
    return graph::isHalf(cast.getX()) && bytesOf(cast.getX()) < bytesOf(cast.getResult());
  return isa<graph::AddOp, graph::SubOp>(op);
}

/// Whether the ops of a group form one kernel, with the results that are read outside the group now.
bool BlockFusion::isKernel(ArrayRef<Operation *> ops) const {
  llvm::SmallPtrSet<Operation *, 16> members(ops.begin(), ops.end());
  auto isOutput = [&](Value value) { return members.contains(value.getDefiningOp()) && isReadOutside(value, members); };
  return succeeded(KernelDomain::analyze(withDuplicates(ops), isOutput));
}

/// Whether the kernels that store what `op` of the kernel `reader` reads can store it. A clone may be the first reader
/// outside a kernel of a value that this kernel computes for several cells of its loops at a time.
bool BlockFusion::sourcesAreKernels(Operation *op, const Group &reader) const {
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    Operation *producer = operand.getDefiningOp();
    if (!producer || producer->getBlock() != &block)
      return true;
    if (isFusible(producer) && isDuplicable(producer))
      return sourcesAreKernels(producer, reader);
    Group *source = groupOf.lookup(producer);
    return !source || source == &reader || isKernel(source->ops);
  });
}

/// Whether the large operands of `op` may be kept in place of its result: an activation that lies in memory. What its
/// own kernel makes does not yet, and parameters that are gathered, or a batch, are there for a while.
bool BlockFusion::mayKeepOperands(Operation *op, const Group &group) const {
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    Operation *producer = operand.getDefiningOp();
    if (2 * bytesOf(operand) <= bytesOf(op->getResult(0)) ||
        (producer && isFusible(producer) && isDuplicable(producer)))
      return true;
    if (!producer || groupOf.lookup(producer) == &group)
      return false;
    return isFusible(producer) ||
           isa<graph::ContractOp, ProductOp, graph::ConvolutionOp, graph::ConvolutionInputGradOp>(producer);
  });
}

/// Moves a copy of a kernel to `before`, with the copies that it reads, where they stand behind that: the copy had its
/// place before its first reader, and another one came.
static void moveBefore(Operation *copy, Operation *before) {
  if (!isEarlier(before, copy))
    return;
  copy->moveBefore(before);
  for (Value operand : copy->getOperands())
    if (Operation *producer = operand.getDefiningOp(); producer && producer->getBlock() == copy->getBlock())
      moveBefore(producer, copy);
}

/// Lets `reader` make the op's result itself for `uses`, if what it reads for that is at most half as large, or, where
/// the result is then stored nowhere, not much larger: that is kept in its place. Else returns false, and all is as it
/// was.
bool BlockFusion::repeat(Operation *op, Group &reader, ArrayRef<OpOperand *> uses, bool isOnlyReader) {
  llvm::SmallPtrSet<Operation *, 16> members(reader.ops.begin(), reader.ops.end());
  double reads = 0;
  for (Value operand : op->getOperands()) {
    // A broadcast reads the value that it repeats.
    for (Operation *producer = operand.getDefiningOp();
         producer && isDuplicable(producer) && isFusible(producer) && producer->getNumOperands() == 1;
         producer = operand.getDefiningOp())
      operand = producer->getOperand(0);
    bool isThere = repeated.count({&reader, operand}) || members.contains(operand.getDefiningOp()) ||
                   llvm::any_of(operand.getUsers(), [&](Operation *user) { return members.contains(user); });
    reads += isThere ? 0 : bytesOf(operand);
  }
  Value result = op->getResult(0);
  constexpr double kAsMuch = 1.0 / 16; // one number a channel
  if (reads > bytesOf(result) * (isOnlyReader ? 1 + kAsMuch : 0.5))
    return false;
  Operation *first = uses.front()->getOwner();
  for (OpOperand *use : uses)
    first = isEarlier(use->getOwner(), first) ? use->getOwner() : first;
  Operation *made = OpBuilder(first).clone(*op);
  for (OpOperand &operand : made->getOpOperands())
    if (Value own = repeated.lookup({&reader, operand.get()})) {
      operand.set(own);
      moveBefore(own.getDefiningOp(), made);
    }
  for (OpOperand *use : uses)
    use->set(made->getResult(0));
  SmallVector<Operation *> ops(reader.ops);
  ops.push_back(made);
  llvm::sort(ops, isEarlier);
  if (!isKernel(ops) || !sourcesAreKernels(made, reader)) {
    for (OpOperand *use : uses)
      use->set(result);
    made->erase();
    return false;
  }
  reader.ops = std::move(ops);
  groupOf[made] = &reader;
  repeated[{&reader, result}] = made->getResult(0);
  return true;
}

/// Repeats an op in its readers if they can recompute it from fewer bytes than the kernel would write: from halves
/// instead of their f32, or from sums that hold one number per row. If one kernel alone wants the result, it may also
/// read an activation as large as that: the result need not be stored then.
void BlockFusion::repeatInReaders() {
  for (std::unique_ptr<Group> &group : groups)
    for (Operation *op : SmallVector<Operation *>(group->ops)) {
      if (!isRepeatable(op))
        continue;
      llvm::MapVector<Group *, SmallVector<OpOperand *>> readers;
      bool isStored = false; // whatever kernels do
      for (OpOperand &use : op->getUses()) {
        Group *reader = groupOf.lookup(use.getOwner());
        isStored |= !reader;
        if (reader != group.get())
          readers[reader].push_back(&use);
      }
      if (isStored || readers.empty())
        continue;
      // Without the op the others must be one kernel still.
      bool isUsedHere =
          llvm::any_of(op->getUsers(), [&](Operation *user) { return groupOf.lookup(user) == group.get(); });
      SmallVector<Operation *> rest(group->ops);
      llvm::erase(rest, op);
      if (!isUsedHere && !rest.empty() && !isKernel(rest))
        continue;
      for (auto &[reader, uses] : readers)
        if (!repeat(op, *reader, uses, readers.size() == 1 && mayKeepOperands(op, *group)))
          break;
      if (op->use_empty()) {
        llvm::erase(group->ops, op);
        groupOf.erase(op);
        // The allocator may make another op at the address of this one, so no table may still name it.
        for (Group *reader : llvm::make_first_range(readers))
          repeated.erase({reader, op->getResult(0)});
        op->erase();
      }
    }
  llvm::erase_if(groups, [](const std::unique_ptr<Group> &group) { return group->ops.empty(); });
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
      if (Group *group = groupOf.lookup(producer))
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
    found = groups.emplace_back(std::make_unique<Group>()).get();
    found->ops.push_back(op);
    found->last = numbers.lookup(op);
    groupOf[op] = found;
  }
  for (Value operand : op->getOperands()) {
    SmallVector<Group *> &readers = readersOf[operand];
    llvm::erase(readers, found);
    readers.push_back(found);
    if (readers.size() > kMostSiblings)
      readers.erase(readers.begin());
  }
}

/// Moves the group's ops, with clones of the duplicable ones, into one exec.fused.
void BlockFusion::outline(Group &group) {
  SmallVector<Operation *> kernel = withDuplicates(group.ops);
  llvm::SmallPtrSet<Operation *, 16> members(group.ops.begin(), group.ops.end());
  llvm::SmallPtrSet<Operation *, 16> inside(kernel.begin(), kernel.end());
  auto isOutput = [&](Value value) { return members.contains(value.getDefiningOp()) && isReadOutside(value, members); };
  FailureOr<KernelDomain> domain = KernelDomain::analyze(kernel, isOutput);
  SmallVector<Operation *> apart = succeeded(domain) ? domain->apart : SmallVector<Operation *>();
  llvm::SetVector<Value> inputs, outputs;
  for (Operation *op : kernel) {
    for (Value operand : op->getOperands())
      if (!inside.contains(operand.getDefiningOp()) && !llvm::is_contained(apart, op))
        inputs.insert(operand);
    if (members.contains(op))
      for (Value result : op->getResults())
        if (isOutput(result))
          outputs.insert(result);
  }
  SmallVector<Value> operands = inputs.takeVector();
  for (Operation *op : apart)
    operands.push_back(op->getOperand(0));
  Operation *last = group.ops.back();
  OpBuilder builder(last);
  builder.setInsertionPointAfter(last);
  SmallVector<Type> types;
  for (Value output : outputs)
    types.push_back(output.getType());
  SmallVector<Location> places;
  for (Operation *op : group.ops)
    places.push_back(op->getLoc());
  auto fused = FusedOp::create(builder, builder.getFusedLoc(places), types, operands, StringAttr());
  Block *body = builder.createBlock(&fused.getBody());
  IRMapping mapping;
  for (Value operand : operands)
    body->addArgument(operand.getType(), operand.getLoc());
  unsigned shared = operands.size() - apart.size();
  for (unsigned i = 0; i < shared; ++i)
    mapping.map(operands[i], body->getArgument(i));
  for (Operation *op : kernel) {
    auto *own = llvm::find(apart, op);
    if (own == apart.end()) {
      builder.clone(*op, mapping);
      continue;
    }
    // The argument is this reader's alone.
    IRMapping alone;
    alone.map(op->getOperand(0), body->getArgument(shared + (own - apart.begin())));
    mapping.map(op->getResult(0), builder.clone(*op, alone)->getResult(0));
  }
  SmallVector<Value> yielded;
  for (Value output : outputs)
    yielded.push_back(mapping.lookup(output));
  YieldOp::create(builder, last->getLoc(), yielded);
  for (auto [output, result] : llvm::zip_equal(outputs, fused.getResults()))
    Value(output).replaceUsesWithIf(
        result, [&](OpOperand &use) { return use.getOwner() != fused && !members.contains(use.getOwner()); });
  for (Operation *op : llvm::reverse(kernel))
    if (op->use_empty())
      op->erase();
}

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
  repeatInReaders();
  for (std::unique_ptr<Group> &group : groups)
    outline(*group);
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
