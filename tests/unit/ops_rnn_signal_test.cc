// RNN, GRU and LSTM with activations that leave numbers whole; Fourier transforms with known
// spectra.
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/ops_test_util.h"

namespace onnx_run {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

Tensor Int32Tensor(std::vector<int64_t> dims, std::initializer_list<int32_t> elements) {
  return TensorOf<int32_t>(ElementType::kInt32, std::move(dims), elements);
}

// Numbers without a pattern, in [-1, 1].
Tensor Scattered(const std::vector<int64_t>& dims, int seed) {
  Tensor tensor = Tensor::Create(ElementType::kFloat, dims).value();
  for (int64_t i = 0; i < tensor.size(); ++i) {
    tensor.mutable_data_as<float>()[i] = static_cast<float>(std::sin(12.9898 * (i + 1) * seed));
  }
  return tensor;
}

// --- RNN ---------------------------------------------------------------------

TEST(Rnn, Directions) {
  const Tensor x = FloatTensor({2, 1, 1}, {1, 2});
  const auto run = [&](const char* direction, int64_t n) {
    std::vector<Value> inputs;
    if (n == 1) {
      inputs = {x, FloatTensor({1, 1, 1}, {2}), FloatTensor({1, 1, 1}, {3}),
                FloatTensor({1, 2}, {0.5, 0.25})};
    } else {
      inputs = {x, FloatTensor({2, 1, 1}, {2, 2}), FloatTensor({2, 1, 1}, {3, 3}),
                FloatTensor({2, 2}, {0.5, 0.25, 0.5, 0.25})};
    }
    return RunOp("RNN", 14, std::move(inputs),
                 {StringAttr("direction", direction), IntAttr("hidden_size", 1),
                  StringsAttr("activations", std::vector<std::string>(n, "Relu"))},
                 2);
  };
  const auto forward = run("forward", 1);
  EXPECT_THAT(ElementsOf<float>(forward), ElementsAre(2.75F, 13));
  EXPECT_THAT(ElementsOf<float>(forward, 1), ElementsAre(13));
  const auto reverse = run("reverse", 1);
  EXPECT_THAT(ElementsOf<float>(reverse), ElementsAre(17, 4.75F));
  EXPECT_THAT(ElementsOf<float>(reverse, 1), ElementsAre(17));
  const auto both = run("bidirectional", 2);
  ASSERT_TRUE(both.ok()) << both.status();
  EXPECT_THAT((*both)[0].tensor().dims(), ElementsAre(2, 2, 1, 1));
  EXPECT_THAT(ElementsOf<float>(both), ElementsAre(2.75F, 17, 13, 4.75F));
  EXPECT_THAT(ElementsOf<float>(both, 1), ElementsAre(13, 17));
}

TEST(Rnn, OldSchemasWithTheirMisspeltDefault) {
  for (const int64_t opset : {1, 7}) {
    const auto result = RunOp(
        "RNN", opset,
        {FloatTensor({1, 1, 1}, {3}), FloatTensor({1, 1, 1}, {2}), FloatTensor({1, 1, 1}, {1})},
        {IntAttr("hidden_size", 1), StringsAttr("activations", {"Relu", "Relu"})}, 2);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_THAT(ElementsOf<float>(result, 1), ElementsAre(6));
  }
}

TEST(Rnn, SequencesEndEarly) {
  // h = x + previous h. Lengths 1, 0 and 3.
  const Tensor x = FloatTensor({3, 3, 1}, {1, 10, 100, 2, 20, 200, 3, 30, 300});
  const Tensor one = FloatTensor({1, 1, 1}, {1});
  const Tensor initial = FloatTensor({1, 3, 1}, {1000, 2000, 3000});
  const auto run = [&](const char* direction) {
    return RunOp("RNN", 22, {x, one, one, Value(), Int32Tensor({3}, {1, 0, 3}), initial},
                 {StringAttr("direction", direction), StringsAttr("activations", {"Affine"})}, 2);
  };
  const auto forward = run("forward");
  EXPECT_THAT(ElementsOf<float>(forward), ElementsAre(1001, 0, 3100, 0, 0, 3300, 0, 0, 3600));
  EXPECT_THAT(ElementsOf<float>(forward, 1), ElementsAre(1001, 2000, 3600));
  const auto reverse = run("reverse");
  EXPECT_THAT(ElementsOf<float>(reverse), ElementsAre(1001, 0, 3600, 0, 0, 3500, 0, 0, 3300));
  EXPECT_THAT(ElementsOf<float>(reverse, 1), ElementsAre(1001, 2000, 3600));
}

TEST(Rnn, ParametersOfActivations) {
  // Relu takes no alpha: the only one is LeakyRelu's; or there is one for each.
  for (const std::vector<float>& alphas : {std::vector<float>{0.5}, {9, 0.5}}) {
    const auto result =
        RunOp("RNN", 14,
              {FloatTensor({1, 1, 1}, {-4}), FloatTensor({2, 1, 1}, {1, 1}),
               FloatTensor({2, 1, 1}, {0, 0})},
              {StringAttr("direction", "bidirectional"), FloatsAttr("activation_alpha", alphas),
               StringsAttr("activations", {"Relu", "leakyrelu"})});
    EXPECT_THAT(ElementsOf<float>(result), ElementsAre(0, -2));
  }
  const auto values = [](const char* function, const std::vector<float>& alpha,
                         const std::vector<float>& beta) {
    std::vector<Attribute> attributes = {StringsAttr("activations", {function})};
    if (!alpha.empty()) attributes.push_back(FloatsAttr("activation_alpha", alpha));
    if (!beta.empty()) attributes.push_back(FloatsAttr("activation_beta", beta));
    return ElementsOf<float>(RunOp("RNN", 14,
                                   {FloatTensor({1, 3, 1}, {-2, 0.5, 3}),
                                    FloatTensor({1, 1, 1}, {1}), FloatTensor({1, 1, 1}, {0})},
                                   std::move(attributes)));
  };
  EXPECT_THAT(values("Affine", {2}, {1}), ElementsAre(-3, 2, 7));
  EXPECT_THAT(values("HardSigmoid", {}, {}), ElementsAre(FloatNear(0.1F, 1e-6F), 0.6F, 1));
  EXPECT_THAT(values("ThresholdedRelu", {0.5}, {}), ElementsAre(0, 0.5F, 3));
  EXPECT_THAT(values("Softsign", {}, {}),
              ElementsAre(-2.0F / 3, FloatNear(1.0F / 3, 1e-7F), 0.75F));
  EXPECT_THAT(values("ScaledTanh", {2}, {0.5}),
              Pointwise(FloatNear(1e-6F), {-1.52318831F, 0.489837449F, 1.81029660F}));
  EXPECT_THAT(values("Elu", {2}, {}), Pointwise(FloatNear(1e-6F), {-1.72932943F, 0.5F, 3.0F}));
  EXPECT_THAT(values("Softplus", {}, {}),
              Pointwise(FloatNear(1e-6F), {0.126928011F, 0.974076984F, 3.04858735F}));
}

TEST(Rnn, Lstm) {
  const Tensor w = FloatTensor({1, 4, 1}, {1, 2, 3, 4});  // i, o, f, c
  const auto run = [&](std::vector<Attribute> attributes) {
    attributes.push_back(StringsAttr("activations", {"Affine", "Affine", "Affine"}));
    return RunOp("LSTM", 14,
                 {FloatTensor({1, 1, 1}, {1}), w, FloatTensor({1, 4, 1}, {0, 0, 0, 0}), Value(),
                  Value(), Value(), FloatTensor({1, 1, 1}, {1}), FloatTensor({1, 3}, {1, 2, 3})},
                 std::move(attributes), 3);
  };
  // i = 1 + 1, f = 3 + 3, C = 6 + 2 * 4, o = 2 + 2 * 14, H = 30 * 14.
  const auto plain = run({});
  EXPECT_THAT(ElementsOf<float>(plain), ElementsAre(420));
  EXPECT_THAT(ElementsOf<float>(plain, 1), ElementsAre(420));
  EXPECT_THAT(ElementsOf<float>(plain, 2), ElementsAre(14));
  // f = 1 - i.
  const auto coupled = run({IntAttr("input_forget", 1)});
  EXPECT_THAT(ElementsOf<float>(coupled), ElementsAre(112));
  EXPECT_THAT(ElementsOf<float>(coupled, 2), ElementsAre(7));
  // What activations are given is clipped, that of the cell too, but not the cell itself.
  const auto clipped = run({FloatAttr("clip", 1)});
  EXPECT_THAT(ElementsOf<float>(clipped), ElementsAre(1));
  EXPECT_THAT(ElementsOf<float>(clipped, 2), ElementsAre(2));
}

TEST(Rnn, Gru) {
  const auto run = [&](int64_t linear_before_reset) {
    return RunOp("GRU", 14,
                 {FloatTensor({1, 1, 1}, {1}), FloatTensor({1, 3, 1}, {0.5, 2, 1}),
                  FloatTensor({1, 3, 1}, {0, 0, 3}), FloatTensor({1, 6}, {0, 0, 1, 0, 0, 10}),
                  Value(), FloatTensor({1, 1, 1}, {2})},
                 {StringsAttr("activations", {"Affine", "Affine"}),
                  IntAttr("linear_before_reset", linear_before_reset)});
  };
  // h' = 1 + (2 * 2) * 3 + 11; or 1 + 2 * (2 * 3 + 10) + 1; H = h' / 2 + 2 / 2.
  EXPECT_THAT(ElementsOf<float>(run(0)), ElementsAre(13));
  EXPECT_THAT(ElementsOf<float>(run(1)), ElementsAre(18));
}

// Layout 1 gives the same numbers, transposed.
TEST(Rnn, Layouts) {
  constexpr int64_t kSteps = 4, kBatch = 3, kInput = 5, kHidden = 6;
  const Tensor x = Scattered({kSteps, kBatch, kInput}, 1);
  const Tensor h = Scattered({2, kBatch, kHidden}, 2);
  const Tensor c = Scattered({2, kBatch, kHidden}, 3);
  const auto swapped = [](const Tensor& t) {
    return (*RunOp("Transpose", 13, {t}, {IntsAttr("perm", {1, 0, 2})}))[0].tensor();
  };
  const auto run = [&](int64_t layout) {
    return RunOp("LSTM", 14,
                 {layout == 1 ? swapped(x) : x, Scattered({2, 4 * kHidden, kInput}, 4),
                  Scattered({2, 4 * kHidden, kHidden}, 5), Scattered({2, 8 * kHidden}, 6),
                  Int32Tensor({kBatch}, {2, 4, 3}), layout == 1 ? swapped(h) : h,
                  layout == 1 ? swapped(c) : c, Scattered({2, 3 * kHidden}, 7)},
                 {IntAttr("layout", layout), StringAttr("direction", "bidirectional")}, 3);
  };
  const auto first = run(0);
  const auto second = run(1);
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_TRUE(second.ok()) << second.status();
  const auto y = RunOp("Transpose", 13, {(*first)[0]}, {IntsAttr("perm", {2, 0, 1, 3})});
  EXPECT_THAT((*second)[0].tensor().dims(), ElementsAre(kBatch, kSteps, 2, kHidden));
  EXPECT_THAT(ElementsOf<float>(second), ElementsAreArray(ElementsOf<float>(y)));
  for (const int i : {1, 2}) {
    const Tensor state = swapped((*first)[i].tensor());
    EXPECT_THAT(ElementsOf<float>(second, i), ElementsAreArray(state.span<float>()));
  }
}

TEST(Rnn, NarrowFloatsAreRoundedOnce) {
  const auto half = [](std::vector<int64_t> dims, std::initializer_list<uint16_t> bits) {
    return TensorOf<uint16_t>(ElementType::kFloat16, std::move(dims), bits);
  };
  // 1 + 2^-11 after the first step, which float16 has not; twice that after the second.
  const auto result =
      RunOp("RNN", 14,
            {half({2, 1, 1}, {0x1000, 0x1000}), half({1, 1, 1}, {0x3C00}),
             half({1, 1, 1}, {0x3C00}), Value(), Value(), half({1, 1, 1}, {0x3C00})},
            {StringsAttr("activations", {"Affine"})});
  EXPECT_THAT(ElementsOf<uint16_t>(result), ElementsAre(0x3C00, 0x3C01));
}

TEST(Rnn, Empty) {
  const auto result =
      RunOp("GRU", 14,
            {FloatTensor({0, 2, 1}, {}), FloatTensor({1, 3, 1}, {0, 0, 0}),
             FloatTensor({1, 3, 1}, {0, 0, 0}), Value(), Value(), FloatTensor({1, 2, 1}, {5, 6})},
            {}, 2);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT((*result)[0].tensor().dims(), ElementsAre(0, 1, 2, 1));
  EXPECT_THAT(ElementsOf<float>(result, 1), ElementsAre(5, 6));
}

TEST(Rnn, Errors) {
  const Tensor one = FloatTensor({1, 1, 1}, {1});
  const auto message = [&](std::vector<Value> inputs, std::vector<Attribute> attributes) {
    return std::string(
        RunOp("RNN", 14, std::move(inputs), std::move(attributes)).status().message());
  };
  EXPECT_THAT(message({one, one, one}, {StringAttr("direction", "up")}), HasSubstr("\"forward\""));
  EXPECT_THAT(message({one, one, one}, {StringsAttr("activations", {"Sin"})}),
              HasSubstr("Softsign"));
  EXPECT_THAT(message({one, one, one}, {StringsAttr("activations", {"Tanh", "Tanh", "Tanh"})}),
              HasSubstr("a list of 1"));
  EXPECT_THAT(message({one, one, one}, {FloatsAttr("activation_alpha", {1, 2})}),
              HasSubstr("at most 0"));
  EXPECT_THAT(message({one, one, one}, {FloatAttr("clip", -1)}), HasSubstr("positive"));
  EXPECT_THAT(message({one, one, one}, {IntAttr("hidden_size", 3)}), HasSubstr("hidden_size"));
  EXPECT_THAT(message({one, one, one}, {StringAttr("direction", "bidirectional")}),
              HasSubstr("R is float[1,1,1], expected [2,1,1]"));
  EXPECT_THAT(message({one, FloatTensor({1, 1, 2}, {1, 2}), one}, {}),
              HasSubstr("W is float[1,1,2], expected [1,1,1]"));
  EXPECT_THAT(message({one, one, one, Value(), Int32Tensor({1}, {2})}, {}),
              HasSubstr("is 2, expected 0 to 1"));
}

// --- DFT ---------------------------------------------------------------------

TEST(Dft, KnownSpectra) {
  const Tensor x = FloatTensor({1, 4, 1}, {1, 2, 3, 4});
  const auto full = RunOp("DFT", 17, {x});
  EXPECT_THAT(ElementsOf<float>(full), ElementsAre(10, 0, -2, 2, -2, 0, -2, -2));
  const auto onesided = RunOp("DFT", 20, {x}, {IntAttr("onesided", 1)});
  ASSERT_TRUE(onesided.ok()) << onesided.status();
  EXPECT_THAT((*onesided)[0].tensor().dims(), ElementsAre(1, 3, 2));
  EXPECT_THAT(ElementsOf<float>(onesided), ElementsAre(10, 0, -2, 2, -2, 0));
  const auto back = RunOp("DFT", 20, {(*full)[0]}, {IntAttr("inverse", 1)});
  EXPECT_THAT(ElementsOf<float>(back), ElementsAre(1, 0, 2, 0, 3, 0, 4, 0));
  const auto real =
      RunOp("DFT", 20, {(*onesided)[0]}, {IntAttr("inverse", 1), IntAttr("onesided", 1)});
  ASSERT_TRUE(real.ok()) << real.status();
  EXPECT_THAT((*real)[0].tensor().dims(), ElementsAre(1, 4, 1));
  EXPECT_THAT(ElementsOf<float>(real), ElementsAre(1, 2, 3, 4));
  const Tensor two = Int64Tensor({}, {2});
  EXPECT_THAT(ElementsOf<float>(RunOp("DFT", 20, {x, two})), ElementsAre(3, 0, -1, 0));
  const auto padded = RunOp("DFT", 20, {FloatTensor({1, 2, 1}, {1, 1}), Int64Tensor({}, {4})});
  EXPECT_THAT(ElementsOf<float>(padded), ElementsAre(2, 0, 1, -1, 0, 0, 1, 1));
}

TEST(Dft, Axes) {
  const Tensor x = FloatTensor({2, 2, 1}, {1, 2, 3, 4});
  const auto along = [&](int64_t axis) {
    return ElementsOf<float>(RunOp("DFT", 20, {x, Value(), Int64Tensor({}, {axis})}));
  };
  EXPECT_THAT(along(0), ElementsAre(4, 0, 6, 0, -2, 0, -2, 0));
  EXPECT_THAT(along(-3), ElementsAre(4, 0, 6, 0, -2, 0, -2, 0));
  EXPECT_THAT(along(1), ElementsAre(3, 0, -1, 0, 7, 0, -1, 0));
  EXPECT_THAT(ElementsOf<float>(RunOp("DFT", 17, {x}, {IntAttr("axis", -3)})),
              ElementsAre(4, 0, 6, 0, -2, 0, -2, 0));
}

// An impulse at 1 and a constant, for lengths with small and large prime factors.
TEST(Dft, Lengths) {
  for (const int64_t n : {1, 2, 3, 5, 8, 30, 47, 53, 106, 211, 1024, 2579}) {
    Tensor x = Tensor::Create(ElementType::kDouble, {2, n, 2}).value();
    for (int64_t j = 0; j < n; ++j) {
      double* const row = x.mutable_data_as<double>() + 2 * j;
      row[0] = j == 1 % n ? 1 : 0;
      row[1] = 0;
      row[2 * n] = 1;
      row[2 * n + 1] = 2;
    }
    const auto forward = RunOp("DFT", 20, {x});
    const std::vector<double> y = ElementsOf<double>(forward);
    ASSERT_EQ(y.size(), 4 * n);
    for (int64_t k = 0; k < n; ++k) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
      ASSERT_NEAR(y[2 * k], n == 1 ? 1 : std::cos(angle), 1e-13) << n;
      ASSERT_NEAR(y[2 * k + 1], n == 1 ? 0 : -std::sin(angle), 1e-13) << n;
      ASSERT_NEAR(y[2 * (n + k)], k == 0 ? n : 0, 1e-11) << n;
      ASSERT_NEAR(y[2 * (n + k) + 1], k == 0 ? 2 * n : 0, 1e-11) << n;
    }
    const auto inverse =
        ElementsOf<double>(RunOp("DFT", 20, {(*forward)[0]}, {IntAttr("inverse", 1)}));
    for (int64_t i = 0; i < x.size(); ++i)
      ASSERT_NEAR(inverse[i], x.data_as<double>()[i], 1e-13) << n;
  }
}

// The inverse of floats is computed in float, by the operations of numpy 2: its values bit for bit,
// of lengths with and without a large prime factor, complex and real.
TEST(Dft, InverseOfFloatsIsNumpys) {
  const auto inverse = [](int64_t n) {
    Tensor x = Tensor::Create(ElementType::kFloat, {1, n, 2}).value();
    for (int64_t j = 0; j < n; ++j) {
      x.mutable_data_as<float>()[2 * j] = static_cast<float>(10 * j);
      x.mutable_data_as<float>()[2 * j + 1] = 0;
    }
    return ElementsOf<float>(RunOp("DFT", 20, {x}, {IntAttr("inverse", 1)}));
  };
  EXPECT_THAT(inverse(10),
              ElementsAre(45, 0, -5, -15.3884192F, -5, -6.88190985F, -5, -3.63271332F, -5.00000048F,
                          -1.62459815F, -5, 1.90734866e-07F, -5.00000048F, 1.62459815F, -5,
                          3.6327126F, -5, 6.88190985F, -5, 15.3884192F));
  EXPECT_THAT(inverse(11),
              ElementsAre(50, 0, -5.00000095F, -17.0284367F, -5, -7.78015232F, -5, -4.33252525F,
                          -5.00000048F, -2.2834239F, -5.00000048F, -0.71889168F, -5.00000048F,
                          0.71889168F, -5.00000048F, 2.2834239F, -5, 4.33252525F, -5, 7.78015232F,
                          -5.00000095F, 17.0284367F));
  const std::vector<float> large = inverse(106);
  EXPECT_THAT(std::vector<float>(large.begin() + 2, large.begin() + 8),
              ElementsAre(-5, -168.654846F, -4.99998188F, -84.2532959F, -5, -56.0864906F));
  const Tensor half = FloatTensor({1, 6, 2}, {1, 0, 2, -1, 0.5, 3, -1, -2, 3, 1, 0, 0.1});
  EXPECT_THAT(ElementsOf<float>(RunOp("DFT", 20, {half, Int64Tensor({}, {11})},
                                      {IntAttr("inverse", 1), IntAttr("onesided", 1)})),
              ElementsAre(0.909090936F, -0.0771978274F, 0.119773097F, 0.226092517F, 0.00274822931F,
                          0.932463765F, -0.604192257F, -1.67569768F, 0.444441795F, 0.438753575F,
                          0.28372401F));
}

// Each of the log2(n) steps rounds a few times, so the error is a few units of 2^-24 log2(n), seen
// against the root of the mean square: measured 1.6 at most.
TEST(Dft, InverseOfFloatsIsNearDoubles) {
  for (const int64_t n : {2, 3, 30, 47, 53, 106, 1024, 2579}) {
    Tensor floats = Tensor::Create(ElementType::kFloat, {1, n, 2}).value();
    Tensor doubles = Tensor::Create(ElementType::kDouble, {1, n, 2}).value();
    for (int64_t i = 0; i < 2 * n; ++i) {
      const auto value = static_cast<float>(std::sin(static_cast<double>(i * i + 1)));
      floats.mutable_data_as<float>()[i] = value;
      doubles.mutable_data_as<double>()[i] = value;
    }
    const auto y = ElementsOf<float>(RunOp("DFT", 20, {floats}, {IntAttr("inverse", 1)}));
    const auto exact = ElementsOf<double>(RunOp("DFT", 20, {doubles}, {IntAttr("inverse", 1)}));
    ASSERT_EQ(y.size(), 2 * n);
    double squares = 0;
    for (const double value : exact) squares += value * value;
    const double rms = std::sqrt(squares / static_cast<double>(n));
    const double tolerance = 4 * std::ldexp(std::log2(static_cast<double>(n)), -24) * rms;
    for (int64_t i = 0; i < 2 * n; ++i) ASSERT_NEAR(y[i], exact[i], tolerance) << n;
  }
}

// Forward all types but double are computed in double and rounded once.
TEST(Dft, ForwardOfFloatsIsRoundedOnce) {
  for (const int64_t parts : {1, 2}) {
    Tensor floats = Tensor::Create(ElementType::kFloat, {1, 100, parts}).value();
    Tensor doubles = Tensor::Create(ElementType::kDouble, {1, 100, parts}).value();
    for (int64_t i = 0; i < 100 * parts; ++i) {
      const auto value = static_cast<float>(std::sin(static_cast<double>(i * i + 1)));
      floats.mutable_data_as<float>()[i] = value;
      doubles.mutable_data_as<double>()[i] = value;
    }
    const auto y = ElementsOf<float>(RunOp("DFT", 20, {floats}));
    const auto exact = ElementsOf<double>(RunOp("DFT", 20, {doubles}));
    EXPECT_EQ(y, std::vector<float>(exact.begin(), exact.end()));
  }
}

TEST(Dft, Errors) {
  const Tensor x = FloatTensor({1, 2, 1}, {1, 2});
  const auto message = [](std::vector<Value> inputs, std::vector<Attribute> attributes) {
    return std::string(
        RunOp("DFT", 20, std::move(inputs), std::move(attributes)).status().message());
  };
  EXPECT_THAT(message({x, Value(), Int64Tensor({}, {-1})}, {}), HasSubstr("-3 to -2 or 0 to 1"));
  EXPECT_THAT(message({x, Int64Tensor({}, {0})}, {}), HasSubstr("dft_length is 0"));
  EXPECT_THAT(message({x, Int64Tensor({}, {INT64_MAX})}, {}), HasSubstr("dft_length"));
  EXPECT_THAT(message({x}, {IntAttr("inverse", 1), IntAttr("onesided", 1)}), HasSubstr("spectrum"));
  EXPECT_THAT(message({FloatTensor({2, 3}, {1, 2, 3, 4, 5, 6})}, {}),
              HasSubstr("the last is 1 or 2"));
  EXPECT_THAT(message({FloatTensor({1, 0, 1}, {})}, {}), HasSubstr("is 0, expected 1"));
}

TEST(Stft, Frames) {
  const Tensor signal = FloatTensor({1, 5, 1}, {1, 2, 3, 4, 5});
  const Tensor window = FloatTensor({2}, {1, 2});
  const auto result = RunOp("STFT", 17, {signal, Int64Tensor({}, {2}), window});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT((*result)[0].tensor().dims(), ElementsAre(1, 2, 2, 2));
  EXPECT_THAT(ElementsOf<float>(result), ElementsAre(5, 0, -3, 0, 11, 0, -5, 0));
  const auto plain =
      RunOp("STFT", 17, {signal, Int64Tensor({}, {1}), Value(), Int64Tensor({}, {4})},
            {IntAttr("onesided", 0)});
  EXPECT_THAT(ElementsOf<float>(plain),
              ElementsAre(10, 0, -2, 2, -2, 0, -2, -2, 14, 0, -2, 2, -2, 0, -2, -2));
  EXPECT_THAT(RunOp("STFT", 17, {signal, Int64Tensor({}, {0}), window}).status().message(),
              HasSubstr("frame_step is 0"));
  EXPECT_THAT(RunOp("STFT", 17, {signal, Int64Tensor({}, {1}), Value(), Int64Tensor({}, {6})})
                  .status()
                  .message(),
              HasSubstr("at most 5"));
}

TEST(MelWeightMatrix, Triangles) {
  const auto run = [](double upper, int64_t type) {
    return RunOp("MelWeightMatrix", 17,
                 {Int64Tensor({}, {4}), Int64Tensor({}, {64}), Int64Tensor({}, {8000}),
                  TensorOf<double>(ElementType::kDouble, {}, {0}),
                  TensorOf<double>(ElementType::kDouble, {}, {upper})},
                 {IntAttr("output_datatype", type)});
  };
  const auto result = run(4000, 11);
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_THAT((*result)[0].tensor().dims(), ElementsAre(33, 4));
  // The edges are 700 (10^(m / 2595) - 1) hertz, m in sixths of the mels of 4000 hertz, in bins of
  // 8000 / 65 hertz: 2.1, 5.04, 9.05, 14.6 and 22.1.
  const std::vector<double> weights = ElementsOf<double>(result);
  const int peaks[] = {2, 5, 9, 14};
  for (int i = 0; i < 4; ++i) EXPECT_EQ(weights[peaks[i] * 4 + i], 1) << i;
  EXPECT_EQ(weights[1 * 4 + 0], 0.5);
  EXPECT_EQ(weights[22 * 4 + 3], 0);
  EXPECT_EQ(weights[21 * 4 + 3], 1.0 / 8);
  EXPECT_THAT(run(40000, 11).status().message(), HasSubstr("half of the sample_rate"));
  EXPECT_EQ((*run(4000, 7))[0].tensor().type(), ElementType::kInt64);
}

}  // namespace
}  // namespace onnx_run
