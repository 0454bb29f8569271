//===- ShapeList.h - Shapes of a search, in families
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The space of a large model on a large cluster has millions of shapes, most of which differ from the one before in
// their number of virtual stages alone. The list keeps such a run as one family. It is read and filtered like a vector
// of shapes.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_SEARCH_SHAPELIST_H
#define DTCC_PLANNER_SEARCH_SHAPELIST_H

#include "planner/parallelism/Parallelism.h"
#include <cstddef>
#include <initializer_list>
#include <iterator>
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
  const Parallelism &front() const { return all.front().fewest; }
  const std::vector<ShapeFamily> &families() const { return all; }

  /// Reads the shapes in their order, each made when it is read.
  class Iterator {
  public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Parallelism;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = Parallelism;

    explicit Iterator(const ShapeFamily *family) : family(family) {}
    Parallelism operator*() const { return family->with(member); }
    Iterator &operator++() {
      if (++member == family->count) {
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
    const ShapeFamily *family;
    int64_t member = 0;
  };
  Iterator begin() const { return Iterator(all.data()); }
  Iterator end() const { return Iterator(all.data() + all.size()); }

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
    std::erase_if(all, [&](const ShapeFamily &family) {
      const bool erased = isUnwanted(family);
      count -= erased ? size_t(family.count) : 0;
      return erased;
    });
  }

private:
  std::vector<ShapeFamily> all;
  size_t count = 0;
};

} // namespace dtcc::plan

#endif // DTCC_PLANNER_SEARCH_SHAPELIST_H
