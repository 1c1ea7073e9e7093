#include "ops/copy_elements.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace onnx_run {
namespace {

// A run of `count` elements of `bits` (2 or 4) bits; element 0 of a byte is in its low bits.
void CopyPacked(const uint8_t* source, int64_t from, uint8_t* destination, int64_t to,
                int64_t count, int bits) {
  const int64_t per_byte = 8 / bits;
  const auto mask = static_cast<uint8_t>((1U << bits) - 1);
  const auto copy_one = [&](int64_t i) {
    const int from_shift = static_cast<int>((from + i) % per_byte) * bits;
    const int to_shift = static_cast<int>((to + i) % per_byte) * bits;
    const auto code = static_cast<uint8_t>(source[(from + i) / per_byte] >> from_shift & mask);
    uint8_t& byte = destination[(to + i) / per_byte];
    byte = static_cast<uint8_t>((byte & ~(mask << to_shift)) | (code << to_shift));
  };
  int64_t i = 0;
  if (from % per_byte == to % per_byte) {
    // In step with each other: whole bytes between the two ends.
    while (i < count && (to + i) % per_byte != 0) copy_one(i++);
    const int64_t bytes = (count - i) / per_byte;
    if (bytes > 0) {
      std::memcpy(destination + (to + i) / per_byte, source + (from + i) / per_byte,
                  static_cast<size_t>(bytes));
    }
    i += bytes * per_byte;
  }
  for (; i < count; ++i) copy_one(i);
}

}  // namespace

void CopyElements(const Tensor& source, int64_t from, Tensor* destination, int64_t to,
                  int64_t count) {
  if (count <= 0) return;
  if (source.is_string()) {
    const std::string* begin = source.data_as<std::string>() + from;
    std::copy(begin, begin + count, destination->mutable_data_as<std::string>() + to);
    return;
  }
  const int bits = BitsOf(source.type());
  if (bits < 8) {
    CopyPacked(source.data_as<uint8_t>(), from, destination->mutable_data_as<uint8_t>(), to, count,
               bits);
    return;
  }
  const int64_t width = bits / 8;
  std::memcpy(destination->mutable_data_as<uint8_t>() + to * width,
              source.data_as<uint8_t>() + from * width, static_cast<size_t>(count * width));
}

void ZeroElements(Tensor* tensor, int64_t begin, int64_t end) {
  if (begin >= end) return;
  if (tensor->is_string()) {
    for (std::string& element : tensor->mutable_strings().subspan(begin, end - begin)) {
      element.clear();
    }
    return;
  }
  const int bits = BitsOf(tensor->type());
  auto* data = tensor->mutable_data_as<uint8_t>();
  if (bits >= 8) {
    std::memset(data + begin * (bits / 8), 0, static_cast<size_t>((end - begin) * (bits / 8)));
    return;
  }
  const int64_t per_byte = 8 / bits;
  const auto mask = static_cast<uint8_t>((1U << bits) - 1);
  for (int64_t i = begin; i < end; ++i) {
    data[i / per_byte] &= static_cast<uint8_t>(~(mask << static_cast<int>(i % per_byte) * bits));
  }
}

void ZeroUnusedBits(Tensor* tensor) {
  if (!IsSubByte(tensor->type()) || tensor->size() == 0) return;
  const int64_t per_byte = 8 / BitsOf(tensor->type());
  if (tensor->size() % per_byte != 0) tensor->mutable_data_as<uint8_t>()[tensor->bytes() - 1] = 0;
}

}  // namespace onnx_run
