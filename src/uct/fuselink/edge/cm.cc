/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "cm.h"

#include "../wire/cm_data.h"
#include "cm_ep.h"
#include "cm_listener.h"
#include "component.h"
#include "md.h"

#include <algorithm>

namespace fuselink {
namespace {

/* Private data of a connection have to hold an address of UCP: some 100 bytes here. UCX's
 * other one, for RDMA, has room for 56. */
constexpr const char *kRealComponent = "tcp";

} // namespace

void name_rails(char (&device)[UCT_DEVICE_NAME_MAX])
{
    ucs_snprintf_zero(device, sizeof(device), "%s", kRailsDevice);
}

uct_component_t *Cm::real_component()
{
    uct_component_t *one = find_component(kRealComponent);
    return one != nullptr && (one->flags & UCT_COMPONENT_FLAG_CM) ? one : nullptr;
}

ucs_status_t Cm::open(uct_component_t *component, uct_worker_h worker,
                      const uct_cm_config_t *config, uct_cm_h *cm_p)
{
    Cm *cm              = new Cm;
    ucs_status_t status = cm->init(component, worker, config);
    if (status != UCS_OK) {
        delete cm;
        return status;
    }
    *cm_p = cm;
    return UCS_OK;
}

ucs_status_t Cm::init(uct_component_t *component, uct_worker_h worker,
                      const uct_cm_config_t *config)
{
    static uct_cm_ops_t             ops          = ops_table();
    static uct_iface_ops_t          ep_ops       = CmEp::ops_table();
    static uct_iface_internal_ops_t internal_ops = CmEp::internal_ops_table();

    ucs_status_t status = UCS_CLASS_INIT(uct_cm_t, this, &ops, &ep_ops, &internal_ops, worker,
                                         component, config);
    if (status != UCS_OK) {
        return status;
    }
    base_ready_ = true;
    return uct_cm_open(real_component(), worker, config, &real_);
}

Cm::~Cm()
{
    if (real_ != nullptr) {
        uct_cm_close(real_);
    }
    if (base_ready_) {
        UCS_CLASS_CLEANUP(uct_cm_t, this);
    }
}

void Cm::close(uct_cm_h cm)
{
    delete &from(cm);
}

ucs_status_t Cm::query(uct_cm_h cm, uct_cm_attr_t *attr)
{
    ucs_status_t status = uct_cm_query(from(cm).real_, attr);
    if (status == UCS_OK && (attr->field_mask & UCT_CM_ATTR_FIELD_MAX_CONN_PRIV)) {
        attr->max_conn_priv -= std::min(attr->max_conn_priv, sizeof(wire::CmTrailer));
    }
    return status;
}

uct_cm_ops_t Cm::ops_table()
{
    return {
        .close            = close,
        .cm_query         = query,
        .listener_create  = CmListener::create,
        .listener_reject  = CmListener::reject,
        .listener_query   = CmListener::query,
        .listener_destroy = CmListener::destroy,
        .ep_create        = CmEp::create,
    };
}

} // namespace fuselink
