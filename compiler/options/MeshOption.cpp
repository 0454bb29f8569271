//===- MeshOption.cpp - What --mesh gives
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "compiler/options/MeshOption.h"
#include "compiler/console/ErrorStream.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace dtcc;

LogicalResult dtcc::parseMesh(StringRef text, MeshOption &mesh) {
  auto wrong = [](const llvm::Twine &message) {
    errorStream() << message << '\n';
    return failure();
  };
  struct Row {
    StringRef name;
    std::optional<int64_t> MeshOption::*size;
  };
  static constexpr Row rows[] = {{"dp", &MeshOption::dp},
                                 {"tp", &MeshOption::tp},
                                 {"cp", &MeshOption::cp},
                                 {"ep", &MeshOption::ep},
                                 {"pp", &MeshOption::pp}};
  SmallVector<StringRef> parts;
  llvm::StringSet<> seen;
  text.split(parts, ',', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts) {
    auto [name, number] = part.split('=');
    int64_t size = 0, groups = 1;
    // dp=2x4: two groups of four ranks that share state.
    if (auto [outer, inner] = number.split('x'); name == "dp" && !inner.empty()) {
      if (outer.getAsInteger(10, groups) || groups < 1 || groups > kMostRanks)
        return wrong("--mesh: the number of groups must be from 1 to " + Twine(kMostRanks) + ", got: " + part);
      number = inner;
    }
    if (number.getAsInteger(10, size) || size < 1 || size > kMostRanks)
      return wrong("--mesh: the size of an axis must be from 1 to " + Twine(kMostRanks) + ", got: " + part);
    if (!seen.insert(name).second)
      return wrong("--mesh must name an axis once, got twice: " + name);
    const Row *row = llvm::find_if(rows, [&, name = name](const Row &each) { return each.name == name; });
    if (row == std::end(rows))
      return wrong("--mesh: an axis must be one of dp, tp, cp, ep, pp, got: " + name);
    mesh.*row->size = size * groups;
    if (name == "dp")
      mesh.groups = groups;
  }
  return success();
}
