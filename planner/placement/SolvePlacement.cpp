//===- SolvePlacement.cpp - Which factors the ranks of a model axis share
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "planner/placement/SolvePlacement.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/Origin.h"
#include "dialects/interfaces/Bytes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/spmd/layout/FactorClasses.h"
#include "passes/spmd/layout/PartialFlow.h"
#include "passes/spmd/layout/Projection.h"
#include "planner/placement/PlaceExperts.h"
#include "planner/placement/PlacementNode.h"
#include "planner/placement/PlanEntries.h"
#include "planner/placement/PriceDeliveries.h"
#include "planner/placement/SplitLayouts.h"
#include "planner/step/ProductWidth.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include <map>

using namespace mlir;

namespace dtcc::spmd {

namespace {

/// Factor on the cost of matrices if the model must be split. It exceeds the activations that ranks
/// exchange for a matrix in any model of use. Vectors cost nothing.
constexpr double kDearState = 64;

/// Factor on the cost of gathering weights that should stay where they are. In any model of use the activations that
/// ranks exchange instead of a matrix have fewer times its bytes. Where an op allows nothing else, the cost is paid.
constexpr double kDearGather = 4096;

using Node = PlacementNode;
class PlacementSolver {
public:
  /// `split` is of the mesh and the batch axes of `plan`.
  PlacementSolver(const PlacementInput &input, plan::Plan &plan, SplitLayouts &split,
                  std::optional<llvm::DenseSet<unsigned>> padded = std::nullopt)
      : input(input), step(input.blocks.step()), plan(plan), split(split), machine(split.machine), axes(split.axes),
        classes(input.classes), inputs(input.inputs), padded(std::move(padded)) {}

  /// `firsts`: of blocks that are alike, the first alone is written. True: proven best.
  FailureOr<bool> run(bool firsts);
  /// The classes that the placement of run() pads by much.
  llvm::DenseSet<unsigned> paddedByMuch();
  double cost() const { return solution.cost; }
  /// Sets up the problem: what every candidate costs, and every pair of neighbours.
  LogicalResult prepare();
  /// Describes the prepared problem.
  PlacementProblem describe() const;

private:
  void collectNodes();
  int64_t paddedSize(int64_t size) const { return int64_t(llvm::alignTo(size, split.group)); }
  /// Whether padding adds more than a half.
  bool isPaddedMuch(int64_t size) const { return 2 * (paddedSize(size) - size) > size; }
  bool mayShard(unsigned id, int64_t size) const;
  SmallVector<int64_t> localShape(Value value) const;
  double localCells(Value value) const;
  int64_t localSize(unsigned id, int64_t size) const;
  /// The layouts of an op's operands and results under a candidate; nothing if it is impossible.
  const std::optional<OpLayouts> &layoutsOf(Operation *op, int64_t candidate);
  const FactorMap &mapOf(Operation *op) { return split.plannedOf(op).map; }
  Layout stateLayout(graph::StateOp state, int64_t candidate) const;
  double workOf(Operation *op, int64_t candidate);
  /// Whether every value of the node under the candidate obeys its pin.
  bool isPinnedSo(const Node &node, int64_t candidate);
  /// Emits the reason why no candidate of a node with a pin is left.
  LogicalResult refuse(const Node &node);
  /// Would ranks repeat what the plan wants them to share out by positions?
  bool repeatsPositions(const Node &node, int64_t candidate) const;
  void addFlows();
  void addDeliveries();
  void deliver(const StepBlocks::Flow &flow);
  /// The layout of what an op or a state gives, and of what an op or the update of a state wants.
  std::optional<Layout> producedAs(OpResult value, int64_t candidate);
  std::optional<Layout> wantedAs(Operation *op, unsigned operand, int64_t candidate);
  /// The node whose choice says how the op's values lie.
  uint32_t endOf(Operation *op) const {
    auto flow = flowing.find(op);
    return flow == flowing.end() ? numbers.lookup(op) : flow->second.first;
  }

  /// The ops whose placement is solved: of blocks that are alike, those of the first.
  ArrayRef<Operation *> ops() const { return input.blocks.uniqueOps(); }
  Operation *representative(Operation *op) const { return input.blocks.representative(op); }
  /// Number of repeated blocks that the block of the op represents.
  double timesOf(Operation *op) const {
    std::optional<uint32_t> block = input.blocks.blockOf(op);
    return block ? double(input.blocks.countOf(input.blocks.blocks()[*block].type)) : 1;
  }
  graph::StateOp stateOf(StringRef name) const { return input.states.lookup<graph::StateOp>(name); }

  const PlacementInput &input;
  func::FuncOp step;
  plan::Plan &plan;
  SplitLayouts &split;
  const cost::Machine &machine;
  const Axes &axes;
  const FactorClasses &classes;
  const InputClasses &inputs;

  llvm::MapVector<int64_t, Node> origins;
  llvm::MapVector<StringRef, Node> states;
  llvm::DenseMap<Operation *, uint32_t> numbers;
  std::vector<Node *> nodes;
  /// Ops through which partial sums may go: their nodes, and the set of operands that is partial then.
  llvm::DenseMap<Operation *, std::pair<uint32_t, int64_t>> flowing;
  std::vector<std::unique_ptr<Node>> flowNodes;
  /// The layouts of these ops where sums go through.
  std::map<std::pair<Operation *, int64_t>, std::optional<OpLayouts>> flowingLayouts;
  plan::ChoiceProblem problem;
  plan::ChoiceSolution solution;
  /// The classes that alone may be padded by much: in all their values, split or not. Without the set any class may be,
  /// and is priced as padded where it is split.
  std::optional<llvm::DenseSet<unsigned>> padded;
};

/// Whether tp may shard dimension class `id`. Samples belong to the batch axes, and positions to the sequence axes
/// unless the plan is sequence parallel. A size that does not divide needs padding, which must be harmless everywhere;
/// positions have it for the sequence axes alone.
bool PlacementSolver::mayShard(unsigned id, int64_t size) const {
  bool asPositions = plan.sequenceParallel && inputs.positions.contains(id);
  if (inputs.batch.contains(id) || (inputs.others.contains(id) && !asPositions) || size < 2)
    return false;
  if (padded && isPaddedMuch(size) && !padded->contains(id))
    return false;
  return size % split.group == 0 || !(asPositions || input.paddable.obstacleOf(id));
}

void PlacementSolver::collectNodes() {
  for (Operation *op : ops()) {
    if (auto read = dyn_cast<graph::ReadOp>(op)) {
      states[read.getState()].ops.push_back(op);
      continue;
    }
    std::optional<int64_t> origin = graph::getOrigin(op);
    if (!origin || !isa<FactorOpInterface>(op))
      continue;
    Node &node = origins[*origin];
    bool forward = graph::getPhase(op) == graph::Phase::Forward;
    node.ops.insert(forward ? node.ops.begin() : node.ops.end(), op);
  }
  for (auto &[name, node] : states) {
    Value value = node.ops.front()->getResult(0);
    llvm::append_range(node.sizes, cast<ShapedType>(value.getType()).getShape());
    for (auto [dim, size] : llvm::enumerate(node.sizes))
      if (mayShard(classes.ofDim(value, dim), size))
        node.candidates.push_back(dim);
    nodes.push_back(&node);
  }
  for (auto &[origin, node] : origins) {
    Operation *forward = node.ops.front();
    const auto &[map, sources, assignable] = split.plannedOf(forward);
    for (const Factor &factor : map.factors)
      node.sizes.push_back(factor.size);
    for (auto [number, factor] : llvm::enumerate(map.factors))
      if (graph::getPhase(forward) == graph::Phase::Forward && assignable[number] &&
          mayShard(classes.ofFactor(forward, number), factor.size))
        node.candidates.push_back(number);
    nodes.push_back(&node);
  }
  for (auto [number, node] : llvm::enumerate(nodes))
    for (Operation *op : node->ops)
      numbers[op] = number;
  // A split of a block must be possible in all repeated blocks, whatever they are connected with.
  for (Node *node : nodes) {
    const llvm::SmallVector<Operation *> alike = input.blocks.alike(node->ops.front());
    for (Operation *op : llvm::drop_begin(alike))
      llvm::erase_if(node->candidates, [&](int64_t candidate) {
        return candidate >= 0 && !mayShard(isa<graph::ReadOp>(op) ? classes.ofDim(op->getResult(0), candidate)
                                                                  : classes.ofFactor(op, candidate),
                                           node->sizes[candidate]);
      });
  }
}

/// Local size for a micro-batch on a rank; axes that are not assigned yet are not counted.
int64_t PlacementSolver::localSize(unsigned id, int64_t size) const {
  if (inputs.batch.contains(id))
    return std::max<int64_t>(1, size / plan.mesh.product(plan.batchAxes));
  // Experts are placed later (placeExperts), but what is held and read of them is known.
  if (plan.mesh.find(kExpertAxis) && input.experts.contains(id))
    return llvm::divideCeil(size, plan.mesh.product({kExpertAxis}));
  if (inputs.positions.contains(id))
    return llvm::divideCeil(size, plan.mesh.product(plan.sequenceAxes));
  return padded && padded->contains(id) ? paddedSize(size) : size;
}

SmallVector<int64_t> PlacementSolver::localShape(Value value) const {
  SmallVector<int64_t> shape;
  for (auto [dim, size] : llvm::enumerate(cast<ShapedType>(value.getType()).getShape()))
    shape.push_back(localSize(classes.ofDim(value, dim), size));
  return shape;
}

double PlacementSolver::localCells(Value value) const {
  double cells = 1;
  for (int64_t size : localShape(value))
    cells *= double(size);
  return cells;
}

const std::optional<OpLayouts> &PlacementSolver::layoutsOf(Operation *op, int64_t candidate) {
  if (candidate < kFlows - 1)
    return split.layoutsOf(op, candidate);
  auto [known, isNew] = flowingLayouts.try_emplace({op, candidate});
  if (isNew) {
    Placement placement = split.placementOf(op, candidate - kFlows);
    placement.linearSet = flowing.lookup(op).second;
    placement.partial = axes;
    known->second = layoutsIn(mapOf(op), placement);
  }
  return known->second;
}

Layout PlacementSolver::stateLayout(graph::StateOp state, int64_t candidate) const {
  Layout layout = Layout::replicated(cast<ShapedType>(state.getType()).getRank());
  if (candidate >= 0)
    layout.dims[candidate] = axes;
  return layout;
}

bool PlacementSolver::repeatsPositions(const Node &node, int64_t candidate) const {
  Operation *forward = node.ops.front();
  return plan.sequenceParallel && candidate < 0 && !isa<graph::ReadOp>(forward) &&
         llvm::any_of(
             node.candidates,
             [&](int64_t factor) {
               return factor >= 0 && inputs.positions.contains(classes.ofFactor(forward, factor));
             });
}

/// Seconds of one run of the op on a rank.
double PlacementSolver::workOf(Operation *op, int64_t candidate) {
  const FactorMap &map = mapOf(op);
  const std::optional<OpLayouts> &layouts = layoutsOf(op, candidate);
  if (!layouts)
    return plan::kForbidden;
  SmallVector<int64_t> sizes;
  for (auto [number, factor] : llvm::enumerate(map.factors))
    sizes.push_back(localSize(classes.ofFactor(op, number), factor.size));
  double bytes = 0;
  auto count = [&](Value value, const Layout &layout, ArrayRef<int64_t> walks) {
    double cells = 1;
    for (auto [dim, size] : llvm::enumerate(localShape(value))) {
      bool isSplit = !layout.dims[dim].empty();
      int64_t local = isSplit ? llvm::divideCeil(size, split.group) : size;
      if (isSplit && walks[dim] != kNoFactor)
        sizes[walks[dim]] = local;
      cells *= local;
    }
    bytes += cells * double(getElementBytes(getElementTypeOrSelf(value)));
  };
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    count(operand, layouts->operands[i], map.operands[i]);
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    count(result, layouts->results[i], map.results[i]);
  auto work = dyn_cast<WorkOpInterface>(op);
  return machine.secondsForWork(work ? work.getFlops(sizes) : 0, bytes, productWidth(op));
}

/// Ops through which sums that are still partial may go, as PartialFlow will let them: each is a node of its own
/// besides that of its forward op, with a choice for each of that node's, and one more where sums go through.
void PlacementSolver::addFlows() {
  auto mayBePartial = [&](Value value) {
    auto result = dyn_cast<OpResult>(value);
    Operation *op = result ? result.getOwner() : nullptr;
    if (!op || !numbers.contains(op) || isa<graph::ReadOp>(op))
      return false;
    return llvm::any_of(nodes[endOf(op)]->candidates, [&](int64_t candidate) {
      const std::optional<OpLayouts> &layouts = layoutsOf(op, candidate);
      return layouts && !layouts->results[result.getResultNumber()].partial.empty();
    });
  };
  for (Operation *op : ops()) {
    auto owner = numbers.find(op);
    // Pins are about what forward ops give.
    if (owner == numbers.end() || !isa<FactorOpInterface>(op) || graph::getPhase(op) == graph::Phase::Forward)
      continue;
    const FactorMap &map = mapOf(op);
    std::optional<int64_t> set = PartialFlow::setThatMayFlow(op, map, mayBePartial);
    if (!set)
      continue;
    const Node &whole = *nodes[owner->second];
    auto node = std::make_unique<Node>();
    node->ops = {op};
    node->candidates = whole.candidates;
    for (int64_t candidate : whole.candidates)
      if (split.placementOf(op, candidate).used().empty())
        node->candidates.push_back(candidate + kFlows);
    uint32_t number = uint32_t(nodes.size());
    problem.addNode(std::vector<double>(node->candidates.size(), 0));
    std::vector<double> same;
    for (int64_t a : whole.candidates)
      for (int64_t b : node->candidates)
        same.push_back(a == b || a + kFlows == b ? 0 : plan::kForbidden);
    problem.addEdge(owner->second, number, same);
    flowing[op] = {number, *set};
    nodes.push_back(node.get());
    flowNodes.push_back(std::move(node));
  }
}

std::optional<Layout> PlacementSolver::producedAs(OpResult value, int64_t candidate) {
  if (auto read = dyn_cast<graph::ReadOp>(value.getOwner()))
    return stateLayout(stateOf(read.getState()), candidate);
  const std::optional<OpLayouts> &layouts = layoutsOf(value.getOwner(), candidate);
  return layouts ? std::optional(layouts->results[value.getResultNumber()]) : std::nullopt;
}

std::optional<Layout> PlacementSolver::wantedAs(Operation *op, unsigned operand, int64_t candidate) {
  // A gradient becomes what its state is.
  if (auto read = dyn_cast<graph::ReadOp>(op))
    return stateLayout(stateOf(read.getState()), candidate);
  const std::optional<OpLayouts> &layouts = layoutsOf(op, candidate);
  return layouts ? std::optional(layouts->operands[operand]) : std::nullopt;
}

/// Adds the cost of a value's layouts for its readers: each layout once, from the nearest layout that exists already,
/// in the order of the program.
void PlacementSolver::deliver(const StepBlocks::Flow &flow) {
  auto value = cast<OpResult>(flow.value);
  if (!numbers.contains(value.getOwner()))
    return;
  plan::ChoiceProblem::Delivery delivery;
  delivery.from = endOf(value.getOwner());
  const Node &from = *nodes[delivery.from];
  std::vector<DeliveryForm> forms;
  std::vector<uint32_t> own(from.candidates.size(), 0);
  for (auto [reader, operand] : flow.readers) {
    if (!numbers.contains(reader))
      continue;
    uint32_t number = endOf(reader);
    const Node &node = *nodes[number];
    std::vector<uint32_t> *wants = &own;
    if (number != delivery.from) {
      auto known = llvm::find_if(delivery.readers, [&](const auto &other) { return other.node == number; });
      if (known == delivery.readers.end())
        known = delivery.readers.insert(known, {number, std::vector<uint32_t>(node.candidates.size(), 0)});
      wants = &known->wants;
    }
    for (auto [i, candidate] : llvm::enumerate(node.candidates)) {
      std::optional<Layout> layout = wantedAs(reader, operand, candidate);
      if (!layout) // Its node forbids it.
        continue;
      DeliveryForm form{std::move(*layout), isa<graph::ReadOp>(reader)};
      auto at = llvm::find(forms, form);
      if (at == forms.end())
        at = forms.insert(at, form);
      (*wants)[i] |= 1u << (at - forms.begin());
    }
  }
  // No value has as many dimensions that can be split.
  delivery.forms = unsigned(forms.size());
  if (delivery.forms > plan::ChoiceProblem::Delivery::kMostForms)
    return;
  SmallVector<int64_t> shape = localShape(value);
  int64_t bytes = getElementBytes(getElementTypeOrSelf(value));
  double slots = plan.mesh.slots();
  SmallVector<std::optional<Layout>> sources;
  for (int64_t candidate : from.candidates)
    sources.push_back(producedAs(value, candidate));
  double fixedTimes = input.fixed.contains(value) ? 1 : slots;
  delivery.costs = deliveryCosts(split.moves, sources, own, forms, shape, bytes, fixedTimes, slots);
  const double dear = plan.stationaryWeights && input.weights.contains(value) ? kDearGather : 1;
  for (double &cost : delivery.costs)
    cost *= double(flow.times) * dear;
  if (llvm::any_of(delivery.costs, [](double cost) { return cost > 0; }))
    problem.deliveries.push_back(std::move(delivery));
}

/// Adds the deliveries of all blocks, each value with its readers once, by their representatives.
void PlacementSolver::addDeliveries() {
  for (const StepBlocks::Flow &flow : input.blocks.flows())
    deliver(flow);
  // An input arrives whole in all dimensions but the batch.
  for (Operation *op : ops())
    for (OpOperand &operand : op->getOpOperands()) {
      auto node = numbers.find(op);
      if (!isa<BlockArgument>(operand.get()) || node == numbers.end())
        continue;
      for (auto [i, candidate] : llvm::enumerate(nodes[node->second]->candidates))
        if (auto layout = wantedAs(op, operand.getOperandNumber(), candidate); !layout || !layout->partial.empty())
          problem.nodes[node->second][i] = plan::kForbidden;
    }
}

bool PlacementSolver::isPinnedSo(const Node &node, int64_t candidate) {
  if (input.pins.empty())
    return true;
  return llvm::all_of(node.ops, [&](Operation *op) {
    return llvm::all_of(op->getResults(), [&](OpResult result) {
      if (auto read = dyn_cast<graph::ReadOp>(op))
        return input.pins.allows(result, stateLayout(stateOf(read.getState()), candidate), axes);
      const std::optional<OpLayouts> &layouts = layoutsOf(op, candidate);
      return !layouts || input.pins.allows(result, layouts->results[result.getResultNumber()], axes);
    });
  });
}

LogicalResult PlacementSolver::refuse(const Node &node) {
  for (Operation *op : node.ops)
    for (Value result : op->getResults()) {
      std::string option = input.pins.optionOf(result);
      if (option.empty())
        continue;
      bool repeats = llvm::any_of(node.candidates, [&](int64_t candidate) {
        return repeatsPositions(node, candidate) && isPinnedSo(node, candidate);
      });
      InFlightDiagnostic error = step.emitError() << option;
      if (repeats)
        return error << " and --sequence-parallel=on contradict each other: " << input.pins.describe(result)
                     << " has positions that ranks of tp share out";
      error << ": " << input.pins.describe(result) << " cannot be split so";
      if (axes.empty())
        return error << ": the mesh has one rank of tp";
      return error << " over " << llvm::join(axes, ",") << "=" << split.group;
    }
  return success();
}

LogicalResult PlacementSolver::prepare() {
  collectNodes();
  double slots = plan.mesh.slots();
  for (Node *node : nodes) {
    std::vector<double> costs;
    for (int64_t candidate : node->candidates) {
      double cost = 0;
      if (isa<graph::ReadOp>(node->ops.front())) {
        // The update reads gradient, parameter and two slots, and writes three.
        double bytes = 4 * localCells(node->ops.front()->getResult(0));
        cost = machine.secondsForWork(0, 7 * bytes / (candidate < 0 ? 1 : split.group));
        auto state = stateOf(cast<graph::ReadOp>(node->ops.front()).getState());
        // Weights that all ranks hold whole are never gathered either, and need the most memory.
        if (split.share || plan.stationaryWeights)
          cost *= state.getSavedShape().size() > 1 ? kDearState : 0;
      } else {
        for (Operation *op : node->ops)
          cost += slots * workOf(op, candidate);
        if (repeatsPositions(*node, candidate))
          cost = plan::kForbidden;
      }
      costs.push_back(isPinnedSo(*node, candidate) ? cost * timesOf(node->ops.front()) : plan::kForbidden);
    }
    problem.addNode(costs);
  }
  addFlows();
  addDeliveries();
  if (!input.pins.empty())
    for (auto [node, costs] : llvm::zip_equal(nodes, problem.nodes))
      if (llvm::all_of(costs, [](double cost) { return cost == plan::kForbidden; }) && failed(refuse(*node)))
        return failure();
  if (std::string wrong = problem.check(); !wrong.empty())
    return step.emitError("placement problem is not well formed: ") << wrong;
  return success();
}

PlacementProblem PlacementSolver::describe() const {
  PlacementProblem result{problem, {}, {}};
  for (const Node *node : nodes) {
    result.ops.push_back(node->ops.front());
    result.candidates.push_back(node->candidates);
  }
  return result;
}

FailureOr<bool> PlacementSolver::run(bool firsts) {
  plan.ops.clear();
  plan.states.clear();
  // On one rank there is nothing to choose, unless pins ask for a split that one rank cannot have.
  if (axes.empty() && input.pins.empty())
    return true;
  if (failed(prepare()))
    return failure();
  solution = plan::solve(problem);
  if (solution.cost == plan::kForbidden)
    return step.emitError("no placement of the step on axes ") << llvm::join(axes, ",") << " is possible";
  if (axes.empty())
    return true;
  // Every block takes what was found for the first of its type.
  llvm::StringSet<> placed;
  for (Operation &op : step.getBody().front()) {
    auto number = numbers.find(representative(&op));
    if (number == numbers.end() || (firsts && representative(&op) != &op))
      continue;
    int64_t candidate = nodes[number->second]->candidates[solution.candidates[number->second]];
    if (auto read = dyn_cast<graph::ReadOp>(op)) {
      if (placed.insert(read.getState()).second)
        plan.states.push_back(
            {read.getState().str(), stateLayout(stateOf(read.getState()), candidate).dims, std::nullopt});
    } else if (candidate >= 0 && graph::getPhase(&op) == graph::Phase::Forward) {
      plan.ops.push_back({*graph::getOrigin(&op), op.getName().getStringRef().str(), {{candidate, axes}}, {}, {}, {}});
    }
  }
  sortEntries(plan);
  return solution.isOptimal();
}
} // namespace

llvm::DenseSet<unsigned> PlacementSolver::paddedByMuch() {
  llvm::DenseSet<unsigned> found;
  for (auto [node, chosen] : llvm::zip(nodes, solution.candidates)) {
    Operation *op = node->ops.front();
    const int64_t at = node->candidates[chosen];
    // A node of partial sums has no sizes; the node of the op itself has them.
    if (at >= 0 && at < int64_t(node->sizes.size()) && isPaddedMuch(node->sizes[size_t(at)]))
      found.insert(isa<graph::ReadOp>(op) ? classes.ofDim(op->getResult(0), at) : classes.ofFactor(op, at));
  }
  return found;
}

/// A class that is split with padding is padded in all its values, which the price of a candidate does not know. Where
/// padding adds much (8 heads of keys over 16 ranks), two more placements are solved, with the class padded everywhere
/// and without that padding; the cheaper one stays.
static FailureOr<bool> solveWithPadding(const PlacementInput &input, plan::Plan &plan, const cost::Machine &machine,
                                        bool share, bool firsts) {
  SplitLayouts split(plan, machine, share);
  PlacementSolver any(input, plan, split);
  FailureOr<bool> isBest = any.run(firsts);
  // A pin may want a split that padding alone makes possible.
  if (failed(isBest) || !input.pins.empty())
    return isBest;
  llvm::DenseSet<unsigned> classes = any.paddedByMuch();
  if (classes.empty())
    return isBest;
  plan::Plan whole = plan;
  PlacementSolver with(input, plan, split, classes), without(input, whole, split, llvm::DenseSet<unsigned>());
  FailureOr<bool> isBestWith = with.run(firsts), isBestWithout = without.run(firsts);
  if (failed(isBestWith) || failed(isBestWithout))
    return failure();
  if (without.cost() < with.cost())
    plan = std::move(whole);
  return *isBestWith && *isBestWithout;
}

LogicalResult solvePlacement(const PlacementInput &input, plan::Plan &plan, const cost::Machine &machine, bool share) {
  return success(succeeded(solveWithPadding(input, plan, machine, share, /*firsts=*/false)));
}

FailureOr<bool> solveFirstPlacement(const PlacementInput &input, plan::Plan &plan, const cost::Machine &machine,
                                    bool share) {
  return solveWithPadding(input, plan, machine, share, /*firsts=*/true);
}

FailureOr<PlacementProblem> placementProblem(const PlacementInput &input, plan::Plan &plan,
                                             const cost::Machine &machine, bool share) {
  SplitLayouts split(plan, machine, share);
  PlacementSolver solver(input, plan, split);
  if (failed(solver.prepare()))
    return failure();
  return solver.describe();
}

} // namespace dtcc::spmd
