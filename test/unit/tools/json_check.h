/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_UNIT_TOOLS_JSON_CHECK_H
#define FUSELINK_TEST_UNIT_TOOLS_JSON_CHECK_H

#include <cctype>
#include <string>
#include <string_view>

/** Is `text` one value of JSON, by RFC 8259, and nothing else? */
class JsonCheck {
public:
    static bool valid(std::string_view text)
    {
        JsonCheck check(text);
        return check.value() && (check.space(), check.rest_.empty());
    }

private:
    explicit JsonCheck(std::string_view text) : rest_(text) {}

    void space()
    {
        while (!rest_.empty() &&
               std::string_view(" \t\r\n").find(rest_[0]) !=
                   std::string_view::npos) {
            rest_.remove_prefix(1);
        }
    }
    bool take(std::string_view word)
    {
        bool there = rest_.starts_with(word);
        rest_.remove_prefix(there ? word.size() : 0);
        return there;
    }
    bool digits()
    {
        size_t count = 0;
        for (; !rest_.empty() && isdigit(rest_[0]) != 0; ++count) {
            rest_.remove_prefix(1);
        }
        return count != 0;
    }
    bool number()
    {
        take("-");
        if (!take("0") && !digits()) {
            return false;
        }
        if (take(".") && !digits()) {
            return false;
        }
        if (take("e") || take("E")) {
            take("+") || take("-");
            return digits();
        }
        return true;
    }
    bool string()
    {
        if (!take("\"")) {
            return false;
        }
        while (!rest_.empty()) {
            unsigned char c = rest_[0];
            rest_.remove_prefix(1);
            if (c == '"') {
                return true;
            }
            if (c < 0x20 || c >= 0x80) {
                return false; /* we write ASCII only */
            }
            if (c == '\\' && !escape()) {
                return false;
            }
        }
        return false;
    }
    bool escape()
    {
        if (take("u")) {
            for (int i = 0; i < 4; ++i) {
                if (rest_.empty() || isxdigit(rest_[0]) == 0) {
                    return false;
                }
                rest_.remove_prefix(1);
            }
            return true;
        }
        bool known = !rest_.empty() &&
                     std::string_view("\"\\/bfnrt").find(rest_[0]) !=
                         std::string_view::npos;
        rest_.remove_prefix(known ? 1 : 0);
        return known;
    }
    bool list(char end, bool named)
    {
        space();
        if (take(std::string_view(&end, 1))) {
            return true;
        }
        do {
            space();
            if (named && !(string() && (space(), take(":")))) {
                return false;
            }
            if (!value()) {
                return false;
            }
            space();
        } while (take(","));
        return take(std::string_view(&end, 1));
    }
    bool value()
    {
        space();
        if (take("{")) {
            return list('}', true);
        }
        if (take("[")) {
            return list(']', false);
        }
        if (rest_.starts_with("\"")) {
            return string();
        }
        return take("true") || take("false") || take("null") || number();
    }

    std::string_view rest_;
};

#endif
