/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "faults.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <sys/stat.h>

namespace cudasim {
namespace {

struct Name {
    const char *name;
    Fault       fault;
};

constexpr Name kNames[] = {
    {"alloc", Fault::Alloc},
    {"host-alloc", Fault::HostAlloc},
    {"host-register", Fault::HostRegister},
    {"copy", Fault::Copy},
    {"copy-async", Fault::CopyAsync},
    {"peer", Fault::Peer},
    {"ipc-export", Fault::IpcExport},
    {"ipc-open", Fault::IpcOpen},
};

template <typename T> bool number(std::string_view text, T &value)
{
    auto [end, status] =
        std::from_chars(text.data(), text.data() + text.size(), value);
    return status == std::errc() && end == text.data() + text.size();
}

/* Cuts what follows MARK off, if it is there. */
std::string_view cut(std::string_view &text, char mark)
{
    size_t at = text.find(mark);
    if (at == text.npos) {
        return {};
    }
    std::string_view rest = text.substr(at + 1);
    text                  = text.substr(0, at);
    return rest.empty() ? std::string_view("?") : rest; /* no number */
}

} // namespace

bool Faults::parse_rule(std::string_view word, Rule &rule)
{
    std::string_view calls = cut(word, '#');
    std::string_view gpus  = cut(word, '@');
    std::string_view count = cut(calls, 'x');
    std::string_view other = cut(gpus, '-');
    auto             known = std::find_if(std::begin(kNames), std::end(kNames),
                              [word](const Name &n) { return word == n.name; });
    if (known == std::end(kNames)) {
        return false;
    }
    rule.fault = known->fault;
    return (calls.empty() || (number(calls, rule.first) && rule.first > 0)) &&
           (count.empty() || number(count, rule.count)) &&
           (gpus.empty() || number(gpus, rule.gpu)) &&
           (other.empty() || number(other, rule.other));
}

bool Faults::parse(const std::string &list, std::string &error)
{
    std::string spaced = list;
    std::replace(spaced.begin(), spaced.end(), ',', ' ');
    std::istringstream in(spaced);
    std::vector<Rule>  rules;
    for (std::string word; in >> word;) {
        Rule rule{};
        if (!parse_rule(word, rule)) {
            error = "'" + word + "': accepted: POINT[@GPU[-GPU]][#FIRST[xCOUNT]]"
                    " with POINT one of";
            for (const Name &name : kNames) {
                error += std::string(" ") + name.name;
            }
            return false;
        }
        rules.push_back(rule);
    }
    rules_ = std::move(rules);
    return true;
}

bool Faults::set(const std::string &list, std::string &error)
{
    std::lock_guard guard(mutex_);
    if (list.starts_with('@')) {
        file_ = list.substr(1);
        reload();
        return true;
    }
    file_.clear();
    return parse(list, error);
}

/* A file that is not there has no faults: a test makes it when it wants some.
 * Write it under another name and rename it. */
void Faults::reload()
{
    struct stat status{};
    uint64_t    version = 0;
    if (stat(file_.c_str(), &status) == 0) {
        version = status.st_ino ^
                  (static_cast<uint64_t>(status.st_mtim.tv_sec) << 32) ^
                  (static_cast<uint64_t>(status.st_mtim.tv_nsec) << 8);
    }
    if (version == file_version_) {
        return;
    }
    file_version_ = version;
    std::ostringstream text;
    std::string        error;
    if (version != 0) {
        text << std::ifstream(file_).rdbuf();
    }
    if (!parse(text.str(), error)) {
        fprintf(stderr, "cudasim: %s: %s\n", file_.c_str(), error.c_str());
    }
}

bool Faults::hits(Fault fault, int gpu, int other)
{
    std::lock_guard guard(mutex_);
    if (!file_.empty()) {
        reload();
    }
    bool hit = false;
    for (Rule &rule : rules_) {
        bool meant = (rule.gpu < 0 || rule.gpu == gpu || rule.gpu == other) &&
                     (rule.other < 0 || rule.other == gpu ||
                      rule.other == other);
        if (rule.fault != fault || !meant) {
            continue;
        }
        ++rule.calls;
        hit |= rule.calls >= rule.first && rule.calls - rule.first < rule.count;
    }
    return hit;
}

} // namespace cudasim
