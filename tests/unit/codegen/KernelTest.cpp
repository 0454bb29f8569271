//===- KernelTest.cpp - Generated kernels against the reference ops
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each case is an exec.func. It is generated for a processor and for a GPU, compiled in
// memory and run on random buffers, and compared with the evaluation of its body.
//
//===----------------------------------------------------------------------===//

#include "dialects/exec/Exec.h"
#include "dialects/interfaces/OpInterfaces.h"
#include "mlir/Parser/Parser.h"
#include "tests/unit/codegen/CompiledKernel.h"
#include "llvm/Support/TargetSelect.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstring>
#include <random>

using namespace mlir;
using namespace dtcc;
using test::CompiledKernel;
using test::Run;

namespace {

/// Memory of one operand: its cells at the strides of its memref, all else untouched.
struct Memory {
  MemRefType type;
  std::vector<char> bytes;

  Memory(MemRefType type, std::mt19937 &random) : type(type) {
    bytes.resize(exec::getSpan(type) + 64);
    for (char &byte : bytes)
      byte = 0;
    std::uniform_real_distribution<float> real(-2, 2);
    forEachIndex(type.getShape(), [&](ArrayRef<int64_t> index, int64_t) {
      int64_t at = positionOf(index, exec::getStrides(type));
      if (type.getElementType().isF32())
        reinterpret_cast<float *>(bytes.data())[at] = real(random);
      else if (type.getElementType().isInteger(1))
        bytes[at] = random() % 2;
      else
        reinterpret_cast<int64_t *>(bytes.data())[at] = int64_t(random() % 20) - 10;
    });
  }

  HostTensor read() const {
    HostTensor tensor(type.getShape(), type.getElementType());
    forEachIndex(type.getShape(), [&](ArrayRef<int64_t> index, int64_t position) {
      int64_t at = positionOf(index, exec::getStrides(type));
      if (type.getElementType().isF32())
        tensor.floats[position] = reinterpret_cast<const float *>(bytes.data())[at];
      else if (type.getElementType().isInteger(1))
        tensor.ints[position] = bytes[at];
      else
        tensor.ints[position] = reinterpret_cast<const int64_t *>(bytes.data())[at];
    });
    return tensor;
  }
};

std::vector<HostTensor> evaluateBody(Block &body, const std::vector<HostTensor> &inputs) {
  llvm::DenseMap<Value, HostTensor> values;
  for (auto [argument, tensor] : llvm::zip_equal(body.getArguments(), inputs))
    values[argument] = tensor;
  for (Operation &op : body.without_terminator()) {
    std::vector<HostTensor> operands, results;
    for (Value operand : op.getOperands())
      operands.push_back(values[operand]);
    for (Value result : op.getResults()) {
      auto type = cast<ShapedType>(result.getType());
      results.emplace_back(type.getShape(), type.getElementType());
    }
    EXPECT_TRUE(succeeded(cast<ReferenceOpInterface>(op).evaluate(operands, results, EvaluationContext())));
    for (auto [result, tensor] : llvm::zip_equal(op.getResults(), results))
      values[result] = tensor;
  }
  std::vector<HostTensor> yielded;
  for (Value value : body.getTerminator()->getOperands())
    yielded.push_back(values[value]);
  return yielded;
}

/// Runs the one exec.func of `text` in slot `slot` and compares with the reference.
void checkRun(StringRef text, int64_t slot, Run run) {
  MLIRContext context(test::kernelDialects());
  context.loadAllAvailableDialects();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  ASSERT_TRUE(module);
  auto func = *module->getOps<exec::FuncOp>().begin();
  std::string name = func.getSymName().str();
  unsigned inputs = func.getBody().front().getNumArguments(), outputs = func.getYield()->getNumOperands();

  std::mt19937 random(7);
  std::vector<Memory> memory;
  std::vector<HostTensor> before;
  for (unsigned i = 0; i < inputs; ++i)
    before.push_back(memory.emplace_back(func.getInputBuffer(i), random).read());
  for (unsigned i = 0; i < outputs; ++i)
    memory.emplace_back(func.getOutputBuffer(i), random);
  SmallVector<int64_t> inPlace(func.getInPlace()), accumulate(func.getAccumulate());
  std::vector<HostTensor> expected = evaluateBody(func.getBody().front(), before);
  std::vector<HostTensor> old;
  for (unsigned i = 0; i < outputs; ++i)
    old.push_back(memory[inputs + i].read());

  std::vector<test::Buffer> buffers;
  for (unsigned i = 0; i < inputs + outputs; ++i)
    buffers.push_back({memory[i].bytes.data(), exec::getSpan(memory[i].type)});
  for (unsigned i = 0; i < outputs; ++i)
    if (inPlace[i] >= 0)
      buffers[inputs + i] = buffers[inPlace[i]];
  dtcc_rank rank{0, 1, slot, 0, 1, nullptr};
  CompiledKernel kernel(*module, name, run);
  const int32_t no = 0, yes = 1;
  if (run == Run::Gpu) {
    std::vector<Memory> untouched = memory;
    ASSERT_EQ(kernel.call(rank, buffers, &no), "");
    for (size_t i = 0; i < memory.size(); ++i)
      ASSERT_EQ(memory[i].bytes, untouched[i].bytes) << "buffer " << i << " under a predicate that is 0";
  }
  ASSERT_EQ(kernel.call(rank, buffers, slot == 0 ? nullptr : &yes), "");

  for (unsigned i = 0; i < outputs; ++i) {
    HostTensor got = memory[inPlace[i] >= 0 ? inPlace[i] : inputs + i].read();
    bool adds = accumulate[i] == 1 || (accumulate[i] == 2 && slot != 0);
    for (int64_t cell = 0; cell < got.size(); ++cell)
      if (got.isFloat()) {
        double want = expected[i].floats[cell] + (adds ? old[i].floats[cell] : 0);
        ASSERT_NEAR(got.floats[cell], want, 2e-6 * (1 + std::abs(want))) << "output " << i << " cell " << cell;
      } else {
        ASSERT_EQ(got.ints[cell], expected[i].ints[cell]) << "output " << i << " cell " << cell;
      }
    // Nothing is written between the cells or behind them.
    Memory clean = memory[inputs + i];
    forEachIndex(clean.type.getShape(), [&](ArrayRef<int64_t> index, int64_t) {
      int64_t size = getElementBytes(clean.type.getElementType());
      std::memset(clean.bytes.data() + positionOf(index, exec::getStrides(clean.type)) * size, 0, size);
    });
    for (char byte : clean.bytes)
      ASSERT_EQ(byte, 0) << "output " << i << " is written outside its cells";
  }
}

void check(StringRef text, int64_t slot = 0) {
  for (Run run : {Run::Whole, Run::Split, Run::Gpu}) {
    SCOPED_TRACE(run == Run::Whole ? "whole" : run == Run::Split ? "in parts" : "on the emulated GPU");
    checkRun(text, slot, run);
  }
}

class Kernel : public testing::Test {
protected:
  static void SetUpTestSuite() {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  }
};

TEST_F(Kernel, BiasAndActivationOverOddSizes) {
  check(R"(
exec.func @k buffers [memref<3x5x37xf32>, memref<37xf32>, memref<3x5x37xf32>, memref<3x5x37xf32>]
    accumulate [0, 0] in_place [-1, -1] {
^bb0(%x: tensor<3x5x37xf32>, %b: tensor<37xf32>):
  %0 = graph.broadcast %b [2] : (tensor<37xf32>) -> tensor<3x5x37xf32>
  %1 = graph.add %x, %0 : (tensor<3x5x37xf32>, tensor<3x5x37xf32>) -> tensor<3x5x37xf32>
  %2 = graph.gelu %1 {form = #graph<gelu_form tanh>} : tensor<3x5x37xf32>
  exec.yield %1, %2 : tensor<3x5x37xf32>, tensor<3x5x37xf32>
})");
}

TEST_F(Kernel, LongVectorsAreSplitIntoBlocks) {
  check(R"(
exec.func @k buffers [memref<9001xf32>, memref<9001xf32>, memref<9001xf32>] accumulate [0] in_place [0] {
^bb0(%x: tensor<9001xf32>, %y: tensor<9001xf32>):
  %0 = graph.mul %x, %y : (tensor<9001xf32>, tensor<9001xf32>) -> tensor<9001xf32>
  exec.yield %0 : tensor<9001xf32>
})");
}

TEST_F(Kernel, ResultsOverAnInputThatOthersReadFirst) {
  // The second result, and a vector later the first, read what the first is written over.
  check(R"(
exec.func @k buffers [memref<40xf32>, memref<40xf32>, memref<40xf32>, memref<40xf32>] accumulate [0, 0] in_place [1, -1] {
^bb0(%x: tensor<40xf32>, %y: tensor<40xf32>):
  %0 = graph.exp %x : tensor<40xf32>
  %1 = graph.mul %x, %y : (tensor<40xf32>, tensor<40xf32>) -> tensor<40xf32>
  exec.yield %0, %1 : tensor<40xf32>, tensor<40xf32>
})");
}

TEST_F(Kernel, StridedOperandsAndResults) {
  check(R"(
exec.func @k buffers [memref<6x20xf32, strided<[1, 6]>>, memref<6x20xf32, strided<[64, 2]>>, memref<6x20xf32, strided<[1, 7]>>]
    accumulate [0] in_place [-1] {
^bb0(%x: tensor<6x20xf32>, %y: tensor<6x20xf32>):
  %0 = graph.sub %x, %y : (tensor<6x20xf32>, tensor<6x20xf32>) -> tensor<6x20xf32>
  exec.yield %0 : tensor<6x20xf32>
})");
}

TEST_F(Kernel, RowsOfDependentReductions) {
  check(R"(
exec.func @k buffers [memref<4x3x50xf32>, memref<50xf32>, memref<4x3x50xf32>, memref<4x3xf32>]
    accumulate [0, 0] in_place [-1, -1] {
^bb0(%x: tensor<4x3x50xf32>, %s: tensor<50xf32>):
  %c = graph.constant dense<2.0e-2> : tensor<4x3xf32> : tensor<4x3xf32>
  %0 = graph.reduce #graph<reduce_kind sum> %x [2] : (tensor<4x3x50xf32>) -> tensor<4x3xf32>
  %1 = graph.mul %0, %c : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %2 = graph.broadcast %1 [0, 1] : (tensor<4x3xf32>) -> tensor<4x3x50xf32>
  %3 = graph.sub %x, %2 : (tensor<4x3x50xf32>, tensor<4x3x50xf32>) -> tensor<4x3x50xf32>
  %4 = graph.mul %3, %3 : (tensor<4x3x50xf32>, tensor<4x3x50xf32>) -> tensor<4x3x50xf32>
  %5 = graph.reduce #graph<reduce_kind sum> %4 [2] : (tensor<4x3x50xf32>) -> tensor<4x3xf32>
  %6 = graph.rsqrt %5 : tensor<4x3xf32>
  %7 = graph.broadcast %6 [0, 1] : (tensor<4x3xf32>) -> tensor<4x3x50xf32>
  %8 = graph.mul %3, %7 : (tensor<4x3x50xf32>, tensor<4x3x50xf32>) -> tensor<4x3x50xf32>
  %9 = graph.broadcast %s [2] : (tensor<50xf32>) -> tensor<4x3x50xf32>
  %10 = graph.mul %8, %9 : (tensor<4x3x50xf32>, tensor<4x3x50xf32>) -> tensor<4x3x50xf32>
  exec.yield %10, %6 : tensor<4x3x50xf32>, tensor<4x3xf32>
})");
}

TEST_F(Kernel, SoftmaxOfMaskedRows) {
  check(R"(
exec.func @k buffers [memref<5x33xf32>, memref<5x33xi1>, memref<5x33xf32>] accumulate [0] in_place [-1] {
^bb0(%x: tensor<5x33xf32>, %m: tensor<5x33xi1>):
  %fill = graph.constant dense<-1.0e30> : tensor<5x33xf32> : tensor<5x33xf32>
  %0 = graph.select %m, %x, %fill : (tensor<5x33xi1>, tensor<5x33xf32>, tensor<5x33xf32>) -> tensor<5x33xf32>
  %1 = graph.reduce #graph<reduce_kind max> %0 [1] : (tensor<5x33xf32>) -> tensor<5xf32>
  %2 = graph.broadcast %1 [0] : (tensor<5xf32>) -> tensor<5x33xf32>
  %3 = graph.sub %0, %2 : (tensor<5x33xf32>, tensor<5x33xf32>) -> tensor<5x33xf32>
  %4 = graph.exp %3 : tensor<5x33xf32>
  %5 = graph.reduce #graph<reduce_kind sum> %4 [1] : (tensor<5x33xf32>) -> tensor<5xf32>
  %6 = graph.broadcast %5 [0] : (tensor<5xf32>) -> tensor<5x33xf32>
  %7 = graph.div %4, %6 : (tensor<5x33xf32>, tensor<5x33xf32>) -> tensor<5x33xf32>
  exec.yield %7 : tensor<5x33xf32>
})");
}

TEST_F(Kernel, IntegersDivideByZero) {
  // Divisors of -10 to 9, and lanes past the end of a row, which hold zeros.
  check(R"(
exec.func @k buffers [memref<5x33xi64>, memref<5x33xi64>, memref<5x33xi64>, memref<5x33xi64>]
    accumulate [0, 0] in_place [-1, -1] {
^bb0(%x: tensor<5x33xi64>, %y: tensor<5x33xi64>):
  %0 = graph.div %x, %y : (tensor<5x33xi64>, tensor<5x33xi64>) -> tensor<5x33xi64>
  %1 = graph.rem %x, %y : (tensor<5x33xi64>, tensor<5x33xi64>) -> tensor<5x33xi64>
  exec.yield %0, %1 : tensor<5x33xi64>, tensor<5x33xi64>
})");
}

TEST_F(Kernel, ColumnsAddUpOverSlots) {
  for (int64_t slot : {0, 1})
    check(R"(
exec.func @k buffers [memref<7x11x70xf32>, memref<7x11x70xf32>, memref<70xf32>, memref<70xf32>, memref<7x11x70xf32>]
    accumulate [2, 1, 0] in_place [-1, -1, -1] {
^bb0(%x: tensor<7x11x70xf32>, %y: tensor<7x11x70xf32>):
  %0 = graph.mul %x, %y : (tensor<7x11x70xf32>, tensor<7x11x70xf32>) -> tensor<7x11x70xf32>
  %1 = graph.reduce #graph<reduce_kind sum> %0 [0, 1] : (tensor<7x11x70xf32>) -> tensor<70xf32>
  %2 = graph.reduce #graph<reduce_kind max> %x [0, 1] : (tensor<7x11x70xf32>) -> tensor<70xf32>
  exec.yield %1, %2, %0 : tensor<70xf32>, tensor<70xf32>, tensor<7x11x70xf32>
})",
          slot);
}

TEST_F(Kernel, ReductionsOverMiddleDimensions) {
  check(R"(
exec.func @k buffers [memref<3x4x5x6xf32>, memref<4x6xf32>] accumulate [0] in_place [-1] {
^bb0(%x: tensor<3x4x5x6xf32>):
  %0 = graph.reduce #graph<reduce_kind sum> %x [0, 2] : (tensor<3x4x5x6xf32>) -> tensor<4x6xf32>
  exec.yield %0 : tensor<4x6xf32>
})");
  check(R"(
exec.func @k buffers [memref<3x4x5x6xf32>, memref<4x5xf32>] accumulate [0] in_place [-1] {
^bb0(%x: tensor<3x4x5x6xf32>):
  %0 = graph.reduce #graph<reduce_kind sum> %x [0, 3] : (tensor<3x4x5x6xf32>) -> tensor<4x5xf32>
  exec.yield %0 : tensor<4x5xf32>
})");
}

/// `text` with its sizes: `$R` and `$C`.
std::string sized(StringRef text, int64_t rows, int64_t columns) {
  std::string result;
  for (char c : text) {
    if (!result.empty() && result.back() == '$' && (c == 'R' || c == 'C')) {
      result.pop_back();
      result += std::to_string(c == 'R' ? rows : columns);
    } else {
      result += c;
    }
  }
  return result;
}

TEST_F(Kernel, RowsThatThreadsKeepAndLongerOnes) {
  // Whole blocks of vectors, some that are not, and rows that are read in each pass, with a rest and without.
  for (auto [rows, columns] : {std::pair(3, 512), {2, 1300}, {2, 4804}, {300, 96}, {2, 20480}, {2, 20481}, {2, 33000}})
    check(sized(R"(
exec.func @k buffers [memref<$Rx$Cxf32>, memref<$Cxf32>, memref<$Rx$Cxf32>, memref<$Rxf32>]
    accumulate [0, 0] in_place [0, -1] {
^bb0(%x: tensor<$Rx$Cxf32>, %s: tensor<$Cxf32>):
  %0 = graph.reduce #graph<reduce_kind max> %x [1] : (tensor<$Rx$Cxf32>) -> tensor<$Rxf32>
  %1 = graph.broadcast %0 [0] : (tensor<$Rxf32>) -> tensor<$Rx$Cxf32>
  %2 = graph.sub %x, %1 : (tensor<$Rx$Cxf32>, tensor<$Rx$Cxf32>) -> tensor<$Rx$Cxf32>
  %3 = graph.mul %2, %2 : (tensor<$Rx$Cxf32>, tensor<$Rx$Cxf32>) -> tensor<$Rx$Cxf32>
  %4 = graph.reduce #graph<reduce_kind min> %3 [1] : (tensor<$Rx$Cxf32>) -> tensor<$Rxf32>
  %5 = graph.broadcast %4 [0] : (tensor<$Rxf32>) -> tensor<$Rx$Cxf32>
  %6 = graph.broadcast %s [1] : (tensor<$Cxf32>) -> tensor<$Rx$Cxf32>
  %7 = graph.mul %6, %5 : (tensor<$Rx$Cxf32>, tensor<$Rx$Cxf32>) -> tensor<$Rx$Cxf32>
  %8 = graph.add %7, %3 : (tensor<$Rx$Cxf32>, tensor<$Rx$Cxf32>) -> tensor<$Rx$Cxf32>
  exec.yield %8, %4 : tensor<$Rx$Cxf32>, tensor<$Rxf32>
})",
                rows, columns));
}

TEST_F(Kernel, RowsOfSeveralLoops) {
  // A row of each channel, as those of batch norms: dimensions on both sides of it.
  for (auto [rows, columns] : {std::pair(4, 49), {60, 64}, {40, 196}})
    check(sized(R"(
exec.func @k buffers [memref<$Rx3x$Cxf32>, memref<$Rx3x$Cxf32>] accumulate [1] in_place [-1] {
^bb0(%x: tensor<$Rx3x$Cxf32>):
  %0 = graph.reduce #graph<reduce_kind max> %x [0, 2] : (tensor<$Rx3x$Cxf32>) -> tensor<3xf32>
  %1 = graph.broadcast %0 [1] : (tensor<3xf32>) -> tensor<$Rx3x$Cxf32>
  %2 = graph.sub %x, %1 : (tensor<$Rx3x$Cxf32>, tensor<$Rx3x$Cxf32>) -> tensor<$Rx3x$Cxf32>
  exec.yield %2 : tensor<$Rx3x$Cxf32>
})",
                rows, columns));
}

TEST_F(Kernel, ColumnsOfAllWidths) {
  // Few columns and many rows, a rest of each, and one row a thread.
  for (auto [rows, columns] : {std::pair(2051, 8), {600, 36}, {4100, 3}, {33, 9000}, {3, 70000}, {1, 5}})
    check(sized(R"(
exec.func @k buffers [memref<$Rx$Cxf32>, memref<$Cxf32>, memref<$Cxf32>] accumulate [1, 0] in_place [-1, -1] {
^bb0(%x: tensor<$Rx$Cxf32>):
  %0 = graph.reduce #graph<reduce_kind max> %x [0] : (tensor<$Rx$Cxf32>) -> tensor<$Cxf32>
  %1 = graph.neg %x : tensor<$Rx$Cxf32>
  %2 = graph.reduce #graph<reduce_kind max> %1 [0] : (tensor<$Rx$Cxf32>) -> tensor<$Cxf32>
  exec.yield %0, %2 : tensor<$Cxf32>, tensor<$Cxf32>
})",
                rows, columns));
}

TEST_F(Kernel, IotaComparesAndIntegers) {
  check(R"(
exec.func @k buffers [memref<9xi64>, memref<9x18xi1>, memref<9x18xf32>] accumulate [0, 0] in_place [-1, -1] {
^bb0(%ids: tensor<9xi64>):
  %0 = graph.iota {dim = 1 : i64, start = -3 : i64} : tensor<9x18xi64>
  %1 = graph.broadcast %ids [0] : (tensor<9xi64>) -> tensor<9x18xi64>
  %2 = graph.compare #graph<predicate le> %0, %1 : (tensor<9x18xi64>, tensor<9x18xi64>) -> tensor<9x18xi1>
  %3 = graph.cast %1 : (tensor<9x18xi64>) -> tensor<9x18xf32>
  exec.yield %2, %3 : tensor<9x18xi1>, tensor<9x18xf32>
})");
}

TEST_F(Kernel, PowersOfIntegers) {
  check(R"(
exec.func @k buffers [memref<13x21xi64>, memref<13x21xi64>, memref<13x21xi64>, memref<13x21xi64>]
    accumulate [0, 0] in_place [-1, -1] {
^bb0(%x: tensor<13x21xi64>, %y: tensor<13x21xi64>):
  %0 = graph.pow %x, %y : (tensor<13x21xi64>, tensor<13x21xi64>) -> tensor<13x21xi64>
  %three = graph.constant dense<3> : tensor<13x21xi64> : tensor<13x21xi64>
  %1 = graph.pow %x, %three : (tensor<13x21xi64>, tensor<13x21xi64>) -> tensor<13x21xi64>
  exec.yield %0, %1 : tensor<13x21xi64>, tensor<13x21xi64>
})");
}

TEST_F(Kernel, DropoutKeepsTheCellsOfTheReference) {
  check(R"(
exec.func @k buffers [memref<7x19xf32>, memref<7x19xf32>] accumulate [0] in_place [-1] {
^bb0(%x: tensor<7x19xf32>):
  %0 = graph.dropout %x {ratio = 2.5e-1 : f64, id = 3 : i64} : tensor<7x19xf32>
  exec.yield %0 : tensor<7x19xf32>
})");
}

TEST_F(Kernel, UniformHasTheNumbersOfTheReference) {
  check(R"(
exec.func @k buffers [memref<7x19xf32>, memref<7x19xf32>] accumulate [0] in_place [-1] {
^bb0(%x: tensor<7x19xf32>):
  %0 = graph.uniform %x {id = 3 : i64} : tensor<7x19xf32>
  exec.yield %0 : tensor<7x19xf32>
})");
  // None is 0, of which a normal number takes the logarithm: all are half a unit more than whole ones.
  check(R"(
exec.func @k buffers [memref<7x19xf32>, memref<7x19xf32>] accumulate [0] in_place [-1] {
^bb0(%x: tensor<7x19xf32>):
  %u = graph.uniform %x {id = 3 : i64} : tensor<7x19xf32>
  %units = graph.constant dense<8388608.0> : tensor<7x19xf32> : tensor<7x19xf32>
  %0 = graph.mul %u, %units : (tensor<7x19xf32>, tensor<7x19xf32>) -> tensor<7x19xf32>
  %1 = graph.floor %0 : tensor<7x19xf32>
  %2 = graph.sub %0, %1 : (tensor<7x19xf32>, tensor<7x19xf32>) -> tensor<7x19xf32>
  exec.yield %2 : tensor<7x19xf32>
})");
}

TEST_F(Kernel, ScalarsAndWholeSums) {
  check(R"(
exec.func @k buffers [memref<13x7xf32>, memref<f32>] accumulate [2] in_place [-1] {
^bb0(%x: tensor<13x7xf32>):
  %0 = graph.reduce #graph<reduce_kind sum> %x [0, 1] : (tensor<13x7xf32>) -> tensor<f32>
  exec.yield %0 : tensor<f32>
})");
  check(R"(
exec.func @k buffers [memref<f32>, memref<f32>, memref<f32>] accumulate [0] in_place [-1] {
^bb0(%x: tensor<f32>, %y: tensor<f32>):
  %0 = graph.mul %x, %y : (tensor<f32>, tensor<f32>) -> tensor<f32>
  exec.yield %0 : tensor<f32>
})");
}

} // namespace
