// Stub of GoogleTest: runs the tests of one file, and aborts at the first wrong value.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace testing {

using StubTest = void (*)();

inline StubTest *stub_tests() {
    static StubTest tests[100] = {};
    return tests;
}

inline bool stub_add(StubTest test) {
    static int count = 0;
    stub_tests()[count++] = test;
    return true;
}

inline void stub_expect(bool is_good, const char *text, int line) {
    if (!is_good) {
        std::fprintf(stderr, "line %d: %s\n", line, text);
        std::abort();
    }
}

}  // namespace testing

#define TEST(suite, name)                                                                         \
    static void suite##_##name();                                                                 \
    [[maybe_unused]] static const bool is_added_##suite##_##name =                                \
        testing::stub_add(suite##_##name);                                                        \
    static void suite##_##name()
#define EXPECT_TRUE(value) testing::stub_expect(value, #value, __LINE__)
#define EXPECT_EQ(a, b) testing::stub_expect((a) == (b), #a " == " #b, __LINE__)
#define ASSERT_EQ(a, b) EXPECT_EQ(a, b)
// 4 units in the last place
#define EXPECT_DOUBLE_EQ(a, b)                                                                    \
    testing::stub_expect(std::abs((a) - (b)) <= 8.9e-16 * std::abs(b), #a " == " #b, __LINE__)
#define EXPECT_THROW(statement, type)                                                             \
    do {                                                                                          \
        bool is_thrown = false;                                                                   \
        try {                                                                                     \
            statement;                                                                            \
        } catch (const type &) {                                                                  \
            is_thrown = true;                                                                     \
        }                                                                                         \
        testing::stub_expect(is_thrown, #statement, __LINE__);                                    \
    } while (false)

int main() {
    int count = 0;
    for (testing::StubTest *test = testing::stub_tests(); *test != nullptr; ++test, ++count) {
        (*test)();
    }
    std::printf("%d\n", count);
    return 0;
}
