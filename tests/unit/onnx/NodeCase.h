//===- tests/unit/onnx/NodeCase.h - A node test of the onnx package
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A folder with model.onnx, and in test_data_set_0 its inputs and expected outputs. The
// tests feed shapes, axes and the like as inputs of the run. Here they are made
// initializers first, as exporters write them.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TESTS_UNIT_ONNX_NODECASE_H
#define DTCC_TESTS_UNIT_ONNX_NODECASE_H

#include "dialects/interfaces/HostTensor.h"
#include "frontends/onnx/Rules.h"
#include "onnx/onnx-ml.pb.h"
#include "llvm/Support/MemoryBuffer.h"
#include <string>
#include <vector>

namespace dtcc::test {

template <typename Message> bool parse(const std::string &path, Message &message) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  return buffer && message.ParseFromArray((*buffer)->getBufferStart(), int((*buffer)->getBufferSize()));
}

/// The input or output number `i` of a test, or nothing if it has none.
std::optional<::onnx::TensorProto> readTensor(const std::string &folder, const char *which, int i);
/// Its cells, whose type is one of `context`.
mlir::FailureOr<HostTensor> cellsOf(const ::onnx::TensorProto &tensor, mlir::MLIRContext &context);
void writeModel(const ::onnx::ModelProto &model, const std::string &file);

bool isClose(const HostTensor &actual, const HostTensor &expected);

enum class Verdict { Passed, Refused, Wrong };

/// Imports the model by way of `file`, evaluates it by the reference, as it is and factored, and compares. `why` says
/// what is wrong.
Verdict runCase(const onnx::RuleTable &table, const std::string &folder, ::onnx::ModelProto model,
                const std::string &file, std::string &why);

} // namespace dtcc::test

#endif // DTCC_TESTS_UNIT_ONNX_NODECASE_H
