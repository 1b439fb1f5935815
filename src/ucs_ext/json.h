/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_UCS_EXT_JSON_H
#define FUSELINK_UCS_EXT_JSON_H

#include <cstdint>
#include <string>
#include <string_view>

namespace fuselink {

/**
 * Writes JSON, in one line. Whatever text it is given, what comes out is valid:
 * bytes that are no ASCII become U+FFFD, numbers that JSON lacks null.
 *
 *     Json json;
 *     json.begin_object().field("name", "eth0").key("ports").begin_array();
 *     json.value(1).value(2).end_array().end_object();
 */
class Json {
public:
    Json &begin_object() { return open('{'); }
    Json &end_object() { return close('}'); }
    Json &begin_array() { return open('['); }
    Json &end_array() { return close(']'); }
    Json &key(std::string_view name);

    Json &value(std::string_view text);
    Json &value(const char *text) { return value(std::string_view(text)); }
    Json &value(bool yes) { return raw(yes ? "true" : "false"); }
    Json &value(double number);
    Json &value(int number) { return raw(std::to_string(number)); }
    Json &value(unsigned number) { return raw(std::to_string(number)); }
    Json &value(long number) { return raw(std::to_string(number)); }
    Json &value(unsigned long number) { return raw(std::to_string(number)); }
    Json &null() { return raw("null"); }

    template <typename T> Json &field(std::string_view name, const T &what)
    {
        return key(name).value(what);
    }

    /** The field is null unless `known`; `what` is not looked at then. */
    template <typename T>
    Json &field_or_null(std::string_view name, bool known, const T &what)
    {
        key(name);
        return known ? value(what) : null();
    }

    const std::string &text() const { return text_; }

private:
    Json &open(char bracket);
    Json &close(char bracket);
    Json &raw(std::string_view text);
    void  separate();
    void  quote(std::string_view text);

    std::string text_;
    bool        first_ = true; /* nothing is to be separated from */
};

} // namespace fuselink

#endif
