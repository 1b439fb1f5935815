/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "tools/common/arguments.h"
#include "tools/common/atomic_file.h"

#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <unistd.h>

namespace fuselink {
namespace {

bool parse(std::vector<std::string> words, Arguments &arguments,
           std::string &error)
{
    std::vector<char *> argv{const_cast<char *>("tool")};
    for (auto &word : words) {
        argv.push_back(word.data());
    }
    return arguments.parse(static_cast<int>(argv.size()), argv.data(),
                           {{"file", true}, {"once", false}}, error);
}

TEST(Arguments, TakesBothForms)
{
    Arguments   arguments;
    std::string error;
    ASSERT_TRUE(parse({"--file", "a=b", "--once"}, arguments, error));
    EXPECT_EQ(arguments.value("file"), "a=b");
    EXPECT_TRUE(arguments.has("once"));
    ASSERT_TRUE(parse({"--file="}, arguments, error));
    EXPECT_EQ(arguments.value("file", "other"), "");
    EXPECT_EQ(arguments.value("interval", "1"), "1");
}

TEST(Arguments, NamesWhatIsWrong)
{
    for (const auto &[word, what] :
         {std::pair{"--fil", "'--fil'"}, {"file", "'file'"}, {"-", "'-'"},
          {"--", "'--'"}, {"--file", "--file needs"},
          {"--once=1", "--once takes"}}) {
        Arguments   arguments;
        std::string error;
        EXPECT_FALSE(parse({word}, arguments, error)) << word;
        EXPECT_NE(error.find(what), std::string::npos) << error;
    }
}

TEST(ReplaceFile, LeavesOneWholeFile)
{
    char folder[] = "/tmp/fuselink-test-XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    std::string path = std::string(folder) + "/metrics.prom", error;
    for (const char *text : {"old and longer\n", "new\n"}) {
        ASSERT_TRUE(replace_file(path, text, error)) << error;
        std::ifstream in(path);
        std::string   read(std::istreambuf_iterator<char>(in), {});
        EXPECT_EQ(read, text);
    }
    EXPECT_EQ(unlink(path.c_str()), 0);
    EXPECT_EQ(rmdir(folder), 0) << "something else was left in it";

    EXPECT_FALSE(replace_file(path, "x", error));
    EXPECT_NE(error.find(path), std::string::npos) << error;
}

} // namespace
} // namespace fuselink
