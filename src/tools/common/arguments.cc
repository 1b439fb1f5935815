/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "arguments.h"

#include <algorithm>

namespace fuselink {

bool Arguments::parse(int argc, char **argv,
                      std::initializer_list<Option> known, std::string &error)
{
    for (int i = 1; i < argc; ++i) {
        std::string word   = argv[i];
        size_t      equals = word.find('=');
        std::string name   = word.starts_with("--") ?
                                 word.substr(2, equals - 2) : "";
        auto option = std::find_if(known.begin(), known.end(),
                                   [&](const Option &one) {
                                       return name == one.name;
                                   });
        if (option == known.end()) {
            error = "unknown argument '" + word + "'; see --help";
            return false;
        }
        bool inside = equals != std::string::npos;
        if (!option->takes_value && inside) {
            error = "--" + name + " takes no value";
            return false;
        }
        if (option->takes_value && !inside && i + 1 == argc) {
            error = "--" + name + " needs a value";
            return false;
        }
        given_[name] = inside ? word.substr(equals + 1) :
                       option->takes_value ? argv[++i] : "";
    }
    return true;
}

std::string Arguments::value(const std::string &name,
                             const std::string &otherwise) const
{
    auto it = given_.find(name);
    return it != given_.end() ? it->second : otherwise;
}

} // namespace fuselink
