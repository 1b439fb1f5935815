/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "lender.h"

namespace fuselink::agent {

Lender::~Lender()
{
    copies_.reset();
    if (worker_ != nullptr) {
        uct_worker_destroy(worker_);
    }
    if (async_ != nullptr) {
        ucs_async_context_destroy(async_);
    }
}

bool Lender::open(std::string &error)
{
    EngineSettings settings;
    if (!transport_.open_md(error) || !transport_.settings(settings, error)) {
        return false;
    }
    Md &md = transport_.md();
    if (md.gpu() == nullptr || md.gpu_ipc() == nullptr) {
        error = "UCX has no cuda_copy and cuda_ipc here: its CUDA modules are not "
                "installed, or not found";
        return false;
    }
    if (!md.takes_gpu()) {
        error = "UCX_FUSELINK_GPU_COPIES=n";
        return false;
    }
    uct_iface_params_t none{};
    ucs_status_t status = ucs_async_context_create(UCS_ASYNC_MODE_POLL, &async_);
    if (status == UCS_OK) {
        status = uct_worker_create(async_, UCS_THREAD_MODE_SINGLE, &worker_);
    }
    copies_ = std::make_unique<GpuCopies>();
    if (status == UCS_OK) {
        status = copies_->open(md.host(), *md.gpu(), md.gpu_ipc(), md.nvlinks(), md.nics(),
                               md.regions(), settings.gpu, worker_, &none);
    }
    if (status != UCS_OK) {
        error = ucs_status_string(status);
        return false;
    }
    memory_ = settings.gpu.memory;
    return copies_->lends(error);
}

} // namespace fuselink::agent
