/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "address.h"

#include <algorithm>
#include <cstring>

namespace fuselink::wire {
namespace {

/* Appends fixed-size values and byte strings, refusing to pass `limit`. */
class Writer {
public:
    Writer(std::vector<uint8_t> &out, size_t limit) : out_(out), limit_(limit)
    {
    }

    template <typename T> void value(T v) { bytes(&v, sizeof(v)); }

    void bytes(const void *data, size_t length)
    {
        if (out_.size() + length > limit_) {
            ok_ = false;
            return;
        }
        auto *p = static_cast<const uint8_t *>(data);
        out_.insert(out_.end(), p, p + length);
    }

    bool ok() const { return ok_; }

private:
    std::vector<uint8_t> &out_;
    size_t                limit_;
    bool                  ok_ = true;
};

/* Takes values from untrusted bytes; once short, stays not ok. */
class Reader {
public:
    explicit Reader(std::span<const uint8_t> in) : in_(in) {}

    template <typename T> T value()
    {
        T v{};
        if (in_.size() < sizeof(T)) {
            ok_ = false;
            return v;
        }
        memcpy(&v, in_.data(), sizeof(T));
        in_ = in_.subspan(sizeof(T));
        return v;
    }

    std::span<const uint8_t> bytes(size_t length)
    {
        if (in_.size() < length) {
            ok_ = false;
            return {};
        }
        auto part = in_.first(length);
        in_       = in_.subspan(length);
        return part;
    }

    bool ok() const { return ok_; }
    bool empty() const { return in_.empty(); }

private:
    std::span<const uint8_t> in_;
    bool                     ok_ = true;
};

void write_rail_core(Writer &w, const RailRecord &rail)
{
    w.value(rail.index);
    w.value(static_cast<uint16_t>(rail.tl_hash));
    w.value(rail.net.family);
    w.bytes(rail.net.bytes.data(), rail.net.size());
    w.value(static_cast<uint8_t>(rail.device_address.size()));
    w.value(static_cast<uint8_t>(rail.iface_address.size()));
    w.bytes(rail.device_address.data(), rail.device_address.size());
    w.bytes(rail.iface_address.data(), rail.iface_address.size());
}

bool read_rail_core(Reader &r, RailRecord &rail)
{
    rail.index      = r.value<uint8_t>();
    rail.tl_hash    = r.value<uint16_t>();
    rail.net.family = r.value<uint8_t>();
    if (rail.net.family != 0 && rail.net.size() == 0) {
        return false;
    }
    auto net = r.bytes(rail.net.size());
    std::copy(net.begin(), net.end(), rail.net.bytes.begin());
    size_t device_length = r.value<uint8_t>();
    size_t iface_length  = r.value<uint8_t>();
    if (device_length > kMaxRailAddress || iface_length > kMaxRailAddress) {
        return false;
    }
    auto device = r.bytes(device_length);
    auto iface  = r.bytes(iface_length);
    rail.device_address.assign(device.begin(), device.end());
    rail.iface_address.assign(iface.begin(), iface.end());
    return r.ok() && rail.index < kMaxRails;
}

/* Indices must be unique: they are used to address rails later. */
bool valid_rails(const RailTable &table)
{
    uint32_t seen = 0;
    for (const auto &rail : table.rails) {
        if (seen & (1u << rail.index)) {
            return false;
        }
        seen |= 1u << rail.index;
    }
    return table.uuid != 0 && !table.rails.empty();
}

} // namespace

uint32_t hash_name(const char *name)
{
    uint32_t h = 2166136261u;
    for (; *name != '\0'; ++name) {
        h = (h ^ static_cast<uint8_t>(*name)) * 16777619u;
    }
    /* 16 bits travel; fold so that all of the hash counts. */
    return (h >> 16) ^ (h & 0xffff);
}

size_t pack_iface_address(const RailTable &table, size_t first,
                          std::span<uint8_t> out)
{
    std::vector<uint8_t> packed;
    Writer w(packed, kMaxIfaceAddress);
    w.value(table.uuid);
    size_t count_at = packed.size();
    w.value(uint8_t{0});

    uint8_t count = 0;
    for (size_t i = 0; i < table.rails.size(); ++i) {
        std::vector<uint8_t> one;
        Writer one_w(one, kMaxIfaceAddress);
        write_rail_core(one_w, table.rails[(first + i) % table.rails.size()]);
        if (!one_w.ok() || packed.size() + one.size() > kMaxIfaceAddress) {
            continue; /* a smaller one may still fit */
        }
        packed.insert(packed.end(), one.begin(), one.end());
        ++count;
    }
    packed[count_at] = count;
    std::copy(packed.begin(), packed.end(), out.begin());
    return packed.size();
}

bool unpack_iface_address(std::span<const uint8_t> in, RailTable &table)
{
    Reader r(in);
    table.uuid   = r.value<uint64_t>();
    size_t count = r.value<uint8_t>();
    table.rails.clear();
    if (!r.ok() || count == 0 || count > kMaxRails) {
        return false;
    }
    for (size_t i = 0; i < count; ++i) {
        if (!read_rail_core(r, table.rails.emplace_back())) {
            return false;
        }
    }
    return valid_rails(table);
}

void pack_rail_table(const RailTable &table, std::vector<uint8_t> &out)
{
    Writer w(out, SIZE_MAX);
    w.value(table.uuid);
    w.value(static_cast<uint8_t>(table.rails.size()));
    for (const auto &rail : table.rails) {
        write_rail_core(w, rail);
        w.value(rail.bytes_per_second);
        w.value(static_cast<uint8_t>(rail.connect_to_ep));
        size_t name_length = std::min<size_t>(rail.name.size(), 63);
        w.value(static_cast<uint8_t>(name_length));
        w.bytes(rail.name.data(), name_length);
    }
}

bool unpack_rail_table(std::span<const uint8_t> in, RailTable &table)
{
    Reader r(in);
    table.uuid   = r.value<uint64_t>();
    size_t count = r.value<uint8_t>();
    table.rails.clear();
    if (!r.ok() || count == 0 || count > kMaxRails) {
        return false;
    }
    for (size_t i = 0; i < count; ++i) {
        auto &rail = table.rails.emplace_back();
        if (!read_rail_core(r, rail)) {
            return false;
        }
        rail.bytes_per_second = r.value<uint64_t>();
        rail.connect_to_ep    = r.value<uint8_t>() != 0;
        size_t name_length    = r.value<uint8_t>();
        if (name_length > 63) {
            return false;
        }
        auto name = r.bytes(name_length);
        if (!r.ok()) {
            return false;
        }
        rail.name.assign(name.begin(), name.end());
        /* The name goes into log lines: nothing but printable ASCII. */
        for (char &c : rail.name) {
            if (c < 0x20 || c > 0x7e) {
                c = '?';
            }
        }
    }
    return r.empty() && valid_rails(table);
}

} // namespace fuselink::wire
