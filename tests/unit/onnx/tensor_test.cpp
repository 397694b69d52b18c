#include "onnx/tensor.h"

#include "imported.h"

#include <cmath>

namespace convt_jit::onnx_import {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class Function>
std::string error_from(const Function& function) {
    try {
        function();
    } catch (const LayerError& error) {
        return error.what();
    }
    return "no error";
}

TensorProto typed(int type, const std::vector<std::int64_t>& dims) {
    TensorProto tensor;
    tensor.set_data_type(type);
    for (const std::int64_t dim : dims) tensor.add_dims(dim);
    return tensor;
}

std::string error_of_reals(const TensorProto& tensor) {
    return error_from([&] { (void)reals_of(tensor, nullptr); });
}

TEST(Tensor, NumbersOfEveryKind) {
    EXPECT_THAT(reals_of(tensor_of("t", {3}, {1, -2, 0.5}), nullptr), ElementsAre(1, -2, 0.5));
    TensorProto floats = typed(TensorProto::FLOAT, {2});
    floats.add_float_data(1.5F);
    floats.add_float_data(-3);
    EXPECT_THAT(reals_of(floats, nullptr), ElementsAre(1.5, -3));
    TensorProto halves = typed(TensorProto::FLOAT16, {2});
    halves.add_int32_data(0x3c00);
    halves.add_int32_data(0xc000);
    EXPECT_THAT(reals_of(halves, nullptr), ElementsAre(1, -2));
    halves.clear_int32_data();
    halves.set_raw_data(std::string("\x00\x3c\x00\xc0", 4));
    EXPECT_THAT(reals_of(halves, nullptr), ElementsAre(1, -2));
    TensorProto brains = typed(TensorProto::BFLOAT16, {1});
    brains.set_raw_data(std::string("\x80\x3f", 2));
    EXPECT_THAT(reals_of(brains, nullptr), ElementsAre(1));
    TensorProto doubles = typed(TensorProto::DOUBLE, {1});
    doubles.add_double_data(0.1);
    EXPECT_THAT(reals_of(doubles, nullptr), ElementsAre(0.1));
    EXPECT_THAT(ints_of(ints_tensor("i", {5, -6}), nullptr), ElementsAre(5, -6));
    TensorProto bytes = typed(TensorProto::INT8, {2});
    bytes.set_raw_data("\x7f\x80");
    EXPECT_THAT(ints_of(bytes, nullptr), ElementsAre(127, -128));
    bytes.set_data_type(TensorProto::UINT8);
    EXPECT_THAT(ints_of(bytes, nullptr), ElementsAre(127, 128));
    EXPECT_THAT(reals_of(typed(TensorProto::FLOAT, {0, 7}), nullptr), ElementsAre());
}

TEST(Tensor, DataThatDoesNotFitIsRefused) {
    TensorProto tensor = tensor_of("t", {3}, {1, 2});
    EXPECT_EQ(error_of_reals(tensor), "raw_data is 8 long; allowed: 12, as its dims and data_type say");
    tensor.clear_raw_data();
    EXPECT_EQ(error_of_reals(tensor), "float_data is 0 long; allowed: 3, as its dims and data_type say");
    EXPECT_THAT(error_of_reals(typed(TensorProto::STRING, {1})), HasSubstr("data_type is STRING"));
    EXPECT_THAT(error_of_reals(typed(-5, {1})), HasSubstr("data_type is type -5"));
    EXPECT_THAT(error_of_reals(typed(TensorProto::FLOAT, {std::int64_t{1} << 40, std::int64_t{1} << 40})),
                HasSubstr("dims[1] is 1099511627776"));
    EXPECT_THAT(error_of_reals(typed(TensorProto::FLOAT, {-1})), HasSubstr("dims[0] is -1"));
    EXPECT_THAT(error_of_reals(typed(TensorProto::FLOAT, std::vector<std::int64_t>(17, 1))), HasSubstr("17 long"));
    TensorProto segment = tensor_of("t", {1}, {1});
    segment.mutable_segment();
    EXPECT_THAT(error_of_reals(segment), HasSubstr("segment"));
    // 2^60 elements that are not there are not made.
    EXPECT_THAT(error_of_reals(typed(TensorProto::FLOAT, {std::int64_t{1} << 60})), HasSubstr("float_data is 0 long"));
}

TEST(Tensor, ExternalPlaces) {
    TensorProto tensor = typed(TensorProto::FLOAT, {2});
    tensor.set_data_location(TensorProto::EXTERNAL);
    const auto add = [&](const std::string& key, const std::string& value) {
        auto* const entry = tensor.add_external_data();
        entry->set_key(key);
        entry->set_value(value);
    };
    EXPECT_THAT(error_of_reals(tensor), HasSubstr("data_location is EXTERNAL"));
    EXPECT_THAT(error_from([&] { (void)place_of(tensor); }), HasSubstr("external_data.location is missing"));
    add("location", "w.bin");
    add("offset", "64");
    add("checksum", "ignored");
    EXPECT_EQ(place_of(tensor).offset, 64U);
    const ReadExternal read = [](const std::string& location, std::uint64_t offset, std::uint64_t bytes) {
        EXPECT_EQ(location, "w.bin");
        EXPECT_EQ(offset, 64U);
        const float values[] = {7, 8};
        return std::string(reinterpret_cast<const char*>(values), bytes);
    };
    EXPECT_THAT(reals_of(tensor, read), ElementsAre(7, 8));
    add("length", "12");
    EXPECT_THAT(error_from([&] { (void)reals_of(tensor, read); }), HasSubstr("external_data.length is 12; allowed: 8"));
    for (const char* wrong : {"-1", "1x", "", "99999999999999999999", " 1", "0x10"}) {
        tensor.mutable_external_data(1)->set_value(wrong);
        EXPECT_THAT(error_from([&] { (void)place_of(tensor); }), HasSubstr("external_data.offset")) << wrong;
    }
}

TEST(Tensor, OnlySmallContentsAreFollowed) {
    EXPECT_EQ(fact_of(ints_tensor("i", {1, 2}), nullptr).ints->size(), 2U);
    EXPECT_EQ(fact_of(ints_tensor("i", std::vector<std::int64_t>(1025, 1)), nullptr).ints, nullptr);
    EXPECT_EQ(fact_of(tensor_of("t", {3}, {1}), nullptr).reals, nullptr) << "whose data does not fit";
}

}  // namespace
}  // namespace convt_jit::onnx_import
