/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TOOLS_AGENT_CUDA_H
#define FUSELINK_TOOLS_AGENT_CUDA_H

#include <string>

namespace fuselink::agent {

/** The CUDA driver, opened by name: a program that is built without CUDA runs where there
 *  is one. A process that has opened it must not fork. */
class Cuda {
public:
    /** False with a line if there is none, or no GPU. */
    bool open(std::string &error);
    /** GPUs that this process may use (CUDA_VISIBLE_DEVICES). */
    unsigned count() const { return count_; }
    /** Has the calling thread work with that one, in the context that others of the
     *  process have there as well. False with a line. */
    bool use(unsigned gpu, std::string &error);
    /** What that one is called. */
    std::string name(unsigned gpu) const;

private:
    template <typename Fn> bool find(const char *name, Fn &fn);

    /* Of libcuda.so.1, whose interface is stable: results are 0 if well. */
    int (*init_)(unsigned)              = nullptr;
    int (*get_count_)(int *)            = nullptr;
    int (*get_device_)(int *, int)      = nullptr;
    int (*get_name_)(char *, int, int)  = nullptr;
    int (*retain_)(void **, int)        = nullptr;
    int (*set_current_)(void *)         = nullptr;
    void    *library_ = nullptr;
    unsigned count_   = 0;
};

} // namespace fuselink::agent

#endif
