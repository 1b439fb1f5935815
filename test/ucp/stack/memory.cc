/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "memory.h"

#include <cstdlib>
#include <cstring>

namespace fltest {

Memory::Memory(const Context &context, size_t size)
    : context_(context), size_(size),
      data_(static_cast<char *>(aligned_alloc(4096, (size + 4095) & ~4095ul)))
{
    REQUIRE(data_ != nullptr, "no memory");
    memset(data_, 0, size);
    ucp_mem_map_params_t params{};
    params.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
                        UCP_MEM_MAP_PARAM_FIELD_LENGTH;
    params.address = data_;
    params.length  = size;
    REQUIRE_OK(ucp_mem_map(context.handle(), &params, &memh_));
}

Memory::~Memory()
{
    if (failing()) {
        return;
    }
    ucp_mem_unmap(context_.handle(), memh_);
    free(data_);
}

Bytes Memory::packed_key() const
{
    void *buffer;
    size_t length;
    REQUIRE_OK(ucp_rkey_pack(context_.handle(), memh_, &buffer, &length));
    auto *bytes = static_cast<const uint8_t *>(buffer);
    Bytes key(bytes, bytes + length);
    ucp_rkey_buffer_release(buffer);
    return key;
}

Bytes Memory::describe() const
{
    uint64_t numbers[2] = {reinterpret_cast<uint64_t>(data_), size_};
    Bytes bytes(sizeof(numbers));
    memcpy(bytes.data(), numbers, sizeof(numbers));
    Bytes key = packed_key();
    bytes.insert(bytes.end(), key.begin(), key.end());
    return bytes;
}

Remote::Remote(ucp_ep_h ep, const Bytes &description)
{
    REQUIRE(description.size() > 16, "short description of memory");
    memcpy(&base_, description.data(), 8);
    memcpy(&size_, description.data() + 8, 8);
    REQUIRE_OK(ucp_ep_rkey_unpack(ep, description.data() + 16, &key_));
}

Remote::~Remote()
{
    if (!failing()) {
        ucp_rkey_destroy(key_);
    }
}

} // namespace fltest
