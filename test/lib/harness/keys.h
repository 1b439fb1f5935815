/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_KEYS_H
#define FUSELINK_TEST_KEYS_H

#include <uct/api/uct.h>
#include <uct/api/v2/uct_v2.h>

#include <type_traits>

namespace fltest {

/* As UCX 1.13 and 1.14 call it; from 1.15 on there is one for puts and gets, and one for
 * atomics. */
inline constexpr unsigned kPackToRevoke = 1;

/** Packs a key that its owner may end: see revoke(). */
inline ucs_status_t pack_revocable(uct_md_h md, uct_mem_h memh, void *buffer)
{
    uct_md_mkey_pack_params_t params{};
    params.field_mask = UCT_MD_MKEY_PACK_FIELD_FLAGS;
    params.flags      = kPackToRevoke;
    auto pack = [&](auto *function) {
        if constexpr (std::is_invocable_v<decltype(function), uct_md_h, uct_mem_h,
                                          decltype(&params), void *>) {
            return function(md, memh, &params, buffer);
        } else { /* from 1.16 on */
            return function(md, memh, nullptr, 0, &params, buffer);
        }
    };
    return pack(uct_md_mkey_pack_v2);
}

/** Ends the registration and all such keys of it. UCS_ERR_BUSY: it was not said at once
 *  that nobody uses the memory any more. */
inline ucs_status_t revoke(uct_md_h md, uct_mem_h memh)
{
    uct_completion_t comp{};
    comp.func  = [](uct_completion_t *) {};
    comp.count = 1;
    uct_md_mem_dereg_params_t params{};
    params.field_mask = UCT_MD_MEM_DEREG_FIELD_MEMH | UCT_MD_MEM_DEREG_FIELD_FLAGS |
                        UCT_MD_MEM_DEREG_FIELD_COMPLETION;
    params.memh       = memh;
    params.flags      = UCT_MD_MEM_DEREG_FLAG_INVALIDATE;
    params.comp       = &comp;
    const ucs_status_t status = uct_md_mem_dereg_v2(md, &params);
    return status == UCS_OK && comp.count != 0 ? UCS_ERR_BUSY : status;
}

} // namespace fltest

#endif
