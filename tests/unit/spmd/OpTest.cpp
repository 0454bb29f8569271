//===- OpTest.cpp - Every op, placed in every legal way, is the op
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Driven from the list of registered ops: an op without a case fails. For every legal
// assignment of mesh axes to factors the local form on all ranks, gathered, equals the op
// on whole tensors; padded cells hold NaN where the factor map allows anything. Partial
// operands pass where the op is declared linear, and are refused elsewhere.
//
//===----------------------------------------------------------------------===//

#include "OpCases.h"
#include "dialects/AllDialects.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "passes/graph/Evaluator.h"
#include "passes/spmd/evaluate/LockStep.h"
#include "passes/spmd/partition/LocalOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "gtest/gtest.h"
#include <cmath>
#include <iostream>
#include <random>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::spmd;

namespace {

struct OpTest : testing::Test {
  OpTest() {
    DialectRegistry registry;
    registerAllDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  static std::string textOf(const OpCase &instance) {
    StringRef body = instance.body;
    // A result list "-> (a, b)" names two results or more.
    size_t results = 1;
    if (size_t list = body.rfind("-> ("); list != StringRef::npos)
      results = body.substr(list).count("tensor<");
    return "func.func @f(" + std::string(instance.arguments) + ") {\n  %result:" + std::to_string(results) + " = " +
           instance.body + "\n  return\n}";
  }

  /// Parses the case, draws its operands and evaluates it whole.
  void load(const OpCase &instance) {
    std::string text = textOf(instance);
    module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module) << text;
    auto function = *module->getOps<func::FuncOp>().begin();
    op = &function.getBody().front().front();
    map = cast<FactorOpInterface>(op).getFactorMap();
    operands.clear();
    llvm::DenseMap<Value, HostTensor> drawn;
    for (Value value : op->getOperands()) {
      auto type = cast<ShapedType>(value.getType());
      auto [at, isNew] = drawn.try_emplace(value, HostTensor(type.getShape(), type.getElementType()));
      if (isNew) {
        for (double &cell : at->second.floats)
          cell = (1 + random() % 16) / 8.0;
        for (int64_t &cell : at->second.ints)
          cell = random() % (type.getElementType().isInteger(1) ? 2 : instance.bound);
      }
      operands.push_back(at->second);
    }
    EvaluationContext whole;
    whole.step = 5;
    auto evaluated = graph::evaluateOp(op, operands, whole);
    ASSERT_TRUE(succeeded(evaluated)) << text;
    expected = *evaluated;
  }

  /// May the factor be padded? A sum must see zeros: it must be linear in all that walks it.
  bool mayPad(int64_t factor) {
    const Factor &f = map.factors[factor];
    if (f.padding != PaddingNeed::Neutral)
      return true;
    if (f.reduction != Reduction::Sum)
      return false;
    return llvm::any_of(map.linear, [&](ArrayRef<unsigned> set) {
      return llvm::all_of(set, [&](unsigned i) { return llvm::is_contained(map.operands[i], factor); });
    });
  }

  /// Gives `layout` the padding that the placement makes necessary.
  void pad(Layout &layout, ArrayRef<int64_t> dims, ArrayRef<int64_t> shape, const Placement &placement,
           const Mesh &mesh) {
    layout.padded.assign(shape.begin(), shape.end());
    for (auto [dim, factor] : llvm::enumerate(dims))
      if (factor != kNoFactor) {
        int64_t parts = mesh.product(placement.factors[factor]);
        layout.padded[dim] = (shape[dim] + parts - 1) / parts * parts;
      }
    layout.normalize(shape.vec());
  }

  /// Operands of which shards read their own rows: hides the others behind NaN.
  void keepOwnParts(LockStep &lockStep, ArrayRef<Value> inputs, const Placement &placement, const Mesh &mesh) {
    for (const FactorMap::OwnPart &part : map.ownParts) {
      const Axes &axes = placement.factors[part.factor];
      if (axes.empty())
        continue;
      int64_t shards = mesh.product(axes), perShard = (map.factors[part.factor].size + shards - 1) / shards;
      Shards &ranks = lockStep.values[inputs[part.operand]];
      const Shards &ids = lockStep.values[inputs[part.ids]];
      for (size_t rank = 0; rank < ranks.size(); ++rank) {
        int64_t shard = 0, width = ranks[rank].size() / ids[rank].size();
        for (const std::string &axis : axes)
          shard = shard * mesh.find(axis)->size + mesh.coordinate(rank, 0, axis);
        for (int64_t cell = 0; cell < ranks[rank].size(); ++cell)
          if (ids[rank].ints[cell / width] / perShard != shard)
            ranks[rank].floats[cell] = std::nan("");
      }
    }
  }

  /// One placement. Counts those that were possible.
  void check(const Placement &placement, const Mesh &mesh) {
    for (auto [f, factor] : llvm::enumerate(map.factors))
      if (factor.size % mesh.product(placement.factors[f]) && !mayPad(f))
        return;
    llvm::Expected<OpLayouts> layouts = project(map, placement);
    if (!layouts) {
      llvm::consumeError(layouts.takeError());
      return;
    }
    ++placed;
    OpBuilder builder(&context);
    OwningOpRef<ModuleOp> local = ModuleOp::create(op->getLoc());
    builder.setInsertionPointToStart(local->getBody());
    SmallVector<Attribute> axes;
    for (const MeshAxis &axis : mesh.axes)
      axes.push_back(AxisAttr::get(&context, builder.getStringAttr(axis.name), axis.size, AxisKind::Rank));
    auto name = MeshOp::create(builder, op->getLoc(), "mesh", builder.getArrayAttr(axes)).getSymName();
    auto program = ProgramOp::create(builder, op->getLoc(), "program", name);
    builder.setInsertionPointToStart(&program.getBody().emplaceBlock());
    auto phase = PhaseOp::create(builder, op->getLoc(), TypeRange(), "phase", 1);
    builder.setInsertionPointToStart(&phase.getBody().emplaceBlock());

    LockStep lockStep(mesh);
    SmallVector<Value> inputs;
    auto symbol = FlatSymbolRefAttr::get(&context, name);
    for (auto [i, value] : llvm::enumerate(op->getOperands())) {
      auto type = cast<ShapedType>(value.getType());
      Layout &layout = layouts->operands[i];
      pad(layout, map.operands[i], type.getShape(), placement, mesh);
      bool neutral = llvm::any_of(map.operands[i], [&](int64_t factor) {
        return factor != kNoFactor && map.factors[factor].padding == PaddingNeed::Neutral;
      });
      auto spmd = spmd::TensorType::get(type.getShape(), type.getElementType(), symbol, layout);
      auto input = InputOp::create(builder, op->getLoc(), localType(spmd, mesh), builder.getStringAttr("x" + Twine(i)),
                                   TypeAttr::get(spmd), StringAttr(), DenseI64ArrayAttr());
      inputs.push_back(input);
      // Own parts are no terms of a sum: each rank gets the whole rows.
      Layout terms = layout;
      for (const FactorMap::OwnPart &part : map.ownParts)
        if (part.operand == i)
          std::erase_if(terms.partial,
                        [&](const std::string &axis) { return contains(placement.factors[part.factor], axis); });
      lockStep.values[input] = scatter(operands[i], terms, mesh, neutral ? 0.0 : std::nan(""), 31 + i);
    }
    keepOwnParts(lockStep, inputs, placement, mesh);
    SmallVector<Type> types;
    for (auto [i, value] : llvm::enumerate(op->getResults())) {
      auto type = cast<ShapedType>(value.getType());
      pad(layouts->results[i], map.results[i], type.getShape(), placement, mesh);
      types.push_back(
          localType(spmd::TensorType::get(type.getShape(), type.getElementType(), symbol, layouts->results[i]), mesh));
    }
    SmallVector<Value> results;
    if (auto constant = dyn_cast<graph::ConstantOp>(op))
      results.push_back(
          emitConstant(builder, constant.getLoc(), constant.getValue(), cast<RankedTensorType>(types[0])));
    else
      results = emitLocalOp(builder, op, map, placement, inputs, types);
    YieldOp::create(builder, op->getLoc(), ValueRange());
    ASSERT_TRUE(succeeded(verify(*local))) << describe(placement);
    for (Operation &step : phase.getBody().front())
      if (!isa<InputOp, YieldOp>(step)) {
        ASSERT_TRUE(succeeded(lockStep.run(&step, 0, 5))) << describe(placement);
      }
    for (auto [i, result] : llvm::enumerate(results)) {
      llvm::Expected<HostTensor> whole =
          gather(lockStep.values[result], layouts->results[i], mesh, expected[i].shape, 1e-12);
      if (!whole) {
        ADD_FAILURE() << describe(placement) << ": " << llvm::toString(whole.takeError());
        return;
      }
      EXPECT_EQ(whole->ints, expected[i].ints) << describe(placement);
      for (size_t c = 0; c < whole->floats.size(); ++c)
        // The log-sum-exp of an empty row is infinite, and infinities have no difference: equal cells are skipped.
        if (whole->floats[c] != expected[i].floats[c])
          ASSERT_NEAR(whole->floats[c], expected[i].floats[c], 1e-9 * std::max(1.0, std::abs(expected[i].floats[c])))
              << describe(placement) << " result " << i << " cell " << c;
    }
  }

  std::string describe(const Placement &placement) {
    std::string text;
    llvm::raw_string_ostream out(text);
    out << *op << " with";
    for (auto [f, axes] : llvm::enumerate(placement.factors))
      for (const std::string &axis : axes)
        out << " " << axis << " on " << f;
    for (const std::string &axis : placement.partial)
      out << " partial " << axis << " in set " << placement.linearSet;
    return text;
  }

  MLIRContext context{MLIRContext::Threading::DISABLED};
  OwningOpRef<ModuleOp> module;
  Operation *op = nullptr;
  FactorMap map;
  SmallVector<HostTensor> operands, expected;
  std::mt19937 random{3};
  int placed = 0;
};

TEST_F(OpTest, EveryOpHasACase) {
  llvm::StringSet<> known;
  for (const OpCase &instance : kOpCases)
    known.insert(instance.op);
  for (RegisteredOperationName name : context.getRegisteredOperations())
    if (name.getDialectNamespace() == "graph" && name.hasInterface<FactorOpInterface>())
      EXPECT_TRUE(known.contains(name.getStringRef())) << name.getStringRef().str() << " has no case";
}

TEST_F(OpTest, EveryPlacementIsTheOp) {
  const Mesh meshes[] = {{{{"a", 2}}}, {{{"a", 3}}}, {{{"a", 2}, {"b", 2}}}, {{{"a", 2}, {"b", 3}}}};
  for (const OpCase &instance : kOpCases) {
    load(instance);
    if (HasFatalFailure())
      return;
    int64_t factors = map.factors.size();
    for (const Mesh &mesh : meshes) {
      // Every axis on a factor that may be split, or on none.
      int64_t combinations = std::pow(factors + 1, mesh.axes.size());
      for (int64_t number = 0; number < combinations; ++number) {
        Placement placement;
        placement.factors.resize(factors);
        bool legal = true;
        int64_t rest = number;
        for (const MeshAxis &axis : mesh.axes) {
          int64_t factor = rest % (factors + 1);
          rest /= factors + 1;
          if (factor == factors)
            continue;
          legal &= !whyNotAssignable(op, map, factor);
          placement.factors[factor].push_back(axis.name);
        }
        if (legal)
          check(placement, mesh);
        if (HasFatalFailure())
          return;
      }
    }
  }
  std::cout << placed << " placements of " << std::size(kOpCases) << " cases\n";
  EXPECT_GT(placed, 1500);
}

/// `text` with the dimensions of size `from` in its tensor types made 1.
std::string shrink(StringRef text, StringRef from) {
  std::string result;
  while (!text.empty()) {
    size_t type = text.find("tensor<");
    size_t end = type == StringRef::npos ? StringRef::npos : text.find('>', type);
    if (end == StringRef::npos)
      return result + text.str();
    size_t shape = type + StringRef("tensor<").size();
    result += text.substr(0, shape);
    SmallVector<StringRef> parts;
    text.slice(shape, end).split(parts, 'x');
    for (StringRef &part : parts)
      if (part == from)
        part = "1";
    result += llvm::join(parts, "x");
    text = text.substr(end);
  }
  return result;
}

// A dimension of size 1 is padded to one cell a rank: all but the first hold padding alone.
TEST_F(OpTest, DimensionsOfSizeOne) {
  int shrunk = 0;
  for (const OpCase &instance : kOpCases)
    for (const char *size : {"2", "3", "4", "5", "7"}) {
      std::string arguments = shrink(instance.arguments, size), body = shrink(instance.body, size);
      if (arguments == instance.arguments || StringRef(body).contains("classes ="))
        continue;
      OpCase small{instance.op, arguments.c_str(), body.c_str(), 1};
      {
        // Sizes that attributes repeat, or that must differ, cannot be 1.
        ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) { return success(); });
        if (!parseSourceString<ModuleOp>(textOf(small), &context))
          continue;
      }
      load(small);
      if (HasFatalFailure())
        return;
      ++shrunk;
      for (int64_t parts : {2, 3})
        for (int64_t factor = 0; factor < static_cast<int64_t>(map.factors.size()); ++factor)
          if (!whyNotAssignable(op, map, factor)) {
            Placement placement;
            placement.factors.resize(map.factors.size());
            placement.factors[factor] = {"a"};
            check(placement, {{{"a", parts}}});
            if (HasFatalFailure())
              return;
          }
    }
  EXPECT_GT(shrunk, 60);
  EXPECT_GT(placed, 200);
}

TEST_F(OpTest, PartialSumsPassWhereTheOpIsLinear) {
  Mesh mesh{{{"p", 3}, {"a", 2}}};
  for (const OpCase &instance : kOpCases) {
    load(instance);
    for (int64_t set = 0; set < static_cast<int64_t>(map.linear.size()); ++set)
      for (int64_t factor = -1; factor < static_cast<int64_t>(map.factors.size()); ++factor) {
        Placement placement;
        placement.factors.resize(map.factors.size());
        if (factor >= 0 && whyNotAssignable(op, map, factor))
          continue;
        if (factor >= 0)
          placement.factors[factor] = {"a"};
        placement.partial = {"p"};
        placement.linearSet = set;
        check(placement, mesh);
        if (HasFatalFailure())
          return;
      }
  }
  EXPECT_GT(placed, 80);
}

TEST_F(OpTest, PartialSumsAreRefusedElsewhere) {
  ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) { return success(); });
  auto mesh = FlatSymbolRefAttr::get(&context, "mesh");
  int refused = 0;
  for (const OpCase &instance : kOpCases) {
    load(instance);
    for (unsigned wrong = 0; wrong < op->getNumOperands(); ++wrong) {
      // Partial in one operand alone: legal only if that is a linear set by itself.
      if (llvm::any_of(map.linear, [&](ArrayRef<unsigned> set) { return set.size() == 1 && set[0] == wrong; }))
        continue;
      OwningOpRef<ModuleOp> copy = module->clone();
      Operation *typed = &(*copy->getOps<func::FuncOp>().begin()).getBody().front().front();
      auto retype = [&](Value value, bool partial) {
        auto type = cast<ShapedType>(value.getType());
        Layout layout = Layout::replicated(type.getRank());
        if (partial)
          layout.partial = {"p"};
        value.setType(spmd::TensorType::get(type.getShape(), type.getElementType(), mesh, layout));
      };
      for (Value operand : llvm::SmallDenseSet<Value>(typed->operand_begin(), typed->operand_end()))
        retype(operand, operand == typed->getOperand(wrong));
      for (Value result : typed->getResults())
        retype(result, true);
      EXPECT_TRUE(failed(inferPlacement(typed, map))) << instance.body << " with operand " << wrong << " partial";
      ++refused;
    }
  }
  EXPECT_GT(refused, 60);
}

} // namespace
