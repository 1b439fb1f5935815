/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_CONFIG_UCX_TLS_H
#define FUSELINK_CONFIG_UCX_TLS_H

#include <initializer_list>
#include <string_view>

namespace fuselink {

/** True if UCX may enable a transport by one of these names, or groups that it
 *  is in, as far as `setting` tells: the value of UCX_TLS, nullptr if it is not
 *  set. What is left out by name (`^...`) counts as enabled: at worst something
 *  is not done twice. */
bool ucx_may_enable(const char *setting,
                    std::initializer_list<std::string_view> names);

} // namespace fuselink

#endif
