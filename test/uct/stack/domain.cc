/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "domain.h"

#include "harness/keys.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace fltest {

uct_component_h Domain::find(const std::string &name)
{
    uct_component_h *components;
    unsigned count;
    REQUIRE_OK(uct_query_components(&components, &count));
    uct_component_h found = nullptr;
    for (unsigned i = 0; i < count; ++i) {
        uct_component_attr_t attr;
        attr.field_mask = UCT_COMPONENT_ATTR_FIELD_NAME;
        REQUIRE_OK(uct_component_query(components[i], &attr));
        if (name == attr.name) {
            found = components[i];
        }
    }
    uct_release_component_list(components);
    REQUIRE(found != nullptr, "UCT has no component '%s': is the library "
            "preloaded?", name.c_str());
    return found;
}

ucs_status_t Domain::open(uct_component_h component, const std::string &name, uct_md_h *md)
{
    uct_component_attr_t attr;
    attr.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT;
    REQUIRE_OK(uct_component_query(component, &attr));
    std::vector<uct_md_resource_desc_t> there(attr.md_resource_count);
    attr.field_mask   = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES;
    attr.md_resources = there.data();
    REQUIRE_OK(uct_component_query(component, &attr));
    REQUIRE(std::any_of(there.begin(), there.end(),
                        [&](const auto &one) { return name == one.md_name; }),
            "no memory domain %s", name.c_str());

    uct_md_config_t *config;
    REQUIRE_OK(uct_md_config_read(component, nullptr, nullptr, &config));
    ucs_status_t status = uct_md_open(component, name.c_str(), config, md);
    uct_config_release(config);
    return status;
}

ucs_status_t Domain::try_open(const std::string &component)
{
    uct_md_h md;
    ucs_status_t status = open(find(component), component, &md);
    if (status == UCS_OK) {
        uct_md_close(md);
    }
    return status;
}

Domain::Domain(const std::string &component, const std::string &name)
    : component_(find(component))
{
    REQUIRE_OK(open(component_, name.empty() ? component : name, &md_));
    REQUIRE_OK(uct_md_query(md_, &attr_));
}

Domain::~Domain()
{
    uct_md_close(md_);
}

std::vector<std::string> Domain::devices(const std::string &tl) const
{
    uct_tl_resource_desc_t *resources;
    unsigned count;
    REQUIRE_OK(uct_md_query_tl_resources(md_, &resources, &count));
    std::vector<std::string> names;
    for (unsigned i = 0; i < count; ++i) {
        if (tl == resources[i].tl_name) {
            names.emplace_back(resources[i].dev_name);
        }
    }
    uct_release_tl_resource_list(resources);
    return names;
}

Memory::Memory(const Domain &domain, size_t size)
    : domain_(domain), size_(size),
      data_(static_cast<char *>(calloc(1, size + 1)))
{
    REQUIRE(data_ != nullptr, "no memory for %zu bytes", size);
    if (domain.attr().cap.flags & UCT_MD_FLAG_REG) {
        REQUIRE_OK(uct_md_mem_reg(domain.handle(), data_, size,
                                  UCT_MD_MEM_ACCESS_ALL, &memh_));
    }
}

Memory::~Memory()
{
    if (memh_ != nullptr) {
        uct_md_mem_dereg(domain_.handle(), memh_);
    }
    free(data_);
}

void Memory::deregister()
{
    REQUIRE_OK(uct_md_mem_dereg(domain_.handle(), memh_));
    memh_ = nullptr;
}

Bytes Memory::describe() const
{
    Bytes text(16 + domain_.attr().rkey_packed_size);
    auto base     = reinterpret_cast<uint64_t>(data_);
    uint64_t size = size_;
    memcpy(text.data(), &base, 8);
    memcpy(text.data() + 8, &size, 8);
    if (text.size() > 16) {
        REQUIRE_OK(uct_md_mkey_pack(domain_.handle(), memh_,
                                    text.data() + 16));
    }
    return text;
}

Bytes Memory::describe_revocable() const
{
    Bytes text = describe();
    REQUIRE_OK(pack_revocable(domain_.handle(), memh_, text.data() + 16));
    return text;
}

void Memory::revoke()
{
    REQUIRE_OK(fltest::revoke(domain_.handle(), memh_));
    memh_ = nullptr;
}

Remote::Remote(const Domain &domain, const Bytes &description)
    : domain_(domain), packed_(description.begin() + 16, description.end())
{
    memcpy(&base_, description.data(), 8);
    memcpy(&size_, description.data() + 8, 8);
    if (packed_.empty()) { /* some domains without keys unpack none, as tcp since UCX 1.20 */
        key_.rkey = UCT_INVALID_RKEY;
    } else {
        REQUIRE_OK(uct_rkey_unpack(domain.component(), packed_.data(), &key_));
    }
}

Remote::~Remote()
{
    if (!packed_.empty()) {
        uct_rkey_release(domain_.component(), &key_);
    }
}

} // namespace fltest
