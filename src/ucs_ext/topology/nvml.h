/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_UCS_EXT_TOPOLOGY_NVML_H
#define FUSELINK_UCS_EXT_TOPOLOGY_NVML_H

#include <string>

namespace fuselink::topology {

/**
 * NVIDIA's management library, as far as it is used here. Nothing is linked to it
 * and no header of CUDA is needed: a machine without a GPU has neither. Types and
 * values are those of NVML's documented interface.
 */
struct NvmlCalls {
    struct Device;
    struct PciInfo {
        char     bus_id_legacy[16];
        unsigned domain;
        unsigned bus;
        unsigned device;
        unsigned pci_device;
        unsigned pci_subsystem;
        char     bus_id[32];
    };
    struct FieldValue {
        unsigned  field;
        unsigned  scope;
        long long timestamp;
        long long latency;
        int       type; /* of the value */
        int       result;
        union {
            double             as_double;
            unsigned           as_unsigned;
            unsigned long      as_long;
            unsigned long long as_long_long;
        } value;
    };
    static constexpr int      kSuccess        = 0;
    static constexpr unsigned kMaxLinks       = 36; /* more than any GPU has */
    static constexpr unsigned kFieldLinkSpeed = 90; /* of each link, MB/s */
    static constexpr unsigned kFieldLinkCount = 91;
    static constexpr int      kRemoteSwitch   = 2;
    static constexpr int      kP2pRead = 0, kP2pWrite = 1; /* capabilities */
    static constexpr int      kP2pOk   = 0, kP2pUnknown = 6;

    int (*init)();
    int (*shutdown)();
    const char *(*error_string)(int result);
    int (*count)(unsigned *count);
    int (*handle)(unsigned index, Device **device);
    int (*name)(Device *device, char *text, unsigned length);
    int (*uuid)(Device *device, char *text, unsigned length);
    int (*pci)(Device *device, PciInfo *info);
    /* Those of which a driver may know nothing; nullptr then. */
    int (*mig)(Device *device, unsigned *current, unsigned *pending);
    int (*ancestor)(Device *a, Device *b, int *level);
    int (*p2p)(Device *a, Device *b, int capability, int *status);
    int (*link_state)(Device *device, unsigned link, int *active);
    int (*link_remote)(Device *device, unsigned link, PciInfo *remote);
    int (*link_remote_type)(Device *device, unsigned link, int *type);
    int (*fields)(Device *device, int count, FieldValue *values);
    int (*pcie_generation)(Device *device, unsigned *generation);
    int (*pcie_width)(Device *device, unsigned *lanes);
};

/** The library, loaded and initialised as long as this lives. */
class Nvml {
public:
    /** @param library libnvidia-ml.so.1
     *  Without the library `calls()` is null and `why()` empty; where it is there
     *  and does not work, `why()` says so. */
    explicit Nvml(const char *library);
    ~Nvml();
    Nvml(const Nvml &)            = delete;
    Nvml &operator=(const Nvml &) = delete;

    const NvmlCalls   *calls() const { return ready_ ? &calls_ : nullptr; }
    const std::string &why() const { return why_; }

private:
    void       *library_ = nullptr;
    NvmlCalls   calls_{};
    bool        ready_ = false;
    std::string why_;
};

} // namespace fuselink::topology

#endif
