//===- Pins.cpp - Parameters and values that are held to a layout
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/step/Pins.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/Origin.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/GlobPattern.h"

using namespace mlir;

namespace dtcc::spmd {

bool Pin::splits() const {
  return llvm::any_of(dims, [](const Axes &axes) { return !axes.empty(); });
}

llvm::Expected<Pin> parsePin(StringRef text) {
  auto wrong = [&](const Twine &what) { return llvm::createStringError("--pin=" + text + ": " + what); };
  auto [glob, layout] = text.rsplit('=');
  Pin pin{text.str(), glob.str(), {}};
  if (llvm::Expected<llvm::GlobPattern> pattern = llvm::GlobPattern::create(glob); !pattern)
    return wrong(llvm::toString(pattern.takeError()));
  StringRef rest = layout.trim();
  if (glob.empty() || !rest.consume_front("[") || !rest.consume_back("]"))
    return wrong("must be a name, '=' and the axes of each dimension, such as \"wte=[{tp},{}]\"");
  SmallVector<std::string> seen;
  while (!(rest = rest.trim()).empty()) {
    auto [entry, behind] = rest.split('}');
    if (!entry.consume_front("{") || !(behind.empty() || behind.ltrim().starts_with(",")))
      return wrong("each dimension must be axes in braces, with commas between, got: " + rest);
    SmallVector<StringRef> names;
    entry.split(names, ',', -1, /*KeepEmpty=*/false);
    Axes axes;
    for (StringRef name : names) {
      axes.push_back(name.trim().str());
      if (axes.back() != kModelAxis)
        return wrong("an axis must be tp, over which the search splits ops, got: " + axes.back() +
                     "; --mesh splits samples, positions and experts, and --zero shards state");
      if (llvm::is_contained(seen, axes.back()))
        return wrong("an axis must split one dimension, got twice: " + axes.back());
      seen.push_back(axes.back());
    }
    pin.dims.push_back(std::move(axes));
    rest = behind.ltrim();
    if (rest.consume_front(",") && rest.trim().empty())
      return wrong("a dimension must follow the last comma");
  }
  return pin;
}

StringRef nodeOf(Operation *op) {
  StringRef name;
  op->getLoc()->walk([&](Location loc) {
    auto named = dyn_cast<NameLoc>(loc);
    StringRef text = named ? named.getName().getValue() : StringRef();
    if (!text.consume_front("node '"))
      return WalkResult::advance();
    name = text.take_front(text.rfind("' ("));
    return WalkResult::interrupt();
  });
  return name;
}

std::optional<SmallVector<int64_t>> entriesOf(ArrayRef<int64_t> finer, ArrayRef<int64_t> saved) {
  SmallVector<int64_t> entries;
  size_t entry = 0;
  int64_t held = 1;
  for (int64_t size : finer) {
    while (entry < saved.size() && held == saved[entry])
      ++entry, held = 1;
    held *= size;
    if (entry == saved.size() || held > saved[entry])
      return std::nullopt;
    entries.push_back(entry);
  }
  return entries;
}

static std::string shapeText(ArrayRef<int64_t> shape) {
  return "[" + llvm::join(llvm::map_range(shape, [](int64_t size) { return std::to_string(size); }), ", ") + "]";
}

class Pins::Resolver {
public:
  Resolver(func::FuncOp step, Pins &pins) : module(step->getParentOfType<ModuleOp>()), step(step), pins(pins) {}

  LogicalResult add(size_t number) {
    const Pin &pin = pins.pins[number];
    llvm::GlobPattern glob = llvm::cantFail(llvm::GlobPattern::create(pin.glob));
    bool any = false;
    for (Operation &op : step.getBody().front()) {
      if (auto read = dyn_cast<graph::ReadOp>(op)) {
        auto state = module.lookupSymbol<graph::StateOp>(read.getState());
        if (!glob.match(state.getSavedName()))
          continue;
        any = true;
        if (failed(hold(number, read.getY(), state.getSavedName(), state.getSavedShape())))
          return failure();
        continue;
      }
      StringRef name = nodeOf(&op);
      if (name.empty() || !graph::getOrigin(&op) || graph::getPhase(&op) != graph::Phase::Forward ||
          !isa<FactorOpInterface>(op) || !glob.match(name))
        continue;
      for (Value result : op.getResults()) {
        // A node may have become several ops: what it hands on is what others read.
        bool handsOn = llvm::any_of(result.getUsers(), [&](Operation *user) { return nodeOf(user) != name; });
        if (!handsOn || !isa<FloatType>(cast<ShapedType>(result.getType()).getElementType()))
          continue;
        any = true;
        if (failed(hold(number, result, name, {})))
          return failure();
      }
    }
    if (!any)
      return wrong(pin) << "no parameter and no node that computes has a name like " << pin.glob;
    return success();
  }

private:
  InFlightDiagnostic wrong(const Pin &pin) { return step.emitError("--pin=") << pin.text << ": "; }

  LogicalResult hold(size_t number, Value value, StringRef name, ArrayRef<int64_t> saved) {
    const Pin &pin = pins.pins[number];
    ArrayRef<int64_t> shape = cast<ShapedType>(value.getType()).getShape();
    PinnedValue entry{number, name.str(), {}};
    if (pin.dims.size() == shape.size()) {
      llvm::append_range(entry.entries, llvm::seq<int64_t>(0, shape.size()));
    } else {
      auto entries = pin.dims.size() == saved.size() ? entriesOf(shape, saved) : std::nullopt;
      if (!entries) {
        InFlightDiagnostic error = wrong(pin) << "'" << name << "' has the dimensions " << shapeText(shape);
        if (!saved.empty() && saved != shape)
          error << " (saved as " << shapeText(saved) << ")";
        return error << ", the layout has " << pin.dims.size();
      }
      entry.entries = std::move(*entries);
    }
    auto [known, isNew] = pins.held.try_emplace(value, entry);
    const Pin &other = pins.pins[known->second.pin];
    if (!isNew && (other.dims != pin.dims || known->second.entries != entry.entries))
      return step.emitError("--pin=") << other.text << " and --pin=" << pin.text
                                      << " hold the same value to two layouts: '" << name << "'";
    return success();
  }

  ModuleOp module;
  func::FuncOp step;
  Pins &pins;
};

FailureOr<Pins> Pins::resolve(func::FuncOp step, std::vector<Pin> list) {
  Pins result;
  result.pins = std::move(list);
  Resolver resolver(step, result);
  for (size_t number = 0; number < result.pins.size(); ++number)
    if (failed(resolver.add(number)))
      return failure();
  return result;
}

const Pin *Pins::splitting() const {
  auto first = llvm::find_if(pins, [](const Pin &pin) { return pin.splits(); });
  return first == pins.end() ? nullptr : &*first;
}

bool Pins::allows(Value value, const Layout &layout, const Axes &axes) const {
  auto found = held.find(value);
  if (found == held.end())
    return true;
  if (llvm::any_of(layout.partial, [&](const std::string &axis) { return contains(axes, axis); }))
    return false;
  const std::vector<Axes> &wanted = pins[found->second.pin].dims;
  std::vector<Axes> given(wanted.size());
  for (auto [dim, entry] : llvm::enumerate(found->second.entries))
    for (const std::string &axis : layout.dims[dim])
      if (contains(axes, axis))
        given[entry].push_back(axis);
  return given == wanted;
}

std::string Pins::optionOf(Value value) const {
  auto found = held.find(value);
  return found == held.end() ? "" : "--pin=" + pins[found->second.pin].text;
}

std::string Pins::describe(Value value) const {
  auto found = held.find(value);
  if (found == held.end())
    return "";
  return "'" + found->second.name + "' of dimensions " + shapeText(cast<ShapedType>(value.getType()).getShape());
}

std::string Pins::signatureOf(Value value) const {
  std::string text;
  auto found = held.find(value);
  if (found == held.end())
    return text;
  llvm::raw_string_ostream out(text);
  for (const Axes &axes : pins[found->second.pin].dims)
    out << '{' << llvm::join(axes, ",") << '}';
  llvm::interleaveComma(found->second.entries, out);
  return text;
}

llvm::SmallVector<Value> Pins::values() const {
  llvm::SmallVector<Value> result;
  for (const auto &entry : held)
    result.push_back(entry.first);
  return result;
}

} // namespace dtcc::spmd
