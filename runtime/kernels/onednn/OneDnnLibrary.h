//===- OneDnnLibrary.h - The functions of oneDNN -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// libdnnl is opened at start, not linked: a compiled program also runs where it
// is missing, on our own kernels. Its threads are libgomp's, so the rank's team.
// Included only where DTCC_HAS_ONEDNN_2 is defined, by the sources of this folder.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_KERNELS_ONEDNN_ONEDNNLIBRARY_H
#define DTCC_RUNTIME_KERNELS_ONEDNN_ONEDNNLIBRARY_H

#ifdef DTCC_HAS_ONEDNN
#include <oneapi/dnnl/dnnl.h>
#if DNNL_VERSION_MAJOR == 2
#define DTCC_HAS_ONEDNN_2
#endif
#endif

#ifdef DTCC_HAS_ONEDNN_2

#include "runtime/abi/dtcc_rt.h"

#include <cstddef>

namespace dtcc::rt::onednn {

/// The functions of the library that we call.
#define DTCC_ONEDNN_FUNCTIONS(F)                                                                                       \
  F(dnnl_version)                                                                                                      \
  F(dnnl_engine_create)                                                                                                \
  F(dnnl_stream_create)                                                                                                \
  F(dnnl_stream_destroy)                                                                                               \
  F(dnnl_stream_wait)                                                                                                  \
  F(dnnl_memory_desc_init_by_strides)                                                                                  \
  F(dnnl_memory_desc_init_by_tag)                                                                                      \
  F(dnnl_memory_desc_equal)                                                                                            \
  F(dnnl_memory_desc_get_size)                                                                                         \
  F(dnnl_memory_create)                                                                                                \
  F(dnnl_memory_destroy)                                                                                               \
  F(dnnl_memory_set_data_handle)                                                                                       \
  F(dnnl_matmul_desc_init)                                                                                             \
  F(dnnl_dilated_convolution_forward_desc_init)                                                                        \
  F(dnnl_dilated_convolution_backward_data_desc_init)                                                                  \
  F(dnnl_dilated_convolution_backward_weights_desc_init)                                                               \
  F(dnnl_reorder_primitive_desc_create)                                                                                \
  F(dnnl_post_ops_create)                                                                                              \
  F(dnnl_post_ops_append_sum)                                                                                          \
  F(dnnl_post_ops_destroy)                                                                                             \
  F(dnnl_primitive_attr_create)                                                                                        \
  F(dnnl_primitive_attr_destroy)                                                                                       \
  F(dnnl_primitive_attr_set_scratchpad_mode)                                                                           \
  F(dnnl_primitive_attr_set_post_ops)                                                                                  \
  F(dnnl_primitive_desc_create)                                                                                        \
  F(dnnl_primitive_desc_destroy)                                                                                       \
  F(dnnl_primitive_desc_query)                                                                                         \
  F(dnnl_primitive_desc_query_md)                                                                                      \
  F(dnnl_primitive_create)                                                                                             \
  F(dnnl_primitive_destroy)                                                                                            \
  F(dnnl_primitive_execute)

/// The opened library; `engine` is null where it is missing or of another major version, whose
/// descriptors are laid out otherwise. It stays open and constant for the whole process, so the ranks
/// of a process may share it.
struct Library {
#define DTCC_MEMBER(name) decltype(&::name) name = nullptr;
  DTCC_ONEDNN_FUNCTIONS(DTCC_MEMBER)
#undef DTCC_MEMBER
  dnnl_engine_t engine = nullptr;

  Library();
};

const Library &library();

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

/// The library's name of f32 or bf16.
inline dnnl_data_type_t typeOf(dtcc_dtype type) { return type == DTCC_BF16 ? dnnl_bf16 : dnnl_f32; }

/// Makes a memory without an address; false if the library refuses.
bool create(Memory &memory, const dnnl_memory_desc_t &description);

/// The address of a memory in the next execution.
inline void setAddress(const Memory &memory, const void *address) {
  library().dnnl_memory_set_data_handle(memory, const_cast<void *>(address));
}

/// Makes attributes with scratch memory that the caller gives, and a sum with the result if `accumulate`.
bool create(Attributes &attributes, bool accumulate);

/// Makes a reorder of a tensor, which is added to what is there if `accumulate`. False if the library refuses.
bool create(Primitive &reorder, const dnnl_memory_desc_t &from, const dnnl_memory_desc_t &to, bool accumulate);

/// Bytes, rounded up to a cache line.
inline size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

} // namespace dtcc::rt::onednn

#endif // DTCC_HAS_ONEDNN_2

#endif // DTCC_RUNTIME_KERNELS_ONEDNN_ONEDNNLIBRARY_H
