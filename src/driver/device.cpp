#include "convt_jit/error.h"
#include "driver/api.h"
#include "driver/context.h"

#include <fmt/format.h>

#include <vector>

namespace convt_jit::driver {
namespace {

int count(const Api& cuda) {
    int devices = 0;
    check(cuda.device_count(&devices), "cuDeviceGetCount");
    return devices;
}

DeviceFacts read_facts(const Api& cuda, int ordinal) {
    CUdevice device = 0;
    check(cuda.device_get(&device, ordinal), "cuDeviceGet");
    const auto attribute = [&](CUdevice_attribute which) {
        int value = 0;
        check(cuda.device_attribute(&value, which, device), "cuDeviceGetAttribute");
        return value;
    };
    char name[256] = {};
    check(cuda.device_name(name, sizeof name - 1, device), "cuDeviceGetName");
    DeviceFacts facts;
    facts.name = name;
    facts.arch = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
                 attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    facts.multiprocessors = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    facts.l2_bytes = static_cast<std::size_t>(attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE));
    facts.shared_bytes_per_block =
        static_cast<std::size_t>(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
    return facts;
}

std::vector<DeviceFacts> read_all(const Api& cuda) {
    std::vector<DeviceFacts> all;
    for (int ordinal = 0; ordinal < count(cuda); ++ordinal) all.push_back(read_facts(cuda, ordinal));
    return all;
}

}  // namespace

int device_count(std::string* why) noexcept {
    const Api* cuda = find_api(why);
    if (cuda == nullptr) return 0;
    try {
        const int devices = count(*cuda);
        if (devices == 0 && why != nullptr) *why = "the CUDA driver sees no device";
        return devices;
    } catch (const std::exception& error) {
        if (why != nullptr) *why = error.what();
        return 0;
    }
}

const DeviceFacts& device_facts(int ordinal) {
    const Api& cuda = api();
    static const std::vector<DeviceFacts> all = read_all(cuda);
    if (ordinal < 0 || static_cast<std::size_t>(ordinal) >= all.size())
        throw DriverError(fmt::format("there is no CUDA device {}: {}", ordinal,
                                      all.empty()       ? "the driver sees none"
                                      : all.size() == 1 ? "the driver sees one, device 0"
                                                        : fmt::format("the driver sees {}, devices 0 to {}", all.size(),
                                                                      all.size() - 1)),
                          "cuDeviceGet", CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE");
    return all[static_cast<std::size_t>(ordinal)];
}

std::string driver_version() {
    int version = 0;
    check(api().driver_version(&version), "cuDriverGetVersion");
    return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

}  // namespace convt_jit::driver
