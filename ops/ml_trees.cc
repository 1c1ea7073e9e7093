// TreeEnsemble, TreeEnsembleClassifier and TreeEnsembleRegressor of ai.onnx.ml.
//
// Both ways of writing trees down become the same Forest at load, where every index is checked and
// trees with a cycle are refused; evaluating one can then only end at a leaf. Features, splits and
// weights are compared and added up in double, which holds all of their types but large int64, and
// rounded once.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "ops/dispatch.h"
#include "ops/families.h"
#include "ops/kernel_table.h"
#include "ops/ml_util.h"
#include "runtime/status_macros.h"

namespace onnx_run {
namespace {

using Doubles = std::vector<double>;

// The numbers are those of TreeEnsemble's attributes.
enum class Mode : uint8_t { kLeq, kLt, kGte, kGt, kEq, kNeq, kMember };
enum class Aggregate : uint8_t { kAverage, kSum, kMin, kMax };

// A place in a forest: a node, or the complement of a leaf.
using Place = int64_t;

struct TreeNode {
  Mode mode;
  bool missing_goes_true;
  int64_t feature;
  double split;
  Place on_true;
  Place on_false;
  int64_t members_begin = 0;  // of kMember: sorted, in Forest::members
  int64_t members_end = 0;
};

struct Vote {
  int64_t target;
  double weight;
};

struct Forest {
  std::vector<TreeNode> nodes;
  std::vector<Place> roots;
  std::vector<int64_t> first_vote;  // votes of leaf i are [first_vote[i], first_vote[i + 1])
  std::vector<Vote> votes;
  Doubles members;
  int64_t features = 0;  // how many the nodes look at
  int64_t targets = 0;

  absl::Span<const Vote> VotesAt(Place leaf) const {
    const int64_t begin = first_vote[~leaf];
    return {votes.data() + begin, static_cast<size_t>(first_vote[~leaf + 1] - begin)};
  }

  bool GoesTrue(const TreeNode& node, double x) const {
    if (std::isnan(x)) return node.missing_goes_true;
    switch (node.mode) {
      case Mode::kLeq: return x <= node.split;
      case Mode::kLt: return x < node.split;
      case Mode::kGte: return x >= node.split;
      case Mode::kGt: return x > node.split;
      case Mode::kEq: return x == node.split;
      case Mode::kNeq: return x != node.split;
      case Mode::kMember:
        return std::binary_search(members.begin() + node.members_begin,
                                  members.begin() + node.members_end, x);
    }
    return false;
  }

  absl::Span<const Vote> Evaluate(Place root, const double* row) const {
    Place place = root;
    while (place >= 0) {
      const TreeNode& node = nodes[place];
      place = GoesTrue(node, row[node.feature]) ? node.on_true : node.on_false;
    }
    return VotesAt(place);
  }
};

// A cycle would keep Evaluate going for ever. Depth first, by a stack of our own: trees may be as
// deep as they have nodes.
absl::Status CheckNoCycle(const Forest& forest) {
  enum class Seen : uint8_t { kNo, kAbove, kDone };
  std::vector<Seen> seen(forest.nodes.size(), Seen::kNo);
  std::vector<std::pair<Place, int>>
      stack;  // a node, and how many of its branches have been followed
  for (size_t start = 0; start < forest.nodes.size(); ++start) {
    if (seen[start] != Seen::kNo) continue;
    stack.emplace_back(static_cast<Place>(start), 0);
    seen[start] = Seen::kAbove;
    while (!stack.empty()) {
      auto& [place, followed] = stack.back();
      if (followed == 2) {
        seen[place] = Seen::kDone;
        stack.pop_back();
        continue;
      }
      const TreeNode& node = forest.nodes[place];
      const Place next = followed++ == 0 ? node.on_true : node.on_false;
      if (next < 0 || seen[next] == Seen::kDone) continue;
      if (seen[next] == Seen::kAbove) {
        return absl::InvalidArgumentError(
            absl::StrCat("the branches of the trees form a cycle through split node #", next,
                         ", expected a tree"));
      }
      seen[next] = Seen::kAbove;
      stack.emplace_back(next, 0);
    }
  }
  return absl::OkStatus();
}

// --- Attributes ------------------------------------------------------------------------------

absl::StatusOr<Doubles> TensorAttribute(const NodeInfo& node, const std::string& name) {
  ASSIGN_OR_RETURN(const Tensor given, node.TensorValue(name));
  if (given.rank() != 1 || KindOf(given.type()) != ElementKind::kFloat) {
    return node.BadAttribute(name, TypeAndDims(given), "a floating-point tensor of rank 1");
  }
  Doubles result(static_cast<size_t>(given.size()));
  RETURN_IF_ERROR(
      Convert(given.data(), given.type(), result.data(), ElementType::kDouble, given.size()));
  return result;
}

// Attribute `name`, or its twin in double.
absl::StatusOr<Doubles> FloatsOrTensor(const NodeInfo& node, const std::string& name) {
  const std::vector<float> floats = node.Floats(name);
  const std::string twin = absl::StrCat(name, "_as_tensor");
  if (!node.Has(twin)) return Doubles(floats.begin(), floats.end());
  if (!floats.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("attributes \"", name, "\" and \"", twin, "\" are both given, expected one"));
  }
  return TensorAttribute(node, twin);
}

absl::Status ExpectLength(absl::string_view name, size_t found, size_t expected,
                          absl::string_view as) {
  if (found == expected) return absl::OkStatus();
  return BadLength(name, found, absl::StrCat(expected, ", as \"", as, "\" has"));
}

absl::Status BadElement(absl::string_view name, size_t i, int64_t found,
                        absl::string_view expected) {
  return absl::InvalidArgumentError(
      absl::StrCat("attribute \"", name, "\" has ", found, " at ", i, ", expected ", expected));
}

absl::Status CheckFeatureId(int64_t id, size_t i, Forest* forest) {
  if (id < 0 || id == std::numeric_limits<int64_t>::max()) {
    return BadElement("nodes_featureids", i, id, "the index of a feature");
  }
  forest->features = std::max(forest->features, id + 1);
  return absl::OkStatus();
}

absl::StatusOr<Mode> ParseMode(const NodeInfo& node, const std::string& text) {
  if (text == "BRANCH_LEQ") return Mode::kLeq;
  if (text == "BRANCH_LT") return Mode::kLt;
  if (text == "BRANCH_GTE") return Mode::kGte;
  if (text == "BRANCH_GT") return Mode::kGt;
  if (text == "BRANCH_EQ") return Mode::kEq;
  if (text == "BRANCH_NEQ") return Mode::kNeq;
  return node.BadAttribute(
      "nodes_modes", absl::StrCat("\"", text, "\""),
      "\"BRANCH_LEQ\", \"BRANCH_LT\", \"BRANCH_GTE\", \"BRANCH_GT\", \"BRANCH_EQ\", "
      "\"BRANCH_NEQ\" or \"LEAF\"");
}

// "n_targets", or as many as the ids name.
absl::StatusOr<int64_t> ParseTargetCount(const NodeInfo& node, const std::vector<int64_t>& ids) {
  int64_t count = 0;
  if (node.Has("n_targets")) {
    count = node.IntOr("n_targets", 0);
    if (count < 1) return node.BadAttribute("n_targets", absl::StrCat(count), "1 or more");
    return count;
  }
  for (const int64_t id : ids) {
    if (id < std::numeric_limits<int64_t>::max()) count = std::max(count, id + 1);
  }
  return count;
}

// --- TreeEnsembleClassifier and TreeEnsembleRegressor ----------------------------------------

// The nodes of all trees in a row, leaves among them; each known by its tree's id and its own.
class TaggedTrees {
 public:
  static absl::StatusOr<TaggedTrees> Parse(const NodeInfo& node, int64_t targets) {
    TaggedTrees trees;
    trees.forest_.targets = targets;
    RETURN_IF_ERROR(trees.Read(node));
    RETURN_IF_ERROR(trees.Link(node));
    RETURN_IF_ERROR(CheckNoCycle(trees.forest_));
    return trees;
  }

  // The votes "<prefix>_treeids", "<prefix>_nodeids", "<prefix>_ids", "<prefix>_weights".
  absl::StatusOr<Forest> WithVotes(const NodeInfo& node, const std::string& prefix) && {
    const auto named = [&](absl::string_view suffix) { return absl::StrCat(prefix, suffix); };
    const std::vector<int64_t> tree_ids = node.Ints(named("_treeids"));
    const std::vector<int64_t> node_ids = node.Ints(named("_nodeids"));
    const std::vector<int64_t> ids = node.Ints(named("_ids"));
    ASSIGN_OR_RETURN(const Doubles weights, FloatsOrTensor(node, named("_weights")));
    RETURN_IF_ERROR(
        ExpectLength(named("_nodeids"), node_ids.size(), tree_ids.size(), named("_treeids")));
    RETURN_IF_ERROR(ExpectLength(named("_ids"), ids.size(), tree_ids.size(), named("_treeids")));
    RETURN_IF_ERROR(
        ExpectLength(named("_weights"), weights.size(), tree_ids.size(), named("_treeids")));
    std::vector<std::pair<int64_t, Vote>> votes;  // with the leaf
    for (size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] < 0 || ids[i] >= forest_.targets) {
        return BadElement(named("_ids"), i, ids[i],
                          absl::StrCat("an index in [0, ", forest_.targets - 1, "]"));
      }
      const auto found = places_.find({tree_ids[i], node_ids[i]});
      if (found == places_.end()) {
        return BadElement(named("_nodeids"), i, node_ids[i],
                          absl::StrCat("a node of tree ", tree_ids[i]));
      }
      // Weights at inner nodes, as some converters write them, are never reached.
      if (found->second < 0) votes.push_back({~found->second, {ids[i], weights[i]}});
    }
    std::stable_sort(votes.begin(), votes.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    forest_.first_vote.assign(static_cast<size_t>(leaves_) + 1, 0);
    for (const auto& [leaf, vote] : votes) {
      ++forest_.first_vote[leaf + 1];
      forest_.votes.push_back(vote);
    }
    for (int64_t i = 0; i < leaves_; ++i) forest_.first_vote[i + 1] += forest_.first_vote[i];
    return std::move(forest_);
  }

 private:
  absl::Status Read(const NodeInfo& node) {
    tree_ids_ = node.Ints("nodes_treeids");
    const std::vector<int64_t> node_ids = node.Ints("nodes_nodeids");
    const std::vector<int64_t> features = node.Ints("nodes_featureids");
    const std::vector<std::string> modes = node.Strings("nodes_modes");
    const std::vector<int64_t> missing = node.Ints("nodes_missing_value_tracks_true");
    ASSIGN_OR_RETURN(const Doubles splits, FloatsOrTensor(node, "nodes_values"));
    const size_t count = tree_ids_.size();
    constexpr char kAs[] = "nodes_treeids";
    RETURN_IF_ERROR(ExpectLength("nodes_nodeids", node_ids.size(), count, kAs));
    RETURN_IF_ERROR(ExpectLength("nodes_featureids", features.size(), count, kAs));
    RETURN_IF_ERROR(ExpectLength("nodes_modes", modes.size(), count, kAs));
    RETURN_IF_ERROR(ExpectLength("nodes_values", splits.size(), count, kAs));
    if (!missing.empty()) {
      RETURN_IF_ERROR(ExpectLength("nodes_missing_value_tracks_true", missing.size(), count, kAs));
    }
    absl::flat_hash_map<int64_t, bool> known_trees;
    for (size_t i = 0; i < count; ++i) {
      Place place;
      if (modes[i] == "LEAF") {
        place = ~leaves_++;
      } else {
        place = static_cast<Place>(forest_.nodes.size());
        TreeNode inner{};
        ASSIGN_OR_RETURN(inner.mode, ParseMode(node, modes[i]));
        RETURN_IF_ERROR(CheckFeatureId(features[i], i, &forest_));
        inner.feature = features[i];
        inner.split = splits[i];
        inner.missing_goes_true = !missing.empty() && missing[i] != 0;
        forest_.nodes.push_back(inner);
        origins_.push_back(i);
      }
      if (!places_.try_emplace({tree_ids_[i], node_ids[i]}, place).second) {
        return BadElement("nodes_nodeids", i, node_ids[i],
                          absl::StrCat("ids that are unique in tree ", tree_ids_[i]));
      }
      // A tree's root is the first of its nodes.
      if (known_trees.try_emplace(tree_ids_[i], true).second) forest_.roots.push_back(place);
    }
    return absl::OkStatus();
  }

  absl::Status Link(const NodeInfo& node) {
    const std::vector<int64_t> on_true = node.Ints("nodes_truenodeids");
    const std::vector<int64_t> on_false = node.Ints("nodes_falsenodeids");
    RETURN_IF_ERROR(
        ExpectLength("nodes_truenodeids", on_true.size(), tree_ids_.size(), "nodes_treeids"));
    RETURN_IF_ERROR(
        ExpectLength("nodes_falsenodeids", on_false.size(), tree_ids_.size(), "nodes_treeids"));
    for (size_t k = 0; k < origins_.size(); ++k) {
      const size_t i = origins_[k];
      const auto link = [&](absl::string_view name, int64_t id, Place* to) {
        const auto found = places_.find({tree_ids_[i], id});
        if (found == places_.end()) {
          return BadElement(name, i, id, absl::StrCat("a node of tree ", tree_ids_[i]));
        }
        *to = found->second;
        return absl::OkStatus();
      };
      RETURN_IF_ERROR(link("nodes_truenodeids", on_true[i], &forest_.nodes[k].on_true));
      RETURN_IF_ERROR(link("nodes_falsenodeids", on_false[i], &forest_.nodes[k].on_false));
    }
    return absl::OkStatus();
  }

  Forest forest_;
  std::vector<int64_t> tree_ids_;
  std::vector<size_t> origins_;  // of each inner node: its position in the attributes
  int64_t leaves_ = 0;
  absl::flat_hash_map<std::pair<int64_t, int64_t>, Place> places_;  // by tree and node id
};

// Values to start from: none, one for all, or one for each target.
absl::StatusOr<Doubles> ParseBaseValues(const NodeInfo& node, int64_t targets) {
  ASSIGN_OR_RETURN(Doubles base, FloatsOrTensor(node, "base_values"));
  if (base.size() > 1 && static_cast<int64_t>(base.size()) != targets) {
    return BadLength("base_values", base.size(), absl::StrCat("0, 1 or ", targets));
  }
  return base;
}

double BaseOf(const Doubles& base, int64_t target) {
  return base.empty() ? 0 : base[base.size() == 1 ? 0 : target];
}

absl::Status CheckFeatures(const FeatureRows& x, const Forest& forest) {
  if (x.columns >= forest.features) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("input 0 has ", x.columns, " features, expected ",
                                                 forest.features,
                                                 " or more: attribute "
                                                 "\"nodes_featureids\" has ",
                                                 forest.features - 1));
}

int64_t GrainOf(const Forest& forest) {
  return std::max<int64_t>(1,
                           1024 / std::max<int64_t>(1, static_cast<int64_t>(forest.roots.size())));
}

// --- Regression ------------------------------------------------------------------------------

struct RegressorModel {
  Forest forest;
  Aggregate aggregate = Aggregate::kSum;
  PostTransform transform = PostTransform::kNone;
  Doubles base;
  ElementType type = ElementType::kUndefined;  // of TreeEnsemble's tensors
};

absl::StatusOr<RegressorModel> ParseRegressor(const NodeInfo& node) {
  RegressorModel model;
  ASSIGN_OR_RETURN(const int64_t targets, ParseTargetCount(node, node.Ints("target_ids")));
  ASSIGN_OR_RETURN(TaggedTrees trees, TaggedTrees::Parse(node, targets));
  ASSIGN_OR_RETURN(model.forest, std::move(trees).WithVotes(node, "target"));
  ASSIGN_OR_RETURN(model.base, ParseBaseValues(node, targets));
  ASSIGN_OR_RETURN(model.transform, ParsePostTransform(node));
  const std::string text = node.StringOr("aggregate_function", "SUM");
  if (text == "AVERAGE") {
    model.aggregate = Aggregate::kAverage;
  } else if (text == "MIN") {
    model.aggregate = Aggregate::kMin;
  } else if (text == "MAX") {
    model.aggregate = Aggregate::kMax;
  } else if (text != "SUM") {
    return node.BadAttribute("aggregate_function", absl::StrCat("\"", text, "\""),
                             "\"AVERAGE\", \"SUM\", \"MIN\" or \"MAX\"");
  }
  return model;
}

// What MIN and MAX start from: the largest finite value of the output's type, as in the reference.
// A target that no leaf votes for keeps it.
double LargestOf(ElementType type) {
  if (type == ElementType::kFloat16) return 65504;
  return type == ElementType::kDouble ? std::numeric_limits<double>::max()
                                      : double{std::numeric_limits<float>::max()};
}

absl::Status Regress(const RegressorModel& model, KernelContext& context, ElementType type) {
  const Forest& forest = model.forest;
  ASSIGN_OR_RETURN(const FeatureRows x, ReadFeatures(context, 0));
  RETURN_IF_ERROR(CheckFeatures(x, forest));
  ASSIGN_OR_RETURN(Tensor result, context.Allocate(ElementType::kDouble, {x.rows, forest.targets}));
  double* scores = result.mutable_data_as<double>();
  double start = 0;
  if (model.aggregate == Aggregate::kMin) start = LargestOf(type);
  if (model.aggregate == Aggregate::kMax) start = -LargestOf(type);
  context.ParallelFor(x.rows, GrainOf(forest), [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      double* score = scores + n * forest.targets;
      std::fill(score, score + forest.targets, start);
      for (const Place root : forest.roots) {
        for (const Vote& vote : forest.Evaluate(root, x.Row(n))) {
          double& to = score[vote.target];
          switch (model.aggregate) {
            case Aggregate::kAverage:
            case Aggregate::kSum: to += vote.weight; break;
            case Aggregate::kMin: to = std::min(to, vote.weight); break;
            case Aggregate::kMax: to = std::max(to, vote.weight); break;
          }
        }
      }
      for (int64_t t = 0; t < forest.targets; ++t) {
        if (model.aggregate == Aggregate::kAverage && !forest.roots.empty()) {
          score[t] /= static_cast<double>(forest.roots.size());
        }
        score[t] += BaseOf(model.base, t);
      }
      ApplyPostTransform(model.transform, {score, static_cast<size_t>(forest.targets)});
    }
  });
  if (type == ElementType::kDouble) {
    context.SetOutput(0, std::move(result));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(Tensor * output, context.Output(0, type, result.dims()));
  return Convert(result.data(), ElementType::kDouble, output->mutable_data(), type, result.size());
}

absl::Status TreeEnsembleRegressor(const RegressorModel& model, KernelContext& context) {
  return Regress(model, context, ElementType::kFloat);
}

// --- Classification --------------------------------------------------------------------------

struct ClassifierModel {
  Forest forest;
  PostTransform transform;
  Doubles base;
  ClassLabels labels;
  // Only the first of two classes gets votes, or there is but one class: the score of the second
  // class is then meant, and the first one's made of it.
  bool binary = false;
};

constexpr char kIntLabels[] = "classlabels_int64s";

absl::StatusOr<ClassifierModel> ParseClassifier(const NodeInfo& node) {
  ClassifierModel model;
  ASSIGN_OR_RETURN(model.labels, ParseClassLabels(node, kIntLabels));
  const int64_t classes = model.labels.size();
  if (classes == 0) {
    return absl::InvalidArgumentError(absl::StrCat("neither \"classlabels_strings\" nor \"",
                                                   kIntLabels,
                                                   "\" has elements, expected one of them to"));
  }
  ASSIGN_OR_RETURN(TaggedTrees trees, TaggedTrees::Parse(node, classes));
  ASSIGN_OR_RETURN(model.forest, std::move(trees).WithVotes(node, "class"));
  ASSIGN_OR_RETURN(model.base, ParseBaseValues(node, classes));
  ASSIGN_OR_RETURN(model.transform, ParsePostTransform(node));
  const std::vector<int64_t> ids = node.Ints("class_ids");
  const bool first_only =
      !ids.empty() && std::all_of(ids.begin(), ids.end(), [](int64_t id) { return id == 0; });
  model.binary = classes == 1 || (classes == 2 && first_only);
  if (classes == 1) {
    // The label that is not there is 0, or empty.
    model.labels.are_strings ? void(model.labels.strings.insert(model.labels.strings.begin(), ""))
                             : void(model.labels.ints.insert(model.labels.ints.begin(), 0));
  }
  return model;
}

absl::Status InferClassifier(const NodeInfo& node, absl::Span<const Type> /*inputs*/,
                             absl::Span<Type> outputs) {
  ASSIGN_OR_RETURN(const ClassLabels labels, ParseClassLabels(node, kIntLabels));
  if (!outputs.empty()) outputs[0] = Type::OfTensor(labels.type());
  return absl::OkStatus();
}

absl::Status TreeEnsembleClassifier(const ClassifierModel& model, KernelContext& context) {
  const Forest& forest = model.forest;
  ASSIGN_OR_RETURN(const FeatureRows x, ReadFeatures(context, 0));
  RETURN_IF_ERROR(CheckFeatures(x, forest));
  const int64_t width = model.binary ? 2 : forest.targets;
  ASSIGN_OR_RETURN(Tensor chosen, context.Allocate(ElementType::kInt64, {x.rows}));
  ASSIGN_OR_RETURN(Tensor * output, context.Output(1, ElementType::kFloat, {x.rows, width}));
  int64_t* choice = chosen.mutable_data_as<int64_t>();
  float* out = output->mutable_data_as<float>();
  // Scores that are no exponents are taken for probabilities: what the other class is left with.
  const bool complement =
      model.transform == PostTransform::kNone || model.transform == PostTransform::kProbit;
  context.ParallelFor(x.rows, GrainOf(forest), [&](int64_t begin, int64_t end) {
    Doubles scores;
    for (int64_t n = begin; n < end; ++n) {
      scores.assign(static_cast<size_t>(forest.targets), 0);
      for (int64_t t = 0; t < forest.targets; ++t) scores[t] = BaseOf(model.base, t);
      for (const Place root : forest.roots) {
        for (const Vote& vote : forest.Evaluate(root, x.Row(n))) scores[vote.target] += vote.weight;
      }
      if (model.binary) {
        const double score = scores[0];
        scores = {complement ? 1 - score : -score, score};
      }
      ApplyPostTransform(model.transform, absl::MakeSpan(scores));
      choice[n] = ArgMax(scores);
      for (int64_t t = 0; t < width; ++t) out[n * width + t] = static_cast<float>(scores[t]);
    }
  });
  return SetLabels(context, model.labels, chosen);
}

// --- TreeEnsemble ----------------------------------------------------------------------------

// The sets of the nodes of mode kMember, in the order of the nodes, each ended by a NaN (the last
// one need not be).
absl::Status ReadMembers(const NodeInfo& node, Forest* forest) {
  Doubles values;
  if (node.Has("membership_values")) {
    ASSIGN_OR_RETURN(values, TensorAttribute(node, "membership_values"));
  }
  size_t next = 0;
  int64_t sets = 0;
  for (TreeNode& each : forest->nodes) {
    if (each.mode != Mode::kMember) continue;
    if (next == values.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "attribute \"membership_values\" has ", sets,
          " sets, expected one for each node of mode BRANCH_MEMBER, of which there are more"));
    }
    ++sets;
    each.members_begin = static_cast<int64_t>(forest->members.size());
    for (; next < values.size() && !std::isnan(values[next]); ++next) {
      forest->members.push_back(values[next]);
    }
    if (next < values.size()) ++next;  // the NaN
    each.members_end = static_cast<int64_t>(forest->members.size());
    std::sort(forest->members.begin() + each.members_begin, forest->members.end());
  }
  if (next < values.size()) {
    return absl::InvalidArgumentError(absl::StrCat("attribute \"membership_values\" has more than ",
                                                   sets, " sets, expected one for each of the ",
                                                   sets, " nodes of mode BRANCH_MEMBER"));
  }
  return absl::OkStatus();
}

absl::Status ReadSplitNodes(const NodeInfo& node, size_t leaves, Forest* forest) {
  ASSIGN_OR_RETURN(const Doubles splits, TensorAttribute(node, "nodes_splits"));
  ASSIGN_OR_RETURN(const Tensor modes, node.TensorValue("nodes_modes"));
  const std::vector<int64_t> features = node.Ints("nodes_featureids");
  const std::vector<int64_t> missing = node.Ints("nodes_missing_value_tracks_true");
  const size_t count = splits.size();
  if (modes.type() != ElementType::kUint8 || modes.rank() != 1) {
    return node.BadAttribute("nodes_modes", TypeAndDims(modes), "a uint8 tensor of rank 1");
  }
  constexpr char kAs[] = "nodes_splits";
  RETURN_IF_ERROR(ExpectLength("nodes_modes", static_cast<size_t>(modes.size()), count, kAs));
  RETURN_IF_ERROR(ExpectLength("nodes_featureids", features.size(), count, kAs));
  if (!missing.empty()) {
    RETURN_IF_ERROR(ExpectLength("nodes_missing_value_tracks_true", missing.size(), count, kAs));
  }
  if (node.Has("nodes_hitrates")) {
    ASSIGN_OR_RETURN(const Doubles rates, TensorAttribute(node, "nodes_hitrates"));
    RETURN_IF_ERROR(ExpectLength("nodes_hitrates", rates.size(), count, kAs));
  }
  forest->nodes.resize(count);
  for (size_t i = 0; i < count; ++i) {
    TreeNode& each = forest->nodes[i];
    const uint8_t mode = modes.data_as<uint8_t>()[i];
    if (mode > static_cast<uint8_t>(Mode::kMember))
      return BadElement("nodes_modes", i, mode, "0 to 6");
    each.mode = static_cast<Mode>(mode);
    RETURN_IF_ERROR(CheckFeatureId(features[i], i, forest));
    each.feature = features[i];
    each.split = splits[i];
    each.missing_goes_true = !missing.empty() && missing[i] != 0;
  }
  const auto read_branches = [&](const std::string& ids_name, const std::string& leafs_name,
                                 Place TreeNode::*branch) -> absl::Status {
    const std::vector<int64_t> ids = node.Ints(ids_name);
    const std::vector<int64_t> is_leaf = node.Ints(leafs_name);
    RETURN_IF_ERROR(ExpectLength(ids_name, ids.size(), count, kAs));
    RETURN_IF_ERROR(ExpectLength(leafs_name, is_leaf.size(), count, kAs));
    for (size_t i = 0; i < count; ++i) {
      const size_t limit = is_leaf[i] != 0 ? leaves : count;
      if (ids[i] < 0 || static_cast<size_t>(ids[i]) >= limit) {
        return BadElement(
            ids_name, i, ids[i],
            absl::StrCat("the index of one of ", limit, is_leaf[i] != 0 ? " leaves" : " nodes"));
      }
      forest->nodes[i].*branch = is_leaf[i] != 0 ? ~ids[i] : ids[i];
    }
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(read_branches("nodes_truenodeids", "nodes_trueleafs", &TreeNode::on_true));
  return read_branches("nodes_falsenodeids", "nodes_falseleafs", &TreeNode::on_false);
}

absl::StatusOr<RegressorModel> ParseTreeEnsemble(const NodeInfo& node) {
  RegressorModel model;
  Forest& forest = model.forest;
  const std::vector<int64_t> ids = node.Ints("leaf_targetids");
  ASSIGN_OR_RETURN(const Doubles weights, TensorAttribute(node, "leaf_weights"));
  RETURN_IF_ERROR(ExpectLength("leaf_targetids", ids.size(), weights.size(), "leaf_weights"));
  ASSIGN_OR_RETURN(forest.targets, ParseTargetCount(node, ids));
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= forest.targets) {
      return BadElement("leaf_targetids", i, ids[i],
                        absl::StrCat("an index in [0, ", forest.targets - 1, "]"));
    }
    forest.first_vote.push_back(static_cast<int64_t>(i));
    forest.votes.push_back({ids[i], weights[i]});
  }
  forest.first_vote.push_back(static_cast<int64_t>(ids.size()));
  RETURN_IF_ERROR(ReadSplitNodes(node, ids.size(), &forest));
  RETURN_IF_ERROR(ReadMembers(node, &forest));
  forest.roots = node.Ints("tree_roots");
  for (size_t i = 0; i < forest.roots.size(); ++i) {
    const Place root = forest.roots[i];
    if (root < 0 || static_cast<size_t>(root) >= forest.nodes.size()) {
      return BadElement("tree_roots", i, root,
                        absl::StrCat("the index of one of ", forest.nodes.size(), " nodes"));
    }
  }
  RETURN_IF_ERROR(CheckNoCycle(forest));
  const int64_t transform = node.IntOr("post_transform", 0);
  if (transform < 0 || transform > 4) {
    return node.BadAttribute("post_transform", absl::StrCat(transform),
                             "0 (NONE), 1 (SOFTMAX), 2 (LOGISTIC), 3 (SOFTMAX_ZERO) or 4 (PROBIT)");
  }
  model.transform = static_cast<PostTransform>(transform);
  const int64_t aggregate = node.IntOr("aggregate_function", 1);
  if (aggregate < 0 || aggregate > 3) {
    return node.BadAttribute("aggregate_function", absl::StrCat(aggregate),
                             "0 (AVERAGE), 1 (SUM), 2 (MIN) or 3 (MAX)");
  }
  model.aggregate = static_cast<Aggregate>(aggregate);
  ASSIGN_OR_RETURN(const Tensor splits, node.TensorValue("nodes_splits"));
  model.type = splits.type();
  for (const char* name : {"leaf_weights", "membership_values"}) {
    if (!node.Has(name)) continue;
    ASSIGN_OR_RETURN(const Tensor other, node.TensorValue(name));
    if (other.type() != model.type) {
      return node.BadAttribute(
          name, TypeAndDims(other),
          absl::StrCat(TypeName(model.type), ", the type of \"nodes_splits\""));
    }
  }
  return model;
}

absl::Status CheckTreeType(ElementType given, ElementType expected) {
  if (given == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("input 0 is of type ", TypeName(given),
                                                 ", expected ", TypeName(expected),
                                                 " as attribute \"nodes_splits\""));
}

absl::Status InferTreeEnsemble(const NodeInfo& node, absl::Span<const Type> inputs,
                               absl::Span<Type> /*outputs*/) {
  if (inputs[0].kind != ValueKind::kTensor) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Tensor splits, node.TensorValue("nodes_splits"));
  return CheckTreeType(inputs[0].element, splits.type());
}

absl::Status TreeEnsemble(const RegressorModel& model, KernelContext& context) {
  const ElementType type = context.input(0).type();
  RETURN_IF_ERROR(CheckTreeType(type, model.type));
  return Regress(model, context, type);
}

constexpr auto kKernels = InDomain(
    kMlDomain,
    KernelTable(Rows<ParseTreeEnsemble, TreeEnsemble>("TreeEnsemble", 5).Infer(InferTreeEnsemble),
                Rows<ParseClassifier, TreeEnsembleClassifier>("TreeEnsembleClassifier", 1, 3, 5)
                    .Infer(InferClassifier),
                Rows<ParseRegressor, TreeEnsembleRegressor>("TreeEnsembleRegressor", 1, 3, 5)));

}  // namespace

absl::Span<const KernelDef> MlTreeKernels() { return kKernels; }

}  // namespace onnx_run
