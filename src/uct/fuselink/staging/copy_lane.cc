/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "copy_lane.h"

namespace fuselink {
namespace {

constexpr const char *kTransport = "cuda_copy";

uint64_t address(const void *gpu)
{
    return reinterpret_cast<uintptr_t>(gpu);
}

} // namespace

ucs_status_t CopyLane::open(Host &host, UctMd &md, uct_worker_h worker,
                            const uct_iface_params_t *params,
                            std::unique_ptr<CopyLane> &result)
{
    const UctMd::Resource *resource = md.find(kTransport);
    std::unique_ptr<CopyLane>     lane(new CopyLane(host));
    ucs_status_t             status = UCS_ERR_NO_DEVICE;
    if (resource != nullptr) {
        UctIfaceParams lower;
        lower.worker = worker;
        lower.user   = params;
        status = UctIface::open(md, resource->tl, resource->device, lower,
                                lane->iface_);
    }
    if (status == UCS_OK &&
        !lane->iface_->has(UCT_IFACE_FLAG_GET_ZCOPY | UCT_IFACE_FLAG_PUT_ZCOPY |
                           UCT_IFACE_FLAG_GET_SHORT |
                           UCT_IFACE_FLAG_PUT_SHORT)) {
        status = UCS_ERR_UNSUPPORTED;
    }
    if (status == UCS_OK) {
        lane->iface_->prepare_progress();
        status = lane->iface_->create_ep(lane->iface_->device_address(),
                                         lane->iface_->iface_address(),
                                         &lane->ep_);
    }
    if (status != UCS_OK) {
        lane->ep_ = nullptr;
        ucs_warn("fuselink: %s cannot be used, and so no memory of GPUs: %s",
                 kTransport, ucs_status_string(status));
        return status;
    }
    result = std::move(lane);
    return UCS_OK;
}

CopyLane::~CopyLane()
{
    if (ep_ != nullptr) {
        uct_ep_destroy(ep_);
    }
}

/* The transport's list of copies is not to be touched while it goes through it:
 * users, who begin others, hear of the end afterwards. */
void CopyLane::on_copied(uct_completion_t *comp)
{
    Copy *copy = reinterpret_cast<Copy *>(comp);
    copy->lane->done_.push_back(copy);
}

unsigned CopyLane::progress()
{
    if (!busy()) {
        return 0;
    }
    if (done_.empty()) { /* else this is one of those users */
        uct_iface_progress(iface_->handle());
    }
    unsigned count = 0;
    for (; !done_.empty(); ++count) {
        Copy *copy = done_.front();
        done_.pop_front();
        uct_completion_t *user   = copy->user;
        ucs_status_t      status = copy->comp.status;
        if (status == UCS_OK) {
            copy->moved->add(copy->length);
        }
        copies_.give_back(*copy);
        --open_;
        uct_invoke_completion(user, status);
    }
    return count;
}

template <typename Zcopy>
ucs_status_t CopyLane::begin(Zcopy zcopy, Moved &moved, const void *host,
                             const void *gpu, size_t length, uct_completion_t *user)
{
    uct_iov_t iov{const_cast<void *>(host), length, UCT_MEM_HANDLE_NULL, 0, 1};
    Copy     &copy = copies_.take();
    arm(copy.comp, on_copied);
    copy.lane   = this;
    copy.user   = user;
    copy.moved  = &moved;
    copy.length = length;
    ucs_status_t status = zcopy(ep_, &iov, 1, address(gpu), UCT_INVALID_RKEY,
                                &copy.comp);
    if (status == UCS_INPROGRESS) {
        ++open_;
    } else {
        if (status == UCS_OK) {
            moved.add(length);
        }
        copies_.give_back(copy);
    }
    return status;
}

ucs_status_t CopyLane::begin_out(void *host, const void *gpu, size_t length,
                                 uct_completion_t *comp)
{
    return begin(uct_ep_get_zcopy, traffic_.sent, host, gpu, length, comp);
}

ucs_status_t CopyLane::begin_in(void *gpu, const void *host, size_t length,
                                uct_completion_t *comp)
{
    return begin(uct_ep_put_zcopy, traffic_.received, host, gpu, length, comp);
}

ucs_status_t CopyLane::out(void *host, const void *gpu, size_t length)
{
    return length == 0 ? UCS_OK :
                         uct_ep_get_short(ep_, host,
                                          static_cast<unsigned>(length),
                                          address(gpu), UCT_INVALID_RKEY);
}

ucs_status_t CopyLane::in(void *gpu, const void *host, size_t length)
{
    return length == 0 ? UCS_OK :
                         uct_ep_put_short(ep_, host,
                                          static_cast<unsigned>(length),
                                          address(gpu), UCT_INVALID_RKEY);
}

} // namespace fuselink
