//===- SolvePlacement.cpp - Which factors the ranks of a model axis share
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "passes/dist/SolvePlacement.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/Origin.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/dist/FactorClasses.h"
#include "passes/dist/PlaceExperts.h"
#include "passes/dist/Projection.h"
#include "passes/dist/ReshardPlanner.h"
#include "passes/graph/Recompute.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace dtcc::dist {
namespace {

/// How much dearer matrices are where the model is to be shared out: more than the
/// activations that ranks exchange for them in any model of use. Vectors weigh nothing.
constexpr double kDearState = 64;

/// A forward op with its backward ops, or a state.
struct Node {
  SmallVector<Operation *> ops; // the forward op first; for a state its reads
  /// Candidates: a factor of the forward op (a dimension of the state), or -1 for none.
  SmallVector<int64_t> candidates{-1};
  std::vector<double> costs;
};

class PlacementSolver {
public:
  PlacementSolver(ModuleOp module, func::FuncOp step, plan::Plan &plan, const cost::Machine &machine, Axes axes,
                  bool share)
      : module(module), step(step), plan(plan), given(machine), machine(machine), axes(std::move(axes)), share(share),
        classes(step), planner(plan.mesh, [this](const Move &move, double before, double after, int64_t group) {
          // The planner's own count of bytes, at this machine's rates. Parts of an inner
          // dimension are no ranges of memory: they are packed on one side.
          double seconds = (move.dim > 0 ? before + after : 0) / this->machine.memoryBytesPerSecond;
          double bytes = bytesMoved(move, before, after, group);
          return seconds + (move.communicates() ? this->machine.secondsForTransfer(bytes)
                                                : bytes / this->machine.memoryBytesPerSecond);
        }) {
    if (share)
      this->machine.latencySeconds = 0;
  }

  FailureOr<PlacementCost> run();

private:
  /// Sets up the problem: what every candidate costs, and every pair of neighbours.
  LogicalResult prepare();
  /// Seconds of a choice as the machine takes them: what makes a search share the model out is no time of a step.
  FailureOr<double> secondsOf(const std::vector<uint32_t> &candidates) const;
  void classify();
  void collectNodes();
  bool mayShard(unsigned id, int64_t size) const;
  bool padsWithZeros(Operation *op, const FactorMap &map, int64_t factor) const;
  SmallVector<int64_t> localShape(Value value) const;
  double localCells(Value value) const;
  int64_t localSize(unsigned id, int64_t size) const;
  /// The layouts of an op's operands and results under a candidate; nothing if it is impossible.
  std::optional<OpLayouts> layoutsOf(Operation *op, int64_t candidate);
  Layout stateLayout(graph::StateOp state, int64_t candidate) const;
  double workOf(Operation *op, int64_t candidate);
  /// Would ranks repeat what the plan wants them to share out by positions?
  bool repeatsPositions(const Node &node, int64_t candidate) const;
  void addEdges();
  /// Adds the price of bringing `value` from the candidates of one node to those of another.
  void connect(uint32_t from, uint32_t to, Value value, double times,
               llvm::function_ref<std::optional<Layout>(int64_t)> produced,
               llvm::function_ref<std::optional<Layout>(int64_t)> wanted);

  ModuleOp module;
  func::FuncOp step;
  plan::Plan &plan;
  const cost::Machine &given;
  cost::Machine machine; // as the search is to see it
  Axes axes;             // to be given to factors, all together
  bool share;
  FactorClasses classes;
  ReshardPlanner planner;

  llvm::DenseSet<unsigned> batch, positions, experts, inputs, whole;
  llvm::MapVector<int64_t, Node> origins;
  llvm::MapVector<StringRef, Node> states;
  llvm::DenseMap<Operation *, uint32_t> numbers;
  llvm::StringMap<uint32_t> stateNumbers;
  std::vector<Node *> nodes;
  plan::ChoiceProblem problem;
};

/// Which classes are the examples, which are other dimensions of inputs, and which
/// some op wants whole and without padding.
void PlacementSolver::classify() {
  for (BlockArgument argument : step.getArguments())
    for (int64_t dim = 0, rank = cast<ShapedType>(argument.getType()).getRank(); dim < rank; ++dim)
      (dim == 0 ? batch : inputs).insert(classes.ofDim(argument, dim));
  positions = positionClasses(step, classes);
  // Placed later (placeExperts), but what is held and read of them is known.
  if (plan.mesh.find(kExpertAxis))
    for (auto layer : step.getOps<graph::ExpertsOp>())
      experts.insert(classes.ofDim(layer.getWIn(), 0));
  for (Operation &op : step.getBody().front()) {
    auto factored = dyn_cast<FactorOpInterface>(op);
    if (!factored)
      continue;
    FactorMap map = factored.getFactorMap();
    for (auto [number, factor] : llvm::enumerate(map.factors))
      if (factor.padding != PaddingNeed::Skipped &&
          (factor.kind == FactorKind::Replicate || factor.kind == FactorKind::Window ||
           factor.kind == FactorKind::Decompose))
        whole.insert(classes.ofFactor(&op, number));
    auto unnamed = [&](Value value, ArrayRef<int64_t> walks) {
      for (auto [dim, factor] : llvm::enumerate(walks))
        if (factor == kNoFactor)
          whole.insert(classes.ofDim(value, dim));
    };
    for (auto [operand, walks] : llvm::zip_equal(op.getOperands(), map.operands))
      unnamed(operand, walks);
    for (auto [result, walks] : llvm::zip_equal(op.getResults(), map.results))
      unnamed(result, walks);
  }
}

/// Examples belong to the batch axes, and positions to those of the sequence unless the plan is
/// sequence parallel; a size that does not divide needs padding, which must be harmless everywhere.
bool PlacementSolver::mayShard(unsigned id, int64_t size) const {
  bool asPositions = plan.sequenceParallel && positions.contains(id);
  if (batch.contains(id) || (inputs.contains(id) && !asPositions) || size < 2)
    return false;
  return size % plan.mesh.product(axes) == 0 || !whole.contains(id);
}

/// Whether zeros in the padded cells of operands give zeros in those of the results, as
/// training padded parameters wants: all operands of a set in which the op is linear
/// walk the factor, or all floats do. A query group of attention, for example, may not
/// be padded, because keys and values do not know it.
bool PlacementSolver::padsWithZeros(Operation *op, const FactorMap &map, int64_t factor) const {
  if (map.factors[factor].size % plan.mesh.product(axes) == 0)
    return true;
  auto walks = [&](unsigned operand) { return llvm::is_contained(map.operands[operand], factor); };
  if (llvm::any_of(map.linear, [&](ArrayRef<unsigned> set) { return !set.empty() && llvm::all_of(set, walks); }))
    return true;
  for (unsigned operand = 0; operand < op->getNumOperands(); ++operand)
    if (isa<FloatType>(cast<ShapedType>(op->getOperand(operand).getType()).getElementType()) && !walks(operand))
      return false;
  return true;
}

void PlacementSolver::collectNodes() {
  for (Operation &op : step.getBody().front()) {
    if (auto read = dyn_cast<graph::ReadOp>(op)) {
      states[read.getState()].ops.push_back(&op);
      continue;
    }
    std::optional<int64_t> origin = graph::getOrigin(&op);
    if (!origin || !isa<FactorOpInterface>(op))
      continue;
    Node &node = origins[*origin];
    bool forward = graph::getPhase(&op) == graph::Phase::Forward;
    node.ops.insert(forward ? node.ops.begin() : node.ops.end(), &op);
  }
  for (auto &[name, node] : states) {
    Value value = node.ops.front()->getResult(0);
    for (auto [dim, size] : llvm::enumerate(cast<ShapedType>(value.getType()).getShape()))
      if (mayShard(classes.ofDim(value, dim), size))
        node.candidates.push_back(dim);
    nodes.push_back(&node);
  }
  for (auto &[origin, node] : origins) {
    Operation *forward = node.ops.front();
    FactorMap map = cast<FactorOpInterface>(forward).getFactorMap();
    for (auto [number, factor] : llvm::enumerate(map.factors))
      if (graph::getPhase(forward) == graph::Phase::Forward && !whyNotAssignable(forward, map, number) &&
          mayShard(classes.ofFactor(forward, number), factor.size) && padsWithZeros(forward, map, number))
        node.candidates.push_back(number);
    nodes.push_back(&node);
  }
  for (auto [number, node] : llvm::enumerate(nodes))
    for (Operation *op : node->ops)
      numbers[op] = number;
  for (auto [number, entry] : llvm::enumerate(states))
    stateNumbers[entry.first] = number;
}

/// Of a micro-batch on a rank; axes that are still to be given are not counted.
int64_t PlacementSolver::localSize(unsigned id, int64_t size) const {
  if (batch.contains(id))
    return std::max<int64_t>(1, size / plan.mesh.product(plan.batchAxes));
  if (experts.contains(id))
    return llvm::divideCeil(size, plan.mesh.product({kExpertAxis}));
  return positions.contains(id) ? llvm::divideCeil(size, plan.mesh.product(plan.sequenceAxes)) : size;
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

std::optional<OpLayouts> PlacementSolver::layoutsOf(Operation *op, int64_t candidate) {
  FactorMap map = cast<FactorOpInterface>(op).getFactorMap();
  Placement placement;
  placement.factors.resize(map.factors.size());
  SmallVector<int64_t> origin = graph::getOriginFactors(op);
  bool forward = graph::getPhase(op) == graph::Phase::Forward;
  for (size_t factor = 0; factor < map.factors.size() && candidate >= 0; ++factor) {
    int64_t source = forward ? int64_t(factor) : (factor < origin.size() ? origin[factor] : -1);
    if (source == candidate && !whyNotAssignable(op, map, factor)) {
      placement.factors[factor] = axes;
      break;
    }
  }
  llvm::Expected<OpLayouts> layouts = project(map, placement);
  if (!layouts) {
    llvm::consumeError(layouts.takeError());
    return std::nullopt;
  }
  return std::move(*layouts);
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
             [&](int64_t factor) { return factor >= 0 && positions.contains(classes.ofFactor(forward, factor)); });
}

/// Seconds of one run of the op on a rank.
double PlacementSolver::workOf(Operation *op, int64_t candidate) {
  FactorMap map = cast<FactorOpInterface>(op).getFactorMap();
  std::optional<OpLayouts> layouts = layoutsOf(op, candidate);
  if (!layouts)
    return plan::kForbidden;
  int64_t group = plan.mesh.product(axes);
  SmallVector<int64_t> sizes;
  for (auto [number, factor] : llvm::enumerate(map.factors))
    sizes.push_back(localSize(classes.ofFactor(op, number), factor.size));
  double bytes = 0;
  auto count = [&](Value value, const Layout &layout, ArrayRef<int64_t> walks) {
    double cells = 1;
    for (auto [dim, size] : llvm::enumerate(localShape(value))) {
      bool split = !layout.dims[dim].empty();
      int64_t local = split ? llvm::divideCeil(size, group) : size;
      if (split && walks[dim] != kNoFactor)
        sizes[walks[dim]] = local;
      cells *= local;
    }
    bytes += cells * 4;
  };
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    count(operand, layouts->operands[i], map.operands[i]);
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    count(result, layouts->results[i], map.results[i]);
  auto work = dyn_cast<WorkOpInterface>(op);
  return machine.secondsForWork(work ? work.getFlops(sizes) : 0, bytes);
}

void PlacementSolver::connect(uint32_t from, uint32_t to, Value value, double times,
                              llvm::function_ref<std::optional<Layout>(int64_t)> produced,
                              llvm::function_ref<std::optional<Layout>(int64_t)> wanted) {
  SmallVector<int64_t> shape = localShape(value);
  int64_t bytes = llvm::divideCeil(cast<ShapedType>(value.getType()).getElementTypeBitWidth(), 8);
  auto price = [&](int64_t a, int64_t b) {
    std::optional<Layout> source = produced(a), target = wanted(b);
    if (!source || !target)
      return plan::kForbidden;
    if (*source == *target)
      return 0.0;
    // Padding costs what the larger shape costs; it is the same on both sides.
    std::vector<int64_t> padded(shape.begin(), shape.end());
    int64_t group = plan.mesh.product(axes);
    for (size_t dim = 0; dim < padded.size(); ++dim)
      if (!source->dims[dim].empty() || !target->dims[dim].empty())
        padded[dim] = llvm::divideCeil(padded[dim], group) * group;
    const auto &way = planner.plan(*source, *target, padded, bytes);
    return way ? way->cost * times : plan::kForbidden;
  };
  if (from == to) {
    for (auto [i, candidate] : llvm::enumerate(nodes[from]->candidates))
      problem.nodes[from][i] += price(candidate, candidate);
    return;
  }
  std::vector<double> costs;
  for (int64_t a : nodes[from]->candidates)
    for (int64_t b : nodes[to]->candidates)
      costs.push_back(price(a, b));
  if (llvm::any_of(costs, [](double cost) { return cost > 0; }))
    problem.addEdge(from, to, costs);
}

void PlacementSolver::addEdges() {
  double slots = plan.mesh.slots();
  for (Operation &op : step.getBody().front()) {
    if (auto update = dyn_cast<graph::UpdateOp>(op)) {
      for (auto [gradient, name] : llvm::zip_equal(update.getGradients(), update.getStates())) {
        Operation *producer = gradient.getDefiningOp();
        auto state = module.lookupSymbol<graph::StateOp>(cast<FlatSymbolRefAttr>(name).getValue());
        auto to = stateNumbers.find(state.getSymName());
        if (!producer || !numbers.contains(producer) || to == stateNumbers.end())
          continue;
        size_t result = cast<OpResult>(gradient).getResultNumber();
        connect(
            numbers.lookup(producer), to->second, gradient, 1,
            [&](int64_t candidate) -> std::optional<Layout> {
              auto layouts = layoutsOf(producer, candidate);
              return layouts ? std::optional(layouts->results[result]) : std::nullopt;
            },
            [&](int64_t candidate) { return std::optional(stateLayout(state, candidate)); });
      }
      continue;
    }
    auto consumer = numbers.find(&op);
    if (consumer == numbers.end() || isa<graph::ReadOp>(op))
      continue;
    for (OpOperand &operand : op.getOpOperands()) {
      Operation *producer = operand.get().getDefiningOp();
      auto wanted = [&](int64_t candidate) -> std::optional<Layout> {
        auto layouts = layoutsOf(&op, candidate);
        return layouts ? std::optional(layouts->operands[operand.getOperandNumber()]) : std::nullopt;
      };
      if (auto read = dyn_cast_or_null<graph::ReadOp>(producer)) {
        auto state = module.lookupSymbol<graph::StateOp>(read.getState());
        connect(
            stateNumbers.lookup(read.getState()), consumer->second, operand.get(), slots,
            [&](int64_t candidate) { return std::optional(stateLayout(state, candidate)); }, wanted);
      } else if (producer && numbers.contains(producer)) {
        size_t result = cast<OpResult>(operand.get()).getResultNumber();
        connect(
            numbers.lookup(producer), consumer->second, operand.get(), slots,
            [&](int64_t candidate) -> std::optional<Layout> {
              auto layouts = layoutsOf(producer, candidate);
              return layouts ? std::optional(layouts->results[result]) : std::nullopt;
            },
            wanted);
      } else if (producer == nullptr) {
        // An input arrives whole in all dimensions but the batch.
        for (auto [i, candidate] : llvm::enumerate(nodes[consumer->second]->candidates))
          if (auto layout = wanted(candidate); !layout || !layout->partial.empty())
            problem.nodes[consumer->second][i] = plan::kForbidden;
      }
    }
  }
}

LogicalResult PlacementSolver::prepare() {
  classify();
  collectNodes();
  double slots = plan.mesh.slots();
  int64_t group = plan.mesh.product(axes);
  for (Node *node : nodes) {
    std::vector<double> costs;
    for (int64_t candidate : node->candidates) {
      double cost = 0;
      if (isa<graph::ReadOp>(node->ops.front())) {
        // The update reads gradient, parameter and two slots, and writes three.
        double bytes = 4 * localCells(node->ops.front()->getResult(0));
        cost = machine.secondsForWork(0, 7 * bytes / (candidate < 0 ? 1 : group));
        auto state = module.lookupSymbol<graph::StateOp>(cast<graph::ReadOp>(node->ops.front()).getState());
        if (share && state.getSavedShape().size() > 1)
          cost *= kDearState;
      } else {
        for (Operation *op : node->ops)
          cost += slots * workOf(op, candidate);
        if (repeatsPositions(*node, candidate))
          cost = plan::kForbidden;
      }
      costs.push_back(cost);
    }
    problem.addNode(costs);
  }
  addEdges();
  if (std::string wrong = problem.check(); !wrong.empty())
    return step.emitError("placement problem is not well formed: ") << wrong;
  return success();
}

FailureOr<double> PlacementSolver::secondsOf(const std::vector<uint32_t> &candidates) const {
  if (!share)
    return plan::costOf(problem, candidates);
  PlacementSolver plain(module, step, plan, given, axes, /*share=*/false);
  if (failed(plain.prepare()))
    return failure();
  return plan::costOf(plain.problem, candidates);
}

FailureOr<PlacementCost> PlacementSolver::run() {
  if (failed(prepare()))
    return failure();
  int64_t group = plan.mesh.product(axes);
  plan::ChoiceSolution solution = plan::solve(problem);
  if (solution.cost == plan::kForbidden)
    return step.emitError("no placement of the step on axes ") << llvm::join(axes, ",") << " is possible";

  FailureOr<double> seconds = secondsOf(solution.candidates);
  if (failed(seconds))
    return failure();
  PlacementCost cost;
  cost.seconds = *seconds;
  plan.ops.clear();
  plan.states.clear();
  llvm::DenseMap<Value, double> localBytes;
  for (auto [number, node] : llvm::enumerate(nodes)) {
    int64_t candidate = node->candidates[solution.candidates[number]];
    Operation *first = node->ops.front();
    if (auto read = dyn_cast<graph::ReadOp>(first)) {
      auto state = module.lookupSymbol<graph::StateOp>(read.getState());
      double bytes = 4 * localCells(read.getY()) / (candidate < 0 ? 1 : group);
      cost.parameterBytes += bytes;
      cost.gradientBytes += state.getTrainable() ? bytes : 0;
      if (experts.contains(classes.ofDim(read.getY(), 0))) {
        cost.expertParameterBytes += bytes;
        cost.expertGradientBytes += state.getTrainable() ? bytes : 0;
      }
      if (!axes.empty() && group > 1)
        plan.states.push_back({read.getState().str(), stateLayout(state, candidate).dims, std::nullopt});
      continue;
    }
    for (Operation *op : node->ops) {
      std::optional<OpLayouts> layouts = layoutsOf(op, candidate);
      for (auto [i, result] : llvm::enumerate(op->getResults())) {
        double bytes = llvm::divideCeil(cast<ShapedType>(result.getType()).getElementTypeBitWidth(), 8);
        for (auto [dim, size] : llvm::enumerate(localShape(result)))
          bytes *= !layouts || layouts->results[i].dims[dim].empty() ? size : llvm::divideCeil(size, group);
        // A gradient of a state is written into its bucket.
        bool isStates = llvm::any_of(result.getUsers(), [](Operation *user) { return isa<graph::UpdateOp>(user); });
        localBytes[result] = isStates ? 0 : bytes;
      }
    }
    if (candidate >= 0)
      plan.ops.push_back(
          {*graph::getOrigin(first), first->getName().getStringRef().str(), {{candidate, axes}}, {}, {}, {}});
  }
  cost.activationBytes = graph::peakBytes(step, [&](Value value) { return localBytes.lookup(value); });
  return cost;
}
} // namespace

FailureOr<PlacementCost> solvePlacement(ModuleOp module, plan::Plan &plan, const cost::Machine &machine, bool share) {
  auto step = module.lookupSymbol<func::FuncOp>("step");
  if (!step || !step.getBody().hasOneBlock())
    return module.emitError("needs a function @step of one block: run graph-differentiate first");
  Axes axes;
  for (const MeshAxis &axis : plan.mesh.axes)
    if (axis.size > 1 && !axis.time && !contains(plan.batchAxes, axis.name) && !contains(plan.sequenceAxes, axis.name))
      axes.push_back(axis.name);
  return PlacementSolver(module, step, plan, machine, axes, share && !axes.empty()).run();
}

} // namespace dtcc::dist
