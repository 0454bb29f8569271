//===- OneDnnLibrary.cpp - The functions of oneDNN -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/onednn/OneDnnLibrary.h"

#ifdef DTCC_HAS_ONEDNN_2

#include <dlfcn.h>

namespace dtcc::rt::onednn {

Library::Library() {
  void *handle = dlopen("libdnnl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return;
  bool complete = true;
#define DTCC_RESOLVE(name)                                                                                             \
  name = reinterpret_cast<decltype(&::name)>(dlsym(handle, #name));                                                    \
  complete = complete && name;
  DTCC_ONEDNN_FUNCTIONS(DTCC_RESOLVE)
#undef DTCC_RESOLVE
  if (complete && dnnl_version()->major == DNNL_VERSION_MAJOR)
    dnnl_engine_create(&engine, dnnl_cpu, 0);
}

const Library &library() {
  static const Library opened;
  return opened;
}

bool create(Memory &memory, const dnnl_memory_desc_t &description) {
  return library().dnnl_memory_create(&memory.handle, &description, library().engine, DNNL_MEMORY_NONE) == dnnl_success;
}

bool create(Attributes &attributes, bool accumulate) {
  const Library &lib = library();
  if (lib.dnnl_primitive_attr_create(&attributes.handle) ||
      lib.dnnl_primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user))
    return false;
  PostOps postOps;
  return !accumulate || !(lib.dnnl_post_ops_create(&postOps.handle) || lib.dnnl_post_ops_append_sum(postOps, 1.0f) ||
                          lib.dnnl_primitive_attr_set_post_ops(attributes, postOps));
}

bool create(Primitive &reorder, const dnnl_memory_desc_t &from, const dnnl_memory_desc_t &to, bool accumulate) {
  const Library &lib = library();
  Attributes attributes;
  PrimitiveDesc desc;
  // A reorder of such orders needs no scratch memory; one that did could not be made with the caller's.
  return create(attributes, accumulate) &&
         !lib.dnnl_reorder_primitive_desc_create(&desc.handle, &from, lib.engine, &to, lib.engine, attributes) &&
         !lib.dnnl_primitive_create(&reorder.handle, desc);
}

} // namespace dtcc::rt::onednn

#endif // DTCC_HAS_ONEDNN_2
