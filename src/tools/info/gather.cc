/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "gather.h"

#include "../../ucs_ext/progress_choice.h"
#include "../../ucs_ext/topology/machine.h"
#include "../common/transport.h"
#include "../top/reading.h"
#include "dry_run.h"
#include "uct/fuselink/watch/identity.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace fuselink::info {
namespace {

constexpr uint64_t kExamples[] = {64'000, 1'000'000, 16'000'000, 256'000'000};

std::string allowed_cpus()
{
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;) {
        if (word == "Cpus_allowed_list:") {
            status >> word;
            return word;
        }
    }
    return "?";
}

/* RDMA devices are named with their port: mlx5_0:1. */
std::string device_of(const std::string &port)
{
    return port.substr(0, port.find(':'));
}

void add_settings(const Transport &transport, Facts &facts)
{
    for (const ucs_config_field_t *table : {md_config_table,
                                            iface_config_table}) {
        for (const auto *field = table; field->name != nullptr; ++field) {
            Facts::Setting setting;
            if (field->name[0] == '\0' ||
                !transport.setting(field->name, setting.value)) {
                continue; /* UCX's own, of every transport */
            }
            setting.name  = std::string("UCX_FUSELINK_") + field->name;
            setting.given = getenv(setting.name.c_str()) != nullptr;
            facts.settings.push_back(std::move(setting));
        }
    }
}

/* Why the NIC does not read memory of GPUs; empty if it does. */
std::string no_gpu_direct(const Rail &rail, const NicMemory &nics)
{
    if (rail.by_messages()) {
        return "bulk data goes by messages, which the CPU writes";
    }
    if (!rail.reads()) {
        return "the kernel sends from and receives to the host's memory";
    }
    if (rail.control().md().takes_gpu_memory()) {
        return nics.any_for_gpus() ? "" :
                   "UCX_FUSELINK_GPU_DIRECT or UCX_FUSELINK_GPU_COPIES is n, or UCX has no "
                   "cuda_copy";
    }
    for (const char *module : {"/sys/module/nvidia_peermem",
                               "/sys/kernel/mm/memory_peers/nv_mem"}) {
        if (access(module, F_OK) == 0) {
            return "UCX does not register it, though nvidia-peermem is loaded: "
                   "this NIC or this UCX cannot";
        }
    }
    return "UCX does not register it: the kernel module nvidia-peermem is not "
           "loaded";
}

void add_rails(const Engine &engine, Facts &facts)
{
    const Topology &machine = Topology::machine();
    for (const auto &rail : engine.rails()) {
        const auto &bandwidth = rail->control().attr().bandwidth;
        Facts::Rail one;
        one.port        = rail->control().device();
        one.transport   = rail->control().tl();
        one.reported    = bandwidth.dedicated + bandwidth.shared;
        one.speed       = rail->speed();
        one.numa_node   = machine.numa_node(device_of(one.port));
        one.place       = machine.place(device_of(one.port));
        one.near        = rail->near();
        one.standby     = rail->standby;
        one.by_ip       = rail->traits().routed_by_ip;
        one.by_messages = rail->by_messages();
        one.reads       = rail->reads();
        one.no_gpu_direct = no_gpu_direct(*rail, engine.nics());
        one.far_gpus      = engine.nics().far_for_gpus();
        facts.rails.push_back(std::move(one));
    }
}

void add_examples(const Engine &engine, Facts &facts)
{
    std::vector<size_t> active;
    for (size_t i = 0; i < facts.rails.size(); ++i) {
        if (!facts.rails[i].standby) {
            active.push_back(i);
        }
    }
    std::vector<Stage> stages;
    for (size_t i : active) {
        const auto &rail = engine.rails()[i];
        stages.push_back({sched::Rate(rail->speed()), rail->far_overhead()});
    }
    const BulkSettings &settings = engine.settings().bulk;
    for (uint64_t size : kExamples) {
        auto moved = dry_run(*settings.policy, settings.limits, stages, size,
                              settings.fixed_weights);
        Facts::Example example{size, {}};
        example.bytes.resize(facts.rails.size());
        for (size_t i = 0; i < active.size(); ++i) {
            example.bytes[active[i]] = moved[i];
        }
        facts.examples.push_back(std::move(example));
    }
}

/* False with a line; the transport has refused a wrong file before. */
bool add_gpus(const std::string &file, Facts &facts, std::string &error)
{
    Facts::Gpus &gpus = facts.gpus;
    if (!topology::read_this(file, gpus.devices, error)) {
        error = "UCX_FUSELINK_TOPOLOGY=" + error;
        return false;
    }
    for (const auto &rail : facts.rails) {
        gpus.rail_nics.push_back(gpus.devices.find_nic(device_of(rail.port)));
    }
    gpus.visible = topology::visible(gpus.devices,
                                     topology::CudaEnvironment::own());
    return true;
}

void add_notes(const std::vector<std::string> &messages, Facts &facts)
{
    facts.notes = messages;
    for (const auto &note : facts.gpus.devices.notes) {
        facts.notes.push_back(note);
    }
    if (!facts.gpus.visible.note.empty()) {
        facts.notes.push_back(facts.gpus.visible.note);
    }
    if (!facts.gpus.visible.certain) {
        facts.notes.emplace_back(
            "there are GPUs of several kinds: which number CUDA gives them, "
            "CUDA alone knows, unless CUDA_DEVICE_ORDER is PCI_BUS_ID");
    }
    for (size_t i = 0; i < facts.gpus.devices.gpus(); ++i) {
        if (facts.gpus.devices.gpu(i).mig) {
            facts.notes.push_back("GPU " + std::to_string(i) +
                                  " is divided (MIG), which is not supported: "
                                  "no paths lead from it or over it");
        }
    }
}

/* What others do on the rails at this moment. */
void add_load(Facts &facts)
{
    auto boards = Board::watch();
    std::erase_if(boards, [](const auto &board) {
        return board->owner() != geteuid();
    });
    facts.board  = !boards.empty();
    auto reading = top::read_boards(boards, Board::now());
    for (auto &rail : facts.rails) {
        for (const auto &flow : reading.flows) {
            const auto &process = reading.processes[flow.process];
            if (reading.nics[flow.nic].name != rail.port ||
                flow.direction != Direction::Out) {
                continue;
            }
            rail.users     += flow.active;
            rail.in_flight += flow.in_flight;
            if (flow.own) {
                rail.owner = process.program +
                             (process.pid != 0 ?
                                  "[" + std::to_string(process.pid) + "]" : "");
            }
        }
    }
}

void add_progress(const Transport &transport, const Engine &engine, Facts &facts)
{
    std::string mode;
    transport.setting("PROGRESS", mode);
    facts.thread     = engine.has_deputy();
    facts.thread_why = "UCX_FUSELINK_PROGRESS=" + mode;
    if (mode == "auto") {
        facts.thread_why += ", " + choose_progress(Cpus::real()).why;
    }
    if (engine.settings().deputy && !facts.thread) {
        facts.thread_why += ", but no thread can be made";
    }
}

void leave_out(const LeftOuts &ports, Facts &facts)
{
    for (const auto &one : ports) {
        facts.left_out.push_back({one.port, one.why});
    }
}

/* Network interfaces that UCX does not even name. */
void add_unnamed(Facts &facts)
{
    std::error_code error;
    std::vector<std::string> names;
    for (const auto &entry : std::filesystem::directory_iterator(
             "/sys/class/net", error)) {
        names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end(),
              [](const std::string &x, const std::string &y) {
                  return strverscmp(x.c_str(), y.c_str()) < 0;
              });
    for (const auto &name : names) {
        auto is_it = [&](const auto &one) { return one.port == name; };
        if (std::none_of(facts.rails.begin(), facts.rails.end(), is_it) &&
            std::none_of(facts.left_out.begin(), facts.left_out.end(),
                         is_it)) {
            facts.left_out.push_back({name, "UCX offers no transport on it: "
                                            "down, or without an IP address"});
        }
    }
}

} // namespace

bool gather(Facts &facts, std::string &error)
{
    facts.host = Identity::own().host;
    facts.cpus = allowed_cpus();
    Transport transport;
    bool ok = transport.open_md(error);
    if (ok) {
        const Md &md = transport.md();
        leave_out(md.left_out(), facts);
        facts.node_messages = md.message_lane() != nullptr ?
                                  md.message_lane()->resources()[0].tl : "";
        facts.node_bulk     = md.bulk_lane() != nullptr ?
                                  md.bulk_lane()->resources()[0].tl : "";
        add_settings(transport, facts);
        transport.setting("SCHED", facts.policy);
        if (!md.candidates().empty()) {
            ok = transport.open_rails(error);
        }
    }
    if (ok && !transport.md().candidates().empty()) {
        const Engine &engine = transport.engine();
        leave_out(engine.left_out(), facts);
        add_rails(engine, facts);
        add_examples(engine, facts);
        add_progress(transport, engine, facts);
        add_load(facts);
    }
    if (ok) {
        add_unnamed(facts);
        ok = add_gpus(transport.md().topology_file(), facts, error);
    }
    add_notes(transport.messages(), facts);
    return ok;
}

} // namespace fuselink::info
