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
#include "passes/dist/PriceMoves.h"
#include "passes/dist/Projection.h"
#include "passes/dist/ReshardPrices.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"
#include <map>

using namespace mlir;

namespace dtcc::dist {

/// Of all blocks: a dimension may go through one that is like another into one that is not.
static llvm::DenseSet<unsigned> findWholeClasses(func::FuncOp step, const FactorClasses &classes) {
  llvm::DenseSet<unsigned> whole;
  for (auto op : step.getOps<FactorOpInterface>()) {
    FactorMap map = op.getFactorMap();
    for (auto [number, factor] : llvm::enumerate(map.factors))
      if (factor.padding != PaddingNeed::Skipped &&
          (factor.kind == FactorKind::Replicate || factor.kind == FactorKind::Window ||
           factor.kind == FactorKind::Decompose))
        whole.insert(classes.ofFactor(op, number));
    auto unnamed = [&](Value value, ArrayRef<int64_t> walks) {
      for (auto [dim, factor] : llvm::enumerate(walks))
        if (factor == kNoFactor)
          whole.insert(classes.ofDim(value, dim));
    };
    for (auto [operand, walks] : llvm::zip_equal(op->getOperands(), map.operands))
      unnamed(operand, walks);
    for (auto [result, walks] : llvm::zip_equal(op->getResults(), map.results))
      unnamed(result, walks);
  }
  return whole;
}

PlacementInput::PlacementInput(func::FuncOp step, size_t mostBlocks, const Pins &pins)
    : blocks(step, mostBlocks, pins), classes(step), states(step->getParentOfType<ModuleOp>()), pins(pins),
      whole(findWholeClasses(step, classes)) {}

namespace {

/// How much dearer matrices are where the model is to be shared out: more than the
/// activations that ranks exchange for them in any model of use. Vectors weigh nothing.
constexpr double kDearState = 64;

/// A forward op with its backward ops, or a state.
struct Node {
  SmallVector<Operation *> ops; // the forward op first; for a state its reads
  /// Candidates: a factor of the forward op (a dimension of the state), or -1 for none.
  SmallVector<int64_t> candidates{-1};
  /// Of all factors or dimensions.
  SmallVector<int64_t> sizes;
  std::vector<double> costs;
};

class PlacementSolver {
public:
  PlacementSolver(const PlacementInput &input, plan::Plan &plan, const cost::Machine &machine, Axes axes, bool share)
      : input(input), module(input.blocks.step()->getParentOfType<ModuleOp>()), step(input.blocks.step()), plan(plan),
        machine(share ? machine.withoutLatency() : machine), axes(std::move(axes)), share(share),
        classes(input.classes), reshards(plan.mesh, secondsOfMoves(plan.mesh, this->machine)) {}

  /// `firsts`: of blocks that are alike, the first alone is written.
  LogicalResult run(bool firsts);
  /// Sets up the problem: what every candidate costs, and every pair of neighbours.
  LogicalResult prepare();
  /// Of what was prepared.
  PlacementProblem describe() const;

private:
  void classify();
  void collectNodes();
  bool mayShard(unsigned id, int64_t size) const;
  bool padsWithZeros(Operation *op, const FactorMap &map, int64_t factor) const;
  SmallVector<int64_t> localShape(Value value) const;
  double localCells(Value value) const;
  int64_t localSize(unsigned id, int64_t size) const;
  /// The layouts of an op's operands and results under a candidate; nothing if it is impossible.
  const std::optional<OpLayouts> &layoutsOf(Operation *op, int64_t candidate);
  std::optional<OpLayouts> projectOf(Operation *op, int64_t candidate) const;
  Layout stateLayout(graph::StateOp state, int64_t candidate) const;
  double workOf(Operation *op, int64_t candidate);
  /// Is every value of the node under the candidate as its pin wants it?
  bool isPinnedSo(const Node &node, int64_t candidate);
  /// Says why no candidate of a node with a pin is left.
  LogicalResult refuse(const Node &node);
  /// Would ranks repeat what the plan wants them to share out by positions?
  bool repeatsPositions(const Node &node, int64_t candidate) const;
  void addEdges();
  /// Adds the price of bringing `value` from the candidates of one node to those of another.
  void connect(uint32_t from, uint32_t to, Value value, double times,
               llvm::function_ref<std::optional<Layout>(int64_t)> produced,
               llvm::function_ref<std::optional<Layout>(int64_t)> wanted);

  /// The ops whose placement is solved: of blocks that are alike, those of the first.
  ArrayRef<Operation *> ops() const { return input.blocks.uniqueOps(); }
  Operation *representative(Operation *op) const { return input.blocks.representative(op); }
  /// How many blocks are like that of the op.
  double timesOf(Operation *op) const {
    std::optional<uint32_t> block = input.blocks.blockOf(op);
    return block ? double(input.blocks.countOf(input.blocks.blocks()[*block].type)) : 1;
  }
  graph::StateOp stateOf(StringRef name) const { return input.states.lookup<graph::StateOp>(name); }

  const PlacementInput &input;
  ModuleOp module;
  func::FuncOp step;
  plan::Plan &plan;
  cost::Machine machine; // as the search is to see it
  Axes axes;             // to be given to factors, all together
  bool share;
  const FactorClasses &classes;
  ReshardPrices reshards;

  llvm::DenseSet<unsigned> batch, positions, experts, inputs;
  llvm::MapVector<int64_t, Node> origins;
  llvm::MapVector<StringRef, Node> states;
  llvm::DenseMap<Operation *, uint32_t> numbers;
  std::vector<Node *> nodes;
  std::map<std::pair<Operation *, int64_t>, std::optional<OpLayouts>> layouts; // what layoutsOf found
  plan::ChoiceProblem problem;
};

/// Which classes are the examples, and which are other dimensions of inputs.
void PlacementSolver::classify() {
  for (BlockArgument argument : step.getArguments())
    for (int64_t dim = 0, rank = cast<ShapedType>(argument.getType()).getRank(); dim < rank; ++dim)
      (dim == 0 ? batch : inputs).insert(classes.ofDim(argument, dim));
  positions = positionClasses(step, classes);
  // Placed later (placeExperts), but what is held and read of them is known.
  if (plan.mesh.find(kExpertAxis))
    for (auto layer : step.getOps<graph::ExpertsOp>())
      experts.insert(classes.ofDim(layer.getWIn(), 0));
}

/// Examples belong to the batch axes, and positions to those of the sequence unless the plan is
/// sequence parallel; a size that does not divide needs padding, which must be harmless everywhere.
bool PlacementSolver::mayShard(unsigned id, int64_t size) const {
  bool asPositions = plan.sequenceParallel && positions.contains(id);
  if (batch.contains(id) || (inputs.contains(id) && !asPositions) || size < 2)
    return false;
  return size % plan.mesh.product(axes) == 0 || !input.whole.contains(id);
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
    FactorMap map = cast<FactorOpInterface>(forward).getFactorMap();
    for (const Factor &factor : map.factors)
      node.sizes.push_back(factor.size);
    for (auto [number, factor] : llvm::enumerate(map.factors))
      if (graph::getPhase(forward) == graph::Phase::Forward && !whyNotAssignable(forward, map, number) &&
          mayShard(classes.ofFactor(forward, number), factor.size) && padsWithZeros(forward, map, number))
        node.candidates.push_back(number);
    nodes.push_back(&node);
  }
  for (auto [number, node] : llvm::enumerate(nodes))
    for (Operation *op : node->ops)
      numbers[op] = number;
  // What is split in a block can be split in those that are like it, whatever they are connected with.
  for (Operation &op : step.getBody().front()) {
    Operation *first = representative(&op);
    auto number = numbers.find(first);
    if (first == &op || number == numbers.end() || nodes[number->second]->ops.front() != first)
      continue;
    Node &node = *nodes[number->second];
    llvm::erase_if(node.candidates, [&](int64_t candidate) {
      return candidate >= 0 && !mayShard(isa<graph::ReadOp>(op) ? classes.ofDim(op.getResult(0), candidate)
                                                                : classes.ofFactor(&op, candidate),
                                         node.sizes[candidate]);
    });
  }
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

const std::optional<OpLayouts> &PlacementSolver::layoutsOf(Operation *op, int64_t candidate) {
  auto [known, isNew] = layouts.try_emplace({op, candidate});
  if (isNew)
    known->second = projectOf(op, candidate);
  return known->second;
}

std::optional<OpLayouts> PlacementSolver::projectOf(Operation *op, int64_t candidate) const {
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
  const std::optional<OpLayouts> &layouts = layoutsOf(op, candidate);
  if (!layouts)
    return plan::kForbidden;
  int64_t group = plan.mesh.product(axes);
  SmallVector<int64_t> sizes;
  for (auto [number, factor] : llvm::enumerate(map.factors))
    sizes.push_back(localSize(classes.ofFactor(op, number), factor.size));
  double bytes = 0;
  bool narrow = true;
  auto count = [&](Value value, const Layout &layout, ArrayRef<int64_t> walks) {
    double cells = 1;
    for (auto [dim, size] : llvm::enumerate(localShape(value))) {
      bool split = !layout.dims[dim].empty();
      int64_t local = split ? llvm::divideCeil(size, group) : size;
      if (split && walks[dim] != kNoFactor)
        sizes[walks[dim]] = local;
      cells *= local;
    }
    Type element = cast<ShapedType>(value.getType()).getElementType();
    narrow &= !isa<FloatType>(element) || element.getIntOrFloatBitWidth() <= 16;
    bytes += cells * double(llvm::divideCeil(element.getIntOrFloatBitWidth(), 8));
  };
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    count(operand, layouts->operands[i], map.operands[i]);
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    count(result, layouts->results[i], map.results[i]);
  auto work = dyn_cast<WorkOpInterface>(op);
  return machine.secondsForWork(work ? work.getFlops(sizes) : 0, bytes, narrow ? cost::Width::B16 : cost::Width::F32);
}

void PlacementSolver::connect(uint32_t from, uint32_t to, Value value, double times,
                              llvm::function_ref<std::optional<Layout>(int64_t)> produced,
                              llvm::function_ref<std::optional<Layout>(int64_t)> wanted) {
  SmallVector<int64_t> shape = localShape(value);
  int64_t bytes = llvm::divideCeil(cast<ShapedType>(value.getType()).getElementTypeBitWidth(), 8);
  int64_t group = plan.mesh.product(axes);
  auto price = [&](const std::optional<Layout> &source, const std::optional<Layout> &target) {
    if (!source || !target)
      return plan::kForbidden;
    if (*source == *target)
      return 0.0;
    // Padding costs what the larger shape costs; it is the same on both sides.
    SmallVector<int64_t> padded(shape);
    for (size_t dim = 0; dim < padded.size(); ++dim)
      if (!source->dims[dim].empty() || !target->dims[dim].empty())
        padded[dim] = llvm::divideCeil(padded[dim], group) * group;
    std::optional<double> seconds =
        reshards.price(*source, *target, std::span<const int64_t>(padded.data(), padded.size()), bytes);
    return seconds ? *seconds * times : plan::kForbidden;
  };
  if (from == to) {
    for (auto [i, candidate] : llvm::enumerate(nodes[from]->candidates))
      problem.nodes[from][i] += price(produced(candidate), wanted(candidate));
    return;
  }
  std::vector<double> costs;
  std::vector<std::optional<Layout>> targets;
  for (int64_t candidate : nodes[to]->candidates)
    targets.push_back(wanted(candidate));
  for (int64_t candidate : nodes[from]->candidates) {
    std::optional<Layout> source = produced(candidate);
    for (const std::optional<Layout> &target : targets)
      costs.push_back(price(source, target));
  }
  if (llvm::any_of(costs, [](double cost) { return cost > 0; }))
    problem.addEdge(from, to, costs);
}

/// Of all blocks, each kind of edge once: by the ops that stand for its ends.
void PlacementSolver::addEdges() {
  using End = std::pair<Operation *, unsigned>; // a result; for states the operation that reads them
  struct Use {
    OpOperand *first;
    double times = 0;
  };
  llvm::MapVector<std::pair<End, End>, Use> uses;
  auto add = [&](OpOperand &operand, Operation *consumer) {
    Operation *producer = operand.get().getDefiningOp();
    unsigned result = producer ? cast<OpResult>(operand.get()).getResultNumber() : 0;
    End from{producer ? representative(producer) : nullptr, result}, to{consumer, operand.getOperandNumber()};
    ++uses.try_emplace({from, to}, Use{&operand}).first->second.times;
  };
  llvm::StringMap<Operation *> reads;
  for (Operation &op : step.getBody().front()) {
    if (auto read = dyn_cast<graph::ReadOp>(op)) {
      reads.try_emplace(read.getState(), representative(&op));
    } else if (auto update = dyn_cast<graph::UpdateOp>(op)) {
      for (auto [number, name] : llvm::enumerate(update.getStates()))
        if (Operation *read = reads.lookup(cast<FlatSymbolRefAttr>(name).getValue()))
          add(op.getOpOperand(update.getGradients().getBeginOperandIndex() + number), read);
    } else if (numbers.contains(representative(&op))) {
      for (OpOperand &operand : op.getOpOperands())
        add(operand, representative(&op));
    }
  }
  double slots = plan.mesh.slots();
  for (auto &[ends, use] : uses) {
    auto [producer, result] = ends.first;
    auto [consumer, number] = ends.second;
    auto produced = [&, producer = producer, result = result](int64_t candidate) -> std::optional<Layout> {
      const auto &layouts = layoutsOf(producer, candidate);
      return layouts ? std::optional(layouts->results[result]) : std::nullopt;
    };
    auto wanted = [&, consumer = consumer, number = number](int64_t candidate) -> std::optional<Layout> {
      const auto &layouts = layoutsOf(consumer, candidate);
      return layouts ? std::optional(layouts->operands[number]) : std::nullopt;
    };
    if (auto read = dyn_cast<graph::ReadOp>(consumer)) {
      // A gradient becomes what its state is.
      graph::StateOp state = stateOf(read.getState());
      if (producer && numbers.contains(producer))
        connect(numbers.lookup(producer), numbers.lookup(consumer), use.first->get(), use.times, produced,
                [&](int64_t candidate) { return std::optional(stateLayout(state, candidate)); });
    } else if (auto read = dyn_cast_or_null<graph::ReadOp>(producer)) {
      graph::StateOp state = stateOf(read.getState());
      connect(
          numbers.lookup(producer), numbers.lookup(consumer), use.first->get(), slots * use.times,
          [&](int64_t candidate) { return std::optional(stateLayout(state, candidate)); }, wanted);
    } else if (producer && numbers.contains(producer)) {
      connect(numbers.lookup(producer), numbers.lookup(consumer), use.first->get(), slots * use.times, produced,
              wanted);
    } else if (producer == nullptr) {
      // An input arrives whole in all dimensions but the batch.
      uint32_t node = numbers.lookup(consumer);
      for (auto [i, candidate] : llvm::enumerate(nodes[node]->candidates))
        if (auto layout = wanted(candidate); !layout || !layout->partial.empty())
          problem.nodes[node][i] = plan::kForbidden;
    }
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
      return error << " over " << llvm::join(axes, ",") << "=" << plan.mesh.product(axes);
    }
  return success();
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
        auto state = stateOf(cast<graph::ReadOp>(node->ops.front()).getState());
        if (share)
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
  addEdges();
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

LogicalResult PlacementSolver::run(bool firsts) {
  if (failed(prepare()))
    return failure();
  plan::ChoiceSolution solution = plan::solve(problem);
  if (solution.cost == plan::kForbidden)
    return step.emitError("no placement of the step on axes ") << llvm::join(axes, ",") << " is possible";
  plan.ops.clear();
  plan.states.clear();
  if (plan.mesh.product(axes) == 1)
    return success();
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
  llvm::sort(plan.ops, [](const plan::OpPlan &a, const plan::OpPlan &b) { return a.origin < b.origin; });
  return success();
}
} // namespace

static PlacementSolver makeSolver(const PlacementInput &input, plan::Plan &plan, const cost::Machine &machine,
                                  bool share) {
  Axes axes;
  for (const MeshAxis &axis : plan.mesh.axes)
    if (axis.size > 1 && !axis.time && !contains(plan.batchAxes, axis.name) && !contains(plan.sequenceAxes, axis.name))
      axes.push_back(axis.name);
  return PlacementSolver(input, plan, machine, axes, share && !axes.empty());
}

LogicalResult solvePlacement(const PlacementInput &input, plan::Plan &plan, const cost::Machine &machine, bool share) {
  return makeSolver(input, plan, machine, share).run(/*firsts=*/false);
}

LogicalResult solveFirstPlacement(const PlacementInput &input, plan::Plan &plan, const cost::Machine &machine,
                                  bool share) {
  return makeSolver(input, plan, machine, share).run(/*firsts=*/true);
}

void placeAlike(const PlacementInput &input, plan::Plan &plan) {
  llvm::DenseMap<int64_t, const plan::OpPlan *> ops;
  llvm::StringMap<const plan::StatePlan *> states;
  std::vector<plan::OpPlan> firstOps = std::move(plan.ops);
  std::vector<plan::StatePlan> firstStates = std::move(plan.states);
  for (const plan::OpPlan &op : firstOps)
    ops[op.origin] = &op;
  for (const plan::StatePlan &state : firstStates)
    states[state.name] = &state;
  plan.ops.clear();
  plan.states.clear();
  llvm::StringSet<> placed;
  for (Operation &op : func::FuncOp(input.blocks.step()).getBody().front()) {
    Operation *first = input.blocks.representative(&op);
    if (auto read = dyn_cast<graph::ReadOp>(op)) {
      const plan::StatePlan *state = states.lookup(cast<graph::ReadOp>(first).getState());
      if (state && placed.insert(read.getState()).second) {
        plan.states.push_back(*state);
        plan.states.back().name = read.getState().str();
      }
    } else if (std::optional<int64_t> origin = graph::getOrigin(&op);
               origin && graph::getPhase(&op) == graph::Phase::Forward) {
      if (const plan::OpPlan *entry = ops.lookup(*graph::getOrigin(first))) {
        plan.ops.push_back(*entry);
        plan.ops.back().origin = *origin;
      }
    }
  }
  llvm::sort(plan.ops, [](const plan::OpPlan &a, const plan::OpPlan &b) { return a.origin < b.origin; });
}

FailureOr<PlacementProblem> placementProblem(const PlacementInput &input, plan::Plan &plan,
                                             const cost::Machine &machine, bool share) {
  PlacementSolver solver = makeSolver(input, plan, machine, share);
  if (failed(solver.prepare()))
    return failure();
  return solver.describe();
}

LogicalResult solvePlacement(ModuleOp module, plan::Plan &plan, const cost::Machine &machine, bool share) {
  auto step = module.lookupSymbol<func::FuncOp>("step");
  if (!step || !step.getBody().hasOneBlock())
    return module.emitError("needs a function @step of one block: run graph-differentiate first");
  return solvePlacement(PlacementInput(step), plan, machine, share);
}

} // namespace dtcc::dist
