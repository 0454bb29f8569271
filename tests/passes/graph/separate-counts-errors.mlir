// RUN: dtcc-opt %s --graph-separate-counts --verify-diagnostics
// expected-error@+1 {{needs a function @loss of one block}}
module {
  func.func @step() { return }
}
