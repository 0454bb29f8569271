//===- OneDnn.cpp - Matrix products by oneDNN -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/OneDnn.h"

#ifdef DTCC_HAS_ONEDNN
#include <oneapi/dnnl/dnnl.h>
#endif

#if defined(DTCC_HAS_ONEDNN) && DNNL_VERSION_MAJOR == 2

#include <dlfcn.h>
#include <vector>

namespace dtcc::rt {
namespace {

/// The functions of the library that we call.
#define DTCC_ONEDNN_FUNCTIONS(F)                                                                                       \
  F(dnnl_version)                                                                                                      \
  F(dnnl_engine_create)                                                                                                \
  F(dnnl_stream_create)                                                                                                \
  F(dnnl_stream_destroy)                                                                                               \
  F(dnnl_stream_wait)                                                                                                  \
  F(dnnl_memory_desc_init_by_strides)                                                                                  \
  F(dnnl_memory_desc_get_size)                                                                                         \
  F(dnnl_memory_create)                                                                                                \
  F(dnnl_memory_destroy)                                                                                               \
  F(dnnl_memory_set_data_handle)                                                                                       \
  F(dnnl_matmul_desc_init)                                                                                             \
  F(dnnl_post_ops_create)                                                                                              \
  F(dnnl_post_ops_append_sum)                                                                                          \
  F(dnnl_post_ops_destroy)                                                                                             \
  F(dnnl_primitive_attr_create)                                                                                        \
  F(dnnl_primitive_attr_destroy)                                                                                       \
  F(dnnl_primitive_attr_set_scratchpad_mode)                                                                           \
  F(dnnl_primitive_attr_set_post_ops)                                                                                  \
  F(dnnl_primitive_desc_create)                                                                                        \
  F(dnnl_primitive_desc_destroy)                                                                                       \
  F(dnnl_primitive_desc_query_md)                                                                                      \
  F(dnnl_primitive_create)                                                                                             \
  F(dnnl_primitive_destroy)                                                                                            \
  F(dnnl_primitive_execute)

/// The opened library. It stays open and constant for the whole process, so the
/// ranks of a process may share it.
struct Library {
#define DTCC_MEMBER(name) decltype(&::name) name = nullptr;
  DTCC_ONEDNN_FUNCTIONS(DTCC_MEMBER)
#undef DTCC_MEMBER
  dnnl_engine_t engine = nullptr;

  Library() {
    void *handle = dlopen("libdnnl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!handle)
      return;
    bool complete = true;
#define DTCC_RESOLVE(name)                                                                                             \
  name = reinterpret_cast<decltype(&::name)>(dlsym(handle, #name));                                                    \
  complete = complete && name;
    DTCC_ONEDNN_FUNCTIONS(DTCC_RESOLVE)
#undef DTCC_RESOLVE
    // The descriptors' layout is part of the major version.
    if (complete && dnnl_version()->major == DNNL_VERSION_MAJOR)
      dnnl_engine_create(&engine, dnnl_cpu, 0);
  }
};

const Library &library() {
  static const Library opened;
  return opened;
}

/// Owns a handle of the library and destroys it.
template <typename Handle, auto Destroy> struct Owned {
  Handle handle = nullptr;
  Owned() = default;
  Owned(const Owned &) = delete;
  Owned &operator=(const Owned &) = delete;
  ~Owned() {
    if (handle)
      (library().*Destroy)(handle);
  }
  operator Handle() const { return handle; }
};
using Memory = Owned<dnnl_memory_t, &Library::dnnl_memory_destroy>;
using Primitive = Owned<dnnl_primitive_t, &Library::dnnl_primitive_destroy>;
using PrimitiveDesc = Owned<dnnl_primitive_desc_t, &Library::dnnl_primitive_desc_destroy>;
using Attributes = Owned<dnnl_primitive_attr_t, &Library::dnnl_primitive_attr_destroy>;
using PostOps = Owned<dnnl_post_ops_t, &Library::dnnl_post_ops_destroy>;
using Stream = Owned<dnnl_stream_t, &Library::dnnl_stream_destroy>;

/// A matrix, or a batch of them where g > 1.
bool describe(dnnl_memory_desc_t &md, dtcc_dtype type, int64_t g, int64_t rows, int64_t columns,
              const int64_t (&strides)[3]) {
  dnnl_dims_t sizes = {strides[0] == 0 ? 1 : g, rows, columns};
  dnnl_dims_t steps = {strides[0] == 0 ? rows * columns : strides[0], strides[1], strides[2]};
  int first = g > 1 ? 0 : 1;
  return library().dnnl_memory_desc_init_by_strides(
             &md, 3 - first, sizes + first, type == DTCC_BF16 ? dnnl_bf16 : dnnl_f32, steps + first) == dnnl_success;
}

bool create(Memory &memory, const dnnl_memory_desc_t &md) {
  return library().dnnl_memory_create(&memory.handle, &md, library().engine, DNNL_MEMORY_NONE) == dnnl_success;
}

size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

class Product final : public OneDnnProduct {
public:
  /// False if the library refuses.
  bool init(const ProductProblem &p) {
    const Library &lib = library();
    dnnl_memory_desc_t lhs, rhs, out, bias;
    if (!describe(lhs, p.type, p.g, p.m, p.k, p.lhsStrides) || !describe(rhs, p.type, p.g, p.k, p.n, p.rhsStrides) ||
        !describe(out, p.outType, p.g, p.m, p.n, p.outStrides))
      return false;
    if (p.bias) {
      dnnl_dims_t sizes = {1, 1, p.n}, steps = {p.n, p.n, 1};
      int first = p.g > 1 ? 0 : 1;
      if (lib.dnnl_memory_desc_init_by_strides(&bias, 3 - first, sizes + first, dnnl_f32, steps + first))
        return false;
    }
    dnnl_matmul_desc_t desc;
    if (lib.dnnl_matmul_desc_init(&desc, &lhs, &rhs, p.bias ? &bias : nullptr, &out))
      return false;
    Attributes attributes;
    PostOps postOps;
    if (lib.dnnl_primitive_attr_create(&attributes.handle) ||
        lib.dnnl_primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user))
      return false;
    if (p.accumulate && (lib.dnnl_post_ops_create(&postOps.handle) || lib.dnnl_post_ops_append_sum(postOps, 1.0f) ||
                         lib.dnnl_primitive_attr_set_post_ops(attributes, postOps)))
      return false;
    PrimitiveDesc primitiveDesc;
    if (lib.dnnl_primitive_desc_create(&primitiveDesc.handle, &desc, attributes, lib.engine, nullptr) ||
        lib.dnnl_primitive_create(&primitive.handle, primitiveDesc))
      return false;
    const dnnl_memory_desc_t *pad = lib.dnnl_primitive_desc_query_md(primitiveDesc, dnnl_query_scratchpad_md, 0);
    if (!pad || lib.dnnl_stream_create(&stream.handle, lib.engine, dnnl_stream_default_flags))
      return false;
    padSize = aligned(lib.dnnl_memory_desc_get_size(pad));
    return create(lhsMemory, lhs) && create(rhsMemory, rhs) && create(outMemory, out) &&
           (!p.bias || create(biasMemory, bias)) && create(padMemory, *pad);
  }

  size_t scratchBytes() const override { return padSize; }

  void run(const ProductProblem &p, std::byte *scratch) override {
    const Library &lib = library();
    set(lhsMemory, p.lhs);
    set(rhsMemory, p.rhs);
    set(outMemory, p.out);
    set(padMemory, scratch);
    dnnl_exec_arg_t args[5] = {{DNNL_ARG_SRC, lhsMemory},
                               {DNNL_ARG_WEIGHTS, rhsMemory},
                               {DNNL_ARG_DST, outMemory},
                               {DNNL_ARG_SCRATCHPAD, padMemory},
                               {}};
    int count = 4;
    if (p.bias) {
      set(biasMemory, p.bias);
      args[count++] = {DNNL_ARG_BIAS, biasMemory};
    }
    lib.dnnl_primitive_execute(primitive, stream, count, args);
    lib.dnnl_stream_wait(stream);
  }

private:
  static void set(const Memory &memory, const void *address) {
    library().dnnl_memory_set_data_handle(memory, const_cast<void *>(address));
  }
  Primitive primitive;
  Memory lhsMemory, rhsMemory, outMemory, biasMemory, padMemory;
  Stream stream;
  size_t padSize = 0;
};

} // namespace

bool hasOneDnn() { return library().engine != nullptr; }

std::unique_ptr<OneDnnProduct> createOneDnnProduct(const ProductProblem &problem) {
  // Version 2 multiplies f16 on GPUs alone, and emulates bf16 where the processor has none.
  if (!hasOneDnn() || problem.type == DTCC_F16)
    return nullptr;
  auto product = std::make_unique<Product>();
  if (!product->init(problem))
    return nullptr;
  return product;
}

} // namespace dtcc::rt

#else

namespace dtcc::rt {

bool hasOneDnn() { return false; }
std::unique_ptr<OneDnnProduct> createOneDnnProduct(const ProductProblem &) { return nullptr; }

} // namespace dtcc::rt

#endif
