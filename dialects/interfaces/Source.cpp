//===- Source.cpp - The part of the user's model that an op computes
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/interfaces/Source.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace dtcc;

/// Metadata of a location: the path of a module, or that a gradient is computed.
static constexpr llvm::StringLiteral kModule = "module", kGradient = "gradient";

static Location withMetadata(Location where, StringRef name, Attribute value) {
  MLIRContext *context = where.getContext();
  NamedAttribute entry(StringAttr::get(context, name), value);
  return FusedLoc::get(context, where, DictionaryAttr::get(context, entry));
}

Location dtcc::atModule(Location where, StringRef module) {
  return withMetadata(where, kModule, StringAttr::get(where.getContext(), module));
}

Location dtcc::ofGradient(Location where) { return withMetadata(where, kGradient, UnitAttr::get(where.getContext())); }

/// "blocks.0" of "blocks.0.up" and "blocks.0.down".
static std::string innermostOfBoth(StringRef a, StringRef b) {
  SmallVector<StringRef> left, right;
  a.split(left, '.');
  b.split(right, '.');
  size_t same = 0;
  while (same < left.size() && same < right.size() && left[same] == right[same])
    ++same;
  return llvm::join(ArrayRef(left).take_front(same), ".");
}

Source dtcc::sourceOf(Location where) {
  Source source;
  if (auto name = dyn_cast<NameLoc>(where))
    return sourceOf(name.getChildLoc());
  if (auto call = dyn_cast<CallSiteLoc>(where))
    return sourceOf(call.getCallee());
  auto fused = dyn_cast<FusedLoc>(where);
  if (!fused)
    return source;
  bool known = false;
  for (Location part : fused.getLocations()) {
    Source inner = sourceOf(part);
    source.isGradient |= inner.isGradient;
    if (inner.module.empty())
      continue;
    source.module = known ? innermostOfBoth(source.module, inner.module) : inner.module;
    known = true;
  }
  auto metadata = dyn_cast_if_present<DictionaryAttr>(fused.getMetadata());
  if (!metadata)
    return source;
  source.isGradient |= metadata.contains(kGradient);
  if (auto module = metadata.getAs<StringAttr>(kModule))
    source.module = module.str();
  return source;
}
