/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "host.h"
#include "native_host.h"

namespace fuselink {

/* Nothing else belongs in this file: see host.h. */
Host &host_of_new_md()
{
    return NativeHost::of_process();
}

} // namespace fuselink
