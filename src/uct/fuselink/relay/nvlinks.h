/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RELAY_NVLINKS_H
#define FUSELINK_RELAY_NVLINKS_H

#include "../../../ucs_ext/topology/devices.h"
#include "gpu_context.h"

#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace fuselink {

/** Which GPUs of this machine have NVLink between them: without it a hop to
 *  another GPU takes the very link to the host that it is to relieve. As NVML and
 *  the user's file say it, read at the first question, which takes up to a second
 *  on a machine whose driver sleeps. GPUs are known by their UUIDs, which only NVML
 *  has: without it there are none. Thread-safe. */
class NvLinks {
public:
    /** `file` is UCX_FUSELINK_TOPOLOGY; empty: none. */
    explicit NvLinks(std::string file) : file_(std::move(file)) {}

    /** As the first question does. False with one line if the file is wrong. */
    bool read(std::string &error);

    /** Does it have one, to any GPU? False for GPUs that NVML does not show. */
    bool any(const GpuContext::Uuid &gpu);
    bool between(const GpuContext::Uuid &one, const GpuContext::Uuid &other);

    /** It was asked before, so that an answer takes no time. */
    bool known();

    /** Of these NICs, by name, those to which no other is nearer, a bit for each;
     *  all of them where that is not known. Not more than 32. */
    uint32_t nearest(const GpuContext::Uuid &gpu,
                     const std::vector<std::string> &nics);

private:
    /* With the mutex locked. */
    bool                  read_now(std::string &error);
    std::optional<size_t> number(const GpuContext::Uuid &gpu);

    std::string                      file_;
    std::mutex                       mutex_; /* of devices_ */
    std::optional<topology::Devices> devices_;
};

} // namespace fuselink

#endif
