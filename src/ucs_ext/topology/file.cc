/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "file.h"

#include "../text_table.h"
#include "directive.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace fuselink::topology {
namespace {

std::vector<std::string> words_of(std::string_view line)
{
    constexpr const char    *kBlank = " \t\r";
    std::vector<std::string> words;
    line = line.substr(0, line.find('#'));
    for (size_t at = line.find_first_not_of(kBlank);
         at != std::string_view::npos;
         at = line.find_first_not_of(kBlank, at)) {
        size_t end = std::min(line.find_first_of(kBlank, at), line.size());
        words.emplace_back(line.substr(at, end - at));
        at = end;
    }
    return words;
}

std::string complaint(unsigned number, const std::string &word,
                      const std::string &what)
{
    return "line " + std::to_string(number) + ", '" + printable(word, 40) +
           "': " + what;
}

} // namespace

bool File::parse(std::string_view text, File &file, std::string &error)
{
    file = File();
    if (text.size() > kMaxSize) {
        error = "longer than " + std::to_string(kMaxSize) + " bytes";
        return false;
    }
    for (unsigned number = 1; !text.empty(); ++number) {
        size_t end  = text.find('\n');
        Line   line = {number, words_of(text.substr(0, end))};
        text.remove_prefix(end == std::string_view::npos ? text.size() :
                                                           end + 1);
        if (line.words.empty()) {
            continue;
        }
        std::string accepted = Directive::check(line.words);
        if (!accepted.empty()) {
            error = complaint(number, line.words[0], accepted);
            return false;
        }
        file.lines_.push_back(std::move(line));
    }
    return true;
}

bool File::load(const std::string &path, File &file, std::string &error)
{
    auto close = [](FILE *open) { fclose(open); };
    std::unique_ptr<FILE, decltype(close)> open(fopen(path.c_str(), "re"),
                                                close);
    std::string text(kMaxSize + 1, '\0');
    if (open == nullptr) {
        error = std::string("cannot be read: ") + strerror(errno);
        return false;
    }
    text.resize(fread(text.data(), 1, text.size(), open.get()));
    if (ferror(open.get()) != 0) {
        error = std::string("cannot be read: ") + strerror(errno);
        return false;
    }
    return parse(text, file, error);
}

bool File::declare(Devices &devices, std::string &error) const
{
    for (const auto &line : lines_) {
        std::string why = Directive::declare(line.words, devices);
        if (!why.empty()) {
            error = complaint(line.number, line.words[0], why);
            return false;
        }
    }
    return true;
}

bool File::apply(Devices &devices, std::string &error) const
{
    Directive directive(devices);
    for (const auto &line : lines_) {
        std::string why = directive.apply(line.words);
        if (!why.empty()) {
            error = complaint(line.number, line.words[0], why);
            return false;
        }
    }
    directive.finish();
    return true;
}

} // namespace fuselink::topology
