// SPDX-License-Identifier: Apache-2.0
#include "core/graph/attr_proto.h"

#include "core/base/error.h"

namespace lanescope {
namespace {

bool HasUnknownFields(const google::protobuf::Message& message) {
  return !message.GetReflection()->GetUnknownFields(message).empty();
}

ShapeAttr ShapeAttrFromProto(const tf::TensorShapeProto& proto) {
  ShapeAttr attr{ShapeFromProto(proto), SerializeInOrder(proto)};
  tf::TensorShapeProto rebuilt;
  ShapeToProto(attr.shape, &rebuilt);
  // The original is needed only for what Shape cannot say.
  if (SerializeInOrder(rebuilt) == attr.proto) attr.proto.clear();
  return attr;
}

void ShapeAttrToProto(const ShapeAttr& attr, tf::TensorShapeProto* proto) {
  if (attr.proto.empty()) {
    ShapeToProto(attr.shape, proto);
  } else {
    LANESCOPE_CHECK(proto->ParseFromString(attr.proto));
  }
}

std::shared_ptr<const TensorAttr> TensorAttrFromProto(const tf::TensorProto& proto, ExpansionBudget* budget) {
  return std::make_shared<const TensorAttr>(
      TensorAttr{TensorFromProto(proto, budget), SerializeInOrder(proto)});
}

RawAttr ToRaw(const tf::AttrValue& proto) { return RawAttr{SerializeInOrder(proto)}; }

template <typename T, typename List>
std::vector<T> ToVector(const List& list) {
  std::vector<T> values;
  values.reserve(static_cast<size_t>(list.size()));
  for (const auto& value : list) values.push_back(static_cast<T>(value));
  return values;
}

AttrValue ListFromProto(const tf::AttrValue& proto) {
  const tf::AttrValue::ListValue& list = proto.list();
  const int kinds = (list.s_size() > 0) + (list.i_size() > 0) + (list.f_size() > 0) + (list.b_size() > 0) +
                    (list.type_size() > 0) + (list.shape_size() > 0) + (list.tensor_size() > 0) +
                    (list.func_size() > 0);
  if (kinds > 1 || list.tensor_size() > 0 || list.func_size() > 0 || HasUnknownFields(list)) {
    return ToRaw(proto);
  }
  if (list.s_size() > 0) return ToVector<std::string>(list.s());
  if (list.f_size() > 0) return ToVector<float>(list.f());
  if (list.b_size() > 0) return ToVector<bool>(list.b());
  if (list.type_size() > 0) return ToVector<DataType>(list.type());
  if (list.shape_size() > 0) {
    std::vector<ShapeAttr> shapes;
    for (const auto& shape : list.shape()) shapes.push_back(ShapeAttrFromProto(shape));
    return shapes;
  }
  return ToVector<int64_t>(list.i());
}

// One overload an alternative of AttrValue.
struct Encoder {
  tf::AttrValue* proto;

  void operator()(const std::string& value) const { proto->set_s(value); }
  void operator()(int64_t value) const { proto->set_i(value); }
  void operator()(float value) const { proto->set_f(value); }
  void operator()(bool value) const { proto->set_b(value); }
  void operator()(DataType value) const { proto->set_type(static_cast<tf::DataType>(value)); }
  void operator()(const ShapeAttr& value) const { ShapeAttrToProto(value, proto->mutable_shape()); }
  void operator()(const std::shared_ptr<const TensorAttr>& value) const {
    LANESCOPE_CHECK(value != nullptr);
    if (value->proto.empty()) {
      TensorToProto(value->value, proto->mutable_tensor());
    } else {
      LANESCOPE_CHECK(proto->mutable_tensor()->ParseFromString(value->proto));
    }
  }
  void operator()(const std::vector<std::string>& list) const {
    proto->mutable_list();
    for (const std::string& value : list) proto->mutable_list()->add_s(value);
  }
  void operator()(const std::vector<int64_t>& list) const {
    proto->mutable_list()->mutable_i()->Add(list.begin(), list.end());
  }
  void operator()(const std::vector<float>& list) const {
    proto->mutable_list()->mutable_f()->Add(list.begin(), list.end());
  }
  void operator()(const std::vector<bool>& list) const {
    proto->mutable_list()->mutable_b()->Add(list.begin(), list.end());
  }
  void operator()(const std::vector<DataType>& list) const {
    proto->mutable_list();
    for (DataType value : list) proto->mutable_list()->add_type(static_cast<tf::DataType>(value));
  }
  void operator()(const std::vector<ShapeAttr>& list) const {
    proto->mutable_list();
    for (const ShapeAttr& value : list) ShapeAttrToProto(value, proto->mutable_list()->add_shape());
  }
  void operator()(const RawAttr& value) const { LANESCOPE_CHECK(proto->ParseFromString(value.proto)); }
};

}  // namespace

AttrValue AttrFromProto(const tf::AttrValue& proto, ExpansionBudget* budget) {
  if (HasUnknownFields(proto)) return ToRaw(proto);
  switch (proto.value_case()) {
    case tf::AttrValue::kS:
      return proto.s();
    case tf::AttrValue::kI:
      return static_cast<int64_t>(proto.i());
    case tf::AttrValue::kF:
      return proto.f();
    case tf::AttrValue::kB:
      return proto.b();
    case tf::AttrValue::kType:
      return static_cast<DataType>(proto.type());
    case tf::AttrValue::kShape:
      return ShapeAttrFromProto(proto.shape());
    case tf::AttrValue::kTensor:
      return TensorAttrFromProto(proto.tensor(), budget);
    case tf::AttrValue::kList:
      return ListFromProto(proto);
    default:
      return ToRaw(proto);
  }
}

void AttrToProto(const AttrValue& value, tf::AttrValue* proto) { std::visit(Encoder{proto}, value); }

}  // namespace lanescope
