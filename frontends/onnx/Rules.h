//===- Rules.h - How each ONNX operator is imported
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rule turns one node into graph ops through the Emitter. Rules stand in ops/*.cpp
// by family; a new operator is one entry there:
//
//     table.on("Relu", 6, {1, 1}, [](OpBinder &node) {
//       return node.result(0, node.emit().unary<graph::ReluOp>(node.input(0)));
//     });
//
// The version is the first operator set with this meaning; the latest entry not above
// the model's set is taken. Operators of another domain are named "DOMAIN.Operator"; their
// rules go before functions of the file.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_FRONTENDS_ONNX_RULES_H
#define DTCC_FRONTENDS_ONNX_RULES_H

#include "frontends/onnx/emit/Emitter.h"
#include "llvm/ADT/StringMap.h"
#include <map>
#include <string>

namespace onnx {
class NodeProto;
class AttributeProto;
class GraphProto;
} // namespace onnx

namespace dtcc::onnx {

class Importer;
class Model;

/// A node's operands and attributes for a rule. Operands below the rule's minimum exist.
class OpBinder {
public:
  OpBinder(Importer &importer, const ::onnx::NodeProto &node, int64_t version)
      : importer(importer), node(node), version(version) {}

  Emitter &emit();
  int64_t opset() const { return version; }
  const ::onnx::NodeProto &proto() const { return node; }

  unsigned numInputs() const;
  bool has(unsigned i) const;
  Tensor input(unsigned i);
  llvm::SmallVector<Tensor> inputs();
  /// Whether somebody may use output i.
  bool wants(unsigned i) const;

  int64_t integer(llvm::StringRef name, int64_t otherwise);
  double real(llvm::StringRef name, double otherwise);
  std::string text(llvm::StringRef name, llvm::StringRef otherwise);
  std::optional<llvm::SmallVector<int64_t>> integers(llvm::StringRef name);
  bool hasAttribute(llvm::StringRef name);
  const ::onnx::AttributeProto *attribute(llvm::StringRef name);

  /// The cells of operand i, which must be known now: shapes, axes, pads.
  mlir::FailureOr<llvm::SmallVector<int64_t>> constantIntegers(unsigned i);
  /// An axis attribute or value counted from the end if negative; checked against `rank`.
  mlir::FailureOr<int64_t> axis(int64_t value, int64_t rank);
  /// Axes from an attribute (before `since`) or operand i (from then on); absent: nothing.
  mlir::FailureOr<std::optional<llvm::SmallVector<int64_t>>> axes(unsigned i, int64_t since, int64_t rank);

  /// Sets output i; a null tensor is a failure that was reported.
  mlir::LogicalResult result(unsigned i, const Tensor &value);
  mlir::InFlightDiagnostic error(const llvm::Twine &message = "");
  Importer &getImporter() { return importer; }

private:
  Importer &importer;
  const ::onnx::NodeProto &node;
  int64_t version;
};

using Rule = mlir::LogicalResult (*)(OpBinder &);

/// The rule for operators of floats: operand 0 must be of floats.
template <Rule Then> mlir::LogicalResult ofFloats(OpBinder &node) {
  if (!isFloat(node.input(0)))
    return node.error("must have a float operand");
  return Then(node);
}

/// Treatment of unsigned integers, which are stored in wider signed ones.
enum class UnsignedForm {
  /// The rule does not know them.
  Refused,
  /// Results are cells of the operands, or what signed arithmetic gives of them too.
  Same,
  /// Results wrap round.
  Wraps,
  /// Results are of another type.
  Other,
};

/// A row of the table of rules: how an operator is imported, and what the importer must know of it besides.
struct RuleEntry {
  RuleEntry() = default;
  RuleEntry(std::pair<unsigned, unsigned> inputs, Rule rule, unsigned numbers, int64_t version = 0)
      : minInputs(inputs.first), maxInputs(inputs.second), rule(rule), numbers(numbers), version(version) {}

  unsigned minInputs = 0, maxInputs = 0;
  Rule rule = nullptr;
  /// Operands (bits) that are numbers for the rule to read, never parameters: see Importer::numbers.
  unsigned numbers = 0;
  /// The operator set by which the rule reads the node; 0: the model's.
  int64_t version = 0;
  UnsignedForm unsignedForm = UnsignedForm::Refused;
  /// Operands (bits) that are places for a vector parameter: scale or bias of a norm, bias of a product.
  unsigned vectors = 0;

  bool readsNumbers(unsigned i) const { return i < 32 && (numbers >> i & 1); }
  bool takesVector(unsigned i) const { return i < 32 && (vectors >> i & 1); }

  // These methods state facts about the row that was added last.
  RuleEntry &keepsUnsigned() { return treatsUnsigned(UnsignedForm::Same); }
  RuleEntry &wrapsUnsigned() { return treatsUnsigned(UnsignedForm::Wraps); }
  RuleEntry &readsUnsigned() { return treatsUnsigned(UnsignedForm::Other); }
  RuleEntry &takesVectors(std::initializer_list<unsigned> operands) {
    for (unsigned i : operands)
      vectors |= 1u << i;
    return *this;
  }

private:
  RuleEntry &treatsUnsigned(UnsignedForm form) {
    unsignedForm = form;
    return *this;
  }
};

class RuleTable {
public:
  RuleTable();
  /// Adds a row. Some say more behind it: `table.on("Sub", 7, {2, 2}, rule).wrapsUnsigned()`.
  RuleEntry &on(llvm::StringRef op, int64_t since, std::pair<unsigned, unsigned> inputs, Rule rule,
                unsigned numbers = 0) {
    return rules[op][since] = RuleEntry(inputs, rule, numbers);
  }
  /// The entry for a version of an operator's domain, or null.
  const RuleEntry *find(llvm::StringRef domain, llvm::StringRef op, int64_t version) const;
  /// The entry for a node by the operator sets of its model, or null.
  const RuleEntry *find(const Model &model, const ::onnx::NodeProto &node) const;
  /// All entries: by operator, then by version.
  const llvm::StringMap<std::map<int64_t, RuleEntry>> &all() const { return rules; }
  /// Makes `op`, which may be of another domain (`com.microsoft.Gelu`), what `standard` is in operator set `version`,
  /// with operands of its own number. `standard` must be in the table already. What its row says behind the rule holds
  /// for `op` only if it is said again.
  RuleEntry &alias(llvm::StringRef op, std::pair<unsigned, unsigned> inputs, llvm::StringRef standard, int64_t version);

private:
  llvm::StringMap<std::map<int64_t, RuleEntry>> rules;
};

/// First version of the default operator set all of whose operators rules read. An earlier file may hold those
/// operators that already mean what they mean in this set.
constexpr int64_t kFirstSet = 7;

/// Any number of operands, of which none is left out; or each may be.
constexpr unsigned kAnyNumber = ~0u, kManyOptional = kAnyNumber - 1;

/// Most cells that are compared, for one row along the axis, to pick a few or to write to them.
constexpr int64_t kMostCompared = 4096;

/// Sides of images and windows, their steps and pads are no larger: products of two fit, and loops over one end.
constexpr int64_t kMostWindow = int64_t(1) << 24;

/// Moves the running statistics, operands 3 and 4 of the node, by `momentum` of those of its cells ([n, c], of `cells`
/// cells each), and sets results 1 and 2.
mlir::LogicalResult moveStatistics(OpBinder &node, const Tensor &mean, const Tensor &variance, double momentum,
                                   int64_t cells, bool unbiased);

/// Imports a node that reads parts of emit/DataParts.h by its rule, if it is a function of single rows. Joins all parts
/// of one cut.
mlir::LogicalResult importOfParts(OpBinder &node, const RuleEntry &entry);

// The families.
void addMathRules(RuleTable &table);
void addActivationRules(RuleTable &table);
void addLogicRules(RuleTable &table);
void addShapeRules(RuleTable &table);
void addControlRules(RuleTable &table);
void addMovementRules(RuleTable &table);
void addIndexingRules(RuleTable &table);
void addScatterRules(RuleTable &table);
void addSelectionRules(RuleTable &table);
void addLinearRules(RuleTable &table);
void addEinsumRules(RuleTable &table);
void addWindowRules(RuleTable &table);
void addConvTransposeRules(RuleTable &table);
void addResizeRules(RuleTable &table);
void addSamplingRules(RuleTable &table);
void addSignalRules(RuleTable &table);
void addRecurrentRules(RuleTable &table);
void addReductionRules(RuleTable &table);
void addNormRules(RuleTable &table);
void addBatchNormRules(RuleTable &table);
void addAttentionRules(RuleTable &table);
void addLinearAttentionRules(RuleTable &table);
void addLossRules(RuleTable &table);
void addRandomRules(RuleTable &table);
void addGradientRules(RuleTable &table);
/// Comes after all others, because some of its entries are aliases.
void addMicrosoftRules(RuleTable &table);

} // namespace dtcc::onnx

#endif // DTCC_FRONTENDS_ONNX_RULES_H
