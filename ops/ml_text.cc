// The operators of ai.onnx.ml that look values up in lists: CategoryMapper, LabelEncoder,
// OneHotEncoder; and those of maps: CastMap, DictVectorizer, ZipMap.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "ops/dispatch.h"
#include "ops/families.h"
#include "ops/kernel_table.h"
#include "ops/ml_util.h"
#include "ops/strided_copy.h"
#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

using KeyTypes = Types<float, double, int16_t, int32_t, int64_t, std::string>;

// How keys are compared, and which one counts when it comes twice.
struct KeyRules {
  bool last_wins = true;
  // Floats as bits: NaNs differ, and so do zeros. Otherwise every NaN is the same key, and every
  // zero.
  bool float_bits = false;
};

// From the elements of a 1-D tensor to their positions in it.
class KeyIndex {
 public:
  static absl::StatusOr<KeyIndex> Of(const Tensor& keys, KeyRules rules) {
    KeyIndex result;
    result.type_ = keys.type();
    result.rules_ = rules;
    RETURN_IF_ERROR(VisitType(KeyTypes(), keys.type(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T* key = keys.data_as<T>();
      for (int64_t i = 0; i < keys.size(); ++i) {
        int64_t& position = result.MapOf<T>().try_emplace(result.CodeOf(key[i]), i).first->second;
        if (rules.last_wins) position = i;
      }
      return absl::OkStatus();
    }));
    return result;
  }

  ElementType type() const { return type_; }

  // Calls fn(i, position) for each element of `x`, which is of type(); position is -1 when it is no
  // key.
  template <typename Fn>
  absl::Status ForEach(const Tensor& x, Fn&& fn) const {
    if (x.type() != type_) {
      return absl::InvalidArgumentError(absl::StrCat("elements of type ", TypeName(x.type()),
                                                     " are looked up in keys of type ",
                                                     TypeName(type_)));
    }
    return VisitType(KeyTypes(), type_, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T* element = x.data_as<T>();
      const auto& map = MapOf<T>();
      for (int64_t i = 0; i < x.size(); ++i) {
        const auto found = map.find(CodeOf(element[i]));
        fn(i, found == map.end() ? int64_t{-1} : found->second);
      }
      return absl::OkStatus();
    });
  }

 private:
  template <typename T>
  auto& MapOf() {
    if constexpr (std::is_same_v<T, std::string>)
      return strings_;
    else
      return numbers_;
  }
  template <typename T>
  const auto& MapOf() const {
    if constexpr (std::is_same_v<T, std::string>)
      return strings_;
    else
      return numbers_;
  }
  const std::string& CodeOf(const std::string& key) const { return key; }
  template <typename T>
  uint64_t CodeOf(T key) const {
    if constexpr (std::is_floating_point_v<T>) {
      using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
      if (!rules_.float_bits) {
        if (std::isnan(key)) key = std::numeric_limits<T>::quiet_NaN();
        if (key == 0) key = 0;
      }
      return std::bit_cast<Bits>(key);
    } else {
      return static_cast<uint64_t>(static_cast<int64_t>(key));
    }
  }

  ElementType type_ = ElementType::kUndefined;
  KeyRules rules_;
  absl::flat_hash_map<std::string, int64_t> strings_;
  absl::flat_hash_map<uint64_t, int64_t> numbers_;
};

Tensor StringList(const std::vector<std::string>& values) {
  return Tensor::Strings({static_cast<int64_t>(values.size())}, values);
}
absl::StatusOr<Tensor> IntList(const std::vector<int64_t>& values) {
  return Tensor::Of<int64_t>(ElementType::kInt64, {static_cast<int64_t>(values.size())}, values);
}

// --- Element to element ----------------------------------------------------------------------

// Key i becomes element i of `values`; what is no key becomes its last element.
struct LabelMap {
  KeyIndex keys;
  Tensor values;
};

absl::StatusOr<LabelMap> MakeLabelMap(const Tensor& keys, const Tensor& values,
                                      const Tensor& fallback, KeyRules rules) {
  LabelMap result;
  ASSIGN_OR_RETURN(result.keys, KeyIndex::Of(keys, rules));
  ASSIGN_OR_RETURN(result.values, Tensor::Create(values.type(), {values.size() + 1}));
  void* out = result.values.mutable_data();
  CopyElements(values.type(), values.data(), 0, out, 0, values.size());
  CopyElements(values.type(), fallback.data(), 0, out, values.size(), 1);
  return result;
}

absl::Status MapLabels(const LabelMap& map, KernelContext& context) {
  const Tensor& x = context.input(0);
  const Tensor& values = map.values;
  ASSIGN_OR_RETURN(Tensor * output, context.Output(0, values.type(), x.dims()));
  return VisitWidth(values.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* value = values.data_as<T>();
    T* out = output->mutable_data_as<T>();
    const int64_t fallback = values.size() - 1;
    return map.keys.ForEach(x, [&](int64_t i, int64_t position) {
      out[i] = value[position < 0 ? fallback : position];
    });
  });
}

// The input's type tells the direction.
struct TwoWayMap {
  LabelMap to_ints;
  LabelMap to_strings;
};

absl::StatusOr<TwoWayMap> MakeTwoWayMap(const NodeInfo& node,
                                        const std::vector<std::string>& strings,
                                        const std::vector<int64_t>& ints, KeyRules rules) {
  const Tensor text = StringList(strings);
  ASSIGN_OR_RETURN(const Tensor numbers, IntList(ints));
  ASSIGN_OR_RETURN(const Tensor no_number, IntList({node.IntOr("default_int64", -1)}));
  TwoWayMap result;
  ASSIGN_OR_RETURN(result.to_ints, MakeLabelMap(text, numbers, no_number, rules));
  ASSIGN_OR_RETURN(
      result.to_strings,
      MakeLabelMap(numbers, text, StringList({node.StringOr("default_string", "_Unused")}), rules));
  return result;
}

absl::Status MapTwoWays(const TwoWayMap& map, KernelContext& context) {
  return MapLabels(context.input(0).is_string() ? map.to_ints : map.to_strings, context);
}

absl::Status InferTwoWays(const NodeInfo& /*node*/, absl::Span<const Type> inputs,
                          absl::Span<Type> outputs) {
  if (inputs[0].kind == ValueKind::kTensor) {
    outputs[0] = Type::OfTensor(inputs[0].element == ElementType::kString ? ElementType::kInt64
                                                                          : ElementType::kString);
  }
  return absl::OkStatus();
}

absl::StatusOr<TwoWayMap> ParseCategoryMapper(const NodeInfo& node) {
  const std::vector<std::string> strings = node.Strings("cats_strings");
  const std::vector<int64_t> ints = node.Ints("cats_int64s");
  if (strings.size() != ints.size()) {
    return BadLength("cats_strings", strings.size(),
                     absl::StrCat(ints.size(), ", as \"cats_int64s\" has"));
  }
  return MakeTwoWayMap(node, strings, ints, {});
}

absl::StatusOr<TwoWayMap> ParseLabelEncoder1(const NodeInfo& node) {
  const std::vector<std::string> strings = node.Strings("classes_strings");
  std::vector<int64_t> ints(strings.size());
  std::iota(ints.begin(), ints.end(), 0);
  return MakeTwoWayMap(node, strings, ints, {.last_wins = false});
}

// The types that T1 and T2 of the schema allow, for attributes that no schema looks into.
absl::Status CheckLabelType(absl::string_view name, ElementType type) {
  constexpr ElementTypeSet kAllowed =
      ElementTypeSet::Of(ElementType::kString, ElementType::kInt64, ElementType::kFloat,
                         ElementType::kInt32, ElementType::kInt16, ElementType::kDouble);
  if (kAllowed.Has(type)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("attribute \"", name, "\" is a ", TypeName(type),
                   " tensor, expected string, int64, float, int32, int16 or double"));
}

// The one of "<prefix>_tensor", "<prefix>_strings", "<prefix>_int64s", "<prefix>_floats" that is
// given. An empty list next to another one, as converters like to write, is as good as none.
absl::StatusOr<Tensor> ListAttribute(const NodeInfo& node, absl::string_view prefix) {
  Tensor chosen;
  std::string chosen_name;
  for (const absl::string_view suffix : {"_tensor", "_strings", "_int64s", "_floats"}) {
    const std::string name = absl::StrCat(prefix, suffix);
    if (!node.Has(name)) continue;
    Tensor list;
    if (suffix == "_tensor") {
      ASSIGN_OR_RETURN(list, node.TensorValue(name));
      RETURN_IF_ERROR(CheckLabelType(name, list.type()));
      if (list.rank() != 1) return node.BadAttribute(name, TypeAndDims(list), "a tensor of rank 1");
    } else if (suffix == "_strings") {
      list = StringList(node.Strings(name));
    } else if (suffix == "_int64s") {
      ASSIGN_OR_RETURN(list, IntList(node.Ints(name)));
    } else {
      const std::vector<float> values = node.Floats(name);
      ASSIGN_OR_RETURN(list, Tensor::Of<float>(ElementType::kFloat,
                                               {static_cast<int64_t>(values.size())}, values));
    }
    if (!chosen_name.empty() && list.size() == 0) continue;
    if (!chosen_name.empty() && chosen.size() > 0) {
      return absl::InvalidArgumentError(absl::StrCat("attributes \"", chosen_name, "\" and \"",
                                                     name, "\" are both given, expected one"));
    }
    chosen = std::move(list);
    chosen_name = name;
  }
  if (chosen_name.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("no attribute \"", prefix, "_*\" is given, expected one"));
  }
  return chosen;
}

// What keys that are not found become, of the type of the values.
absl::StatusOr<Tensor> DefaultLabel(const NodeInfo& node, ElementType type) {
  if (node.Has("default_tensor")) {
    ASSIGN_OR_RETURN(Tensor given, node.TensorValue("default_tensor"));
    // A tensor without a type stands for none.
    if (given.type() != ElementType::kUndefined) {
      if (given.type() != type || given.size() != 1) {
        return node.BadAttribute("default_tensor", TypeAndDims(given),
                                 absl::StrCat("one element of the values' type, ", TypeName(type)));
      }
      return given;
    }
  }
  if (type == ElementType::kString) return StringList({node.StringOr("default_string", "_Unused")});
  ASSIGN_OR_RETURN(Tensor result, Tensor::Create(type, {1}));
  if (KindOf(type) == ElementKind::kFloat) {
    const float value = node.FloatOr("default_float", -0.0F);
    RETURN_IF_ERROR(Convert(&value, ElementType::kFloat, result.mutable_data(), type, 1));
    return result;
  }
  const int64_t value = node.IntOr("default_int64", -1);
  RETURN_IF_ERROR(Convert(&value, ElementType::kInt64, result.mutable_data(), type, 1));
  int64_t back = 0;
  RETURN_IF_ERROR(Convert(result.data(), type, &back, ElementType::kInt64, 1));
  if (back != value) {
    return node.BadAttribute("default_int64", absl::StrCat(value),
                             absl::StrCat("a value of type ", TypeName(type)));
  }
  return result;
}

absl::StatusOr<LabelMap> ParseLabelEncoder(const NodeInfo& node) {
  ASSIGN_OR_RETURN(const Tensor keys, ListAttribute(node, "keys"));
  ASSIGN_OR_RETURN(const Tensor values, ListAttribute(node, "values"));
  if (keys.size() != values.size()) {
    return absl::InvalidArgumentError(absl::StrCat("attributes \"keys_*\" and \"values_*\" have ",
                                                   keys.size(), " and ", values.size(),
                                                   " elements, expected as many"));
  }
  ASSIGN_OR_RETURN(const Tensor fallback, DefaultLabel(node, values.type()));
  return MakeLabelMap(keys, values, fallback, {.float_bits = node.since_version() < 4});
}

absl::Status InferLabelEncoder(const NodeInfo& node, absl::Span<const Type> inputs,
                               absl::Span<Type> outputs) {
  ASSIGN_OR_RETURN(const Tensor keys, ListAttribute(node, "keys"));
  ASSIGN_OR_RETURN(const Tensor values, ListAttribute(node, "values"));
  if (inputs[0].kind == ValueKind::kTensor && inputs[0].element != keys.type()) {
    return absl::InvalidArgumentError(
        absl::StrCat("input 0 is of type ", TypeName(inputs[0].element), ", expected ",
                     TypeName(keys.type()), " as attribute \"keys_*\""));
  }
  outputs[0] = Type::OfTensor(values.type());
  return absl::OkStatus();
}

// --- OneHotEncoder ---------------------------------------------------------------------------

struct OneHotAttributes {
  KeyIndex categories;
  int64_t count;
  bool zeros;
};

absl::StatusOr<OneHotAttributes> ParseOneHotEncoder(const NodeInfo& node) {
  const std::vector<std::string> strings = node.Strings("cats_strings");
  const std::vector<int64_t> ints = node.Ints("cats_int64s");
  if (strings.empty() == ints.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("attributes \"cats_int64s\" and \"cats_strings\" have ", ints.size(), " and ",
                     strings.size(), " elements, expected exactly one of them not empty"));
  }
  OneHotAttributes attributes;
  ASSIGN_OR_RETURN(const Tensor numbers, IntList(ints));
  ASSIGN_OR_RETURN(
      attributes.categories,
      KeyIndex::Of(strings.empty() ? numbers : StringList(strings), {.last_wins = false}));
  attributes.count = static_cast<int64_t>(strings.size() + ints.size());
  attributes.zeros = node.IntOr("zeros", 1) != 0;
  return attributes;
}

absl::Status OneHotEncoder(const OneHotAttributes& attributes, KernelContext& context) {
  Tensor x = context.input(0);
  if (!x.is_string()) {
    ASSIGN_OR_RETURN(x, ConvertTensor(context, x, ElementType::kInt64));
  }
  Dims dims = x.dims();
  dims.push_back(attributes.count);
  ASSIGN_OR_RETURN(Tensor * output, context.Output(0, ElementType::kFloat, dims));
  float* out = output->mutable_data_as<float>();
  std::fill(out, out + output->size(), 0.0F);
  int64_t unknown = -1;
  RETURN_IF_ERROR(attributes.categories.ForEach(x, [&](int64_t i, int64_t position) {
    if (position >= 0) {
      out[i * attributes.count + position] = 1;
    } else if (unknown < 0) {
      unknown = i;
    }
  }));
  if (unknown < 0 || attributes.zeros) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "element ", unknown, " is ",
      x.is_string() ? absl::StrCat("\"", x.strings()[unknown], "\"")
                    : absl::StrCat(x.data_as<int64_t>()[unknown]),
      ", expected one of the ", attributes.count, " categories (attribute \"zeros\" is 0)"));
}

// --- Maps ------------------------------------------------------------------------------------

// Input 0, a map whose keys and values are of these types.
absl::StatusOr<const Map*> MapInput(const KernelContext& context, ElementTypeSet keys,
                                    ElementTypeSet values) {
  const Value& value = context.input_value(0);
  if (value.kind() == ValueKind::kMap) {
    const Map& map = value.map();
    const bool values_fit =
        map.value_type.kind == ValueKind::kAbsent
            ? map.values.empty()
            : map.value_type.kind == ValueKind::kTensor && values.Has(map.value_type.element);
    if (keys.Has(map.keys.type()) && values_fit) return &map;
  }
  const auto names = [](ElementTypeSet set) {
    std::string text;
    for (const ElementType type :
         {ElementType::kInt64, ElementType::kString, ElementType::kFloat, ElementType::kDouble}) {
      if (set.Has(type)) absl::StrAppend(&text, text.empty() ? "" : " or ", TypeName(type));
    }
    return text;
  };
  return absl::InvalidArgumentError(absl::StrCat(
      "input 0 is ", Describe(value), ", expected a map of ", names(keys), " to ", names(values)));
}

// The values of a map in the order of its keys, one element each.
absl::StatusOr<Tensor> MapValues(KernelContext& context, const Map& map, ElementType type) {
  const auto count = static_cast<int64_t>(map.values.size());
  ASSIGN_OR_RETURN(Tensor result, context.Allocate(type, {count}));
  for (int64_t i = 0; i < count; ++i) {
    const Value& value = map.values[i];
    if (!value.is_tensor() || value.tensor().type() != type || value.tensor().size() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("value ", i, " of the map is ", Describe(value),
                       ", expected one element of type ", TypeName(type)));
    }
    CopyElements(type, value.tensor().data(), 0, result.mutable_data(), i, 1);
  }
  return result;
}

struct CastMapAttributes {
  ElementType to;
  bool sparse;
  int64_t length;
};

absl::StatusOr<CastMapAttributes> ParseCastMap(const NodeInfo& node) {
  CastMapAttributes attributes;
  const std::string to = node.StringOr("cast_to", "TO_FLOAT");
  if (to == "TO_FLOAT") {
    attributes.to = ElementType::kFloat;
  } else if (to == "TO_STRING") {
    attributes.to = ElementType::kString;
  } else if (to == "TO_INT64") {
    attributes.to = ElementType::kInt64;
  } else {
    return node.BadAttribute("cast_to", absl::StrCat("\"", to, "\""),
                             "\"TO_FLOAT\", \"TO_STRING\" or \"TO_INT64\"");
  }
  const std::string form = node.StringOr("map_form", "DENSE");
  if (form != "DENSE" && form != "SPARSE") {
    return node.BadAttribute("map_form", absl::StrCat("\"", form, "\""), "\"DENSE\" or \"SPARSE\"");
  }
  attributes.sparse = form == "SPARSE";
  attributes.length = node.IntOr("max_map", 1);
  if (attributes.sparse && attributes.length < 1) {
    return node.BadAttribute("max_map", absl::StrCat(attributes.length), "a positive length");
  }
  return attributes;
}

absl::Status InferCastMap(const NodeInfo& node, absl::Span<const Type> /*inputs*/,
                          absl::Span<Type> outputs) {
  ASSIGN_OR_RETURN(const CastMapAttributes attributes, ParseCastMap(node));
  outputs[0] = Type::OfTensor(attributes.to);
  return absl::OkStatus();
}

absl::Status CastMap(const CastMapAttributes& attributes, KernelContext& context) {
  ASSIGN_OR_RETURN(const Map* map,
                   MapInput(context, ElementTypeSet::Of(ElementType::kInt64),
                            ElementTypeSet::Of(ElementType::kString, ElementType::kFloat)));
  ASSIGN_OR_RETURN(const Tensor from,
                   MapValues(context, *map,
                             map->value_type.kind == ValueKind::kAbsent ? ElementType::kFloat
                                                                        : map->value_type.element));
  ASSIGN_OR_RETURN(Tensor converted, context.Allocate(attributes.to, {from.size()}));
  if (from.type() == attributes.to) {
    converted = from;
  } else if (from.is_string()) {
    RETURN_IF_ERROR(ConvertFromString(from.strings(), converted.mutable_data(), attributes.to));
  } else if (attributes.to == ElementType::kString) {
    RETURN_IF_ERROR(ConvertToString(from.data(), from.type(), converted.mutable_strings()));
  } else {
    RETURN_IF_ERROR(
        Convert(from.data(), from.type(), converted.mutable_data(), attributes.to, from.size()));
  }
  const int64_t* keys = map->keys.data_as<int64_t>();
  const ElementType to = attributes.to;
  if (attributes.sparse) {
    ASSIGN_OR_RETURN(Tensor * output, context.Output(0, to, {attributes.length}));
    FillElements(to, nullptr, 0, output->mutable_data(), 0, attributes.length);
    for (int64_t i = 0; i < from.size(); ++i) {
      if (keys[i] < 0 || keys[i] >= attributes.length) {
        return absl::InvalidArgumentError(absl::StrCat("key ", keys[i], " is outside of [0, ",
                                                       attributes.length - 1, "], as max_map is ",
                                                       attributes.length));
      }
      CopyElements(to, converted.data(), i, output->mutable_data(), keys[i], 1);
    }
    return absl::OkStatus();
  }
  std::vector<int64_t> order(static_cast<size_t>(from.size()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return keys[a] < keys[b]; });
  ASSIGN_OR_RETURN(Tensor * output, context.Output(0, to, {from.size()}));
  for (int64_t i = 0; i < from.size(); ++i) {
    CopyElements(to, converted.data(), order[i], output->mutable_data(), i, 1);
  }
  return absl::OkStatus();
}

struct Vocabulary {
  KeyIndex keys;
  int64_t size;
};

absl::StatusOr<Vocabulary> ParseDictVectorizer(const NodeInfo& node) {
  const std::vector<std::string> strings = node.Strings("string_vocabulary");
  const std::vector<int64_t> ints = node.Ints("int64_vocabulary");
  if (strings.empty() == ints.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "attributes \"string_vocabulary\" and \"int64_vocabulary\" have ", strings.size(), " and ",
        ints.size(), " elements, expected exactly one of them not empty"));
  }
  Vocabulary vocabulary;
  ASSIGN_OR_RETURN(const Tensor numbers, IntList(ints));
  ASSIGN_OR_RETURN(vocabulary.keys, KeyIndex::Of(strings.empty() ? numbers : StringList(strings),
                                                 {.last_wins = false}));
  vocabulary.size = static_cast<int64_t>(strings.size() + ints.size());
  return vocabulary;
}

absl::Status InferDictVectorizer(const NodeInfo& /*node*/, absl::Span<const Type> inputs,
                                 absl::Span<Type> outputs) {
  if (inputs[0].kind == ValueKind::kMap && inputs[0].inner != nullptr &&
      inputs[0].inner->kind == ValueKind::kTensor) {
    outputs[0] = Type::OfTensor(inputs[0].inner->element);
  }
  return absl::OkStatus();
}

absl::Status DictVectorizer(const Vocabulary& vocabulary, KernelContext& context) {
  ASSIGN_OR_RETURN(const Map* map,
                   MapInput(context, ElementTypeSet::Of(vocabulary.keys.type()),
                            ElementTypeSet::Of(ElementType::kInt64, ElementType::kString,
                                               ElementType::kFloat, ElementType::kDouble)));
  if (map->value_type.kind == ValueKind::kAbsent) {
    return absl::InvalidArgumentError("input 0 is an empty map of values of an unknown type");
  }
  const ElementType type = map->value_type.element;
  ASSIGN_OR_RETURN(const Tensor values, MapValues(context, *map, type));
  ASSIGN_OR_RETURN(Tensor * output, context.Output(0, type, {vocabulary.size}));
  FillElements(type, nullptr, 0, output->mutable_data(), 0, vocabulary.size);
  int64_t unknown = -1;
  RETURN_IF_ERROR(vocabulary.keys.ForEach(map->keys, [&](int64_t i, int64_t position) {
    if (position < 0) {
      unknown = i;
    } else {
      CopyElements(type, values.data(), i, output->mutable_data(), position, 1);
    }
  }));
  if (unknown < 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("key ",
                   map->keys.is_string() ? absl::StrCat("\"", map->keys.strings()[unknown], "\"")
                                         : absl::StrCat(map->keys.data_as<int64_t>()[unknown]),
                   " of the map is not in the vocabulary"));
}

absl::StatusOr<Tensor> ParseZipMap(const NodeInfo& node) {
  const std::vector<std::string> strings = node.Strings("classlabels_strings");
  const std::vector<int64_t> ints = node.Ints("classlabels_int64s");
  if (strings.empty() == ints.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "attributes \"classlabels_strings\" and \"classlabels_int64s\" have ", strings.size(),
        " and ", ints.size(), " elements, expected exactly one of them not empty"));
  }
  if (!strings.empty()) return StringList(strings);
  return IntList(ints);
}

absl::Status InferZipMap(const NodeInfo& node, absl::Span<const Type> /*inputs*/,
                         absl::Span<Type> outputs) {
  ASSIGN_OR_RETURN(const Tensor keys, ParseZipMap(node));
  outputs[0] = Type::OfSequence(Type::OfMap(keys.type(), Type::OfTensor(ElementType::kFloat)));
  return absl::OkStatus();
}

absl::Status ZipMap(const Tensor& keys, KernelContext& context) {
  const Tensor& x = context.input(0);
  if (x.rank() < 1 || x.rank() > 2 || x.dim(x.rank() - 1) != keys.size()) {
    return absl::InvalidArgumentError(absl::StrCat("input 0 is ", TypeAndDims(x), ", expected [N,",
                                                   keys.size(), "] or [", keys.size(),
                                                   "], a column for each label"));
  }
  const Type value_type = Type::OfTensor(ElementType::kFloat);
  Sequence sequence;
  sequence.element_type = Type::OfMap(keys.type(), value_type);
  const int64_t rows = x.rank() == 1 ? 1 : x.dim(0);
  const float* from = x.data_as<float>();
  for (int64_t n = 0; n < rows; ++n) {
    Map map;
    map.keys = keys;
    map.value_type = value_type;
    map.values.reserve(static_cast<size_t>(keys.size()));
    for (int64_t c = 0; c < keys.size(); ++c) {
      ASSIGN_OR_RETURN(Tensor value, context.Allocate(ElementType::kFloat, {}));
      *value.mutable_data_as<float>() = *from++;
      map.values.emplace_back(std::move(value));
    }
    sequence.elements.push_back(Value(std::move(map)));
  }
  context.SetOutput(0, Value(std::move(sequence)));
  return absl::OkStatus();
}

constexpr auto kKernels = InDomain(
    kMlDomain,
    KernelTable(
        Rows<ParseCastMap, CastMap>("CastMap", 1).Infer(InferCastMap),
        Rows<ParseCategoryMapper, MapTwoWays>("CategoryMapper", 1).Infer(InferTwoWays),
        Rows<ParseDictVectorizer, DictVectorizer>("DictVectorizer", 1).Infer(InferDictVectorizer),
        Rows<ParseLabelEncoder1, MapTwoWays>("LabelEncoder", 1).Infer(InferTwoWays),
        Rows<ParseLabelEncoder, MapLabels>("LabelEncoder", 2, 4).Infer(InferLabelEncoder),
        Rows<ParseOneHotEncoder, OneHotEncoder>("OneHotEncoder", 1),
        Rows<ParseZipMap, ZipMap>("ZipMap", 1).Infer(InferZipMap)));

}  // namespace

absl::Span<const KernelDef> MlTextKernels() { return kKernels; }

}  // namespace onnx_run
