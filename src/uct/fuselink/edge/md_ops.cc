/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "md_ops.h"

#include "md.h"
#include "unsupported_op.h"

#include "../wire/packed_key.h"

#include <algorithm>
#include <cstring>

namespace fuselink {
namespace {

/* Shorter memory than UCP's shortest rendezvous is read and written by messages
 * or by the NIC of the messages: others are registered if they are asked for. */
constexpr size_t kSpreadLength = 8 << 10;

/* How many slots' keys fit; the same on every call. */
unsigned inline_keys(const NicMemory &nics)
{
    size_t   size = wire::kLeastKeyBytes;
    unsigned n    = 0;
    while (n < nics.count()) {
        size += wire::nic_key_bytes(nics.key_size(n));
        if (size > wire::kMostKeyBytes) {
            break;
        }
        ++n;
    }
    return n;
}

ucs_status_t mem_reg(Md &md, void *address, size_t length, uct_mem_h *memh)
{
    const bool on_gpu = md.on_gpu(address, length);
    auto *region = on_gpu ? new Region(address, length, md.direct_nics()) :
                            new Region(address, length);
    region->key  = md.regions().add(address, length, region, on_gpu);
    *memh        = region;
    return UCS_OK;
}

ucs_status_t mem_dereg(uct_md_h md, const uct_md_mem_dereg_params_t *params)
{
    /* Spelled out: UCX's macro for this is not C++ for every compiler. */
    if (!(params->field_mask & UCT_MD_MEM_DEREG_FIELD_MEMH)) {
        return UCS_ERR_INVALID_PARAM;
    }
    const bool revokes = (params->field_mask & UCT_MD_MEM_DEREG_FIELD_FLAGS) != 0 &&
                         (params->flags & UCT_MD_MEM_DEREG_FLAG_INVALIDATE) != 0;
    if (revokes) {
        if (!Md::from(md).revokes()) {
            return UCS_ERR_UNSUPPORTED;
        }
        if (!(params->field_mask & UCT_MD_MEM_DEREG_FIELD_COMPLETION)) {
            return UCS_ERR_INVALID_PARAM;
        }
    }
    auto *region = static_cast<Region *>(params->memh);
    Md::from(md).regions().remove(region->key);
    Md::from(md).nics().release(*region);
    delete region;
    if (revokes) {
        /* Nobody uses the key any more: see RemoteKey::revocable. UCX from 1.16 on keeps
         * what it waits with on its stack. */
        uct_invoke_completion(params->comp, UCS_OK);
    }
    return UCS_OK;
}

void pack_key(Md &md, uct_mem_h memh, bool revocable, void *buffer)
{
    auto &region    = *static_cast<Region *>(memh);
    NicMemory &nics = md.nics();
    auto *out       = static_cast<uint8_t *>(buffer);
    memset(out, 0, md.key_size());

    wire::PackedKey packed;
    packed.id        = region.key.id;
    packed.key       = region.key.key;
    packed.on_gpu    = region.on_gpu();
    packed.revocable = revocable;
    unsigned slots   = inline_keys(nics);
    if ((region.on_gpu() && !region.for_nics()) || revocable) {
        slots = 0;
    }
    if (region.length() < kSpreadLength) {
        slots = std::min(slots, 1u);
    }
    uint8_t  bytes[wire::kMostKeyBytes];
    uint8_t *at = bytes;
    for (unsigned slot = 0; slot < slots; ++slot) {
        const size_t size = nics.pack(region, slot, at) ?
                                nics.key_size(slot) : 0;
        (void)packed.add({static_cast<uint8_t>(slot), {at, size}});
        at += size;
    }
    wire::pack(packed, {out, md.key_size()});
}

/* CUDA memory can be registered, like host memory, but not accessed: that would
 * say that this is a way to copy between a process's own memories. */
template <typename Attr> void fill_attr(const Md &md, Attr *attr)
{
    attr->reg_mem_types          = UCS_BIT(UCS_MEMORY_TYPE_HOST);
    if (md.takes_gpu()) {
        attr->reg_mem_types     |= UCS_BIT(UCS_MEMORY_TYPE_CUDA) |
                                   UCS_BIT(UCS_MEMORY_TYPE_CUDA_MANAGED);
    }
    attr->access_mem_types       = UCS_BIT(UCS_MEMORY_TYPE_HOST);
    attr->alloc_mem_types        = 0;
    attr->detect_mem_types       = 0;
    attr->max_alloc              = 0;
    attr->max_reg                = ULONG_MAX;
}

/* What registration with the NICs costs, for each. An entry in our own table costs next to
 * nothing and is told as nothing: UCP divides a constant cost by a difference of bandwidths
 * that is negative for TCP (ucp_ep_config_get_zcopy_auto_thresh), so that it would copy
 * messages in fragments of 8 kB for any, and sends 64 kB at once without, as over UCX's
 * own TCP. */
ucs_linear_func_t registration_cost(Md &md)
{
    ucs_linear_func_t cost = ucs_linear_func_make(0, 0);
    for (unsigned slot = 0; slot < md.nics().count(); ++slot) {
        const ucs_linear_func_t &own = md.nics().md(slot).reg_cost();
        cost.c += own.c;
        cost.m += own.m;
    }
    return cost;
}

} // namespace

size_t packed_key_size(const NicMemory &nics)
{
    size_t size = wire::kLeastKeyBytes;
    for (unsigned slot = 0; slot < inline_keys(nics); ++slot) {
        size += wire::nic_key_bytes(nics.key_size(slot));
    }
    return size;
}

ucs_status_t rkey_unpack(const void *buffer, uct_rkey_t *rkey, void **handle)
{
    wire::PackedKey packed;
    if (!wire::parse(static_cast<const uint8_t *>(buffer), packed)) {
        ucs_debug("fuselink: not a remote key of this version");
        return UCS_ERR_INVALID_PARAM;
    }
    auto nics = packed.nics().empty() ? nullptr : std::make_shared<NicKeys>();
    for (const wire::PackedKey::Nic &nic : packed.nics()) {
        nics->set(nic.slot, nic.key);
    }
    auto *key = new RemoteKey{{packed.id, packed.key}, packed.on_gpu, packed.revocable,
                              std::move(nics)};
    *rkey     = reinterpret_cast<uct_rkey_t>(key);
    *handle   = key;
    return UCS_OK;
}

ucs_status_t rkey_release(void *handle)
{
    delete static_cast<RemoteKey *>(handle);
    return UCS_OK;
}

namespace {

const uint64_t kFlags = UCT_MD_FLAG_REG | UCT_MD_FLAG_NEED_MEMH |
                        UCT_MD_FLAG_NEED_RKEY;

#ifdef FUSELINK_HAS_UCT_MD_FLAG_INVALIDATE_RMA /* 1.15 */
const uint64_t kFlagRevokes  = UCT_MD_FLAG_INVALIDATE_RMA;
const unsigned kPackToRevoke = UCT_MD_MKEY_PACK_FLAG_INVALIDATE_RMA |
                               UCT_MD_MKEY_PACK_FLAG_INVALIDATE_AMO;
#else
const uint64_t kFlagRevokes  = UCT_MD_FLAG_INVALIDATE;
const unsigned kPackToRevoke = UCT_MD_MKEY_PACK_FLAG_INVALIDATE;
#endif

uint64_t flags_of(const Md &md)
{
    return kFlags | (md.revokes() ? kFlagRevokes : 0);
}

#ifdef FUSELINK_HAS_UCT_MD_ATTR_V2_T /* 1.14 */

/* All fields. */
void set_defaults(uct_md_attr_v2_t *attr)
{
#ifdef FUSELINK_HAS_UCT_MD_BASE_MD_QUERY /* 1.17 */
    uct_md_base_md_query(attr); /* those that are new in it, too */
#else
    *attr = {.field_mask = attr->field_mask}; /* which fields it is to have */
    memset(&attr->local_cpus, 0xff, sizeof(attr->local_cpus));
#ifdef FUSELINK_HAS_UCT_MD_ATTR_V2_T_REG_ALIGNMENT
    attr->reg_alignment = 1;
#endif
#endif
}

ucs_status_t md_query(uct_md_h md, uct_md_attr_v2_t *attr)
{
    set_defaults(attr);
    attr->flags = flags_of(Md::from(md));
    fill_attr(Md::from(md), attr);
    /* UCP registers for its protocols through a cache or not at all. */
    attr->cache_mem_types  = attr->reg_mem_types;
    attr->rkey_packed_size = Md::from(md).key_size();
    attr->reg_cost         = registration_cost(Md::from(md));
    return UCS_OK;
}

ucs_status_t md_mem_reg(uct_md_h md, void *address, size_t length,
                        const uct_md_mem_reg_params_t *, uct_mem_h *memh)
{
    return mem_reg(Md::from(md), address, length, memh);
}

#else

ucs_status_t md_query(uct_md_h md, uct_md_attr_t *attr)
{
    memset(attr, 0, sizeof(*attr));
    attr->cap.flags = flags_of(Md::from(md));
    fill_attr(Md::from(md), &attr->cap);
    attr->rkey_packed_size = Md::from(md).key_size();
    attr->reg_cost         = registration_cost(Md::from(md));
    memset(&attr->local_cpus, 0xff, sizeof(attr->local_cpus));
    return UCS_OK;
}

ucs_status_t md_mem_reg(uct_md_h md, void *address, size_t length, unsigned,
                        uct_mem_h *memh)
{
    return mem_reg(Md::from(md), address, length, memh);
}

#endif

/* No exported keys. */
ucs_status_t md_mkey_pack(uct_md_h md, uct_mem_h memh,
                          const uct_md_mkey_pack_params_t *params,
                          void *buffer)
{
    const unsigned flags = (params->field_mask & UCT_MD_MKEY_PACK_FIELD_FLAGS) ?
                               params->flags : 0;
    if ((flags & ~(Md::from(md).revokes() ? kPackToRevoke : 0)) != 0) {
        return UCS_ERR_UNSUPPORTED;
    }
    pack_key(Md::from(md), memh, flags != 0, buffer);
    return UCS_OK;
}

/* From 1.16 on with a range, which is only a hint: the key opens the whole region. The
 * table takes the one of the two that fits. */
[[maybe_unused]] ucs_status_t
md_mkey_pack(uct_md_h md, uct_mem_h memh, void *, size_t,
             const uct_md_mkey_pack_params_t *params, void *buffer)
{
    return md_mkey_pack(md, memh, params, buffer);
}

#ifdef FUSELINK_HAS_UCT_MD_OPS_T_IS_SOCKADDR_ACCESSIBLE /* until 1.15 */

int md_is_sockaddr_accessible(uct_md_h, const ucs_sock_addr_t *,
                              uct_sockaddr_accessibility_t)
{
    return 0;
}

#endif

} // namespace

uct_md_ops_t md_ops = {
    .close                  = md_close,
    .query                  = md_query,
    .mem_alloc              = kUnsupportedOp,
    .mem_free               = kUnsupportedOp,
    .mem_advise             = kUnsupportedOp,
    .mem_reg                = md_mem_reg,
    .mem_dereg              = mem_dereg,
    .mem_query              = kUnsupportedOp,
    .mkey_pack              = md_mkey_pack,
#ifdef FUSELINK_HAS_UCT_MD_OPS_T_MEM_ATTACH /* 1.14 */
    .mem_attach             = kUnsupportedOp,
#endif
#ifdef FUSELINK_HAS_UCT_MD_OPS_T_IS_SOCKADDR_ACCESSIBLE
    .is_sockaddr_accessible = md_is_sockaddr_accessible,
#endif
    .detect_memory_type     = kUnsupportedOp,
#ifdef FUSELINK_HAS_UCT_MD_OPS_T_MEM_ELEM_PACK /* 1.21 */
    .mem_elem_pack          = kUnsupportedOp,
#endif
#ifdef FUSELINK_HAS_UCT_MD_OPS_T_MEM_ELEM_RELEASE /* after 1.22.0 */
    .mem_elem_release       = kUnsupportedOp,
#endif
};

} // namespace fuselink
