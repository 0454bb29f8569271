//===- OneDnnProduct.cpp - Matrix products by oneDNN -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/onednn/OneDnnProduct.h"

#include "runtime/core/Error.h"
#include "runtime/kernels/onednn/OneDnnLibrary.h"

#ifdef DTCC_HAS_ONEDNN_2

#include <algorithm>
#include <vector>

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

/// An operand as it lies and, if the library reads a copy, in the library's order.
struct ProductOperand {
  dnnl_memory_desc_t plainDesc;
  Memory plain, inner;
  Primitive pack; // none where the plain order is read
  size_t offset = 0;

  bool packed() const { return pack.handle; }
  /// The description to ask the library with.
  dnnl_memory_desc_t asked(OneDnnOperands operands) const {
    dnnl_memory_desc_t any = plainDesc;
    if (operands == OneDnnOperands::Packed)
      library().dnnl_memory_desc_init_by_tag(&any, plainDesc.ndims, plainDesc.dims, plainDesc.data_type,
                                             dnnl_format_tag_any);
    return any;
  }
  /// Takes the order that the library chose; the copy is placed after `scratch` bytes, which then include it.
  bool finish(const dnnl_memory_desc_t &chosen, size_t &scratch) {
    if (!create(plain, plainDesc))
      return false;
    if (library().dnnl_memory_desc_equal(&plainDesc, &chosen))
      return true;
    offset = scratch;
    scratch += aligned(library().dnnl_memory_desc_get_size(&chosen));
    return create(inner, chosen) && create(pack, plainDesc, chosen, /*accumulate=*/false);
  }
  /// The memory that a product of these cells reads.
  dnnl_memory_t read(const void *cells, std::byte *scratch, const Stream &stream) const {
    setAddress(plain, cells);
    if (!packed())
      return plain;
    setAddress(inner, scratch + offset);
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, plain}, {DNNL_ARG_TO, inner}};
    library().dnnl_primitive_execute(pack, stream, 2, args);
    return inner;
  }
};

/// One primitive: a product whose sums are not divided.
class UndividedProduct {
public:
  /// False if the library refuses.
  bool init(const ProductProblem &p, OneDnnOperands operands) {
    const Library &lib = library();
    dnnl_memory_desc_t out, bias;
    if (!describe(lhs.plainDesc, p.type, p.g, p.m, p.k, p.lhsStrides) ||
        !describe(rhs.plainDesc, p.type, p.g, p.k, p.n, p.rhsStrides) ||
        !describe(out, p.outType, p.g, p.m, p.n, p.outStrides))
      return false;
    if (p.bias) {
      dnnl_dims_t sizes = {1, 1, p.n}, steps = {p.n, p.n, 1};
      int first = p.g > 1 ? 0 : 1;
      if (lib.dnnl_memory_desc_init_by_strides(&bias, 3 - first, sizes + first, dnnl_f32, steps + first))
        return false;
    }
    const dnnl_memory_desc_t left = lhs.asked(operands), right = rhs.asked(operands);
    dnnl_matmul_desc_t desc;
    if (lib.dnnl_matmul_desc_init(&desc, &left, &right, p.bias ? &bias : nullptr, &out))
      return false;
    Attributes attributes;
    if (!create(attributes, p.accumulate))
      return false;
    PrimitiveDesc made;
    if (lib.dnnl_primitive_desc_create(&made.handle, &desc, attributes, lib.engine, nullptr) ||
        lib.dnnl_primitive_create(&primitive.handle, made))
      return false;
    const dnnl_memory_desc_t *pad = lib.dnnl_primitive_desc_query_md(made, dnnl_query_scratchpad_md, 0);
    if (!pad || lib.dnnl_stream_create(&stream.handle, lib.engine, dnnl_stream_default_flags))
      return false;
    scratchSize = aligned(lib.dnnl_memory_desc_get_size(pad));
    return lhs.finish(*lib.dnnl_primitive_desc_query_md(made, dnnl_query_src_md, 0), scratchSize) &&
           rhs.finish(*lib.dnnl_primitive_desc_query_md(made, dnnl_query_weights_md, 0), scratchSize) &&
           create(outMemory, out) && (!p.bias || create(biasMemory, bias)) && create(padMemory, *pad);
  }

  size_t scratchBytes() const { return scratchSize; }

  void run(const ProductProblem &p, std::byte *scratch) const {
    const Library &lib = library();
    setAddress(outMemory, p.out);
    setAddress(padMemory, scratch);
    dnnl_exec_arg_t args[5] = {{DNNL_ARG_SRC, lhs.read(p.lhs, scratch, stream)},
                               {DNNL_ARG_WEIGHTS, rhs.read(p.rhs, scratch, stream)},
                               {DNNL_ARG_DST, outMemory},
                               {DNNL_ARG_SCRATCHPAD, padMemory},
                               {}};
    int count = 4;
    if (biasMemory.handle) {
      setAddress(biasMemory, p.bias);
      args[count++] = {DNNL_ARG_BIAS, biasMemory};
    }
    lib.dnnl_primitive_execute(primitive, stream, count, args);
    lib.dnnl_stream_wait(stream);
  }

private:
  Primitive primitive;
  ProductOperand lhs, rhs;
  Memory outMemory, biasMemory, padMemory;
  Stream stream;
  size_t scratchSize = 0;
};

class Product final : public OneDnnProduct {
public:
  /// False if the library refuses.
  bool init(const ProductProblem &p, OneDnnOperands operands, int64_t longestSum) {
    // Parts of equal depth, a multiple of a vector. The first overwrites and has the bias; all others are
    // added to it, and the last may be shorter.
    constexpr int64_t lanes = 16;
    const int64_t count = std::max<int64_t>((p.k - 1) / longestSum + 1, 1);
    const int64_t equal = (p.k + count - 1) / count;
    const int64_t depth = count == 1 ? p.k : std::min((equal + lanes - 1) / lanes * lanes, longestSum);
    const int64_t more = count == 1 ? 0 : p.k / depth - 1, rest = p.k - (1 + more) * depth;
    return add(p, operands, 0, depth, 1) && (more == 0 || add(p, operands, depth, depth, more)) &&
           (rest == 0 || add(p, operands, p.k - rest, rest, 1));
  }

  size_t scratchBytes() const override {
    size_t bytes = 0;
    for (const Run &run : runs)
      bytes = std::max(bytes, run.product->scratchBytes());
    return bytes;
  }

  void run(const ProductProblem &problem, std::byte *scratch) override {
    ProductProblem p = problem;
    const auto size = static_cast<int64_t>(dtcc_dtype_size(p.type));
    for (const Run &run : runs)
      for (int64_t part = 0; part < run.count; ++part) {
        const int64_t k = run.begin + part * run.depth;
        p.lhs = static_cast<const std::byte *>(problem.lhs) + k * problem.lhsStrides[2] * size;
        p.rhs = static_cast<const std::byte *>(problem.rhs) + k * problem.rhsStrides[1] * size;
        run.product->run(p, scratch);
      }
  }

private:
  /// Parts of one depth, by one primitive.
  struct Run {
    int64_t begin, depth, count;
    std::unique_ptr<UndividedProduct> product;
  };

  bool add(ProductProblem p, OneDnnOperands operands, int64_t begin, int64_t depth, int64_t count) {
    p.k = depth;
    if (begin > 0)
      p.bias = nullptr, p.accumulate = true;
    runs.push_back({begin, depth, count, std::make_unique<UndividedProduct>()});
    return runs.back().product->init(p, operands);
  }

  std::vector<Run> runs;
};

} // namespace

bool hasOneDnn() { return library().engine != nullptr; }
std::string oneDnnText() {
  if (!hasOneDnn())
    return "no oneDNN";
  const dnnl_version_t *version = library().dnnl_version();
  return message("oneDNN ", version->major, ".", version->minor, ".", version->patch);
}

std::unique_ptr<OneDnnProduct> createOneDnnProduct(const ProductProblem &problem, OneDnnOperands operands,
                                                   int64_t longestSum) {
  // Version 2 multiplies f16 on GPUs alone, and emulates bf16 where the processor has none.
  if (!hasOneDnn() || problem.type == DTCC_F16)
    return nullptr;
  auto product = std::make_unique<Product>();
  if (!product->init(problem, operands, longestSum))
    return nullptr;
  return product;
}

} // namespace dtcc::rt

#else

namespace dtcc::rt {

bool hasOneDnn() { return false; }
std::string oneDnnText() { return "no oneDNN"; }
std::unique_ptr<OneDnnProduct> createOneDnnProduct(const ProductProblem &, OneDnnOperands, int64_t) { return nullptr; }

} // namespace dtcc::rt

#endif
