/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "ucx_engine.h"

#include "../ucx.h"

#include <type_traits>

namespace fuselink {
namespace {

struct Settings {
    int proto_enable = UCS_NO;
};

ucs_config_field_t fields[] = {
    {"PROTO_ENABLE", "n", "", offsetof(Settings, proto_enable), UCS_CONFIG_TYPE_TERNARY},
    {nullptr}};

} // namespace

bool ucx_proto_enabled()
{
    Settings settings;
    auto read = [&](auto *fill) {
        if constexpr (std::is_invocable_v<decltype(fill), void *, ucs_config_field_t *,
                                          const char *, const char *, int>) {
            return fill(&settings, fields, UCS_DEFAULT_ENV_PREFIX, nullptr, 1);
        } else { /* from 1.15 on */
            ucs_config_global_list_entry_t entry{};
            entry.name  = "UCP";
            entry.table = fields;
            entry.size  = sizeof(settings);
            return fill(&settings, &entry, UCS_DEFAULT_ENV_PREFIX, 1);
        }
    };
    if (read(ucs_config_parser_fill_opts) != UCS_OK) {
        return true; /* it has a value of which we do not know what UCP makes */
    }
    const bool enabled = settings.proto_enable != UCS_NO;
    ucs_config_parser_release_opts(&settings, fields);
    return enabled;
}

} // namespace fuselink
