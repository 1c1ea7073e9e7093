// Every example of the operator pages CastLike-15, -21 and -25 through Session: cases/castlike.txt.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/cast_session_util.h"

namespace onnx_run {
namespace {

using cast_test::Load;
using cast_test::LoadAndRun;
using testing::HasSubstr;

// `FLOAT [2,2] 1 -0 nan 2.75`
struct Text {
  ElementType type = ElementType::kUndefined;
  std::vector<int64_t> dims;
  std::vector<std::string> values;
};

struct Case {
  std::string name;
  int64_t opset = 0;
  bool saturate = true;
  Text input;
  ElementType target = ElementType::kUndefined;
  Text expected;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

Text ParseText(const std::string& cell) {
  std::istringstream words(cell);
  std::string type, dims, value;
  words >> type >> dims;
  Text text;
  text.type = ElementTypeFromName(type).value_or(ElementType::kUndefined);
  for (absl::string_view dim : absl::StrSplit(dims.substr(1, dims.size() - 2), ',')) {
    text.dims.push_back(std::stoll(std::string(dim)));
  }
  while (words >> value) text.values.push_back(value);
  return text;
}

std::vector<Case> ReadCases() {
  std::ifstream file(std::string(ONNX_RUN_SOURCE_DIR) + "/tests/cases/castlike.txt");
  std::vector<Case> cases;
  std::string line;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') continue;
    std::vector<std::string> cells;
    for (absl::string_view cell : absl::StrSplit(line, " | ")) {
      cells.emplace_back(absl::StripAsciiWhitespace(cell));
    }
    if (cells.size() != 6) continue;  // TheTableIsWhole counts
    cases.push_back({cells[0], std::stoll(cells[1]), cells[2] != "saturate=0", ParseText(cells[3]),
                     ElementTypeFromName(cells[4]).value_or(ElementType::kUndefined),
                     ParseText(cells[5])});
  }
  return cases;
}

// The values of a small float format, worked out here from its layout alone, and their codes.
std::map<double, uint64_t> ValuesOf(ElementType type) {
  const FloatLayout layout = InfoOf(type).layout;
  const bool has_sign = layout.style != FloatStyle::kE8m0;
  const int magnitude_bits = layout.exponent_bits + layout.mantissa_bits;
  std::map<double, uint64_t> values;
  for (uint64_t code = 0; code < uint64_t{1} << (magnitude_bits + (has_sign ? 1 : 0)); ++code) {
    const bool negative = (code >> magnitude_bits & 1) != 0;
    const uint64_t magnitude = code & ((uint64_t{1} << magnitude_bits) - 1);
    const auto exponent = static_cast<int>(magnitude >> layout.mantissa_bits);
    const auto mantissa =
        static_cast<double>(magnitude & ((uint64_t{1} << layout.mantissa_bits) - 1));
    const bool top_exponent = exponent == (1 << layout.exponent_bits) - 1;
    bool finite = true;
    switch (layout.style) {
      case FloatStyle::kIeee: finite = !top_exponent; break;
      case FloatStyle::kFn: finite = magnitude != (uint64_t{1} << magnitude_bits) - 1; break;
      case FloatStyle::kFnuz: finite = !(negative && magnitude == 0); break;
      case FloatStyle::kE8m0: finite = code != 0xFF; break;
      default: break;
    }
    if (!finite || (negative && magnitude == 0)) continue;
    double value = 0;
    if (exponent == 0 && has_sign) {
      value = std::ldexp(mantissa, 1 - layout.bias - layout.mantissa_bits);
    } else {
      value = std::ldexp(1 + std::ldexp(mantissa, -layout.mantissa_bits), exponent - layout.bias);
    }
    values[negative ? -value : value] = code;
  }
  return values;
}

uint64_t SignBit(ElementType type) { return uint64_t{1} << (BitsOf(type) - 1); }

uint64_t NanCode(ElementType type) {
  switch (InfoOf(type).layout.style) {
    case FloatStyle::kFnuz: return 0x80;
    case FloatStyle::kE8m0: return 0xFF;
    default: return SignBit(type) - 1;
  }
}

bool IsNan(uint64_t code, ElementType type) {
  const FloatLayout layout = InfoOf(type).layout;
  switch (layout.style) {
    case FloatStyle::kIeee:
      return (code & (SignBit(type) - 1)) > ((uint64_t{1} << layout.exponent_bits) - 1)
                                                << layout.mantissa_bits;
    case FloatStyle::kFn: return (code & 0x7F) == 0x7F;
    case FloatStyle::kFnuz: return code == 0x80;
    case FloatStyle::kE8m0: return code == 0xFF;
    default: return false;
  }
}

// The code of the value nearest to the text.
uint64_t ReadFloat(const std::string& text, ElementType type) {
  if (type == ElementType::kFloat)
    return std::bit_cast<uint32_t>(std::strtof(text.c_str(), nullptr));
  if (type == ElementType::kDouble)
    return std::bit_cast<uint64_t>(std::strtod(text.c_str(), nullptr));
  const double value = std::strtod(text.c_str(), nullptr);
  if (std::isnan(value)) return NanCode(type);
  if (std::isinf(value)) {
    const FloatLayout layout = InfoOf(type).layout;
    return (((uint64_t{1} << layout.exponent_bits) - 1) << layout.mantissa_bits) |
           (value < 0 ? SignBit(type) : 0);
  }
  if (text == "-0") return SignBit(type);
  static auto* const tables = new std::map<ElementType, std::map<double, uint64_t>>;
  auto table = tables->find(type);
  if (table == tables->end()) table = tables->emplace(type, ValuesOf(type)).first;
  const auto above = table->second.lower_bound(value);
  if (above == table->second.begin()) return above->second;
  const auto below = std::prev(above);
  if (above == table->second.end()) return below->second;
  return above->first - value < value - below->first ? above->second : below->second;
}

uint64_t ReadElement(const std::string& text, ElementType type) {
  if (type == ElementType::kBool) return text == "true" ? 1 : 0;
  if (IsFloat(type)) return ReadFloat(text, type);
  const uint64_t value =
      text[0] == '-' ? static_cast<uint64_t>(std::stoll(text)) : std::stoull(text);
  return BitsOf(type) == 64 ? value : value & ((uint64_t{1} << BitsOf(type)) - 1);
}

Tensor TensorFrom(const Text& text) {
  if (text.type == ElementType::kString) {
    std::vector<std::string> strings;
    for (const std::string& value : text.values)
      strings.push_back(value.substr(1, value.size() - 2));
    return StringTensor(text.dims, strings);
  }
  cast_test::Codes codes;
  for (const std::string& value : text.values) codes.push_back(ReadElement(value, text.type));
  return cast_test::TensorOfCodes(text.type, codes).WithDims(text.dims);
}

Tensor Zeros(ElementType type, int64_t count) {
  if (type == ElementType::kString) return StringTensor({count}, std::vector<std::string>(count));
  return cast_test::TensorOfCodes(type, cast_test::Codes(static_cast<size_t>(count)));
}

void ExpectEqual(const Tensor& found, const Tensor& expected) {
  ASSERT_EQ(TypeAndDims(found), TypeAndDims(expected));
  if (expected.is_string()) {
    EXPECT_EQ(found.strings(), expected.strings());
    return;
  }
  const cast_test::Codes found_codes = cast_test::CodesOf(found);
  const cast_test::Codes expected_codes = cast_test::CodesOf(expected);
  for (size_t i = 0; i < expected_codes.size(); ++i) {
    if (IsFloat(expected.type()) && IsNan(expected_codes[i], expected.type())) {
      EXPECT_TRUE(IsNan(found_codes[i], expected.type())) << "element " << i;
    } else {
      EXPECT_EQ(found_codes[i], expected_codes[i]) << "element " << i;
    }
  }
}

class CastLikePagesTest : public testing::TestWithParam<Case> {};

TEST_P(CastLikePagesTest, GivesThePagesResult) {
  const Case& c = GetParam();
  const Tensor input = TensorFrom(c.input);
  const Tensor expected = TensorFrom(c.expected);
  ASSERT_EQ(c.target, c.expected.type);
  std::vector<Attribute> attributes;
  if (!c.saturate) attributes.push_back(IntAttr("saturate", 0));
  // As the page has it, and with the target and the input as initializers, the target empty.
  for (const bool constant_target : {false, true}) {
    for (const bool constant_input : {false, true}) {
      SCOPED_TRACE(testing::Message() << "target constant: " << constant_target
                                      << ", input constant: " << constant_input);
      const Tensor target = Zeros(c.target, constant_target ? 0 : 1);
      ModelBuilder builder(c.opset);
      std::vector<Value> fed;
      const auto add = [&](const char* name, const Tensor& tensor, bool constant) {
        if (constant) {
          builder.Initializer(name, Value(tensor));
        } else {
          builder.Input(name,
                        TensorType(tensor.type(), {tensor.dims().begin(), tensor.dims().end()}));
          fed.emplace_back(tensor);
        }
      };
      add("input", input, constant_input);
      add("target_type", target, constant_target);
      builder.Node("CastLike", {"input", "target_type"}, {"output"}, attributes);
      builder.Output("output", c.target, {c.expected.dims.begin(), c.expected.dims.end()});
      const auto outputs = LoadAndRun(builder.Build(), fed);
      ASSERT_TRUE(outputs.ok()) << outputs.status();
      ExpectEqual((*outputs)[0].tensor(), expected);
      const auto session = Load(builder.Build());
      const bool too_new =
          std::max(InfoOf(c.input.type).first_opset, InfoOf(c.target).first_opset) > c.opset;
      EXPECT_EQ((*session)->warnings().empty(), !too_new);
      for (const std::string& warning : (*session)->warnings()) {
        EXPECT_THAT(warning, HasSubstr("a later version accepts it"));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Pages, CastLikePagesTest, testing::ValuesIn(ReadCases()),
                         [](const testing::TestParamInfo<Case>& info) { return info.param.name; });

TEST(CastLikePagesTableTest, TheTableIsWhole) {
  std::map<int64_t, int> pages;
  int own = 0;
  int newer = 0;
  for (const Case& c : ReadCases()) {
    EXPECT_NE(c.input.type, ElementType::kUndefined) << c.name;
    EXPECT_NE(c.expected.type, ElementType::kUndefined) << c.name;
    EXPECT_EQ(c.input.values.size(), c.expected.values.size()) << c.name;
    if (c.name.rfind("test_", 0) == 0) {
      ++pages[c.opset];
      newer += std::max(InfoOf(c.input.type).first_opset, InfoOf(c.target).first_opset) > c.opset
                   ? 1
                   : 0;
    } else {
      ++own;
    }
  }
  EXPECT_EQ(pages, (std::map<int64_t, int>{{15, 132}, {21, 38}, {25, 10}}));  // 180
  EXPECT_EQ(own, 50);   // UINT32 and UINT64 with the 12 other types, both ways, and with each other
  EXPECT_EQ(newer, 4);  // FLOAT8E8M0 at opset 21
}

TEST(CastLikePagesTableTest, ValuesAreReadFromTheLayoutAlone) {
  EXPECT_EQ(ReadElement("448", ElementType::kFloat8e4m3fn), 0x7E);
  EXPECT_EQ(ReadElement("0.46875", ElementType::kFloat8e4m3fn), 0x2F);
  EXPECT_EQ(ReadElement("-240", ElementType::kFloat8e4m3fnuz), 0xFF);
  EXPECT_EQ(ReadElement("57344", ElementType::kFloat8e5m2), 0x7B);
  EXPECT_EQ(ReadElement("-inf", ElementType::kFloat8e5m2), 0xFC);
  EXPECT_EQ(ReadElement("57344", ElementType::kFloat8e5m2fnuz), 0x7F);
  EXPECT_EQ(ReadElement("6e-39", ElementType::kFloat8e8m0), 0x00);
  EXPECT_EQ(ReadElement("8", ElementType::kFloat8e8m0), 0x82);
  EXPECT_EQ(ReadElement("0.479", ElementType::kFloat16), 0x37AA);
  EXPECT_EQ(ReadElement("1e-07", ElementType::kFloat16), 0x0002);
  EXPECT_EQ(ReadElement("-3", ElementType::kBfloat16), 0xC040);
  EXPECT_EQ(ReadElement("-8", ElementType::kInt4), 0x8);
  EXPECT_EQ(ReadElement("5.877472e-39", ElementType::kFloat), 0x00400000);
}

}  // namespace
}  // namespace onnx_run
