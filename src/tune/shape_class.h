// ShapeClass: sizes as coarse as a plan cares for. Pure functions.
//
// Plans are valid for every size, so a class says where a plan is good, not where it is right. Per axis it looks no
// closer than the default choice does: a tile is made for the rows that it finds, and beyond some size all rows are
// alike. What is left of the sizes is how much work there is, in steps of four.
#pragma once

#include "convt_jit/layer.h"

#include <optional>
#include <string>
#include <string_view>

namespace convt_jit {

struct ShapeClass {
    // Sizes in positions q, of which each is stride x stride outputs, as tiles are made of.
    int columns = 0;               // log2 of the width, rounded up; kWide for all that are wider than 128
    int rows = 0;                  // log2 of the height, rounded up; kHigh for all above 16
    bool aligned = true;           // every output row begins at a multiple of 16 bytes
    std::optional<int> positions;  // log4 of all positions of the batch, rounded down; unset: the batch is not known

    static constexpr int kWide = 8, kHigh = 5;
    friend bool operator==(const ShapeClass&, const ShapeClass&) = default;
};

// Unset: the input size is not known. Throws LayerError.
[[nodiscard]] std::optional<ShapeClass> class_of(const Layer& layer);

// "positions=65536 columns=256 rows=32 aligned=1": from that many positions on, up to that many columns and rows (256
// and 32: all larger ones). "any" where there is no class, "positions=any ..." without a batch.
[[nodiscard]] std::string to_string(const std::optional<ShapeClass>& shape);
// Whether the text is such a one; `shape` is set then.
[[nodiscard]] bool parse_shape_class(std::string_view text, std::optional<ShapeClass>& shape);

// How far a record of the class `have` is from what is wanted, in octaves; unset: too far to be better than the default
// choice. Where no sizes are known, on either side, there is no distance, but kUnknown.
[[nodiscard]] std::optional<int> distance(const std::optional<ShapeClass>& want, const std::optional<ShapeClass>& have);
// Work that differs by a factor of 16, or rows by as much, has other needs.
inline constexpr int kFarthest = 4, kUnknown = kFarthest + 1;

}  // namespace convt_jit
