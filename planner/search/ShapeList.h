//===- ShapeList.h - Shapes of a search, in families
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The space of a large model on a large cluster has millions of shapes, most of which differ from the one before in
// their number of virtual stages alone. The list keeps such a run as one family, and families in a row that differ in
// their schedules and stages alone as a few numbers each. It is read and filtered like a vector of shapes.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_SEARCH_SHAPELIST_H
#define DTCC_PLANNER_SEARCH_SHAPELIST_H

#include "planner/parallelism/Parallelism.h"
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <ranges>
#include <utility>
#include <vector>

namespace dtcc::plan {

/// Shapes that differ in their number of virtual stages alone, each of which has one stage more than the one before.
struct ShapeFamily {
  /// The shape with the fewest virtual stages.
  Parallelism fewest;
  /// Number of shapes.
  int64_t count = 1;

  bool operator==(const ShapeFamily &) const = default;
  /// The shape that has `more` virtual stages than the fewest.
  Parallelism with(int64_t more) const {
    Parallelism shape = fewest;
    shape.virtualStages += more;
    return shape;
  }
};

class ShapeList {
public:
  ShapeList() = default;
  ShapeList(std::initializer_list<Parallelism> shapes) {
    for (const Parallelism &shape : shapes)
      push_back(shape);
  }

  /// Adds a shape to the last family if it continues that one, else as a family of its own.
  void push_back(const Parallelism &shape);
  /// Number of shapes.
  size_t size() const { return count; }
  bool empty() const { return count == 0; }
  /// The families in their order, each made when it is read.
  auto families() const {
    return std::views::iota(size_t(0), all.size()) |
           std::views::transform([this](size_t number) { return familyAt(number); });
  }
  Parallelism front() const { return familyAt(0).fewest; }

  /// Reads the shapes in their order, each made when it is read.
  class Iterator {
  public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Parallelism;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = Parallelism;

    Iterator(const ShapeList *list, size_t family) : list(list), family(family) {}
    Parallelism operator*() const { return list->familyAt(family).with(member); }
    Iterator &operator++() {
      if (++member == list->all[family].count) {
        ++family;
        member = 0;
      }
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const Iterator &) const = default;

  private:
    const ShapeList *list;
    size_t family;
    int64_t member = 0;
  };
  Iterator begin() const { return Iterator(this, 0); }
  Iterator end() const { return Iterator(this, all.size()); }

  /// Removes the shapes of which `isUnwanted` holds.
  template <typename Predicate> void eraseIf(Predicate isUnwanted) {
    ShapeList kept;
    for (const Parallelism &shape : *this)
      if (!isUnwanted(shape))
        kept.push_back(shape);
    *this = std::move(kept);
  }
  /// Removes the families of which `isUnwanted` holds.
  template <typename Predicate> void eraseFamiliesIf(Predicate isUnwanted) {
    ShapeList kept;
    for (const ShapeFamily &family : families())
      if (!isUnwanted(family))
        kept.add(family);
    *this = std::move(kept);
  }

private:
  /// A family without the part that it shares with those beside it.
  struct Packed {
    /// The number among `bases` of the rest of its shapes.
    uint32_t base;
    cost::PipelineKind schedule;
    int32_t fewestStages, count;
  };
  ShapeFamily familyAt(size_t number) const {
    const Packed &packed = all[number];
    ShapeFamily family{bases[packed.base], packed.count};
    family.fewest.schedule = packed.schedule;
    family.fewest.virtualStages = packed.fewestStages;
    return family;
  }
  void add(const ShapeFamily &family);

  /// Shapes whose schedules and virtual stages mean nothing.
  std::vector<Parallelism> bases;
  std::vector<Packed> all;
  size_t count = 0;
};

} // namespace dtcc::plan

#endif // DTCC_PLANNER_SEARCH_SHAPELIST_H
