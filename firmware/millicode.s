# Code that functions share to save and restore registers, in programs built with `-Ctarget-feature=+save-restore`. The
# RISC-V calling convention lays down how: `__riscv_save_N` is called with its return address in t0, makes a frame, and saves
# ra and s0 to s(N-1) there, from the top; `__riscv_restore_N` is jumped to at the end of a function, restores them, frees
# the frame, and returns in its place. By hand: Rust's own runtime library does not have them.
#
# A frame is a multiple of 16 bytes. Where that leaves room for more registers, those are saved too.

    .macro registers instruction, top
    \instruction ra, \top - 4(sp)
    \instruction s0, \top - 8(sp)
    \instruction s1, \top - 12(sp)
    \instruction s2, \top - 16(sp)
    .if \top >= 32
    \instruction s3, \top - 20(sp)
    \instruction s4, \top - 24(sp)
    \instruction s5, \top - 28(sp)
    \instruction s6, \top - 32(sp)
    .endif
    .if \top >= 48
    \instruction s7, \top - 36(sp)
    \instruction s8, \top - 40(sp)
    \instruction s9, \top - 44(sp)
    \instruction s10, \top - 48(sp)
    .endif
    .if \top >= 64
    \instruction s11, \top - 52(sp)
    .endif
    .endm

    .macro frame size, numbers:vararg
    .irp number, \numbers
    .globl __riscv_save_\number
    .type __riscv_save_\number, @function
__riscv_save_\number:
    .endr
    addi sp, sp, -\size
    registers sw, \size
    jr t0
    .irp number, \numbers
    .globl __riscv_restore_\number
    .type __riscv_restore_\number, @function
__riscv_restore_\number:
    .endr
    registers lw, \size
    addi sp, sp, \size
    ret
    .endm

    .section .text.millicode, "ax", @progbits
    .balign 4
    frame 16, 0, 1, 2, 3
    frame 32, 4, 5, 6, 7
    frame 48, 8, 9, 10, 11
    frame 64, 12
