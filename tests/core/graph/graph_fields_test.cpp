// SPDX-License-Identifier: Apache-2.0
// Every field of the GraphDef messages survives reading and writing, in both forms.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>

#include "core/graph/graph_io.h"

namespace lanescope {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Deep enough for every message type, shallow enough for the recursive ones.
constexpr int kMaxDepth = 9;

// Sets every field of a message, with a different value each time. A oneof takes its alternatives in turn
// from message to message. Enumerations of element types get DT_VARIANT, whose constants are not decoded, so
// that shape and values need not agree.
class Filler {
 public:
  explicit Filler(const DescriptorPool& pool) : pool_(pool), loaded_(LoadGraphDef()) {}

  std::unique_ptr<Message> MakeGraph() {
    std::unique_ptr<Message> graph(loaded_->New());
    Fill(graph.get(), 0);
    // A graph demands legal names, and inputs that exist.
    const FieldDescriptor* node_field = graph->GetDescriptor()->FindFieldByName("node");
    for (int i = 0; i < graph->GetReflection()->FieldSize(*graph, node_field); ++i) {
      Message* node = graph->GetReflection()->MutableRepeatedMessage(graph.get(), node_field, i);
      const Descriptor* type = node->GetDescriptor();
      node->GetReflection()->SetString(node, type->FindFieldByName("name"), "node" + std::to_string(i));
      node->GetReflection()->SetString(node, type->FindFieldByName("op"), "OpOfEveryField");
      node->GetReflection()->ClearField(node, type->FindFieldByName("input"));
      if (i > 0) node->GetReflection()->AddString(node, type->FindFieldByName("input"), "node0");
    }
    return graph;
  }
  const std::set<const FieldDescriptor*>& filled() const { return filled_; }

 private:
  const Message* LoadGraphDef() {
    // The messages register when the code that reads them is linked in.
    ParseGraphBinary("");
    return google::protobuf::MessageFactory::generated_factory()->GetPrototype(
        pool_.FindMessageTypeByName("lanescope.tf.GraphDef"));
  }

  void Fill(Message* message, int depth) {
    const Descriptor* type = message->GetDescriptor();
    for (int i = 0; i < type->field_count(); ++i) {
      const FieldDescriptor* field = type->field(i);
      if (field->real_containing_oneof() == nullptr) SetField(message, field, depth);
    }
    for (int i = 0; i < type->real_oneof_decl_count(); ++i) {
      const auto* oneof = type->oneof_decl(i);
      SetField(message, oneof->field(turn_++ % oneof->field_count()), depth);
    }
  }

  void SetField(Message* message, const FieldDescriptor* field, int depth) {
    const bool nested = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (nested && depth == kMaxDepth) return;
    filled_.insert(field);
    // As many entries as the largest oneof has alternatives, near the root.
    const int copies = !field->is_repeated() ? 1 : depth < 3 ? 11 : 2;
    for (int i = 0; i < copies; ++i) {
      if (nested) {
        const Reflection* reflection = message->GetReflection();
        Fill(field->is_repeated() ? reflection->AddMessage(message, field)
                                  : reflection->MutableMessage(message, field),
             depth + 1);
      } else {
        SetValue(message, field);
      }
    }
  }

  void SetValue(Message* message, const FieldDescriptor* field) {
    const Reflection* r = message->GetReflection();
    const bool add = field->is_repeated();
    const int n = ++counter_;
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return add ? r->AddInt32(message, field, n) : r->SetInt32(message, field, n);
      case FieldDescriptor::CPPTYPE_INT64:
        return add ? r->AddInt64(message, field, n) : r->SetInt64(message, field, n);
      case FieldDescriptor::CPPTYPE_UINT32:
        return add ? r->AddUInt32(message, field, n) : r->SetUInt32(message, field, n);
      case FieldDescriptor::CPPTYPE_UINT64:
        return add ? r->AddUInt64(message, field, n) : r->SetUInt64(message, field, n);
      case FieldDescriptor::CPPTYPE_FLOAT:
        return add ? r->AddFloat(message, field, n + 0.1f) : r->SetFloat(message, field, n + 0.1f);
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return add ? r->AddDouble(message, field, n + 0.1) : r->SetDouble(message, field, n + 0.1);
      case FieldDescriptor::CPPTYPE_BOOL:
        return add ? r->AddBool(message, field, true) : r->SetBool(message, field, true);
      case FieldDescriptor::CPPTYPE_ENUM: {
        const auto* variant = field->enum_type()->FindValueByName("DT_VARIANT");
        const auto* value = variant != nullptr
                                ? variant
                                : field->enum_type()->value(1 + n % (field->enum_type()->value_count() - 1));
        return add ? r->AddEnum(message, field, value) : r->SetEnum(message, field, value);
      }
      default: {
        const std::string text = "text" + std::to_string(n);
        return add ? r->AddString(message, field, text) : r->SetString(message, field, text);
      }
    }
  }

  const DescriptorPool& pool_;
  const Message* loaded_;
  std::set<const FieldDescriptor*> filled_;
  int counter_ = 0;
  int turn_ = 0;
};

void CollectFields(const Descriptor* type, std::set<const FieldDescriptor*>* fields) {
  for (int i = 0; i < type->field_count(); ++i) {
    const FieldDescriptor* field = type->field(i);
    if (fields->insert(field).second && field->message_type() != nullptr) {
      CollectFields(field->message_type(), fields);
    }
  }
}

std::string SerializeInOrder(const Message& message) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream output(&stream);
    output.SetSerializationDeterministic(true);
    message.SerializeToCodedStream(&output);
  }
  return bytes;
}

class GraphFields : public testing::Test {
 protected:
  Filler filler_{*DescriptorPool::generated_pool()};
  std::unique_ptr<Message> graph_ = filler_.MakeGraph();
};

TEST_F(GraphFields, TheFillerMissesNone) {
  std::set<const FieldDescriptor*> all;
  CollectFields(graph_->GetDescriptor(), &all);
  EXPECT_GT(all.size(), 130u);
  for (const FieldDescriptor* field : all)
    EXPECT_TRUE(filler_.filled().contains(field)) << field->full_name();
}

TEST_F(GraphFields, BinaryComesOutAsItWentIn) {
  const std::string bytes = SerializeInOrder(*graph_);
  EXPECT_TRUE(GraphToBinary(ParseGraphBinary(bytes)) == bytes);
}

TEST_F(GraphFields, TextComesOutAsItWentIn) {
  std::string text;
  google::protobuf::TextFormat::PrintToString(*graph_, &text);
  const Graph graph = ParseGraphText(text);
  EXPECT_TRUE(GraphToText(graph) == text);
  EXPECT_TRUE(GraphToBinary(graph) == SerializeInOrder(*graph_));
}

}  // namespace
}  // namespace lanescope
