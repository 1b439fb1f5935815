/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "gpu_buffer.h"

#include "harness/pattern.h"

#include <cstdlib>
#include <cuda_runtime.h>

namespace fltest {

#define REQUIRE_CUDA(call)                                      \
    do {                                                        \
        cudaError_t error_ = (call);                            \
        REQUIRE(error_ == cudaSuccess, "%s: %s", #call,         \
                cudaGetErrorString(error_));                    \
    } while (0)

const char *name(Kind kind)
{
    switch (kind) {
    case Kind::Gpu:
        return "gpu";
    case Kind::Managed:
        return "managed";
    case Kind::Pinned:
        return "pinned";
    default:
        return "host";
    }
}

void use_gpu(unsigned number)
{
    int count = 0;
    REQUIRE_CUDA(cudaGetDeviceCount(&count));
    REQUIRE(count > 0, "there is no GPU");
    REQUIRE_CUDA(cudaSetDevice(static_cast<int>(number) % count));
}

GpuBuffer::GpuBuffer(Kind kind, size_t size) : kind_(kind), size_(size)
{
    size_t whole  = size + 2 * kGuard;
    void  *memory = nullptr;
    switch (kind) {
    case Kind::Gpu:
        REQUIRE_CUDA(cudaMalloc(&memory, whole));
        break;
    case Kind::Managed:
        REQUIRE_CUDA(cudaMallocManaged(&memory, whole, cudaMemAttachGlobal));
        break;
    case Kind::Pinned:
        REQUIRE_CUDA(cudaMallocHost(&memory, whole));
        break;
    case Kind::Host:
        memory = malloc(whole);
        break;
    }
    memory_ = static_cast<char *>(memory);
    std::vector<unsigned char> untouched(whole, kUntouched);
    REQUIRE_CUDA(cudaMemcpy(memory_, untouched.data(), whole,
                            cudaMemcpyDefault));
}

GpuBuffer::~GpuBuffer()
{
    if (failing()) {
        return;
    }
    switch (kind_) {
    case Kind::Host:
        free(memory_);
        break;
    case Kind::Pinned:
        cudaFreeHost(memory_);
        break;
    default:
        cudaFree(memory_);
    }
}

void GpuBuffer::write(uint64_t seed)
{
    std::vector<char> bytes(size_ + 1);
    fill(bytes.data(), size_, seed);
    REQUIRE_CUDA(cudaMemcpy(data(), bytes.data(), size_, cudaMemcpyDefault));
}

std::vector<char> GpuBuffer::bytes() const
{
    std::vector<char> copy(size_);
    REQUIRE_CUDA(cudaMemcpy(copy.data(), data(), size_, cudaMemcpyDefault));
    return copy;
}

void GpuBuffer::require(uint64_t seed, const char *what) const
{
    std::vector<char> bytes(size_ + 2 * kGuard);
    REQUIRE_CUDA(cudaMemcpy(bytes.data(), memory_, bytes.size(),
                            cudaMemcpyDefault));
    for (size_t i = 0; i < kGuard; ++i) {
        REQUIRE(static_cast<unsigned char>(bytes[i]) == kUntouched &&
                    static_cast<unsigned char>(bytes[kGuard + size_ + i]) ==
                        kUntouched,
                "%s: bytes beside the data were touched", what);
    }
    require_pattern(bytes.data() + kGuard, size_, seed, what);
}

Request GpuBuffer::send(ucp_ep_h ep, ucp_tag_t tag) const
{
    return Request::plain([&](ucp_request_param_t &param) {
        return ucp_tag_send_nbx(ep, data(), size_, tag, &param);
    });
}

Request GpuBuffer::receive(ucp_worker_h worker, ucp_tag_t tag)
{
    /* Any Buffer will do: it says that the data is contiguous. */
    static const Buffer bytes(1);
    return Request::tag_receive(bytes, [&](ucp_request_param_t &param) {
        return ucp_tag_recv_nbx(worker, data(), size_, tag, ~ucp_tag_t{0},
                                &param);
    });
}

} // namespace fltest
