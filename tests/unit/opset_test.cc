// Which models, opsets, IR versions and types are taken: domains and imports (B13), `to` (B29), IR
// versions (B30), types newer than the opset.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "onnx/onnx-ml.pb.h"
#include "proto/load.h"
#include "tests/unit/cast_session_util.h"

namespace onnx_run {
namespace {

using cast_test::CastModel;
using cast_test::Codes;
using cast_test::CodesOf;
using cast_test::Load;
using cast_test::LoadAndRun;
using cast_test::Refused;
using cast_test::Strict;
using cast_test::TensorOfCodes;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using E = ElementType;

std::string Message(const absl::Status& status) { return std::string(status.message()); }

Tensor Floats(std::initializer_list<float> values) {
  return FloatTensor({static_cast<int64_t>(values.size())}, values);
}

// One Cast of FLOAT to INT32.
ModelBuilder TrivialCast(int64_t opset, int64_t ir_version = 0) {
  ModelBuilder builder(opset, ir_version);
  builder.Input("x", TensorType(E::kFloat)).Output("y");
  builder.Node("Cast", {"x"}, {"y"}, {opset < 6 ? StringAttr("to", "INT32") : IntAttr("to", 6)});
  return builder;
}

void ExpectRuns(Model model, SessionOptions options = {}) {
  const auto outputs =
      LoadAndRun(std::move(model), {Value(Floats({-1.5F, 2.75F}))}, std::move(options));
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ(CodesOf((*outputs)[0].tensor()), (Codes{0xFFFFFFFF, 2}));
}

// --- Domains and imports (B13) --------------------------------------------------

TEST(OpsetTest, BothSpellingsOfTheDefaultDomain) {
  for (const char* import : {"", "ai.onnx"}) {
    for (const char* domain : {"", "ai.onnx"}) {
      onnx::ModelProto proto;
      proto.set_ir_version(10);
      onnx::OperatorSetIdProto* opset = proto.add_opset_import();
      opset->set_domain(import);
      opset->set_version(21);
      proto.mutable_graph()->set_name("g");
      onnx::ValueInfoProto* x = proto.mutable_graph()->add_input();
      x->set_name("x");
      x->mutable_type()->mutable_tensor_type()->set_elem_type(1);
      onnx::NodeProto* node = proto.mutable_graph()->add_node();
      node->set_op_type("Cast");
      node->set_domain(domain);
      node->add_input("x");
      node->add_output("y");
      onnx::AttributeProto* to = node->add_attribute();
      to->set_name("to");
      to->set_type(onnx::AttributeProto::INT);
      to->set_i(6);
      onnx::ValueInfoProto* y = proto.mutable_graph()->add_output();
      y->set_name("y");
      y->mutable_type()->mutable_tensor_type()->set_elem_type(6);
      auto model = LoadModelFromBytes(proto.SerializeAsString());
      ASSERT_TRUE(model.ok()) << model.status();
      ExpectRuns(*std::move(model));
    }
  }
}

TEST(OpsetTest, AnImportOfAnotherDomainIsNoImportOfOurs) {
  const absl::Status status = Refused(TrivialCast(21).ClearOpsets().Opset("ai.onnx.ml", 3).Build());
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(status), AllOf(HasSubstr("node #0 Cast"), HasSubstr("main graph"),
                                     HasSubstr("domain \"ai.onnx\" is not imported by the model")));
}

TEST(OpsetTest, AGraphThatNeedsNoOperatorNeedsNoImportOfThem) {
  const auto outputs = LoadAndRun(ModelBuilder(21)
                                      .ClearOpsets()
                                      .Opset("ai.onnx.ml", 3)
                                      .Input("x", TensorType(E::kFloat))
                                      .Output("x")
                                      .Build(),
                                  {Value(Floats({1}))});
  EXPECT_TRUE(outputs.ok()) << outputs.status();
}

TEST(OpsetTest, OfDuplicateImportsTheHighestBinds) {
  for (const std::vector<int64_t>& versions :
       {std::vector<int64_t>{12, 21}, {21, 12}, {21, 21}, {13, 21, 19}}) {
    ModelBuilder builder = TrivialCast(21);
    builder.ClearOpsets();
    for (const int64_t version : versions) builder.Opset("", version);
    const Model model = builder.Build();
    ExpectRuns(model);
    // saturate came with 19.
    Model saturating = model;
    saturating.graph.nodes[0].attributes.push_back(IntAttr("saturate", 0));
    ExpectRuns(saturating);
    const auto session = Load(model);
    ASSERT_TRUE(session.ok()) << session.status();
    if (versions == std::vector<int64_t>{21, 21}) {
      EXPECT_THAT((*session)->warnings(), IsEmpty());
    } else {
      EXPECT_FALSE((*session)->warnings().empty());
      EXPECT_THAT((*session)->warnings()[0],
                  HasSubstr("domain ai.onnx is imported twice, the highest version binds"));
    }
  }
}

TEST(OpsetTest, AnOpsetNewerThanKnownIsRefusedWithBothNumbers) {
  const int64_t newest = StandardSchemas().FindDomain("")->max_version;
  ExpectRuns(TrivialCast(newest).Build());
  for (const int64_t version : {newest + 1, int64_t{1000}, INT64_MAX}) {
    const absl::Status status = Refused(TrivialCast(version, 13).Build());
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(Message(status), absl::StrCat("the model imports opset ", version,
                                            " of ai.onnx, the newest supported is ", newest));
  }
  for (const int64_t version : {int64_t{0}, int64_t{-1}, INT64_MIN}) {
    EXPECT_THAT(
        Message(Refused(TrivialCast(version, 8).Build())),
        HasSubstr(absl::StrCat("opset version ", version, " of domain ai.onnx is not positive")));
  }
}

TEST(OpsetTest, AnUnknownDomainMayBeImportedUnused) {
  ExpectRuns(TrivialCast(21).Opset("com.example", 7).Build());
}

// --- IR versions (B30) ------------------------------------------------------------

TEST(OpsetTest, IrVersionsUpToTheNewestKnown) {
  const int newest = StandardSchemas().max_ir_version;
  EXPECT_GE(newest, 13);
  for (int version = 3; version <= newest; ++version) ExpectRuns(TrivialCast(13, version).Build());
}

TEST(OpsetTest, ANewerIrVersionIsRefusedWithBothNumbersUnlessAllowed) {
  const int newest = StandardSchemas().max_ir_version;
  for (const int version : {newest + 1, 99}) {
    const Model model = TrivialCast(13, version).Build();
    const std::string text =
        absl::StrCat("the model's ir_version is ", version, ", the newest supported is ", newest);
    EXPECT_EQ(Message(Refused(model)), text);
    SessionOptions options;
    options.allow_newer_ir_version = true;
    ExpectRuns(model, options);
    const auto session = Load(model, options);
    ASSERT_TRUE(session.ok());
    EXPECT_THAT((*session)->warnings(), ElementsAre(text));
  }
}

// Built by hand; what is read from a file has "" already.
TEST(OpsetTest, TheStandardsDomainMayBeNamed) {
  const Graph branch =
      GraphBuilder().Node("Cast", {"x"}, {"r"}, {IntAttr("to", 7)}, "ai.onnx").Output("r").Build();
  const Function function =
      FunctionBuilder("f", "Choose")
          .Inputs({"c", "x"})
          .Outputs({"y"})
          .Opset("ai.onnx", 13)
          .Node("If", {"c"}, {"y"},
                {GraphAttr("then_branch", branch), GraphAttr("else_branch", branch)}, "ai.onnx")
          .Build();
  ModelBuilder builder(13);
  builder.ClearOpsets().Opset("ai.onnx", 13).Opset("f", 1);
  const Model model = builder.Function(function)
                          .Input("c", ElementType::kBool, {})
                          .Input("x", ElementType::kFloat, {})
                          .Node("Choose", {"c", "x"}, {"y"}, {}, "f")
                          .Node("Identity", {"y"}, {"z"}, {}, "ai.onnx", "named")
                          .Output("z")
                          .Build();
  const auto session = Load(model);
  ASSERT_TRUE(session.ok()) << session.status();
  const auto outputs = (*session)->Run(
      {{"c", TensorOf<bool>(ElementType::kBool, {}, {true})}, {"x", FloatTensor({}, {2.5F})}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ(outputs->front().tensor().span<int64_t>()[0], 2);
}

TEST(OpsetTest, AMissingOrNegativeIrVersionIsRefused) {
  for (const int64_t version : {int64_t{0}, int64_t{-1}}) {
    EXPECT_THAT(
        Message(Refused(TrivialCast(13).IrVersion(version).Build())),
        HasSubstr(absl::StrCat("the model's ir_version is ", version, " or missing, expected 1 to ",
                               StandardSchemas().max_ir_version)));
  }
}

TEST(OpsetTest, BeforeIrVersion3ThereIsNoImportAndTheOpsetIs1) {
  for (const int version : {1, 2}) {
    ExpectRuns(TrivialCast(1, version).ClearOpsets().Build());
    EXPECT_THAT(Message(Refused(TrivialCast(1, version).Build())),
                HasSubstr("has no opset_import"));
    // The number is Cast-6's way.
    EXPECT_THAT(
        Message(Refused(TrivialCast(6, version).ClearOpsets().Build())),
        AllOf(HasSubstr("opset 1"), HasSubstr("attribute \"to\" is of type INT, expected STRING")));
  }
  EXPECT_THAT(Message(Refused(TrivialCast(13, 3).ClearOpsets().Build())),
              HasSubstr("a model of ir_version 3 needs an opset_import, and has none"));
}

// --- `to` (B29) -------------------------------------------------------------------

Model CastWith(int64_t opset, std::vector<Attribute> attributes) {
  return ModelBuilder(opset)
      .Input("x", TensorType(E::kFloat))
      .Node("Cast", {"x"}, {"y"}, std::move(attributes), "", "c")
      .Output("y")
      .Build();
}

TEST(OpsetTest, ToIsCheckedAtLoad) {
  struct Row {
    int opset;
    std::vector<Attribute> attributes;
    const char* message;
  };
  Attribute untyped = IntAttr("to", 1);
  untyped.kind = AttributeKind::kUndefined;
  const Row rows[] = {
      {13, {}, "attribute \"to\" (INT) is required by Cast-13 and missing"},
      {13, {IntAttr("to", 0)}, "attribute \"to\" is 0, expected "},
      {13, {IntAttr("to", 14)}, "attribute \"to\" is 14 (COMPLEX64), expected "},
      {13, {IntAttr("to", 15)}, "attribute \"to\" is 15 (COMPLEX128), expected "},
      {13, {IntAttr("to", 99)}, "attribute \"to\" is 99, expected "},
      {13, {IntAttr("to", 27)}, "attribute \"to\" is 27, expected "},
      {13, {IntAttr("to", -1)}, "attribute \"to\" is -1, expected "},
      {13, {IntAttr("to", (int64_t{1} << 32) + 1)}, "attribute \"to\" is 4294967297, expected "},
      {5, {IntAttr("to", 1)}, "attribute \"to\" is of type INT, expected STRING"},
      {5, {StringAttr("to", "float")}, "attribute \"to\" is \"float\", expected "},
      {5, {StringAttr("to", "")}, "attribute \"to\" is \"\", expected "},
      {5, {StringAttr("to", "COMPLEX64")}, "attribute \"to\" is \"COMPLEX64\", expected "},
      {5, {StringAttr("to", "UNDEFINED")}, "attribute \"to\" is \"UNDEFINED\", expected "},
      {6, {StringAttr("to", "FLOAT")}, "attribute \"to\" is of type STRING, expected INT"},
      {13, {FloatAttr("to", 1.0F)}, "attribute \"to\" is of type FLOAT, expected INT"},  // B28
      {13, {untyped}, "attribute \"to\" is of type UNDEFINED, expected INT"},
      {13, {IntAttr("to", 1), IntAttr("to", 6)}, "attribute \"to\" is given twice"},
      {13,
       {IntAttr("to", 1), IntAttr("saturate", 1)},
       "unknown attribute \"saturate\"; Cast-13 has: to"},
      {23,
       {IntAttr("to", 24), StringAttr("round_mode", "up")},
       "unknown attribute \"round_mode\"; Cast-23 has:"},
  };
  for (const Row& row : rows) {
    const absl::Status status = Refused(CastWith(row.opset, row.attributes));
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << row.message;
    EXPECT_THAT(Message(status), HasSubstr(row.message));
    EXPECT_THAT(Message(status), HasSubstr(absl::StrCat("node #0 Cast \"c\" (ai.onnx opset ",
                                                        row.opset, "), main graph: ")));
  }
}

// --- Types newer than the opset ---------------------------------------------------

TEST(OpsetTest, ATypeOfALaterVersionRunsWithAWarningAndIsRefusedWhenStrict) {
  struct Row {
    int opset;
    E from;
    E to;
    Codes x;
    Codes y;
    const char* text;  // of the warning
  };
  const Row rows[] = {
      {13,
       E::kFloat,
       E::kFloat8e4m3fn,
       {0x3F800000},
       {0x38},
       "output 0 \"output\" has type tensor(float8e4m3fn), accepted by Cast-13: "},
      {9,
       E::kFloat,
       E::kBfloat16,
       {0x3F800000},
       {0x3F80},
       "output 0 \"output\" has type tensor(bfloat16), accepted by Cast-9: "},
      {9,
       E::kBfloat16,
       E::kFloat,
       {0x3F80},
       {0x3F800000},
       "input 0 \"input\" has type tensor(bfloat16), accepted by Cast-9: "},
      {19,
       E::kInt8,
       E::kInt4,
       {0xFF},
       {0xF},
       "output 0 \"output\" has type tensor(int4), accepted by Cast-19: "},
      {21,
       E::kFloat,
       E::kFloat8e8m0,
       {0x3F800000},
       {0x7F},
       "output 0 \"output\" has type tensor(float8e8m0), accepted by Cast-21: "},
      {24,
       E::kInt2,
       E::kInt8,
       {0x3},
       {0xFF},
       "input 0 \"input\" has type tensor(int2), accepted by Cast-24: "},
  };
  for (const Row& row : rows) {
    const Tensor x = TensorOfCodes(row.from, row.x);
    const Model model = CastModel(row.opset, x, {row.to});
    const auto session = Load(model);
    ASSERT_TRUE(session.ok()) << session.status();
    ASSERT_EQ((*session)->warnings().size(), 1) << row.text;
    EXPECT_THAT(
        (*session)->warnings()[0],
        AllOf(HasSubstr(absl::StrCat("node #0 Cast (ai.onnx opset ", row.opset, "), main graph: ")),
              HasSubstr(row.text), HasSubstr("a later version accepts it")));
    const auto outputs = LoadAndRun(model, {Value(x)});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_EQ(CodesOf((*outputs)[0].tensor()), row.y);
    const absl::Status status = Refused(model, Strict());
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(Message(status), HasSubstr(row.text));
  }
  // What the version allows draws no warning, and is no fault when strict.
  const auto session = Load(CastModel(21, Floats({1}), {E::kInt4, E::kFloat8e5m2}), Strict());
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_THAT((*session)->warnings(), IsEmpty());
}

TEST(OpsetTest, StringsBeforeNineAreOfALaterVersionToo) {  // B29 i
  const Model model = CastModel(6, Floats({1.5F}), {E::kString});
  EXPECT_THAT(Message(Refused(model, Strict())), HasSubstr("accepted by Cast-6: "));
  const auto outputs = LoadAndRun(model, {Value(Floats({1.5F}))});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT((*outputs)[0].tensor().strings(), ElementsAre("1.5"));
}

TEST(OpsetTest, StrictHoldsWhenTheTypeIsKnownOnlyAtRunTime) {
  // The declaration of x is left out, so that only the run tells its type.
  const Model model = ModelBuilder(13)
                          .Input("x", Type())
                          .Node("Cast", {"x"}, {"y"}, {IntAttr("to", 1)})
                          .Output("y")
                          .Build();
  const Value x(TensorOfCodes(E::kFloat8e4m3fn, {0x38}));
  const auto lenient = LoadAndRun(model, {x});
  ASSERT_TRUE(lenient.ok()) << lenient.status();
  EXPECT_EQ(CodesOf((*lenient)[0].tensor()), Codes{0x3F800000});
  const auto strict = LoadAndRun(model, {x}, Strict());
  ASSERT_FALSE(strict.ok());
  EXPECT_THAT(Message(strict.status()),
              HasSubstr("input 0 \"input\" has type tensor(float8e4m3fn)"));
}

TEST(OpsetTest, ComplexIsNeverCast) {
  for (const int opset : {6, 13, 25}) {
    for (const E type : {E::kComplex64, E::kComplex128}) {
      const Model model = ModelBuilder(opset)
                              .Input("x", TensorType(type))
                              .Node("Cast", {"x"}, {"y"}, {IntAttr("to", 1)})
                              .Output("y")
                              .Build();
      EXPECT_THAT(Message(Refused(model)),
                  AllOf(HasSubstr(absl::StrCat("has type tensor(", InfoOf(type).type_string, ")")),
                        HasSubstr("accepted by Cast-"), Not(HasSubstr("a later version"))));
    }
  }
}

}  // namespace
}  // namespace onnx_run
