#include "subject/message.h"

#include <gtest/gtest.h>

namespace convt_jit::tools::test {
namespace {

TEST(Message, WhatATerminalCanShowStays) {
    for (const char* text :
         {"", "plain", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf"}) {
        EXPECT_EQ(shown(text), text);
        EXPECT_EQ(shown_in_line(text), text);
    }
    EXPECT_EQ(shown("a\n\tb"), "a\n\tb");
}

TEST(Message, ControlCharactersAreEscaped) {
    EXPECT_EQ(shown("\x1b[31m\r\x7f"), "\\x1b[31m\\x0d\\x7f");
    EXPECT_EQ(shown_in_line("a\n\tb"), "a\\x0a\\x09b");
    EXPECT_EQ(shown("\xc2\x9b"), "\\x9b") << "in UTF-8";
}

TEST(Message, BytesThatAreNoUtf8AreEscaped) {
    EXPECT_EQ(shown("a\xff"), "a\\xff");
    EXPECT_EQ(shown("\x9b"), "\\x9b");
    EXPECT_EQ(shown("\xc3"), "\\xc3") << "cut";
    EXPECT_EQ(shown("\xe2\x82"), "\\xe2\\x82");
    EXPECT_EQ(shown("\xc0\xaf"), "\\xc0\\xaf") << "longer than needed";
    EXPECT_EQ(shown("\xe0\x80\xaf"), "\\xe0\\x80\\xaf");
    EXPECT_EQ(shown("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "a surrogate";
    EXPECT_EQ(shown("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "above the last";
    EXPECT_EQ(shown("\xc3\xc3\xa9"), "\\xc3\xc3\xa9");
}

}  // namespace
}  // namespace convt_jit::tools::test
