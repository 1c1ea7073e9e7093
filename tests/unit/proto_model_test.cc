// Models to bytes and back, and models that must be refused.
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "onnx/onnx-ml.pb.h"
#include "proto/load.h"
#include "proto/model_proto.h"
#include "proto/save.h"
#include "tests/unit/model_builder.h"
#include "tests/unit/proto_test_util.h"

namespace onnx_run {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A model with something of everything.
Model Everything() {
  SparseTensor sparse;
  sparse.values = FloatTensor({2}, {1, 2});
  sparse.indices = Int64Tensor({2}, {0, 5});
  sparse.dims = {2, 3};
  Graph branch = GraphBuilder().Node("Identity", {"x"}, {"b"}).Output("b").Build();
  Attribute graphs;
  graphs.name = "graphs";
  graphs.kind = AttributeKind::kGraphs;
  graphs.graphs = {std::make_shared<const Graph>(branch), std::make_shared<const Graph>(branch)};
  Attribute tensors;
  tensors.name = "tensors";
  tensors.kind = AttributeKind::kTensors;
  tensors.values = {Value(FloatTensor({}, {1})), Value(StringTensor({1}, {"s"}))};
  Attribute types;
  types.name = "types";
  types.kind = AttributeKind::kTypeProtos;
  types.types = {
      TensorType(ElementType::kInt2),
      Type::OfOptional(Type::OfSequence(TensorType(ElementType::kFloat, {1, "N", std::nullopt}))),
      Type::OfMap(ElementType::kString, TensorType(ElementType::kFloat))};
  Type sparse_type = TensorType(ElementType::kFloat, {2, 3});
  sparse_type.kind = ValueKind::kSparseTensor;
  types.types.push_back(sparse_type);
  return ModelBuilder(25)
      .Opset("custom", 3)
      .Metadata("key", "value")
      .Input("x", ElementType::kFloat, {"N", 4, std::nullopt})
      .Input("s", Type::OfSequence(TensorType(ElementType::kInt4)))
      .Input("untyped", Type())
      .Initializer("w", FloatTensor({2}, {1, 2}))
      .ValueInfo("y", TensorType(ElementType::kBool, {}))
      .Node("Cast", {"x", "", "z"}, {"", "y", ""},
            {IntAttr("to", 9), FloatAttr("f", -0.0f), StringAttr("s", std::string("a\0b", 3))}, "",
            "named")
      .Node("Many", {}, {},
            {IntsAttr("is", {1, -1}), FloatsAttr("fs", {1.5f}), StringsAttr("ss", {"a", ""}),
             TensorAttr("t", Int64Tensor({1}, {7})), SparseTensorAttr("sp", sparse),
             TypeAttr("tp", TensorType(ElementType::kFloat)), GraphAttr("g", branch),
             IntsAttr("none", {}), graphs, tensors, types},
            "custom")
      .Output("y", ElementType::kBool, {"N", 4})
      .Function(FunctionBuilder("custom", "F")
                    .Overload("v2")
                    .Inputs({"a", "b"})
                    .Outputs({"c"})
                    .Attributes({"dtype"})
                    .Default(IntAttr("saturate", 1))
                    .Opset("", 13)
                    .Node("Cast", {"a"}, {"c"}, {RefAttr("to", "dtype", AttributeKind::kInt)})
                    .Build())
      .Build();
}

absl::StatusOr<Model> Load(const onnx::ModelProto& proto) {
  return LoadModelFromBytes(proto.SerializeAsString());
}

onnx::ModelProto Base() {
  onnx::ModelProto proto;
  proto.set_ir_version(10);
  proto.add_opset_import()->set_version(21);
  proto.mutable_graph()->set_name("g");
  return proto;
}

// A model with one node of one attribute, which `fill` makes.
template <typename Fill>
absl::StatusOr<Model> LoadAttribute(Fill fill, int64_t ir_version = 10) {
  onnx::ModelProto proto = Base();
  proto.set_ir_version(ir_version);
  onnx::NodeProto* node = proto.mutable_graph()->add_node();
  node->set_op_type("Cast");
  node->set_name("c");
  onnx::AttributeProto* attribute = node->add_attribute();
  attribute->set_name("to");
  fill(attribute);
  return Load(proto);
}

std::string MessageOf(const absl::StatusOr<Model>& model) {
  return std::string(model.status().message());
}

TEST(ModelProtoTest, RoundTrip) {
  const auto bytes = ModelToBytes(Everything());
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  const auto model = LoadModelFromBytes(*bytes);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(*ModelToBytes(*model), *bytes);

  EXPECT_EQ(model->ir_version, 13);
  ASSERT_EQ(model->opset_imports.size(), 2u);
  EXPECT_EQ(model->opset_imports[1].domain, "custom");
  EXPECT_EQ(model->metadata[0].second, "value");
  EXPECT_EQ(TypeToString(model->graph.inputs[0].type, true), "tensor(float)[N,4,?]");
  EXPECT_EQ(model->graph.inputs[2].type.kind, ValueKind::kAbsent);
  const Node& cast = model->graph.nodes[0];
  EXPECT_EQ(cast.name, "named");
  EXPECT_THAT(cast.inputs, ElementsAre("x", "", "z"));
  EXPECT_THAT(cast.outputs, ElementsAre("", "y", ""));
  EXPECT_EQ(cast.attributes[0].i, 9);
  EXPECT_TRUE(std::signbit(cast.attributes[1].f));
  EXPECT_EQ(cast.attributes[2].s, std::string("a\0b", 3));
  const Node& many = model->graph.nodes[1];
  ASSERT_EQ(many.attributes.size(), 11u);
  EXPECT_THAT(many.attributes[0].ints, ElementsAre(1, -1));
  EXPECT_EQ(many.attributes[3].values[0].tensor().data_as<int64_t>()[0], 7);
  EXPECT_EQ(many.attributes[4].values[0].kind(), ValueKind::kSparseTensor);
  EXPECT_EQ(many.attributes[6].graphs[0]->nodes[0].op_type, "Identity");
  EXPECT_EQ(many.attributes[7].kind, AttributeKind::kInts);
  EXPECT_EQ(many.attributes[8].graphs.size(), 2u);
  EXPECT_EQ(many.attributes[9].values[1].tensor().strings()[0], "s");
  EXPECT_EQ(TypeToString(many.attributes[10].types[1], true),
            "optional(seq(tensor(float)[1,N,?]))");
  const Function& function = model->functions[0];
  EXPECT_EQ(function.overload, "v2");
  EXPECT_EQ(function.nodes[0].attributes[0].ref_attr_name, "dtype");
  EXPECT_EQ(function.attribute_defaults[0].i, 1);
}

TEST(ModelProtoTest, BytesMayBeFreedAfterTheCall) {
  std::string weights(100000, 'w');
  auto bytes = std::make_unique<std::string>(
      *ModelToBytes(ModelBuilder(21)
                        .Initializer("w", *Tensor::Of<char>(ElementType::kUint8, {100000}, weights))
                        .Build()));
  const auto model = LoadModelFromBytes(*bytes);
  ASSERT_TRUE(model.ok()) << model.status();
  std::fill(bytes->begin(), bytes->end(), 'x');
  bytes.reset();
  const Tensor& tensor = model->graph.initializers[0].value.tensor();
  EXPECT_EQ(std::string(tensor.data_as<char>(), 100000), weights);
}

TEST(ModelProtoTest, BothSpellingsOfTheDefaultDomain) {
  onnx::ModelProto proto = Base();
  proto.mutable_opset_import(0)->set_domain("ai.onnx");
  proto.add_opset_import()->set_domain("ai.onnx.ml");
  onnx::NodeProto* node = proto.mutable_graph()->add_node();
  node->set_domain("ai.onnx");
  onnx::FunctionProto* function = proto.add_functions();
  function->set_domain("ai.onnx");
  function->add_opset_import()->set_domain("ai.onnx");
  const auto model = Load(proto);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->opset_imports[0].domain, "");
  EXPECT_EQ(model->opset_imports[1].domain, "ai.onnx.ml");
  EXPECT_EQ(model->graph.nodes[0].domain, "");
  EXPECT_EQ(model->functions[0].domain, "");
  EXPECT_EQ(model->functions[0].opset_imports[0].domain, "");
}

TEST(ModelProtoTest, SparseInitializersAreMadeDense) {
  onnx::ModelProto proto = Base();
  onnx::SparseTensorProto* sparse = proto.mutable_graph()->add_sparse_initializer();
  sparse->add_dims(4);
  sparse->mutable_values()->set_name("w");
  sparse->mutable_values()->set_data_type(onnx::TensorProto::FLOAT);
  sparse->mutable_values()->add_dims(1);
  sparse->mutable_values()->add_float_data(5);
  sparse->mutable_indices()->set_data_type(onnx::TensorProto::INT64);
  sparse->mutable_indices()->add_dims(1);
  sparse->mutable_indices()->add_int64_data(2);
  const auto model = Load(proto);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->graph.initializers[0].name, "w");
  EXPECT_THAT(model->graph.initializers[0].value.tensor().span<float>(), ElementsAre(0, 0, 5, 0));

  // The limit is on all of them together.
  sparse->set_dims(0, 1000);
  *proto.mutable_graph()->add_sparse_initializer() = *sparse;
  LoadOptions options;
  options.max_dense_bytes = 7999;
  const auto refused = LoadModelFromBytes(proto.SerializeAsString(), options);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
  options.max_dense_bytes = 8000;
  EXPECT_TRUE(LoadModelFromBytes(proto.SerializeAsString(), options).ok());
}

// --- Attributes --------------------------------------------------------------

TEST(ModelProtoTest, AttributeWithoutType) {
  const auto fill = [](onnx::AttributeProto* attribute) { attribute->set_i(1); };
  const auto refused = LoadAttribute(fill);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(MessageOf(refused),
              AllOf(HasSubstr("main graph: node #0 Cast \"c\": attribute \"to\""),
                    HasSubstr("no known type"), HasSubstr("in i")));
  const auto inferred = LoadAttribute(fill, 1);
  ASSERT_TRUE(inferred.ok()) << inferred.status();
  EXPECT_EQ(inferred->graph.nodes[0].attributes[0].kind, AttributeKind::kInt);
  EXPECT_FALSE(LoadAttribute(
                   [](onnx::AttributeProto* attribute) {
                     attribute->set_i(1);
                     attribute->set_f(1);
                   },
                   1)
                   .ok());
  EXPECT_FALSE(LoadAttribute([](onnx::AttributeProto*) {}, 1).ok());
  EXPECT_FALSE(LoadAttribute([](onnx::AttributeProto*) {}).ok());
}

TEST(ModelProtoTest, AttributeOfUnknownType) {
  // Enumerators that this protobuf does not know do not count as set.
  EXPECT_FALSE(LoadAttribute([](onnx::AttributeProto* attribute) {
                 attribute->ParseFromString(std::string("\x0A\x02to\xA0\x01\x63\x18\x01", 9));
               }).ok());
}

TEST(ModelProtoTest, AttributeValueInTheWrongField) {
  const auto wrong = LoadAttribute([](onnx::AttributeProto* attribute) {
    attribute->set_type(onnx::AttributeProto::INT);
    attribute->set_f(1);
  });
  EXPECT_THAT(MessageOf(wrong),
              AllOf(HasSubstr("\"to\""), HasSubstr("type INT"), HasSubstr("in f")));
  const auto both = LoadAttribute([](onnx::AttributeProto* attribute) {
    attribute->set_type(onnx::AttributeProto::INT);
    attribute->set_i(1);
    attribute->add_ints(1);
  });
  EXPECT_THAT(MessageOf(both), HasSubstr("i and ints"));
  const auto no_tensor = LoadAttribute(
      [](onnx::AttributeProto* attribute) { attribute->set_type(onnx::AttributeProto::TENSOR); });
  EXPECT_THAT(MessageOf(no_tensor), HasSubstr("nothing"));
  // Writers of proto3 leave zeros out.
  const auto zero = LoadAttribute(
      [](onnx::AttributeProto* attribute) { attribute->set_type(onnx::AttributeProto::INT); });
  ASSERT_TRUE(zero.ok()) << zero.status();
  EXPECT_EQ(zero->graph.nodes[0].attributes[0].kind, AttributeKind::kInt);
  const auto reference = LoadAttribute([](onnx::AttributeProto* attribute) {
    attribute->set_type(onnx::AttributeProto::INT);
    attribute->set_ref_attr_name("r");
    attribute->set_i(1);
  });
  EXPECT_THAT(MessageOf(reference), HasSubstr("\"r\""));
}

TEST(ModelProtoTest, FaultsAreNamedByTheirWay) {
  onnx::ModelProto proto = Base();
  onnx::NodeProto* node = proto.mutable_graph()->add_node();
  node->set_op_type("If");
  node->set_name("choice");
  onnx::AttributeProto* branch = node->add_attribute();
  branch->set_name("then_branch");
  branch->set_type(onnx::AttributeProto::GRAPH);
  onnx::TensorProto* tensor = branch->mutable_g()->add_initializer();
  tensor->set_name("w");
  tensor->set_data_type(1);
  EXPECT_THAT(MessageOf(Load(proto)),
              HasSubstr("main graph: node #0 If \"choice\": attribute \"then_branch\": "
                        "initializer #0: tensor \"w\" of FLOAT[]: has no data"));
}

// --- Types -------------------------------------------------------------------

TEST(ModelProtoTest, DeclaredTypes) {
  onnx::ModelProto proto = Base();
  onnx::ValueInfoProto* input = proto.mutable_graph()->add_input();
  input->set_name("x");
  auto* tensor = input->mutable_type()->mutable_tensor_type();
  tensor->mutable_shape()->add_dim()->set_dim_value(-1);  // "unknown" of older exporters
  const auto model = Load(proto);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(TypeToString(model->graph.inputs[0].type, true), "tensor(undefined)[?]");
  tensor->mutable_shape()->mutable_dim(0)->set_dim_param("?");  // neither is this a name
  const auto unnamed = Load(proto);
  ASSERT_TRUE(unnamed.ok()) << unnamed.status();
  EXPECT_EQ(unnamed->graph.inputs[0].type.shape->at(0).param, "");
  tensor->set_elem_type(99);
  EXPECT_THAT(MessageOf(Load(proto)), AllOf(HasSubstr("input #0 \"x\""), HasSubstr("99")));
  input->mutable_type()->mutable_opaque_type()->set_name("o");
  EXPECT_EQ(Load(proto).status().code(), absl::StatusCode::kUnimplemented);

  // value_info is only a hint.
  onnx::ModelProto hints = Base();
  *hints.mutable_graph()->add_value_info() = *input;
  std::vector<std::string> warnings;
  LoadOptions options;
  options.warnings = &warnings;
  EXPECT_TRUE(LoadModelFromBytes(hints.SerializeAsString(), options).ok());
  EXPECT_EQ(warnings.size(), 1u);
}

// --- Files and bytes ---------------------------------------------------------

TEST(LoadTest, Files) {
  const TemporaryFolder folder;
  const std::string path = folder.File("m.onnx");
  ASSERT_TRUE(SaveModel(Everything(), path).ok());
  EXPECT_TRUE(LoadModel(path).ok());

  const auto missing = LoadModel(folder.File("none.onnx"));
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(MessageOf(missing), HasSubstr(folder.File("none.onnx")));
  EXPECT_THAT(MessageOf(LoadModel(folder.path())), HasSubstr("is a directory"));
  const auto empty = LoadModel(folder.Write("empty.onnx", ""));
  EXPECT_THAT(MessageOf(empty), AllOf(HasSubstr("empty.onnx"), HasSubstr("is empty")));
  const auto text = LoadModel(folder.Write("readme.onnx", "# Not a model\n\nReally not.\n"));
  EXPECT_THAT(MessageOf(text), AllOf(HasSubstr("readme.onnx"), HasSubstr("not")));
  EXPECT_FALSE(LoadModel(folder.Write("zeros.onnx", std::string(1000, '\0'))).ok());
  EXPECT_FALSE(LoadModel(std::string("a\0b", 3)).ok());
  EXPECT_FALSE(LoadModel("").ok());
  ASSERT_EQ(mkfifo(folder.File("fifo").c_str(), 0600), 0);
  EXPECT_THAT(MessageOf(LoadModel(folder.File("fifo"))), HasSubstr("not a regular file"));
}

TEST(LoadTest, NoGraph) {
  EXPECT_THAT(MessageOf(Load(onnx::ModelProto())), HasSubstr("is empty"));
  onnx::ModelProto proto;
  proto.set_ir_version(10);
  EXPECT_THAT(MessageOf(Load(proto)), HasSubstr("no graph"));
}

TEST(LoadTest, TruncatedAtEveryByte) {
  const std::string bytes = *ModelToBytes(Everything());
  const auto start = std::chrono::steady_clock::now();
  for (size_t size = 0; size < bytes.size(); ++size) {
    const auto model = LoadModelFromBytes(absl::string_view(bytes).substr(0, size));
    // Cut between two fields of the outermost message it may still be a model.
    if (!model.ok()) {
      EXPECT_TRUE(model.status().code() == absl::StatusCode::kDataLoss ||
                  model.status().code() == absl::StatusCode::kInvalidArgument)
          << model.status();
    }
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  const auto cut = LoadModelFromBytes(absl::string_view(bytes).substr(0, bytes.size() / 2));
  EXPECT_EQ(cut.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(MessageOf(cut), HasSubstr("ends too early"));
}

TEST(LoadTest, EveryBitFlipped) {
  const std::string bytes = *ModelToBytes(Everything());
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
      const auto model = LoadModelFromBytes(changed);
      EXPECT_TRUE(!model.ok() || ModelToBytes(*model).ok());
    }
  }
}

TEST(LoadTest, LengthsThatLie) {
  // Field 7 (graph) and field 2 (producer_name) of 2 GiB and more.
  for (const std::string& bytes :
       {std::string("\x3A\xFF\xFF\xFF\xFF\x07"), std::string("\x12\xFF\xFF\xFF\xFF\x07"),
        std::string("\x3A\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"),
        std::string("\x3A\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01")}) {
    EXPECT_FALSE(LoadModelFromBytes(bytes).ok());
  }
  // Groups, which ONNX has none of, nested without end; and one that ends what it did not begin.
  EXPECT_FALSE(LoadModelFromBytes(std::string(1000000, '\x0B')).ok());
  const std::string good = *ModelToBytes(Everything());
  EXPECT_FALSE(LoadModelFromBytes(absl::StrCat(good, "\x0C")).ok());
}

TEST(LoadTest, ModelBytesAreLimited) {
  const std::string bytes = *ModelToBytes(Everything());
  LoadOptions options;
  options.max_model_bytes = static_cast<int64_t>(bytes.size());
  EXPECT_TRUE(LoadModelFromBytes(bytes, options).ok());
  --options.max_model_bytes;
  EXPECT_EQ(LoadModelFromBytes(bytes, options).status().code(),
            absl::StatusCode::kResourceExhausted);
}

// If nodes inside of each other, written from the inside out; no recursion here either.
std::string NestedIf(int depth) {
  const auto wrap = [](int field, const std::string& inner) {
    std::string out;
    out.push_back(static_cast<char>(field << 3 | 2));
    for (size_t size = inner.size();; size >>= 7) {
      out.push_back(static_cast<char>((size & 0x7F) | (size >= 0x80 ? 0x80 : 0)));
      if (size < 0x80) break;
    }
    return out + inner;
  };
  std::string graph;
  for (int i = 0; i < depth; ++i) {
    const std::string type("\xA0\x01\x05", 3);  // AttributeProto.type = GRAPH
    const std::string node = wrap(4, "If") + wrap(5, type + wrap(6, graph));
    graph = wrap(1, node);
  }
  return std::string("\x08\x0A", 2) + wrap(7, graph);
}

TEST(LoadTest, SubgraphNestingIsLimited) {
  for (int depth : {1, 40, 64}) {
    const auto model = LoadModelFromBytes(NestedIf(depth));
    EXPECT_TRUE(model.ok()) << depth << " " << model.status();
  }
  for (int depth : {65, 66, 85, 90, 200, 5000}) {
    const auto model = LoadModelFromBytes(NestedIf(depth));
    EXPECT_EQ(model.status().code(), absl::StatusCode::kResourceExhausted)
        << depth << " " << model.status();
    EXPECT_THAT(MessageOf(model), HasSubstr("limit of 64"));
  }
  LoadOptions options;
  options.max_subgraph_depth = 200;
  EXPECT_TRUE(LoadModelFromBytes(NestedIf(200), options).ok());
  EXPECT_FALSE(LoadModelFromBytes(NestedIf(201), options).ok());
  options.max_subgraph_depth = 0;
  EXPECT_TRUE(LoadModelFromBytes(NestedIf(0), options).ok());
  EXPECT_FALSE(LoadModelFromBytes(NestedIf(1), options).ok());
}

TEST(LoadTest, DeepTypes) {
  onnx::TypeProto type;
  type.mutable_tensor_type()->set_elem_type(1);
  for (int i = 0; i < 2000; ++i) {
    onnx::TypeProto outer;
    outer.mutable_sequence_type()->mutable_elem_type()->Swap(&type);
    type.Swap(&outer);
  }
  onnx::ModelProto proto = Base();
  *proto.mutable_graph()->add_input()->mutable_type() = type;
  EXPECT_FALSE(Load(proto).ok());
}

TEST(LoadTest, TenThousandNodesInMilliseconds) {
  ModelBuilder builder(21);
  for (int i = 0; i < 10000; ++i) {
    builder.Node("Cast", {absl::StrCat("v", i)}, {absl::StrCat("v", i + 1)}, {IntAttr("to", 1)});
  }
  const std::string bytes = *ModelToBytes(builder.Build());
  auto best = std::chrono::steady_clock::duration::max();
  for (int i = 0; i < 5; ++i) {
    const auto start = std::chrono::steady_clock::now();
    ASSERT_TRUE(LoadModelFromBytes(bytes).ok());
    best = std::min(best, std::chrono::steady_clock::now() - start);
  }
  // Ten times what it takes: only a change of order must fail here, a busy machine not.
  EXPECT_LT(best, std::chrono::milliseconds(200));
}

}  // namespace
}  // namespace onnx_run
