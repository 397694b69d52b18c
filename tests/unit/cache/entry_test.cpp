#include "cache/entry.h"

#include "unit/cache/sample.h"

#include <gtest/gtest.h>
#include <xxhash.h>

using namespace convt_jit;

namespace {

// An entry with any header and a right checksum: what somebody with ill will could write.
std::string forged(const std::string& header) {
    std::string bytes = encode(sample::entry()).substr(0, 12);
    for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>((header.size() >> shift) & 0xff);
    bytes += header;
    XXH128_canonical_t sum;
    XXH128_canonicalFromHash(&sum, XXH3_128bits(bytes.data(), bytes.size()));
    return bytes.append(reinterpret_cast<const char*>(sum.digest), sizeof sum.digest);
}

}  // namespace

TEST(Entry, SurvivesTheRoundTrip) {
    const Entry entry = sample::entry("x", 5000);
    EXPECT_EQ(decode(encode(entry)), entry);
    EXPECT_EQ(decode(encode(Entry())), Entry());
}

TEST(Entry, HoldsTheCubinAsItIs) {
    const Entry entry = sample::entry("x", 3000);
    EXPECT_NE(encode(entry).find(entry.cubin), std::string::npos);
}

TEST(Entry, KeepsBytesThatAreNoText) {
    Entry entry = sample::entry();
    entry.provenance.host = "caf\xe9 \xff\xc0";
    entry.provenance.layer = std::string("a\0b\x01\"\\\n", 8);
    entry.key.options = "-I/\x80/include";
    EXPECT_EQ(decode(encode(entry)), entry);
}

TEST(Entry, AnyFlippedByteIsSeen) {
    const std::string good = encode(sample::entry("x", 64));
    for (std::size_t i = 0; i < good.size(); ++i)
        for (const int bit : {0, 3, 7}) {
            std::string bad = good;
            bad[i] = static_cast<char>(bad[i] ^ (1 << bit));
            std::string why;
            EXPECT_FALSE(decode(bad, &why)) << "byte " << i << " bit " << bit;
            EXPECT_FALSE(why.empty());
        }
}

TEST(Entry, AnyCutOrExtensionIsSeen) {
    const std::string good = encode(sample::entry("x", 64));
    for (std::size_t length = 0; length < good.size(); ++length)
        EXPECT_FALSE(decode(std::string_view(good).substr(0, length))) << length;
    for (std::size_t drop = 1; drop < good.size(); ++drop)
        EXPECT_FALSE(decode(std::string_view(good).substr(drop))) << drop;
    EXPECT_FALSE(decode(good + '\0'));
    EXPECT_FALSE(decode(good + good));
}

TEST(Entry, SaysWhy) {
    const std::string good = encode(sample::entry());
    const auto reason = [](const std::string& bytes) {
        std::string why;
        EXPECT_FALSE(decode(bytes, &why));
        return why;
    };
    EXPECT_EQ(reason(""), "it is cut");
    EXPECT_EQ(reason(std::string(100, 'x')), "it does not begin as an entry does");
    std::string other = good;
    other[8] = 7;
    EXPECT_EQ(reason(other), "its format is 7, this library reads 1");
    std::string longer = good;
    longer[15] = 0x7f;
    EXPECT_EQ(reason(longer), "its header is longer than allowed");
    std::string flipped = good;
    flipped[good.size() / 2] = static_cast<char>(flipped[good.size() / 2] ^ 1);
    EXPECT_EQ(reason(flipped), "its checksum does not match");
}

TEST(Entry, HostileHeadersAreRefused) {
    for (const std::string& header :
         {std::string(""), std::string("null"), std::string("[]"), std::string("{}"), std::string("7"),
          std::string("\"\xff\""), std::string("{\"key\":3}"), std::string("{\"key\":{\"source\":[]}}"),
          std::string(1 << 20, '['), std::string("{\"a\":") + std::string(100000, '['), std::string(100, '\0'),
          std::string("{\"key\":{\"source\":{\"hex\":\"0\"}}}"),
          std::string("{\"key\":{\"source\":{\"hex\":\"zz\"}}}")}) {
        std::string why;
        EXPECT_FALSE(decode(forged(header), &why)) << header.substr(0, 40);
        EXPECT_FALSE(why.empty());
    }
}

TEST(Entry, NumbersOutOfRangeAreRefused) {
    const std::string bytes = encode(sample::entry("x", 0));
    const std::string header = bytes.substr(16, bytes.size() - 32);
    ASSERT_TRUE(decode(forged(header)));
    const auto with = [&](const std::string& number) {
        std::string changed = header;
        const std::string old = "\"registers\":96";
        return forged(changed.replace(changed.find(old), old.size(), "\"registers\":" + number));
    };
    EXPECT_TRUE(decode(with("255")));
    for (const char* number : {"-1", "4294967296", "1e400", "99999999999999999999999", "1.5", "\"96\"", "null", "[]"})
        EXPECT_FALSE(decode(with(number))) << number;
}
