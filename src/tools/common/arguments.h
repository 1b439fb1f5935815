/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TOOLS_COMMON_ARGUMENTS_H
#define FUSELINK_TOOLS_COMMON_ARGUMENTS_H

#include <initializer_list>
#include <map>
#include <string>

namespace fuselink {

/**
 * The arguments of a tool: long options only, "--name" and "--name VALUE" or
 * "--name=VALUE". What is not known is an error, said in one line.
 */
class Arguments {
public:
    struct Option {
        const char *name; /* without the dashes */
        bool        takes_value;
    };

    /** False with an error text for a line. */
    [[nodiscard]] bool parse(int argc, char **argv,
                             std::initializer_list<Option> known,
                             std::string &error);

    bool has(const std::string &name) const { return given_.contains(name); }
    /** The value given, or `otherwise`. */
    std::string value(const std::string &name,
                      const std::string &otherwise = "") const;

private:
    std::map<std::string, std::string> given_;
};

} // namespace fuselink

#endif
