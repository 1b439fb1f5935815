/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_CUDASIM_HOOKED_H
#define FUSELINK_CUDASIM_HOOKED_H

/*
 * UCX watches allocations by replacing the first instructions of the driver's
 * functions with a jump. It moves those that were there elsewhere, and knows
 * few: pushes, a move of the stack pointer, moves of constants. What compilers
 * begin a function with is often something else, and then UCX goes without its
 * cache of memory types. So these functions begin with instructions that it
 * knows, 14 bytes of them, and go on in the real one.
 *
 * CUDASIM_HOOKED(NAME) makes NAME the entry of cudasim_NAME.
 */
#if defined(__x86_64__)
#define CUDASIM_HOOKED(_name)                     \
    __asm__(".text\n"                             \
            ".p2align 4\n"                        \
            ".globl " #_name "\n"                 \
            ".type " #_name ", @function\n"       \
            #_name ":\n"                          \
            "    push %rbp\n"                     \
            "    .byte 0x48, 0x89, 0xe5\n"        \
            "    mov $0, %eax\n"                  \
            "    mov $0, %eax\n"                  \
            "    pop %rbp\n"                      \
            "    jmp cudasim_" #_name "\n"        \
            ".size " #_name ", . - " #_name "\n")
#else
#define CUDASIM_HOOKED(_name)                     \
    __asm__(".globl " #_name "\n"                 \
            ".set " #_name ", cudasim_" #_name "\n")
#endif

/* The function behind the entry: found by the assembler only. */
#define CUDASIM_BEHIND(_name) \
    extern "C" __attribute__((used, visibility("hidden"))) CUresult cudasim_##_name

#endif
