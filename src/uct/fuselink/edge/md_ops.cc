/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "md_ops.h"

#include "md.h"
#include "refusal.h"

#include <cstring>

namespace fuselink {
namespace {

/* What a packed remote key holds. Rails' own keys are not in it: sixteen of
 * them would not fit the 255 bytes that UCP has for all keys of a region. */
struct PackedKey {
    uint8_t  magic;
    uint8_t  version;
    uint16_t reserved;
    uint32_t id;
    uint64_t key;
} __attribute__((packed));

constexpr uint8_t kKeyMagic   = 0xf6;
constexpr uint8_t kKeyVersion = 1;

ucs_status_t mem_reg(Md &md, void *address, size_t length, uct_mem_h *memh)
{
    auto *region = new Region;
    region->key  = md.regions().add(address, length);
    *memh        = region;
    return UCS_OK;
}

ucs_status_t mem_dereg(uct_md_h md, const uct_md_mem_dereg_params_t *params)
{
    /* Spelled out: UCX's macro for this is not C++ for every compiler. */
    if (!(params->field_mask & UCT_MD_MEM_DEREG_FIELD_MEMH)) {
        return UCS_ERR_INVALID_PARAM;
    }
    if ((params->field_mask & UCT_MD_MEM_DEREG_FIELD_FLAGS) &&
        (params->flags & UCT_MD_MEM_DEREG_FLAG_INVALIDATE)) {
        return UCS_ERR_UNSUPPORTED;
    }
    auto *region = static_cast<Region *>(params->memh);
    Md::from(md).regions().remove(region->key);
    delete region;
    return UCS_OK;
}

void pack_key(uct_mem_h memh, void *buffer)
{
    auto *region = static_cast<Region *>(memh);
    PackedKey packed{kKeyMagic, kKeyVersion, 0, region->key.id,
                     region->key.key};
    memcpy(buffer, &packed, sizeof(packed));
}

template <typename Attr> void fill_attr(Attr *attr)
{
    attr->reg_mem_types          = UCS_BIT(UCS_MEMORY_TYPE_HOST);
    attr->access_mem_types       = UCS_BIT(UCS_MEMORY_TYPE_HOST);
    attr->alloc_mem_types        = 0;
    attr->detect_mem_types       = 0;
    attr->max_alloc              = 0;
    attr->max_reg                = ULONG_MAX;
}

ucs_linear_func_t registration_cost()
{
    return ucs_linear_func_make(100e-9, 0);
}

} // namespace

ucs_status_t rkey_unpack(const void *buffer, uct_rkey_t *rkey, void **handle)
{
    PackedKey packed;
    memcpy(&packed, buffer, sizeof(packed));
    if (packed.magic != kKeyMagic || packed.version != kKeyVersion) {
        ucs_debug("fuselink: not a remote key of this version");
        return UCS_ERR_INVALID_PARAM;
    }
    auto *key = new RegionKey{packed.id, packed.key};
    *rkey     = reinterpret_cast<uct_rkey_t>(key);
    *handle   = key;
    return UCS_OK;
}

ucs_status_t rkey_release(void *handle)
{
    delete static_cast<RegionKey *>(handle);
    return UCS_OK;
}

namespace {

const auto kFlags = UCT_MD_FLAG_REG | UCT_MD_FLAG_NEED_MEMH |
                    UCT_MD_FLAG_NEED_RKEY;

#if FUSELINK_UCX_MINOR == 13

ucs_status_t md_query(uct_md_h, uct_md_attr_t *attr)
{
    memset(attr, 0, sizeof(*attr));
    attr->cap.flags = kFlags;
    fill_attr(&attr->cap);
    attr->rkey_packed_size = sizeof(PackedKey);
    attr->reg_cost         = registration_cost();
    memset(&attr->local_cpus, 0xff, sizeof(attr->local_cpus));
    return UCS_OK;
}

ucs_status_t md_mem_reg(uct_md_h md, void *address, size_t length, unsigned,
                        uct_mem_h *memh)
{
    return mem_reg(Md::from(md), address, length, memh);
}

ucs_status_t md_mkey_pack(uct_md_h, uct_mem_h memh,
                          const uct_md_mkey_pack_params_t *, void *buffer)
{
    pack_key(memh, buffer);
    return UCS_OK;
}

int md_is_sockaddr_accessible(uct_md_h, const ucs_sock_addr_t *,
                              uct_sockaddr_accessibility_t)
{
    return 0;
}

#elif FUSELINK_UCX_MINOR == 22

ucs_status_t md_query(uct_md_h, uct_md_attr_v2_t *attr)
{
    uct_md_base_md_query(attr); /* all fields, the new ones too */
    attr->flags = kFlags;
    fill_attr(attr);
    /* UCP registers for its protocols through a cache or not at all. */
    attr->cache_mem_types  = attr->reg_mem_types;
    attr->rkey_packed_size = sizeof(PackedKey);
    attr->reg_cost         = registration_cost();
    return UCS_OK;
}

ucs_status_t md_mem_reg(uct_md_h md, void *address, size_t length,
                        const uct_md_mem_reg_params_t *, uct_mem_h *memh)
{
    return mem_reg(Md::from(md), address, length, memh);
}

/* The key opens the whole region; the range that it is packed for is only a
 * hint. */
ucs_status_t md_mkey_pack(uct_md_h, uct_mem_h memh, void *, size_t,
                          const uct_md_mkey_pack_params_t *params,
                          void *buffer)
{
    uint64_t flags = (params->field_mask & UCT_MD_MKEY_PACK_FIELD_FLAGS) ?
                         params->flags : 0;
    if (flags != 0) { /* neither exported nor invalidated keys */
        return UCS_ERR_UNSUPPORTED;
    }
    pack_key(memh, buffer);
    return UCS_OK;
}

#endif

} // namespace

uct_md_ops_t md_ops = {
    .close                  = md_close,
    .query                  = md_query,
    .mem_alloc              = kRefuse,
    .mem_free               = kRefuse,
    .mem_advise             = kRefuse,
    .mem_reg                = md_mem_reg,
    .mem_dereg              = mem_dereg,
    .mem_query              = kRefuse,
    .mkey_pack              = md_mkey_pack,
#if FUSELINK_UCX_MINOR == 13
    .is_sockaddr_accessible = md_is_sockaddr_accessible,
#else
    .mem_attach             = kRefuse,
#endif
    .detect_memory_type     = kRefuse,
#if FUSELINK_UCX_MINOR == 22
    .mem_elem_pack          = kRefuse,
#endif
};

} // namespace fuselink
