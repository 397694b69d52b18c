#include "layer/fingerprint.h"

namespace convt_jit {

std::string fingerprint(const Layer& layer) {
    Layer sizeless = layer;
    sizeless.batch.reset();
    sizeless.input = {};
    return to_string(sizeless);
}

}  // namespace convt_jit
