/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "ucs_ext/topology/machine.h"
#include "ucs_ext/topology/nvml_reader.h"

#include <cstring>
#include <gtest/gtest.h>
#include <map>

/* Handles are what the library behind says they are. */
struct fuselink::topology::NvmlCalls::Device {
    int number;
};

namespace fuselink::topology {
namespace {

constexpr int kNotSupported = 3;

struct FakeLink {
    std::string remote; /* address of the far end; empty: down */
    bool        to_switch = false;
};

struct FakeGpu {
    std::string           address;
    std::vector<FakeLink> links;
    unsigned              mig   = 0;
    double                speed = 25000; /* MB/s of a link; 0: not known */
};

/* A driver, as its C functions show it. */
struct FakeNvml {
    std::vector<FakeGpu>                gpus;
    std::vector<NvmlCalls::Device>      handles;
    std::map<std::pair<int, int>, int>  levels, p2p;
};
FakeNvml fake;

int count(unsigned *count)
{
    *count = static_cast<unsigned>(fake.gpus.size());
    return 0;
}
int handle(unsigned index, NvmlCalls::Device **device)
{
    *device = &fake.handles[index];
    return 0;
}
int name_of(NvmlCalls::Device *device, char *text, unsigned length)
{
    snprintf(text, length, "GPU %d", device->number);
    return 0;
}
int uuid_of(NvmlCalls::Device *device, char *text, unsigned length)
{
    snprintf(text, length, "GPU-%d", device->number);
    return 0;
}
void fill(const std::string &address, NvmlCalls::PciInfo *info)
{
    memset(info, 'x', sizeof(*info)); /* nothing ends by chance */
    memcpy(info->bus_id, address.c_str(), address.size() + 1);
}
int pci_of(NvmlCalls::Device *device, NvmlCalls::PciInfo *info)
{
    fill(fake.gpus[device->number].address, info);
    return 0;
}
int mig_of(NvmlCalls::Device *device, unsigned *current, unsigned *pending)
{
    *current = fake.gpus[device->number].mig;
    *pending = 1;
    return 0;
}
int between(const std::map<std::pair<int, int>, int> &of,
            NvmlCalls::Device *a, NvmlCalls::Device *b, int *value)
{
    auto at = of.find({a->number, b->number});
    *value  = at != of.end() ? at->second : 0;
    return at != of.end() ? 0 : kNotSupported;
}
int ancestor(NvmlCalls::Device *a, NvmlCalls::Device *b, int *level)
{
    return between(fake.levels, a, b, level);
}
int p2p(NvmlCalls::Device *a, NvmlCalls::Device *b, int, int *status)
{
    return between(fake.p2p, a, b, status);
}
const FakeLink *link_of(NvmlCalls::Device *device, unsigned link)
{
    const auto &links = fake.gpus[device->number].links;
    return link < links.size() ? &links[link] : nullptr;
}
int link_state(NvmlCalls::Device *device, unsigned number, int *active)
{
    const auto *link = link_of(device, number);
    *active = link != nullptr && (!link->remote.empty() || link->to_switch);
    return link != nullptr ? 0 : kNotSupported;
}
int link_remote(NvmlCalls::Device *device, unsigned number,
                NvmlCalls::PciInfo *info)
{
    fill(link_of(device, number)->remote, info);
    return 0;
}
int link_remote_type(NvmlCalls::Device *device, unsigned number, int *type)
{
    *type = link_of(device, number)->to_switch ? NvmlCalls::kRemoteSwitch : 0;
    return 0;
}
int fields(NvmlCalls::Device *device, int, NvmlCalls::FieldValue *value)
{
    EXPECT_EQ(value->field, NvmlCalls::kFieldLinkSpeed);
    double speed             = fake.gpus[device->number].speed;
    value->result            = speed > 0 ? 0 : kNotSupported;
    value->type              = 1;
    value->value.as_unsigned = static_cast<unsigned>(speed);
    return 0;
}
int pcie_generation(NvmlCalls::Device *, unsigned *value)
{
    *value = 5;
    return 0;
}
int pcie_width(NvmlCalls::Device *, unsigned *value)
{
    *value = 16;
    return 0;
}

NvmlCalls calls_of(std::vector<FakeGpu> gpus)
{
    fake      = FakeNvml();
    fake.gpus = std::move(gpus);
    for (size_t i = 0; i < fake.gpus.size(); ++i) {
        fake.handles.push_back({static_cast<int>(i)});
    }
    NvmlCalls calls{};
    calls.count            = count;
    calls.handle           = handle;
    calls.name             = name_of;
    calls.uuid             = uuid_of;
    calls.pci              = pci_of;
    calls.mig              = mig_of;
    calls.ancestor         = ancestor;
    calls.p2p              = p2p;
    calls.link_state       = link_state;
    calls.link_remote      = link_remote;
    calls.link_remote_type = link_remote_type;
    calls.fields           = fields;
    calls.pcie_generation  = pcie_generation;
    calls.pcie_width       = pcie_width;
    return calls;
}

Devices read_with(const NvmlCalls &calls)
{
    Sources     sources;
    Devices     devices;
    std::string error;
    sources.nvml = &calls;
    EXPECT_TRUE(read(sources, devices, error)) << error;
    return devices;
}

TEST(NvmlReader, NumbersByAddress)
{
    auto devices = read_with(calls_of({{.address = "00000000:3B:00.0"},
                                       {.address = "00000000:1A:00.0"}}));
    ASSERT_EQ(devices.gpus(), 2u);
    EXPECT_EQ(devices.gpu(0).address.text(), "0000:1a:00.0");
    EXPECT_EQ(devices.gpu(0).uuid, "GPU-1");
    EXPECT_EQ(devices.find_gpu("GPU-0"), 1u);
    EXPECT_NEAR(devices.gpu(0).pcie, 63e9, 0.1e9);
}

/* The bus has the speed of a GPU that saves power. */
TEST(NvmlReader, SaysWhatTheSlotCanDo)
{
    auto    calls = calls_of({{.address = "00000000:3B:00.0"}});
    Sources sources;
    PciDevice gpu;
    gpu.address   = {0, 0x3b, 0, 0};
    gpu.numa_node = 1;
    gpu.rate      = 4e9;
    sources.bus.devices.push_back(gpu);
    sources.nvml = &calls;
    Devices     devices;
    std::string error;
    ASSERT_TRUE(read(sources, devices, error)) << error;
    ASSERT_EQ(devices.gpus(), 1u);
    EXPECT_NEAR(devices.gpu(0).pcie, 63e9, 0.1e9);
    EXPECT_EQ(devices.gpu(0).numa_node, 1);
    calls.pcie_width = nullptr;
    ASSERT_TRUE(read(sources, devices, error)) << error;
    EXPECT_EQ(devices.gpu(0).pcie, 4e9);
}

/* Two links between 0 and 1, one from 1 to 2, one of 0 down. */
TEST(NvmlReader, CountsLinks)
{
    const char *x = "00000000:01:00.0", *y = "00000000:02:00.0",
               *z = "00000000:03:00.0";
    auto devices = read_with(calls_of({{x, {{y}, {y}, {""}}},
                                       {y, {{x}, {z}, {x}}},
                                       {z, {{y}}}}));
    EXPECT_EQ(devices.nvlink(0, 1).links, 2u);
    EXPECT_FALSE(devices.nvlink(0, 1).through_switch);
    EXPECT_EQ(devices.nvlink(0, 1).rate, 50e9);
    EXPECT_EQ(devices.nvlink(2, 1).links, 1u);
    EXPECT_FALSE(devices.nvlink(0, 2).there());
}

TEST(NvmlReader, ASwitchJoinsAll)
{
    std::vector<FakeLink> four(4, {"", true}), three(3, {"", true});
    auto devices = read_with(calls_of({{"00000000:01:00.0", four},
                                       {"00000000:02:00.0", three},
                                       {"00000000:03:00.0", {}}}));
    EXPECT_TRUE(devices.nvlink(0, 1).through_switch);
    EXPECT_EQ(devices.nvlink(0, 1).links, 3u);
    EXPECT_EQ(devices.nvlink(0, 1).rate, 75e9);
    EXPECT_FALSE(devices.nvlink(0, 2).there());
}

TEST(NvmlReader, BetweenGpus)
{
    auto calls = calls_of({{.address = "00000000:01:00.0"},
                           {.address = "00000000:02:00.0"},
                           {.address = "00000000:03:00.0", .mig = 1}});
    fake.levels = {{{0, 1}, 10}, {{0, 2}, 50}, {{1, 2}, 77}};
    fake.p2p    = {{{0, 1}, 0}, {{1, 0}, 5}, {{0, 2}, 6}};
    auto devices = read_with(calls);
    EXPECT_EQ(devices.between_gpus(0, 1), Connection::Pix);
    EXPECT_EQ(devices.between_gpus(2, 0), Connection::Sys);
    EXPECT_EQ(devices.between_gpus(1, 2), Connection::Unknown);
    EXPECT_EQ(devices.peer_access(0, 1), PeerAccess::Yes);
    EXPECT_EQ(devices.peer_access(1, 0), PeerAccess::No);
    EXPECT_EQ(devices.peer_access(0, 2), PeerAccess::Unknown);
    EXPECT_TRUE(devices.gpu(2).mig);
    EXPECT_FALSE(devices.gpu(1).mig);
}

TEST(NvmlReader, AnOldDriverKnowsLess)
{
    auto calls = calls_of({{.address = "00000000:01:00.0"},
                           {.address = "00000000:02:00.0"}});
    calls.mig              = nullptr;
    calls.ancestor         = nullptr;
    calls.p2p              = nullptr;
    calls.link_state       = nullptr;
    calls.link_remote      = nullptr;
    calls.link_remote_type = nullptr;
    calls.fields           = nullptr;
    calls.pcie_generation  = nullptr;
    calls.pcie_width       = nullptr;
    auto devices           = read_with(calls);
    ASSERT_EQ(devices.gpus(), 2u);
    EXPECT_FALSE(devices.nvlink(0, 1).there());
    EXPECT_EQ(devices.between_gpus(0, 1), Connection::Unknown);
    EXPECT_EQ(devices.gpu(0).pcie, 0);
}

TEST(NvmlReader, NonsenseIsNoGpu)
{
    auto devices = read_with(calls_of({{.address = "somewhere"},
                                       {.address = ""},
                                       {.address = "00000000:02:00.0"},
                                       {.address = "00000000:02:00.0"}}));
    EXPECT_EQ(devices.gpus(), 1u);
    fake.gpus.clear();
    fake.handles.clear();
    std::vector<FakeGpu> many;
    for (int i = 0; i < 200; ++i) {
        char address[32];
        snprintf(address, sizeof(address), "00000000:%02X:00.0", i);
        many.push_back({.address = address});
    }
    EXPECT_EQ(read_with(calls_of(many)).gpus(), Devices::kMaxGpus);
}

TEST(Nvml, IsSilentWhereItIsNot)
{
    Nvml none("libnvidia-ml-nowhere.so.1");
    EXPECT_EQ(none.calls(), nullptr);
    EXPECT_EQ(none.why(), "");
    Nvml other("libm.so.6"); /* a library, but not this one */
    EXPECT_EQ(other.calls(), nullptr);
    EXPECT_NE(other.why(), "");
}

} // namespace
} // namespace fuselink::topology
