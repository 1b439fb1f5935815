/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_EDGE_ALIAS_MD_H
#define FUSELINK_EDGE_ALIAS_MD_H

#include "../rail/uct_objects.h"
#include "../ucx.h"
#include "alias_component.h"

#include <memory>
#include <mutex>

namespace fuselink {

/** The memory domain of an alias: passes on to the real one's, opened for
 *  itself. As thread-safe as that is. */
class AliasMd : public uct_md_t {
public:
    static ucs_status_t open(uct_component_t *component, const char *name,
                             const uct_md_config_t *config, uct_md_h *md);
    static AliasMd &from(uct_md_h md) { return *static_cast<AliasMd *>(md); }

    static ucs_status_t query_devices(uct_md_h md,
                                      uct_tl_device_resource_t **devices,
                                      unsigned *count);

    UctMd                &real() const { return *real_; }
    const AliasComponent &alias() const
    {
        return AliasComponent::from(component);
    }

    /** Interfaces are about to be opened on it. */
    void in_use();

private:
    static void close(uct_md_h md);
    static uct_md_ops_t ops_table();

    std::unique_ptr<UctMd> real_;
    std::unique_ptr<UctMd> latest_;
    std::once_flag           used_;
};

} // namespace fuselink

#endif
