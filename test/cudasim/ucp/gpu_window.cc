/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "gpu_window.h"

#include <cstring>

namespace fltest {

GpuWindow::GpuWindow(const Context &context, Kind kind, size_t size)
    : context_(context), buffer_(kind, size)
{
    ucp_mem_map_params_t params{};
    params.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
                        UCP_MEM_MAP_PARAM_FIELD_LENGTH;
    params.address    = buffer_.data();
    params.length     = size;
    REQUIRE_OK(ucp_mem_map(context.handle(), &params, &memh_));
}

GpuWindow::~GpuWindow()
{
    if (!failing()) {
        ucp_mem_unmap(context_.handle(), memh_);
    }
}

Bytes GpuWindow::describe() const
{
    uint64_t numbers[2] = {reinterpret_cast<uint64_t>(buffer_.data()),
                           buffer_.size()};
    void    *key;
    size_t   length;
    REQUIRE_OK(ucp_rkey_pack(context_.handle(), memh_, &key, &length));
    Bytes bytes(sizeof(numbers) + length);
    memcpy(bytes.data(), numbers, sizeof(numbers));
    memcpy(bytes.data() + sizeof(numbers), key, length);
    ucp_rkey_buffer_release(key);
    return bytes;
}

} // namespace fltest
