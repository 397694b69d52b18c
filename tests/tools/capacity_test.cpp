#include "subject/capacity.h"

#include "warmup/kernels.h"

#include <gmock/gmock.h>

namespace convt_jit::tools::test {
namespace {

using ::testing::HasSubstr;

TEST(Capacity, SaysWhatDoesNotFit) {
    EXPECT_EQ(warning({1000, 0}, "/c"), "") << "no cap";
    EXPECT_EQ(warning({900, 1000}, "/c"), "");
    const Capacity tight{901, 1000}, exceeded{1001, 1000};
    EXPECT_FALSE(tight.exceeded());
    EXPECT_THAT(warning(tight, "/c"), HasSubstr("may evict some of them"));
    EXPECT_TRUE(exceeded.exceeded());
    for (const char* part :
         {"/c: ", "1001 bytes", "CONVT_JIT_CACHE_MAX_BYTES is 1000", "--max-bytes", " evicts some of them"})
        EXPECT_THAT(warning(exceeded, "/c"), HasSubstr(part));
}

TEST(Capacity, WhatIsAllowedIsEnough) {
    for (const std::uint64_t needed : {1ULL, 9ULL, 10ULL, 1001ULL, 123456789ULL}) {
        const std::string told = warning({needed, 1}, "/c");
        const std::uint64_t enough = std::stoull(told.substr(told.find("allowed: ") + std::string("allowed: ").size()));
        EXPECT_EQ(warning({needed, enough}, "/c"), "") << needed;
    }
}

TEST(Capacity, CountsTheKernelsOfTheCommandAlone) {
    Job job;
    job.wanted.emplace();
    job.wanted->fields = {"source", "-O3", "sm_90", "nvrtc 13.0.88", 1};
    CacheEntry entry;
    entry.fields = job.wanted->fields;
    entry.bytes = 10;
    CacheEntry other_arch = entry, other_producer = entry;
    other_arch.fields.arch = "sm_80";
    other_producer.fields.producer = "nvrtc 12.1.7";
    const Kernels kernels = kernels_of({job, job, Job()});
    EXPECT_EQ(kernels.size(), 1U);
    EXPECT_EQ(bytes_of({entry, other_arch, other_producer, CacheEntry()}, kernels), 10U);
    job.wanted->fields.producer.clear();  // nobody knows which one
    EXPECT_EQ(bytes_of({entry, other_arch, other_producer}, kernels_of({job})), 20U);
}

}  // namespace
}  // namespace convt_jit::tools::test
