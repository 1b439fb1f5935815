/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "json.h"

#include <charconv>
#include <cmath>

namespace fuselink {

void Json::separate()
{
    if (!first_) {
        text_ += ", ";
    }
    first_ = false;
}

Json &Json::open(char bracket)
{
    separate();
    text_ += bracket;
    first_ = true;
    return *this;
}

Json &Json::close(char bracket)
{
    text_ += bracket;
    first_ = false;
    return *this;
}

Json &Json::key(std::string_view name)
{
    separate();
    quote(name);
    text_ += ": ";
    first_ = true;
    return *this;
}

Json &Json::raw(std::string_view text)
{
    separate();
    text_ += text;
    return *this;
}

Json &Json::value(std::string_view text)
{
    separate();
    quote(text);
    return *this;
}

Json &Json::value(double number)
{
    if (!std::isfinite(number)) {
        return null();
    }
    char text[32];
    auto end = std::to_chars(text, text + sizeof(text), number).ptr;
    return raw({text, static_cast<size_t>(end - text)});
}

void Json::quote(std::string_view text)
{
    static constexpr char kHex[] = "0123456789abcdef";
    text_ += '"';
    for (char c : text) {
        auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x7f) {
            text_ += "\\ufffd";
        } else if (byte < 0x20) {
            text_ += "\\u00";
            text_ += kHex[byte >> 4];
            text_ += kHex[byte & 15];
        } else {
            if (c == '"' || c == '\\') {
                text_ += '\\';
            }
            text_ += c;
        }
    }
    text_ += '"';
}

} // namespace fuselink
