// Operators of ai.onnx.ml and ai.onnx.preview.training that the standard has no, or too few, node
// tests for. The values follow from the schemas' text, by hand.
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/ops_test_util.h"

namespace onnx_run {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::FloatNear;
using ::testing::HasSubstr;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
using Results = absl::StatusOr<std::vector<Value>>;

Results RunIn(const std::string& domain, const std::string& op_type, int64_t version,
              std::vector<Value> inputs, std::vector<Attribute> attributes, int outputs = 1) {
  static const OpRegistry kRegistry(AllKernels(), &StandardSchemas());
  ModelBuilder builder(21);
  builder.Opset(domain, version);
  std::vector<std::string> input_names;
  std::vector<std::string> output_names;
  for (size_t i = 0; i < inputs.size(); ++i) {
    input_names.push_back("in" + std::to_string(i));
    builder.Input(input_names.back(), inputs[i].type());
  }
  for (int i = 0; i < outputs; ++i) {
    output_names.push_back("out" + std::to_string(i));
    builder.Output(output_names.back());
  }
  builder.Node(op_type, input_names, output_names, std::move(attributes), domain);
  auto session = Session::Create(builder.Build(), kRegistry);
  if (!session.ok()) return session.status();
  std::vector<Value> results(static_cast<size_t>(outputs));
  const absl::Status status = (*session)->Run(absl::MakeConstSpan(inputs), absl::MakeSpan(results));
  if (!status.ok()) return status;
  return results;
}

Results RunMl(const std::string& op_type, int64_t version, std::vector<Value> inputs,
              std::vector<Attribute> attributes, int outputs = 1) {
  return RunIn("ai.onnx.ml", op_type, version, std::move(inputs), std::move(attributes), outputs);
}

std::vector<std::string> StringsOf(const Results& results, int i = 0) {
  if (!results.ok()) return {std::string(results.status().message())};
  const absl::Span<const std::string> strings = (*results)[i].tensor().strings();
  return {strings.begin(), strings.end()};
}

std::string ErrorOf(const Results& results) { return std::string(results.status().message()); }

// --- Look-ups --------------------------------------------------------------------------------

TEST(MlText, CategoryMapperBothWays) {
  const std::vector<Attribute> attributes = {StringsAttr("cats_strings", {"a", "b"}),
                                             IntsAttr("cats_int64s", {10, 20}),
                                             StringAttr("default_string", "?")};
  EXPECT_THAT(ElementsOf<int64_t>(
                  RunMl("CategoryMapper", 1, {StringTensor({1, 2}, {"b", "z"})}, attributes)),
              ElementsAre(20, -1));
  EXPECT_THAT(StringsOf(RunMl("CategoryMapper", 1, {Int64Tensor({2}, {10, 7})}, attributes)),
              ElementsAre("a", "?"));
  EXPECT_THAT(ErrorOf(RunMl("CategoryMapper", 1, {Int64Tensor({1}, {1})},
                            {StringsAttr("cats_strings", {"a"})})),
              HasSubstr("\"cats_strings\" has 1 elements, expected 0"));
}

TEST(MlText, LabelEncoder1TakesPositions) {
  const std::vector<Attribute> attributes = {StringsAttr("classes_strings", {"x", "y", "x"})};
  EXPECT_THAT(ElementsOf<int64_t>(
                  RunMl("LabelEncoder", 1, {StringTensor({3}, {"x", "y", "q"})}, attributes)),
              ElementsAre(0, 1, -1));
  EXPECT_THAT(StringsOf(RunMl("LabelEncoder", 1, {Int64Tensor({3}, {2, 3, -1})}, attributes)),
              ElementsAre("x", "_Unused", "_Unused"));
}

TEST(MlText, LabelEncoderComparesFloatsAsTheVersionSays) {
  const std::vector<Attribute> attributes = {FloatsAttr("keys_floats", {0.0F, kNaN}),
                                             IntsAttr("values_int64s", {1, 2})};
  const Tensor x = FloatTensor({4}, {0.0F, -0.0F, kNaN, -kNaN});
  EXPECT_THAT(ElementsOf<int64_t>(RunMl("LabelEncoder", 2, {x}, attributes)),
              ElementsAre(1, -1, 2, -1));
  EXPECT_THAT(ElementsOf<int64_t>(RunMl("LabelEncoder", 4, {x}, attributes)),
              ElementsAre(1, 1, 2, 2));
}

TEST(MlText, LabelEncoderTensors) {
  const Tensor keys = TensorOf<int16_t>(ElementType::kInt16, {3}, {1, 2, 1});
  const Tensor values = TensorOf<double>(ElementType::kDouble, {3}, {0.5, 0.25, 0.125});
  const Tensor x = TensorOf<int16_t>(ElementType::kInt16, {3}, {1, 2, 3});
  const Attribute k = TensorAttr("keys_tensor", keys);
  const Attribute v = TensorAttr("values_tensor", values);
  // The last of two equal keys counts.
  const auto result = RunMl("LabelEncoder", 4, {x}, {k, v});
  EXPECT_THAT(ElementsOf<double>(result), ElementsAre(0.125, 0.25, 0));
  EXPECT_TRUE(std::signbit(ElementsOf<double>(result)[2]));
  const Tensor fallback = TensorOf<double>(ElementType::kDouble, {1}, {7});
  EXPECT_THAT(ElementsOf<double>(
                  RunMl("LabelEncoder", 4, {x}, {k, v, TensorAttr("default_tensor", fallback)})),
              ElementsAre(0.125, 0.25, 7));
  EXPECT_THAT(ElementsOf<int32_t>(RunMl(
                  "LabelEncoder", 4, {StringTensor({2}, {"a", "c"})},
                  {StringsAttr("keys_strings", {"a"}),
                   TensorAttr("values_tensor", TensorOf<int32_t>(ElementType::kInt32, {1}, {5}))})),
              ElementsAre(5, -1));
}

TEST(MlText, LabelEncoderFaults) {
  const Value x = Int64Tensor({1}, {1});
  EXPECT_THAT(ErrorOf(RunMl("LabelEncoder", 4, {x},
                            {StringsAttr("keys_strings", {"a"}), IntsAttr("values_int64s", {1})})),
              HasSubstr("input 0 is of type int64, expected string"));
  EXPECT_THAT(ErrorOf(RunMl("LabelEncoder", 4, {x},
                            {IntsAttr("keys_int64s", {1, 2}), IntsAttr("values_int64s", {1})})),
              HasSubstr("2 and 1 elements"));
  EXPECT_THAT(ErrorOf(RunMl("LabelEncoder", 4, {x}, {IntsAttr("values_int64s", {1})})),
              HasSubstr("no attribute \"keys_*\""));
  EXPECT_THAT(ErrorOf(RunMl("LabelEncoder", 4, {x},
                            {IntsAttr("keys_int64s", {1}), StringsAttr("keys_strings", {"a"}),
                             IntsAttr("values_int64s", {1})})),
              HasSubstr("are both given"));
  const Tensor narrow = TensorOf<uint16_t>(ElementType::kFloat16, {1}, {0});
  EXPECT_THAT(ErrorOf(RunMl("LabelEncoder", 4, {x},
                            {TensorAttr("keys_tensor", narrow), IntsAttr("values_int64s", {1})})),
              HasSubstr("\"keys_tensor\" is a float16 tensor"));
}

TEST(MlText, OneHotEncoder) {
  const Attribute categories = IntsAttr("cats_int64s", {1, 2});
  const auto result = RunMl("OneHotEncoder", 1, {FloatTensor({3}, {2.7F, 1, 5})}, {categories});
  EXPECT_THAT(ElementsOf<float>(result), ElementsAre(0, 1, 1, 0, 0, 0));
  EXPECT_THAT((*result)[0].tensor().dims(), ElementsAre(3, 2));
  EXPECT_THAT(ElementsOf<float>(RunMl("OneHotEncoder", 1, {StringTensor({1, 1}, {"b"})},
                                      {StringsAttr("cats_strings", {"a", "b"})})),
              ElementsAre(0, 1));
  EXPECT_THAT(ErrorOf(RunMl("OneHotEncoder", 1, {Int64Tensor({2}, {1, 5})},
                            {categories, IntAttr("zeros", 0)})),
              HasSubstr("element 1 is 5, expected one of the 2 categories"));
}

Value MapOf(Tensor keys, const std::vector<Tensor>& values) {
  Map map;
  map.keys = std::move(keys);
  map.value_type = Type::OfTensor(values[0].type());
  for (const Tensor& value : values) map.values.emplace_back(value);
  return Value(std::move(map));
}

TEST(MlText, DictVectorizerIsTheSchemasExample) {
  const Attribute vocabulary = StringsAttr("string_vocabulary", {"a", "c", "b", "z"});
  const Value x =
      MapOf(StringTensor({2}, {"a", "c"}), {Int64Tensor({}, {4}), Int64Tensor({}, {8})});
  const auto result = RunMl("DictVectorizer", 1, {x}, {vocabulary});
  EXPECT_THAT(ElementsOf<int64_t>(result), ElementsAre(4, 8, 0, 0));
  EXPECT_THAT((*result)[0].tensor().dims(), ElementsAre(4));
  EXPECT_THAT(
      ErrorOf(RunMl("DictVectorizer", 1, {MapOf(StringTensor({1}, {"q"}), {Int64Tensor({}, {4})})},
                    {vocabulary})),
      HasSubstr("key \"q\" of the map is not in the vocabulary"));
  EXPECT_THAT(ErrorOf(RunMl("DictVectorizer", 1, {x}, {IntsAttr("int64_vocabulary", {1})})),
              HasSubstr("expected a map of int64 to int64 or"));
}

TEST(MlText, CastMapDenseAndSparse) {
  const Value x =
      MapOf(Int64Tensor({2}, {5, 1}), {FloatTensor({}, {2.9F}), FloatTensor({}, {-1.5F})});
  const Attribute to_int = StringAttr("cast_to", "TO_INT64");
  EXPECT_THAT(ElementsOf<float>(RunMl("CastMap", 1, {x}, {})), ElementsAre(-1.5F, 2.9F));
  EXPECT_THAT(ElementsOf<int64_t>(RunMl("CastMap", 1, {x}, {to_int})), ElementsAre(-1, 2));
  EXPECT_THAT(StringsOf(RunMl("CastMap", 1, {x}, {StringAttr("cast_to", "TO_STRING")})),
              ElementsAre("-1.5", "2.9"));
  const Attribute sparse = StringAttr("map_form", "SPARSE");
  EXPECT_THAT(
      ElementsOf<int64_t>(RunMl("CastMap", 1, {x}, {to_int, sparse, IntAttr("max_map", 6)})),
      ElementsAre(0, -1, 0, 0, 0, 2));
  EXPECT_THAT(ErrorOf(RunMl("CastMap", 1, {x}, {sparse, IntAttr("max_map", 5)})),
              HasSubstr("key 5 is outside of [0, 4]"));
  const Value text = MapOf(Int64Tensor({1}, {3}), {StringTensor({1}, {"1.25"})});
  EXPECT_THAT(ElementsOf<float>(RunMl("CastMap", 1, {text}, {})), ElementsAre(1.25F));
}

TEST(MlText, ZipMap) {
  const auto result = RunMl("ZipMap", 1, {FloatTensor({2, 2}, {1, 2, 3, 4})},
                            {StringsAttr("classlabels_strings", {"a", "b"})});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(TypeToString((*result)[0].type()), "seq(map(string,tensor(float)))");
  const std::vector<Value>& maps = (*result)[0].sequence().elements;
  ASSERT_EQ(maps.size(), 2u);
  EXPECT_THAT(maps[1].map().keys.strings(), ElementsAre("a", "b"));
  EXPECT_EQ(*maps[1].map().values[0].tensor().data_as<float>(), 3);
  EXPECT_EQ(maps[1].map().values[0].tensor().rank(), 0);
  EXPECT_THAT(ErrorOf(RunMl("ZipMap", 1, {FloatTensor({2}, {1, 2})},
                            {IntsAttr("classlabels_int64s", {1, 2, 3})})),
              HasSubstr("expected [N,3] or [3]"));
}

// --- Features --------------------------------------------------------------------------------

TEST(MlFeatures, ArrayFeatureExtractor) {
  const auto result = RunMl("ArrayFeatureExtractor", 1,
                            {StringTensor({3}, {"a", "b", "c"}), Int64Tensor({2}, {2, 0})}, {});
  EXPECT_THAT(StringsOf(result), ElementsAre("c", "a"));
  EXPECT_THAT((*result)[0].tensor().dims(), ElementsAre(1, 2));
  EXPECT_THAT(ErrorOf(RunMl("ArrayFeatureExtractor", 1,
                            {FloatTensor({1, 2}, {1, 2}), Int64Tensor({1}, {2})}, {})),
              HasSubstr("index 2 at position 0 is outside of [0, 1]"));
}

TEST(MlFeatures, BinarizerOfIntegers) {
  EXPECT_THAT(ElementsOf<int64_t>(RunMl("Binarizer", 1, {Int64Tensor({3}, {1, 2, -5})},
                                        {FloatAttr("threshold", 1.5F)})),
              ElementsAre(0, 1, 0));
  // 2^60 + 1 is greater than 2^60, which is a float.
  constexpr int64_t kBig = int64_t{1} << 60;
  EXPECT_THAT(ElementsOf<int64_t>(RunMl("Binarizer", 1, {Int64Tensor({2}, {kBig, kBig + 1})},
                                        {FloatAttr("threshold", static_cast<float>(kBig))})),
              ElementsAre(0, 1));
}

TEST(MlFeatures, FeatureVectorizerCutsAndFills) {
  const std::vector<Value> inputs = {FloatTensor({1, 2}, {1, 2}), FloatTensor({3}, {3, 4, 5})};
  EXPECT_THAT(ElementsOf<float>(RunMl("FeatureVectorizer", 1, inputs, {})),
              ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(ElementsOf<float>(
                  RunMl("FeatureVectorizer", 1, inputs, {IntsAttr("inputdimensions", {1, 4})})),
              ElementsAre(1, 3, 4, 5, 0));
  EXPECT_THAT(ErrorOf(RunMl("FeatureVectorizer", 1, inputs, {IntsAttr("inputdimensions", {1})})),
              HasSubstr("has 1 elements, expected 2"));
}

TEST(MlFeatures, Imputer) {
  EXPECT_THAT(ElementsOf<float>(RunMl("Imputer", 1, {FloatTensor({2, 2}, {kNaN, 1, 2, kNaN})},
                                      {FloatsAttr("imputed_value_floats", {7, 8}),
                                       FloatAttr("replaced_value_float", kNaN)})),
              ElementsAre(7, 1, 2, 8));
  const Value ints = TensorOf<int32_t>(ElementType::kInt32, {3}, {-1, 5, -1});
  EXPECT_THAT(ElementsOf<int32_t>(RunMl(
                  "Imputer", 1, {ints},
                  {IntsAttr("imputed_value_int64s", {9}), IntAttr("replaced_value_int64", -1)})),
              ElementsAre(9, 5, 9));
  EXPECT_THAT(ErrorOf(RunMl("Imputer", 1, {ints}, {IntsAttr("imputed_value_int64s", {1LL << 40})})),
              HasSubstr("expected a value of type int32"));
  EXPECT_THAT(ErrorOf(RunMl("Imputer", 1, {ints}, {FloatsAttr("imputed_value_floats", {1})})),
              HasSubstr("\"imputed_value_int64s\" has 0 elements, expected 1 or 3"));
}

TEST(MlFeatures, Normalizer) {
  const auto run = [](const char* norm, Tensor x) {
    return ElementsOf<float>(RunMl("Normalizer", 1, {std::move(x)}, {StringAttr("norm", norm)}));
  };
  EXPECT_THAT(run("MAX", FloatTensor({2, 2}, {-4, 2, 0, 0})), ElementsAre(-1, 0.5F, 0, 0));
  EXPECT_THAT(run("L1", FloatTensor({2}, {1, -3})), ElementsAre(0.25F, -0.75F));
  EXPECT_THAT(run("L2", Int64Tensor({1, 2}, {3, -4})), ElementsAre(0.6F, -0.8F));
}

TEST(MlFeatures, Scaler) {
  EXPECT_THAT(
      ElementsOf<float>(RunMl("Scaler", 1, {Int64Tensor({2, 2}, {1, 2, 3, 4})},
                              {FloatsAttr("offset", {1, 2}), FloatsAttr("scale", {2, 0.5F})})),
      ElementsAre(0, 0, 4, 1));
  EXPECT_THAT(
      ElementsOf<float>(RunMl("Scaler", 1, {FloatTensor({2}, {1, 2})}, {FloatsAttr("scale", {3})})),
      ElementsAre(3, 6));
  EXPECT_THAT(
      ErrorOf(RunMl("Scaler", 1, {FloatTensor({2}, {1, 2})}, {FloatsAttr("scale", {1, 2, 3})})),
      HasSubstr("\"scale\" has 3 elements, expected 1 or 2"));
}

// --- Linear and support vector models --------------------------------------------------------

float Sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

TEST(MlLinear, ClassifierOfThree) {
  // Scores of [1, 2]: 1 - 1, 2 + 0.5, 3.
  const auto result = RunMl(
      "LinearClassifier", 1, {FloatTensor({1, 2}, {1, 2})},
      {FloatsAttr("coefficients", {1, 0, 0, 1, 1, 1}), FloatsAttr("intercepts", {-1, 0.5F, 0}),
       StringsAttr("classlabels_strings", {"a", "b", "c"})},
      2);
  EXPECT_THAT(StringsOf(result), ElementsAre("c"));
  EXPECT_THAT(ElementsOf<float>(result, 1), ElementsAre(0, 2.5F, 3));
}

TEST(MlLinear, ClassifierOfTwoByOneScore) {
  const std::vector<Attribute> attributes = {
      FloatsAttr("coefficients", {1, -1}), FloatsAttr("intercepts", {0.5F}),
      IntsAttr("classlabels_ints", {7, 9}), StringAttr("post_transform", "LOGISTIC")};
  const auto result =
      RunMl("LinearClassifier", 1, {FloatTensor({2, 2}, {1, 0, 0, 1})}, attributes, 2);
  EXPECT_THAT(ElementsOf<int64_t>(result), ElementsAre(9, 7));
  EXPECT_THAT(ElementsOf<float>(result, 1),
              ElementsAre(FloatEq(Sigmoid(-1.5F)), FloatEq(Sigmoid(1.5F)), FloatEq(Sigmoid(0.5F)),
                          FloatEq(Sigmoid(-0.5F))));
  EXPECT_THAT(ErrorOf(RunMl("LinearClassifier", 1, {FloatTensor({3}, {1, 0, 0})}, attributes, 2)),
              HasSubstr("\"coefficients\" has 2 elements, expected a multiple of the 3 features"));
}

TEST(MlLinear, RegressorAndPostTransforms) {
  const auto run = [](const char* transform) {
    return ElementsOf<float>(RunMl("LinearRegressor", 1, {FloatTensor({1, 1}, {1})},
                                   {FloatsAttr("coefficients", {0, 0.75F}), IntAttr("targets", 2),
                                    StringAttr("post_transform", transform)}));
  };
  const float e = std::exp(0.75F);
  EXPECT_THAT(run("NONE"), ElementsAre(0, 0.75F));
  EXPECT_THAT(run("LOGISTIC"), ElementsAre(0.5F, FloatEq(Sigmoid(0.75F))));
  EXPECT_THAT(run("SOFTMAX"), ElementsAre(FloatEq(1 / (1 + e)), FloatEq(e / (1 + e))));
  EXPECT_THAT(run("SOFTMAX_ZERO"), ElementsAre(0, 1));
  // The quantile of 0.75 is 0.6745; the customary approximation is within 0.2 %.
  EXPECT_THAT(run("PROBIT")[1], FloatNear(0.6745F, 0.002F));
  EXPECT_THAT(ErrorOf(RunMl("LinearRegressor", 1, {FloatTensor({1}, {1})},
                            {FloatsAttr("coefficients", {1}), StringAttr("post_transform", "X")})),
              HasSubstr("attribute \"post_transform\" is \"X\""));
}

TEST(MlLinear, SvmRegressorKernels) {
  const auto run = [](const char* kernel, std::vector<Attribute> more = {}) {
    more.push_back(StringAttr("kernel_type", kernel));
    more.push_back(FloatsAttr("kernel_params", {0.5F, 1, 2}));
    more.push_back(IntAttr("n_supports", 2));
    more.push_back(FloatsAttr("support_vectors", {1, 0, 0, 2}));
    more.push_back(FloatsAttr("coefficients", {1, -2}));
    more.push_back(FloatsAttr("rho", {0.25F}));
    return ElementsOf<float>(
        RunMl("SVMRegressor", 1, {FloatTensor({1, 2}, {1, 1})}, std::move(more)));
  };
  // Dots are 1 and 2, squared distances 1 and 2.
  EXPECT_THAT(run("LINEAR"), ElementsAre(-2.75F));
  EXPECT_THAT(run("POLY"), ElementsAre(2.25F - 8 + 0.25F));
  EXPECT_THAT(run("RBF"), ElementsAre(FloatEq(std::exp(-0.5F) - 2 * std::exp(-1.0F) + 0.25F)));
  EXPECT_THAT(run("SIGMOID"), ElementsAre(FloatEq(std::tanh(1.5F) - 2 * std::tanh(2.0F) + 0.25F)));
  EXPECT_THAT(run("LINEAR", {IntAttr("one_class", 1)}), ElementsAre(-1));
  // Without support vectors, a linear model.
  EXPECT_THAT(
      ElementsOf<float>(RunMl("SVMRegressor", 1, {FloatTensor({2}, {1, 1})},
                              {FloatsAttr("coefficients", {3, 4}), FloatsAttr("rho", {1})})),
      ElementsAre(8));
}

std::vector<Attribute> BinarySvm() {
  return {FloatsAttr("support_vectors", {1, -1}), FloatsAttr("coefficients", {1, -1}),
          IntsAttr("vectors_per_class", {1, 1}), FloatsAttr("rho", {0.5F}),
          StringsAttr("classlabels_strings", {"first", "second"})};
}

TEST(MlLinear, SvmClassifierOfTwo) {
  // The pair's score is 2x + 0.5; above zero it is a vote for the first class.
  const Value x = FloatTensor({2, 1}, {1, -1});
  const auto result = RunMl("SVMClassifier", 1, {x}, BinarySvm(), 2);
  EXPECT_THAT(StringsOf(result), ElementsAre("first", "second"));
  EXPECT_THAT(ElementsOf<float>(result, 1), ElementsAre(-2.5F, 2.5F, 1.5F, -1.5F));
  std::vector<Attribute> attributes = BinarySvm();
  attributes.push_back(FloatsAttr("prob_a", {-1}));
  attributes.push_back(FloatsAttr("prob_b", {0}));
  const auto likely = RunMl("SVMClassifier", 1, {x}, attributes, 2);
  EXPECT_THAT(StringsOf(likely), ElementsAre("first", "second"));
  EXPECT_THAT(ElementsOf<float>(likely, 1),
              ElementsAre(FloatNear(Sigmoid(2.5F), 1e-2F), FloatNear(Sigmoid(-2.5F), 1e-2F),
                          FloatNear(Sigmoid(-1.5F), 1e-2F), FloatNear(Sigmoid(1.5F), 1e-2F)));
}

TEST(MlLinear, SvmClassifierOfThree) {
  // Scores of the pairs 01, 02, 12, at x: -x, -x - 1, 1 - 2x.
  std::vector<Attribute> attributes = {
      FloatsAttr("support_vectors", {1, 1, 1}), FloatsAttr("coefficients", {-1, 0, 0, -1, -2, 0}),
      IntsAttr("vectors_per_class", {1, 1, 1}), FloatsAttr("rho", {0, -1, 1}),
      IntsAttr("classlabels_ints", {10, 20, 30})};
  const auto result =
      RunMl("SVMClassifier", 1, {FloatTensor({3, 1}, {0.25F, 5, -5})}, attributes, 2);
  EXPECT_THAT(ElementsOf<int64_t>(result), ElementsAre(20, 30, 10));
  EXPECT_THAT(ElementsOf<float>(result, 1),
              ElementsAre(-0.25F, -1.25F, 0.5F, -5, -6, -9, 5, 4, 11));
  // Probabilities add up to one.
  attributes.push_back(FloatsAttr("prob_a", {-1, -1, -1}));
  attributes.push_back(FloatsAttr("prob_b", {0, 0, 0}));
  const std::vector<float> p =
      ElementsOf<float>(RunMl("SVMClassifier", 1, {FloatTensor({1}, {5})}, attributes, 2), 1);
  ASSERT_EQ(p.size(), 3u);
  EXPECT_NEAR(p[0] + p[1] + p[2], 1, 1e-5);
  EXPECT_GT(p[2], 0.95F);
}

TEST(MlLinear, SvmFaults) {
  std::vector<Attribute> attributes = BinarySvm();
  attributes[2] = IntsAttr("vectors_per_class", {std::numeric_limits<int64_t>::max(), 1});
  EXPECT_THAT(ErrorOf(RunMl("SVMClassifier", 1, {FloatTensor({1}, {1})}, attributes, 2)),
              HasSubstr("attribute \"vectors_per_class\""));
  attributes = BinarySvm();
  attributes[3] = FloatsAttr("rho", {});
  EXPECT_THAT(ErrorOf(RunMl("SVMClassifier", 1, {FloatTensor({1}, {1})}, attributes, 2)),
              HasSubstr("\"rho\" has 0 elements, expected 1"));
  EXPECT_THAT(ErrorOf(RunMl("SVMClassifier", 1, {FloatTensor({2}, {1, 1})}, BinarySvm(), 2)),
              HasSubstr("input 0 has 2 features, expected 1"));
}

// --- Trees -----------------------------------------------------------------------------------

// Tree 0: x0 <= 1 ? leaf 1 : leaf 2. Tree 1 the same with `mode` and x1 against 5.
std::vector<Attribute> TwoTrees(const std::string& mode, const std::string& prefix) {
  return {IntsAttr("nodes_treeids", {0, 0, 0, 1, 1, 1}),
          IntsAttr("nodes_nodeids", {0, 1, 2, 0, 1, 2}),
          IntsAttr("nodes_featureids", {0, 0, 0, 1, 0, 0}),
          StringsAttr("nodes_modes", {"BRANCH_LEQ", "LEAF", "LEAF", mode, "LEAF", "LEAF"}),
          FloatsAttr("nodes_values", {1, 0, 0, 5, 0, 0}),
          IntsAttr("nodes_truenodeids", {1, 0, 0, 1, 0, 0}),
          IntsAttr("nodes_falsenodeids", {2, 0, 0, 2, 0, 0}),
          IntsAttr("nodes_missing_value_tracks_true", {1, 0, 0, 0, 0, 0}),
          IntsAttr(prefix + "_treeids", {0, 0, 1, 1}),
          IntsAttr(prefix + "_nodeids", {1, 2, 1, 2}),
          FloatsAttr(prefix + "_weights", {1, 2, 10, 20})};
}

std::vector<float> Regress(const std::string& mode, std::initializer_list<float> x,
                           std::vector<Attribute> more = {}) {
  std::vector<Attribute> attributes = TwoTrees(mode, "target");
  attributes.push_back(IntsAttr("target_ids", {0, 0, 0, 0}));
  attributes.push_back(IntAttr("n_targets", 1));
  for (Attribute& attribute : more) attributes.push_back(std::move(attribute));
  return ElementsOf<float>(RunMl("TreeEnsembleRegressor", 3, {FloatTensor({1, 2}, x)}, attributes));
}

TEST(MlTrees, RegressorModes) {
  for (const auto& [mode, below, equal, above] :
       std::vector<std::tuple<std::string, float, float, float>>{{"BRANCH_LEQ", 11, 11, 21},
                                                                 {"BRANCH_LT", 11, 21, 21},
                                                                 {"BRANCH_GTE", 21, 11, 11},
                                                                 {"BRANCH_GT", 21, 21, 11},
                                                                 {"BRANCH_EQ", 21, 11, 21},
                                                                 {"BRANCH_NEQ", 11, 21, 11}}) {
    EXPECT_THAT(Regress(mode, {1, 4}), ElementsAre(below)) << mode;
    EXPECT_THAT(Regress(mode, {1, 5}), ElementsAre(equal)) << mode;
    EXPECT_THAT(Regress(mode, {1, 6}), ElementsAre(above)) << mode;
    // A missing value goes where the node says, whatever the comparison.
    EXPECT_THAT(Regress(mode, {kNaN, kNaN}), ElementsAre(21)) << mode;
  }
}

TEST(MlTrees, RegressorAggregates) {
  const auto run = [](const char* function) {
    return Regress("BRANCH_LEQ", {2, 4},
                   {StringAttr("aggregate_function", function), FloatsAttr("base_values", {0.5F})});
  };
  EXPECT_THAT(run("SUM"), ElementsAre(12.5F));
  EXPECT_THAT(run("AVERAGE"), ElementsAre(6.5F));
  EXPECT_THAT(run("MIN"), ElementsAre(2.5F));
  EXPECT_THAT(run("MAX"), ElementsAre(10.5F));
}

TEST(MlTrees, DoubleAttributes) {
  std::vector<Attribute> attributes = TwoTrees("BRANCH_LEQ", "target");
  const double split = 1 + 1e-12;
  attributes[4] = TensorAttr("nodes_values_as_tensor",
                             TensorOf<double>(ElementType::kDouble, {6}, {split, 0, 0, 5, 0, 0}));
  attributes.push_back(IntsAttr("target_ids", {0, 1, 0, 1}));
  attributes.push_back(TensorAttr("base_values_as_tensor",
                                  TensorOf<double>(ElementType::kDouble, {2}, {0.5, 0.25})));
  const Tensor x = TensorOf<double>(ElementType::kDouble, {2, 2}, {split, 0, 1 + 2e-12, 0});
  const auto result = RunMl("TreeEnsembleRegressor", 3, {x}, attributes);
  EXPECT_THAT(ElementsOf<float>(result), ElementsAre(11.5F, 0.25F, 10.5F, 2.25F));
  attributes.push_back(FloatsAttr("nodes_values", {1}));
  EXPECT_THAT(ErrorOf(RunMl("TreeEnsembleRegressor", 3, {x}, attributes)), HasSubstr("both given"));
}

TEST(MlTrees, Classifier) {
  std::vector<Attribute> attributes = TwoTrees("BRANCH_LEQ", "class");
  attributes.push_back(IntsAttr("class_ids", {0, 1, 1, 2}));
  attributes.push_back(StringsAttr("classlabels_strings", {"a", "b", "c"}));
  const auto result =
      RunMl("TreeEnsembleClassifier", 1, {FloatTensor({2, 2}, {1, 9, 2, 0})}, attributes, 2);
  EXPECT_THAT(StringsOf(result), ElementsAre("c", "b"));
  EXPECT_THAT(ElementsOf<float>(result, 1), ElementsAre(1, 0, 20, 0, 12, 0));
}

TEST(MlTrees, ClassifierOfTwoByOneScore) {
  std::vector<Attribute> attributes = TwoTrees("BRANCH_LEQ", "class");
  attributes[10] = FloatsAttr("class_weights", {0.125F, 0.5F, 0.125F, 0.5F});
  attributes.push_back(IntsAttr("class_ids", {0, 0, 0, 0}));
  attributes.push_back(IntsAttr("classlabels_int64s", {4, 6}));
  const Value x = FloatTensor({2, 2}, {1, 0, 2, 9});
  const auto result = RunMl("TreeEnsembleClassifier", 3, {x}, attributes, 2);
  EXPECT_THAT(ElementsOf<int64_t>(result), ElementsAre(4, 6));
  EXPECT_THAT(ElementsOf<float>(result, 1), ElementsAre(0.75F, 0.25F, 0, 1));
  attributes.push_back(StringAttr("post_transform", "LOGISTIC"));
  const auto logistic = RunMl("TreeEnsembleClassifier", 3, {x}, attributes, 2);
  EXPECT_THAT(ElementsOf<float>(logistic, 1),
              ElementsAre(FloatEq(Sigmoid(-0.25F)), FloatEq(Sigmoid(0.25F)), FloatEq(Sigmoid(-1)),
                          FloatEq(Sigmoid(1))));
}

TEST(MlTrees, HostileTreesAreRefusedAtLoad) {
  const auto run = [](size_t which, Attribute attribute) {
    std::vector<Attribute> attributes = TwoTrees("BRANCH_LEQ", "target");
    attributes.push_back(IntsAttr("target_ids", {0, 0, 0, 0}));
    attributes.push_back(IntAttr("n_targets", 1));
    attributes[which] = std::move(attribute);
    return ErrorOf(RunMl("TreeEnsembleRegressor", 3, {FloatTensor({1, 2}, {0, 0})}, attributes));
  };
  EXPECT_THAT(run(5, IntsAttr("nodes_truenodeids", {0, 0, 0, 1, 0, 0})), HasSubstr("form a cycle"));
  EXPECT_THAT(run(5, IntsAttr("nodes_truenodeids", {9, 0, 0, 1, 0, 0})),
              HasSubstr("\"nodes_truenodeids\" has 9 at 0, expected a node of tree 0"));
  EXPECT_THAT(run(1, IntsAttr("nodes_nodeids", {0, 1, 1, 0, 1, 2})),
              HasSubstr("\"nodes_nodeids\" has 1 at 2, expected ids that are unique in tree 0"));
  EXPECT_THAT(run(2, IntsAttr("nodes_featureids", {-1, 0, 0, 1, 0, 0})),
              HasSubstr("\"nodes_featureids\" has -1 at 0"));
  EXPECT_THAT(run(2, IntsAttr("nodes_featureids", {2, 0, 0, 1, 0, 0})),
              HasSubstr("input 0 has 2 features, expected 3 or more"));
  EXPECT_THAT(run(9, IntsAttr("target_nodeids", {1, 2, 1, 7})),
              HasSubstr("\"target_nodeids\" has 7 at 3, expected a node of tree 1"));
  EXPECT_THAT(run(11, IntsAttr("target_ids", {0, 0, 1, 0})),
              HasSubstr("\"target_ids\" has 1 at 2, expected an index in [0, 0]"));
  EXPECT_THAT(run(4, FloatsAttr("nodes_values", {1})),
              HasSubstr("\"nodes_values\" has 1 elements, expected 6"));
  EXPECT_THAT(run(12, IntAttr("n_targets", int64_t{1} << 60)),
              HasSubstr("no tensor of type double and shape [1,1152921504606846976]"));
}

// Node 0: x0 in {2, 0} ? node 1 : leaf 0. Node 1: x1 > 0.5 ? leaf 1 : leaf 2.
std::vector<Attribute> NewTree(std::vector<int64_t> on_true = {1, 1}) {
  return {IntsAttr("nodes_featureids", {0, 1}),
          TensorAttr("nodes_splits", FloatTensor({2}, {0, 0.5F})),
          TensorAttr("nodes_modes", TensorOf<uint8_t>(ElementType::kUint8, {2}, {6, 3})),
          IntsAttr("nodes_truenodeids", std::move(on_true)),
          IntsAttr("nodes_falsenodeids", {0, 2}),
          IntsAttr("nodes_trueleafs", {0, 1}),
          IntsAttr("nodes_falseleafs", {1, 1}),
          IntsAttr("tree_roots", {0}),
          TensorAttr("membership_values", FloatTensor({3}, {2, 0, kNaN})),
          IntsAttr("leaf_targetids", {0, 1, 1}),
          TensorAttr("leaf_weights", FloatTensor({3}, {1, 2, 3}))};
}

TEST(MlTrees, TreeEnsembleSets) {
  const Value x = FloatTensor({3, 2}, {0, 1, 2, 0, 1, 0});
  std::vector<Attribute> attributes = NewTree();
  EXPECT_THAT(ElementsOf<float>(RunMl("TreeEnsemble", 5, {x}, attributes)),
              ElementsAre(0, 2, 0, 3, 1, 0));
  attributes.push_back(IntAttr("post_transform", 2));
  EXPECT_THAT(
      ElementsOf<float>(RunMl("TreeEnsemble", 5, {FloatTensor({1, 2}, {1, 0})}, attributes)),
      ElementsAre(FloatEq(Sigmoid(1)), 0.5F));
  EXPECT_THAT(ErrorOf(RunMl("TreeEnsemble", 5, {x}, NewTree({0, 1}))), HasSubstr("form a cycle"));
  EXPECT_THAT(ErrorOf(RunMl("TreeEnsemble", 5, {x}, NewTree({1, 3}))),
              HasSubstr("\"nodes_truenodeids\" has 3 at 1, expected the index of one of 3 leaves"));
  attributes = NewTree();
  attributes[8] = TensorAttr("membership_values", FloatTensor({4}, {2, kNaN, 0, kNaN}));
  EXPECT_THAT(ErrorOf(RunMl("TreeEnsemble", 5, {x}, attributes)), HasSubstr("more than 1 sets"));
  const Value wide = TensorOf<double>(ElementType::kDouble, {1, 2}, {0, 0});
  EXPECT_THAT(ErrorOf(RunMl("TreeEnsemble", 5, {wide}, NewTree())),
              HasSubstr("input 0 is of type double, expected float"));
}

TEST(MlTrees, TreeEnsembleOfOneLeaf) {
  // Float16: 1 is 0x3C00, 3 is 0x4200.
  const auto half = [](std::initializer_list<uint16_t> x) {
    return TensorOf<uint16_t>(ElementType::kFloat16, {static_cast<int64_t>(x.size())}, x);
  };
  const std::vector<Attribute> attributes = {
      IntsAttr("nodes_featureids", {0}),
      TensorAttr("nodes_splits", half({0})),
      TensorAttr("nodes_modes", TensorOf<uint8_t>(ElementType::kUint8, {1}, {0})),
      IntsAttr("nodes_truenodeids", {1}),
      IntsAttr("nodes_falsenodeids", {1}),
      IntsAttr("nodes_trueleafs", {1}),
      IntsAttr("nodes_falseleafs", {1}),
      IntsAttr("tree_roots", {0}),
      IntsAttr("leaf_targetids", {0, 0}),
      TensorAttr("leaf_weights", half({0x3C00, 0x4200})),
      IntAttr("n_targets", 1)};
  const Value x = TensorOf<uint16_t>(ElementType::kFloat16, {1, 1}, {0x3C00});
  EXPECT_THAT(ElementsOf<uint16_t>(RunMl("TreeEnsemble", 5, {x}, attributes)), ElementsAre(0x4200));
}

// --- Training --------------------------------------------------------------------------------

TEST(Training, MixedTypesAndFirstStep) {
  const Value r = FloatTensor({}, {0.5F});
  const Value t = Int64Tensor({}, {0});
  const std::vector<Attribute> attributes = {FloatAttr("alpha", 0.5F), FloatAttr("beta", 0.25F),
                                             FloatAttr("norm_coefficient", 1),
                                             StringAttr("mode", "nesterov")};
  const Value x = FloatTensor({1}, {2});
  const Value g = TensorOf<double>(ElementType::kDouble, {1}, {3});
  const Value v = TensorOf<double>(ElementType::kDouble, {1}, {4});
  // Regularized 5; v = 2 + 5 (beta is 1 at first) = 7; x = 2 - 0.5 * (5 + 3.5).
  const auto result =
      RunIn("ai.onnx.preview.training", "Momentum", 1, {r, t, x, g, v}, attributes, 2);
  EXPECT_THAT(ElementsOf<float>(result, 0), ElementsAre(-2.25F));
  EXPECT_THAT(ElementsOf<double>(result, 1), ElementsAre(7));
  EXPECT_THAT(
      ErrorOf(RunIn("ai.onnx.preview.training", "Momentum", 1, {r, t, x, g}, attributes, 2)),
      HasSubstr("2 tensors after R and T, expected a multiple of 3"));
  EXPECT_THAT(ErrorOf(RunIn("ai.onnx.preview.training", "Momentum", 1,
                            {r, t, x, FloatTensor({2}, {1, 2}), v}, attributes, 2)),
              HasSubstr("expected the shape of input 2"));
}

}  // namespace
}  // namespace onnx_run
