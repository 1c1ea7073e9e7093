// Value: what a graph's edges carry. A tensor, a sequence, an optional, a map, a sparse tensor, or
// nothing (the "" of an optional input); and Type, what is declared of one.
#ifndef ONNX_RUN_RUNTIME_VALUE_H_
#define ONNX_RUN_RUNTIME_VALUE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/element_type.h"
#include "runtime/tensor.h"

namespace onnx_run {

enum class ValueKind : uint8_t { kAbsent, kTensor, kSequence, kOptional, kMap, kSparseTensor };

// A dimension as declared: a number, a name that must agree wherever it stands, or neither.
struct DeclaredDim {
  std::optional<int64_t> value;
  std::string param;
};

// A type as TypeProto declares it.
struct Type {
  ValueKind kind = ValueKind::kAbsent;            // kAbsent: not declared
  ElementType element = ElementType::kUndefined;  // of kTensor and kSparseTensor; the key of kMap
  std::optional<std::vector<DeclaredDim>>
      shape;                          // of kTensor and kSparseTensor; nullopt: unknown rank
  std::shared_ptr<const Type> inner;  // of kSequence, kOptional (the element) and kMap (the value)
  static Type OfTensor(ElementType element) { return {ValueKind::kTensor, element, {}, nullptr}; }
  static Type OfSequence(Type element) {
    return {ValueKind::kSequence,
            ElementType::kUndefined,
            {},
            std::make_shared<const Type>(std::move(element))};
  }
  static Type OfOptional(Type element) {
    return {ValueKind::kOptional,
            ElementType::kUndefined,
            {},
            std::make_shared<const Type>(std::move(element))};
  }
  static Type OfMap(ElementType key, Type value) {
    return {ValueKind::kMap, key, {}, std::make_shared<const Type>(std::move(value))};
  }
};

// "tensor(float)", "seq(tensor(int64))", "optional(seq(tensor(float)))",
// "map(int64,tensor(float))"; with shapes: "tensor(float)[N,3]".
std::string TypeToString(const Type& type, bool with_shape = false);
// The same kind and element types, shapes aside.
bool SameType(const Type& a, const Type& b);

class Value;

struct Sequence {
  Type element_type;  // what elements may be; kAbsent when an empty sequence was never told
  std::vector<Value> elements;
};

struct Optional {
  Type element_type;
  std::unique_ptr<Value> element;  // nullptr: empty
  Optional() = default;
  Optional(Type type, std::unique_ptr<Value> value);
};

// Keys (a 1-D tensor of an integer type or strings) and as many values.
struct Map {
  Tensor keys;
  Type value_type;
  std::vector<Value> values;
};

// COO: values [NNZ], indices [NNZ] (linear) or [NNZ, rank], the dense dims.
struct SparseTensor {
  Tensor values;
  Tensor indices;
  Dims dims;
};

class Value {
 public:
  Value() = default;
  Value(Tensor tensor) : kind_(ValueKind::kTensor), tensor_(std::move(tensor)) {}  // NOLINT
  explicit Value(Sequence sequence);
  explicit Value(Optional optional);
  explicit Value(Map map);
  explicit Value(SparseTensor sparse);
  Value(const Value&) = default;
  Value(Value&& other) noexcept
      : kind_(std::exchange(other.kind_, ValueKind::kAbsent)),
        tensor_(std::move(other.tensor_)),
        other_(std::move(other.other_)) {}
  Value& operator=(const Value&) = default;
  Value& operator=(Value&& other) noexcept {
    kind_ = std::exchange(other.kind_, ValueKind::kAbsent);
    tensor_ = std::move(other.tensor_);
    other_ = std::move(other.other_);
    return *this;
  }
  ~Value() = default;

  ValueKind kind() const { return kind_; }
  bool absent() const { return kind_ == ValueKind::kAbsent; }
  bool is_tensor() const { return kind_ == ValueKind::kTensor; }
  // Each only when kind() says so.
  const Tensor& tensor() const { return tensor_; }
  Tensor& mutable_tensor() { return tensor_; }
  const Sequence& sequence() const { return *static_cast<const Sequence*>(other_.get()); }
  const Optional& optional() const { return *static_cast<const Optional*>(other_.get()); }
  const Map& map() const { return *static_cast<const Map*>(other_.get()); }
  const SparseTensor& sparse() const { return *static_cast<const SparseTensor*>(other_.get()); }
  // The sequence for writing: copied first when it is shared.
  Sequence& mutable_sequence();

  // Becomes a tensor, to be assigned to.
  Tensor& EmplaceTensor() {
    kind_ = ValueKind::kTensor;
    if (other_ != nullptr) other_.reset();
    return tensor_;
  }
  // Becomes absent, but keeps a tensor's memory for the next one that is made here.
  void ResetKeepingMemory() {
    kind_ = ValueKind::kAbsent;
    if (other_ != nullptr) other_.reset();
  }
  // Becomes absent.
  void Reset() {
    kind_ = ValueKind::kAbsent;
    tensor_.ReleaseBuffer();
    if (other_ != nullptr) other_.reset();
  }

  // The type of this value, with the shape of a tensor.
  Type type() const;

 private:
  ValueKind kind_ = ValueKind::kAbsent;
  Tensor tensor_;
  std::shared_ptr<const void> other_;
};

// "tensor(float)[2,3]", "seq(tensor(int64)) of 3".
std::string Describe(const Value& value);

}  // namespace onnx_run

#endif  // ONNX_RUN_RUNTIME_VALUE_H_
