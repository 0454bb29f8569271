//===- Scores.cpp - What stands between a product and its softmax
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/graph/recover/Scores.h"
#include "dialects/graph/Shapes.h"
#include "passes/graph/recover/Cells.h"
#include "passes/graph/recover/Region.h"
#include "passes/graph/recover/Views.h"
#include "llvm/ADT/bit.h"
#include <cmath>
#include <set>

using namespace mlir;

namespace dtcc::graph {

namespace {

/// The keys [low, high] that a query sees, or low > high if none.
struct Interval {
  int64_t row, low, high;
};

class Reader {
public:
  explicit Reader(Value scores) : scores(scores), rank(rankOf(scores)), shape(shapeOf(scores)) {}

  std::optional<Scores> run(ScoreMemory &memory) {
    if (!findCore() || !findAtoms(scores, range(0, rank)))
      return std::nullopt;
    auto [known, isNew] = memory.try_emplace(signature());
    if (!isNew)
      return known->second ? std::optional(meaning(*known->second)) : std::nullopt;
    plain = findStatics(scores, /*moved=*/false);
    if (!findFunction() || !findPlaces() || !checkRows())
      return std::nullopt;
    known->second = result;
    return result;
  }

private:
  /// All ops from the core, the atoms and constants to the scores, with operands by number: equal for scores that are
  /// computed alike. Attributes and types are unique, so that their addresses tell them apart.
  ScoreMemory::key_type signature() {
    ScoreMemory::key_type key;
    llvm::DenseMap<Value, uintptr_t> numbers;
    auto number = [&](uintptr_t value) { key.push_back(reinterpret_cast<const void *>(value)); };
    auto visit = [&](auto &&self, Value value) -> void {
      if (numbers.contains(value))
        return;
      Operation *op = value.getDefiningOp();
      bool isLeaf = !op || value == result.core.getY() ||
                    llvm::any_of(result.atoms, [&](const MaskAtom &atom) { return atom.value == value; });
      if (!isLeaf)
        for (Value operand : op->getOperands())
          self(self, operand);
      key.push_back(value.getType().getAsOpaquePointer());
      numbers.try_emplace(value, numbers.size());
      if (isLeaf)
        return number(0);
      key.push_back(op->getName().getAsOpaquePointer());
      key.push_back(op->getPropertiesAsAttribute().getAsOpaquePointer());
      number(cast<OpResult>(value).getResultNumber());
      for (Value operand : op->getOperands())
        number(numbers.lookup(operand));
    };
    visit(visit, result.core.getY());
    for (const MaskAtom &atom : result.atoms) {
      visit(visit, atom.value);
      number(atom.isSegment());
    }
    visit(visit, scores);
    return key;
  }
  /// The meaning of these scores, from `read`, the meaning of equal scores.
  Scores meaning(const Scores &read) const {
    Scores own = read;
    own.core = result.core;
    own.atoms = result.atoms;
    for (auto [atom, of] : llvm::zip_equal(own.atoms, read.atoms))
      atom.visible = of.visible;
    return own;
  }

  int64_t queries() const { return shape[rank - 2]; }
  int64_t keys() const { return shape[rank - 1]; }

  /// The only product of the scores' shape above them.
  bool findCore() {
    llvm::SetVector<Value> seen;
    seen.insert(scores);
    for (size_t i = 0; i < seen.size() && i < 64; ++i) {
      Operation *op = seen[i].getDefiningOp();
      if (auto product = dyn_cast_or_null<ContractOp>(op)) {
        if (result.core || shapeOf(product.getY()) != shape)
          return false;
        result.core = product;
      } else if (op && isFloat(seen[i]) && isa<ElementwiseOpInterface>(op)) {
        for (Value operand : op->getOperands())
          if (isFloat(operand) && !isStatic(operand))
            seen.insert(operand);
      }
    }
    return static_cast<bool>(result.core);
  }

  /// Finds the topmost booleans that depend on inputs. Everything else but the core must
  /// be static. `dims` says which of the scores' dimensions those of the value are.
  bool findAtoms(Value value, Dims dims) {
    if (value == result.core.getY() || isStatic(value))
      return true;
    if (llvm::any_of(result.atoms, [&](const MaskAtom &atom) { return atom.value == value; }))
      return true;
    auto isOf = [](ArrayRef<int64_t> list, std::initializer_list<int64_t> allowed) {
      return llvm::all_of(list, [&](int64_t dim) { return llvm::is_contained(allowed, dim); });
    };
    if (elementOf(value).isInteger(1) && isOf(dims, {0, rank - 1})) {
      result.atoms.push_back({value, value, Value(), dims, {}});
      return true;
    }
    Operation *op = value.getDefiningOp();
    if (auto compare = dyn_cast_or_null<CompareOp>(op)) {
      // Equal numbers of a query and of a key: a segment.
      View left = View::of(compare.getLhs(), false), right = View::of(compare.getRhs(), false);
      auto baseDims = [&](const View &view) {
        Dims list(rankOf(view.base), -1);
        for (auto [i, from] : llvm::enumerate(view.dims))
          if (from >= 0)
            list[from] = dims[i];
        return list;
      };
      Dims a = baseDims(left), b = baseDims(right);
      bool equality = compare.getPredicate() == Predicate::eq || compare.getPredicate() == Predicate::ne;
      if (equality && !isFloat(left.base) && isOf(a, {0, rank - 1}) && isOf(b, {0, rank - 2})) {
        std::swap(left, right);
        std::swap(a, b);
      }
      if (equality && !isFloat(left.base) && isOf(a, {0, rank - 2}) && isOf(b, {0, rank - 1})) {
        result.atoms.push_back({value, left.base, right.base, a, b, compare.getPredicate() == Predicate::eq});
        return true;
      }
    }
    if (auto transpose = dyn_cast_or_null<TransposeOp>(op)) {
      Dims source(dims.size());
      for (auto [to, from] : llvm::enumerate(transpose.getPermutation()))
        source[from] = dims[to];
      return findAtoms(transpose.getX(), source);
    }
    if (auto broadcast = dyn_cast_or_null<BroadcastOp>(op))
      return findAtoms(broadcast.getX(), at(dims, broadcast.getDims()));
    return isa_and_nonnull<ElementwiseOpInterface>(op) &&
           llvm::all_of(op->getOperands(), [&](Value operand) { return findAtoms(operand, dims); });
  }

  /// Finds what of the scores differs from cell to cell besides the product and the atoms: static values that are read
  /// at the cell itself. False if there are others, or ops that read now this operand and now that.
  bool findStatics(Value value, bool moved) {
    if (value == result.core.getY() || splatValue(value) ||
        llvm::any_of(result.atoms, [&](const MaskAtom &atom) { return atom.value == value; }))
      return true;
    if (isStatic(value)) {
      statics.insert(value);
      return !moved;
    }
    Operation *op = value.getDefiningOp();
    bool moves = isa_and_nonnull<TransposeOp, BroadcastOp, ReshapeOp>(op);
    return (moves || isa_and_nonnull<ElementwiseOpInterface>(op)) &&
           llvm::all_of(op->getOperands(), [&](Value operand) { return findStatics(operand, moved || moves); });
  }

  /// The scores' cell when the product's cell is x and atom i holds as bit i of `bits`.
  std::optional<double> cell(ArrayRef<int64_t> index, double x, unsigned bits) {
    Cells cells([&](Value value, ArrayRef<int64_t>) -> std::optional<double> {
      if (value == result.core.getY())
        return x;
      for (auto [i, atom] : llvm::enumerate(result.atoms))
        if (atom.value == value)
          return (bits >> i) & 1;
      return std::nullopt;
    });
    return cells.at(scores, index);
  }
  unsigned visibleBits() const {
    unsigned bits = 0;
    for (auto [i, atom] : llvm::enumerate(result.atoms))
      bits |= unsigned(atom.visible) << i;
    return bits;
  }

  double expected(double x) const {
    double scaled = result.scale * x;
    return result.softcap > 0 ? result.softcap * std::tanh(scaled / result.softcap) : scaled;
  }

  /// Reads scale and cap at the first cell of row T/2 that is visible under some truth of
  /// the atoms; that truth is their polarity.
  bool findFunction() {
    if (result.atoms.size() > 2)
      return false;
    Dims index(rank, 0);
    index[rank - 2] = queries() / 2;
    for (int64_t key : {queries() / 2, int64_t(0), keys() - 1, keys() / 2}) {
      index[rank - 1] = std::min(key, keys() - 1);
      for (unsigned bits = 0; bits < 1u << result.atoms.size(); ++bits) {
        std::optional<double> zero = cell(index, 0, bits), one = cell(index, 1e-4, bits), far = cell(index, 1e9, bits);
        if (!zero || !one || !far)
          return false;
        if (*zero == *one)
          continue;
        if (*zero != 0)
          return false; // a bias
        result.scale = *one / 1e-4;
        bool saturates = std::fabs(*far) < 1e-3 * std::fabs(result.scale) * 1e9;
        if (saturates) {
          result.softcap = std::fabs(*far);
          // The slope at 0, where tanh bends by (x / c)^2 / 3 only.
          std::optional<double> near = cell(index, 1e-7, bits);
          result.scale = *near / 1e-7;
        }
        for (auto [i, atom] : llvm::enumerate(result.atoms)) {
          bool holds = (bits >> i) & 1;
          // A segment's numbers must be equal where visible.
          if (atom.isSegment() && holds != atom.visible)
            return false;
          atom.visible = holds;
        }
        return true;
      }
    }
    return false;
  }

  /// Whether the cell is visible; nothing if it is neither masked nor the function. `given`: the static values there,
  /// if nothing else tells cells apart. Where they are the same, so is the answer: a mask has two.
  std::optional<bool> isVisible(ArrayRef<int64_t> index, unsigned bits, ArrayRef<uint64_t> given) {
    if (!plain)
      return probe(index, bits);
    std::vector<uint64_t> key{bits};
    llvm::append_range(key, given);
    auto [known, isNew] = answers.try_emplace(std::move(key));
    if (isNew)
      known->second = probe(index, bits);
    return known->second;
  }
  std::optional<bool> probe(ArrayRef<int64_t> index, unsigned bits) {
    std::optional<double> zero = cell(index, 0, bits), one = cell(index, 1, bits);
    if (!zero || !one)
      return std::nullopt;
    if (*zero == *one) {
      // A finite constant that a score could reach is a bias of its own kind.
      if (*zero > -1e30 || (result.fill != 0 && result.fill != *zero))
        return std::nullopt;
      result.fill = *zero;
      return false;
    }
    for (auto [x, known] : {std::pair(0.0, zero), std::pair(1.0, one), std::pair(-2.5, std::optional<double>()),
                            std::pair(40.0, std::optional<double>()), std::pair(-1e9, std::optional<double>())}) {
      std::optional<double> y = known ? known : cell(index, x, bits);
      if (!y || std::fabs(*y - expected(x)) > 1e-6 * (1e-6 + std::fabs(expected(x))))
        return std::nullopt;
    }
    return true;
  }

  /// Whether a mask, or a part of one, is stored cell by cell. Its rows may be anything.
  bool isStored() {
    return llvm::any_of(statics, [](Value value) {
      return llvm::any_of(ancestors(value, 128), [](Value from) {
        auto constant = from.getDefiningOp<ConstantOp>();
        return constant && !constant.getValue().isSplat();
      });
    });
  }

  /// Whether a static value is the same at all places of a dimension.
  bool isEven(Value value, int64_t dim) const {
    if (auto iota = value.getDefiningOp<IotaOp>())
      return static_cast<int64_t>(iota.getDim()) != dim;
    if (auto cells = dyn_cast_or_null<ElementwiseOpInterface>(value.getDefiningOp()))
      return llvm::all_of(cells->getOperands(), [&](Value operand) { return isEven(operand, dim); });
    return isConstantAlong(value, dim);
  }

  /// Finds the samples and heads whose masks are read: the first and the last, and all of which a static value may tell
  /// apart. False if these are too many.
  bool findPlaces() {
    constexpr int64_t kMostRead = int64_t(1) << 26;
    Dims first(rank, 0), last;
    for (int64_t size : shape)
      last.push_back(size - 1);
    places = {first};
    for (int64_t dim = 0; plain && dim < rank - 2; ++dim) {
      if (llvm::all_of(statics, [&](Value value) { return isEven(value, dim); }))
        continue;
      const size_t before = places.size();
      if (int64_t(before) * shape[dim] > kMostRead / std::max<int64_t>(1, queries() * keys()))
        return false;
      for (int64_t at = 1; at < shape[dim]; ++at)
        for (size_t place = 0; place < before; ++place) {
          places.push_back(places[place]);
          places.back()[dim] = at;
        }
    }
    if (places.size() == 1)
      places.push_back(last);
    return true;
  }

  /// The rows to look at, whole: all of a small mask and of one that is stored; else the corners, the neighbours of
  /// every integer constant, and some in between.
  SmallVector<int64_t> rows() {
    std::set<int64_t> chosen;
    if (queries() * keys() <= 4096 || isStored()) {
      for (int64_t i = 0; i < queries(); ++i)
        chosen.insert(i);
    } else {
      for (int64_t i : {int64_t(0), int64_t(1), int64_t(2), queries() / 3, queries() / 2, queries() / 2 + 1,
                        queries() - 2, queries() - 1})
        chosen.insert(i);
      for (Value value : ancestors(scores, 128))
        if (std::optional<double> number = splatValue(value); number && !isFloat(value))
          for (int64_t near = -1; near <= 1; ++near)
            for (int64_t sign : {-1, 1})
              chosen.insert(sign * static_cast<int64_t>(*number) + near);
    }
    SmallVector<int64_t> list;
    for (int64_t row : chosen)
      if (row >= 0 && row < queries())
        list.push_back(row);
    return list;
  }

  /// Every row must be an interval of keys, and all rows the same predicate.
  bool checkRows() {
    bool offsetKnown = false;
    SmallVector<Interval> intervals;
    for (int64_t row : rows()) {
      std::optional<Interval> interval = readRow(row);
      if (!interval)
        return false;
      intervals.push_back(*interval);
      auto [i, low, high] = *interval;
      if (low > high)
        continue;
      if (high < keys() - 1) {
        if (offsetKnown && result.offset != high - i)
          return false;
        result.causal = offsetKnown = true;
        result.offset = high - i;
      }
      if (low > 0) {
        if (result.windowLeft != 0 && result.windowLeft != i - low + 1)
          return false;
        result.windowLeft = i - low + 1;
      }
    }
    if (result.windowLeft < 0)
      return false;
    for (auto [i, low, high] : intervals) {
      int64_t last = result.causal ? std::min(keys() - 1, i + result.offset) : keys() - 1;
      int64_t first = result.windowLeft > 0 ? std::max<int64_t>(0, i - result.windowLeft + 1) : 0;
      bool empty = first > last;
      if (empty != (low > high) || (!empty && (low != first || high != last)))
        return false;
    }
    return true;
  }

  /// Bits of the static cells of one row of a sample and head: for each key, those of each of `statics`.
  std::optional<std::vector<uint64_t>> staticsOf(ArrayRef<int64_t> index) {
    std::vector<uint64_t> cells(keys() * statics.size());
    for (auto [number, value] : llvm::enumerate(statics)) {
      std::optional<std::vector<double>> row = staticCells.row(value, index);
      if (!row)
        return std::nullopt;
      for (auto [key, cell] : llvm::enumerate(*row))
        cells[key * statics.size() + number] = llvm::bit_cast<uint64_t>(cell);
    }
    return cells;
  }

  /// Whether a key is visible under the right truth of the atoms, at all places alike. Nothing if it is also under
  /// another one. `cells`: the static cells at each place.
  std::optional<bool> readKey(ArrayRef<ArrayRef<uint64_t>> cells) {
    unsigned visible = visibleBits(), all = (1u << result.atoms.size()) - 1;
    std::optional<bool> here;
    for (auto [place, given] : llvm::zip_equal(places, cells)) {
      std::optional<bool> there = isVisible(place, visible, given);
      if (!there || (here && *here != *there))
        return std::nullopt;
      here = there;
      for (unsigned bits = 0; bits <= all; ++bits) {
        if (bits == visible)
          continue;
        if (std::optional<bool> hidden = isVisible(place, bits, given); !hidden || *hidden)
          return std::nullopt;
      }
    }
    return here;
  }

  /// The keys that a row sees, in all samples and heads alike. Nothing where they are no interval, or where an atom
  /// that fails leaves a key visible.
  std::optional<Interval> readRow(int64_t row) {
    Interval interval{row, keys(), -1};
    std::vector<std::vector<uint64_t>> rowCells(places.size());
    staticCells.clear();
    for (auto [place, cells] : llvm::zip_equal(places, rowCells)) {
      place[rank - 2] = row;
      place[rank - 1] = 0;
      if (!plain)
        continue;
      std::optional<std::vector<uint64_t>> here = staticsOf(place);
      if (!here)
        return std::nullopt;
      cells = std::move(*here);
    }
    const size_t count = plain ? statics.size() : 0;
    bool ended = false;
    std::optional<bool> before;
    SmallVector<ArrayRef<uint64_t>> neighbours, cells;
    for (int64_t key = 0; key < keys(); ++key) {
      neighbours = std::exchange(cells, {});
      for (auto [place, ofRow] : llvm::zip_equal(places, rowCells)) {
        place[rank - 1] = key;
        cells.push_back(ArrayRef(ofRow).slice(key * count, count));
      }
      // Neighbours are alike but where an interval ends.
      std::optional<bool> here = plain && key > 0 && cells == neighbours ? before : readKey(cells);
      if (!here)
        return std::nullopt;
      before = here;
      if (*here && ended)
        return std::nullopt;
      if (*here) {
        interval.low = std::min(interval.low, key);
        interval.high = key;
      } else if (interval.high >= 0) {
        ended = true;
      }
    }
    return interval;
  }

  Value scores;
  int64_t rank;
  ArrayRef<int64_t> shape;
  Scores result;
  /// Whether the scores are a function of the product, the atoms and `statics` alone.
  bool plain = false;
  llvm::SetVector<Value> statics;
  /// Indices of the scores in each sample and head that is looked at. The row and the key change while they are read.
  SmallVector<Dims> places;
  Cells staticCells{[](Value, ArrayRef<int64_t>) { return std::nullopt; }};
  /// Answers so far, by the truth of the atoms and the cells of `statics`.
  std::map<std::vector<uint64_t>, std::optional<bool>> answers;
};

} // namespace

std::optional<Scores> readScores(Value scores, ScoreMemory &memory) { return Reader(scores).run(memory); }

} // namespace dtcc::graph
