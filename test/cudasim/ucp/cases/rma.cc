/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Puts and gets of memory of GPUs. UCX's old engine takes it for the host's, at
 * either end, and crashes with any transport. */

#include "../gpu_window.h"
#include "cases.h"
#include "harness/pattern.h"
#include "stack/link.h"

namespace fltest {
namespace {

constexpr size_t kSizes[] = {0,     1,      8,       100,     4096,
                             8193,  65536,  100001,  600000,  2000001};
constexpr size_t kArea    = 4 << 20;

/* Each side writes to the other's window, one size after the other, and reads
 * it back. */
void sizes(Session &session, Kind local, Kind remote)
{
    use_gpu(session.active() ? 0 : 1);
    Link     link(session, {});
    Worker  &worker = link.worker();
    GpuWindow window(link.context(), remote, kArea);
    link.channel().send(window.describe());
    Remote   peer(link.ep().handle(), link.channel().receive());
    uint64_t mine = session.active();
    GpuBuffer whole(local, kArea), back(local, kArea);
    for (size_t i = 0; i < std::size(kSizes); ++i) {
        whole.write(mix(2 * i + mine));
        window.buffer().write(mix(1000 + i));
        link.meet();
        std::string what = format("%zu bytes of %s, window of %s", kSizes[i],
                                  name(local), name(remote));
        worker.finish(link.ep().put(whole.data(), kSizes[i], peer, 0),
                      what.c_str());
        /* What is behind it stays as it is. */
        worker.finish(link.ep().flush(), "flush");
        link.meet();
        std::vector<char> seen = window.buffer().bytes();
        require_pattern(seen.data(), kSizes[i], mix(2 * i + 1 - mine),
                        what.c_str());
        require_pattern(seen.data() + kSizes[i], kArea - kSizes[i],
                        mix(1000 + i), what.c_str(), kSizes[i]);
        worker.finish(link.ep().get(back.data(), kSizes[i], peer, 0),
                      what.c_str());
        seen = back.bytes();
        require_pattern(seen.data(), kSizes[i], mix(2 * i + mine),
                        what.c_str());
        link.meet();
    }
    link.finish();
}

} // namespace

std::vector<Case> gpu_rma_cases()
{
    std::vector<Case> cases;
    for (Kind local : {Kind::Gpu, Kind::Host}) {
        for (Kind remote : {Kind::Gpu, Kind::Managed, Kind::Host}) {
            if (local == Kind::Host && remote == Kind::Host) {
                continue;
            }
            for_engines(cases, format("gpu_rma.%s_%s", name(local),
                                      name(remote)),
                        [=](Session &session) {
                            sizes(session, local, remote);
                        });
        }
    }
    std::erase_if(cases, [](const Case &test) {
        return test.name.ends_with(".old");
    });
    return cases;
}

} // namespace fltest
