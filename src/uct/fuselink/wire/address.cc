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

/* Where in the device address the IP address stands: 0 if there is none,
 * else 1 + offset, with the top bit for IPv6. Transports publish it there
 * anyway, and space is short. */
constexpr uint8_t kNetIpv6 = 0x80;

uint8_t find_net(const RailRecord &rail)
{
    auto at = std::search(rail.device_address.begin(),
                          rail.device_address.end(), rail.net.bytes.begin(),
                          rail.net.bytes.begin() + rail.net.size());
    if (rail.net.size() == 0 || at == rail.device_address.end()) {
        return 0;
    }
    auto offset = static_cast<uint8_t>(at - rail.device_address.begin());
    return static_cast<uint8_t>(offset + 1) |
           (rail.net.family == 6 ? kNetIpv6 : 0);
}

bool read_net(uint8_t code, RailRecord &rail)
{
    rail.net = NetAddress{};
    if (code == 0) {
        return true;
    }
    rail.net.family = (code & kNetIpv6) ? 6 : 4;
    size_t at       = (code & ~kNetIpv6) - size_t{1};
    if ((code & ~kNetIpv6) == 0 ||
        at + rail.net.size() > rail.device_address.size()) {
        return false;
    }
    std::copy_n(rail.device_address.begin() + static_cast<ptrdiff_t>(at),
                rail.net.size(), rail.net.bytes.begin());
    return true;
}

void write_rail_core(Writer &w, const RailRecord &rail)
{
    w.value(rail.index);
    w.value(static_cast<uint16_t>(rail.tl_hash));
    w.value(find_net(rail));
    w.value(static_cast<uint8_t>(rail.device_address.size()));
    w.value(static_cast<uint8_t>(rail.iface_address.size()));
    w.bytes(rail.device_address.data(), rail.device_address.size());
    w.bytes(rail.iface_address.data(), rail.iface_address.size());
}

bool read_rail_core(Reader &r, RailRecord &rail)
{
    rail.index           = r.value<uint8_t>();
    rail.tl_hash         = r.value<uint16_t>();
    uint8_t net          = r.value<uint8_t>();
    size_t device_length = r.value<uint8_t>();
    size_t iface_length  = r.value<uint8_t>();
    if (device_length > kMaxRailAddress || iface_length > kMaxRailAddress) {
        return false;
    }
    auto device = r.bytes(device_length);
    auto iface  = r.bytes(iface_length);
    rail.device_address.assign(device.begin(), device.end());
    rail.iface_address.assign(iface.begin(), iface.end());
    return r.ok() && rail.index < kMaxRails && read_net(net, rail);
}

/* The rails of one process resemble each other: neighbouring addresses of one
 * transport. In an interface address each record after the first is therefore
 * written as its difference from the one before, whose index counts as one
 * higher: a bit for each byte that differs, eight bytes to a mask, and those
 * bytes. Which records are written whole instead, because they have another
 * length or because it is shorter, says a bit for each in front. */
std::vector<uint8_t> predicted(std::vector<uint8_t> previous)
{
    if (!previous.empty()) {
        ++previous[0];
    }
    return previous;
}

void write_delta(std::vector<uint8_t> &out, const std::vector<uint8_t> &base,
                 const std::vector<uint8_t> &core)
{
    for (size_t at = 0; at < core.size(); at += 8) {
        size_t mask_at = out.size();
        out.push_back(0);
        for (size_t i = at; i < std::min(at + 8, core.size()); ++i) {
            if (core[i] != base[i]) {
                out[mask_at] |= static_cast<uint8_t>(1u << (i - at));
                out.push_back(core[i]);
            }
        }
    }
}

bool read_delta(Reader &r, std::vector<uint8_t> &core)
{
    for (size_t at = 0; at < core.size(); at += 8) {
        uint8_t mask = r.value<uint8_t>();
        for (size_t i = at; i < at + 8; ++i) {
            if (!(mask & (1u << (i - at)))) {
                continue;
            }
            if (i >= core.size()) {
                return false;
            }
            core[i] = r.value<uint8_t>();
        }
    }
    return r.ok();
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

size_t pack_iface_address(const RailTable &table, std::span<uint8_t> out)
{
    std::vector<uint8_t> packed;
    Writer w(packed, kMaxIfaceAddress);
    w.value(table.uuid);
    size_t count_at = packed.size();
    w.value(uint8_t{0});
    size_t whole_at = packed.size();
    uint16_t whole  = 0;
    w.value(whole);

    std::vector<uint8_t> base;
    for (const auto &rail : table.rails) {
        std::vector<uint8_t> core, record;
        Writer core_w(core, SIZE_MAX);
        write_rail_core(core_w, rail);
        base = predicted(std::move(base));
        if (core.size() == base.size()) {
            write_delta(record, base, core);
        }
        bool is_whole = record.empty() || record.size() >= core.size();
        if (is_whole) {
            record = core;
        }
        if (packed.size() + record.size() > kMaxIfaceAddress) {
            break; /* both sides see the same first few */
        }
        packed.insert(packed.end(), record.begin(), record.end());
        whole |= static_cast<uint16_t>(is_whole << packed[count_at]);
        ++packed[count_at];
        base = std::move(core);
    }
    memcpy(&packed[whole_at], &whole, sizeof(whole));
    std::copy(packed.begin(), packed.end(), out.begin());
    return packed.size();
}

bool unpack_iface_address(std::span<const uint8_t> in, RailTable &table)
{
    Reader r(in);
    table.uuid   = r.value<uint64_t>();
    size_t count = r.value<uint8_t>();
    auto whole   = r.value<uint16_t>();
    table.rails.clear();
    if (!r.ok() || count == 0 || count > kMaxRails) {
        return false;
    }
    std::vector<uint8_t> core;
    for (size_t i = 0; i < count; ++i) {
        auto &rail = table.rails.emplace_back();
        if (!(whole & (1u << i))) {
            core = predicted(std::move(core));
            if (core.empty() || !read_delta(r, core)) {
                return false;
            }
            Reader whole(core);
            if (!read_rail_core(whole, rail) || !whole.empty()) {
                return false;
            }
        } else {
            if (!read_rail_core(r, rail)) {
                return false;
            }
            core.clear();
            Writer w(core, SIZE_MAX);
            write_rail_core(w, rail);
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
        w.value(rail.memory);
        w.value(static_cast<uint8_t>(rail.lane_address.size()));
        w.bytes(rail.lane_address.data(), rail.lane_address.size());
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
        rail.memory           = r.value<uint8_t>();
        size_t lane_length    = r.value<uint8_t>();
        if (lane_length > kMaxRailAddress ||
            (rail.memory >= kMaxRails &&
             rail.memory != RailRecord::kNoKeys)) {
            return false;
        }
        auto lane = r.bytes(lane_length);
        rail.lane_address.assign(lane.begin(), lane.end());
        size_t name_length = r.value<uint8_t>();
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
