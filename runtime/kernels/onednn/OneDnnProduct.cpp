//===- OneDnnProduct.cpp - Matrix products by oneDNN -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/onednn/OneDnnProduct.h"

#include "runtime/kernels/onednn/OneDnnLibrary.h"

#ifdef DTCC_HAS_ONEDNN_2

namespace dtcc::rt {
namespace {

using namespace onednn;

/// A matrix, or a batch of them where g > 1.
bool describe(dnnl_memory_desc_t &md, dtcc_dtype type, int64_t g, int64_t rows, int64_t columns,
              const int64_t (&strides)[3]) {
  dnnl_dims_t sizes = {strides[0] == 0 ? 1 : g, rows, columns};
  dnnl_dims_t steps = {strides[0] == 0 ? rows * columns : strides[0], strides[1], strides[2]};
  int first = g > 1 ? 0 : 1;
  return library().dnnl_memory_desc_init_by_strides(&md, 3 - first, sizes + first, typeOf(type), steps + first) ==
         dnnl_success;
}

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
    if (!create(attributes, p.accumulate))
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
    setAddress(lhsMemory, p.lhs);
    setAddress(rhsMemory, p.rhs);
    setAddress(outMemory, p.out);
    setAddress(padMemory, scratch);
    dnnl_exec_arg_t args[5] = {{DNNL_ARG_SRC, lhsMemory},
                               {DNNL_ARG_WEIGHTS, rhsMemory},
                               {DNNL_ARG_DST, outMemory},
                               {DNNL_ARG_SCRATCHPAD, padMemory},
                               {}};
    int count = 4;
    if (p.bias) {
      setAddress(biasMemory, p.bias);
      args[count++] = {DNNL_ARG_BIAS, biasMemory};
    }
    lib.dnnl_primitive_execute(primitive, stream, count, args);
    lib.dnnl_stream_wait(stream);
  }

private:
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
