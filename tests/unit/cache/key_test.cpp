#include "cache/key.h"

#include <gtest/gtest.h>

#include <set>

using namespace convt_jit;

TEST(Key, DigestIsXxh3Of128Bits) {
    // Canonical digest of the empty input, from the specification of xxHash.
    EXPECT_EQ(digest(std::string_view()), "99aa06d3014798d86001c324468d497f");
    EXPECT_EQ(digest(std::string_view("a")).size(), kDigestLength);
    EXPECT_NE(digest(std::string_view("a")), digest(std::string_view("b")));
}

TEST(Key, EveryFieldCounts) {
    const KeyFields base{"s", "o", "a", "p", 1};
    std::set<std::string> seen{digest(base)};
    EXPECT_EQ(digest(KeyFields(base)), digest(base));
    EXPECT_TRUE(seen.insert(digest(KeyFields{"S", "o", "a", "p", 1})).second);
    EXPECT_TRUE(seen.insert(digest(KeyFields{"s", "O", "a", "p", 1})).second);
    EXPECT_TRUE(seen.insert(digest(KeyFields{"s", "o", "A", "p", 1})).second);
    EXPECT_TRUE(seen.insert(digest(KeyFields{"s", "o", "a", "P", 1})).second);
    EXPECT_TRUE(seen.insert(digest(KeyFields{"s", "o", "a", "p", 2})).second);
}

TEST(Key, FieldsDoNotRunTogether) {
    EXPECT_NE(digest(KeyFields{"ab", "c", "", "", 1}), digest(KeyFields{"a", "bc", "", "", 1}));
    EXPECT_NE(digest(KeyFields{"a", "", "", "", 1}), digest(KeyFields{"", "a", "", "", 1}));
    EXPECT_NE(digest(KeyFields{"1:a", "", "", "", 1}), digest(KeyFields{"", "1:a", "", "", 1}));
}

TEST(Key, KnowsADigest) {
    EXPECT_TRUE(is_digest(digest(std::string_view("x"))));
    EXPECT_FALSE(is_digest(""));
    EXPECT_FALSE(is_digest("../../../../../../../etc/passwd0"));
    EXPECT_FALSE(is_digest(std::string(32, 'G')));
    EXPECT_FALSE(is_digest(std::string(33, 'a')));
}
