//! Makes libFuzzer save the input of a stack overflow.

/// Gives the signal handlers of libFuzzer a stack of their own, so that they can save the input when the main stack has
/// overflowed. The script that starts a target limits the main stack.
pub fn guard() {
    const SIZE: usize = 64 * 1024;
    let room = Box::leak(vec![0u8; SIZE].into_boxed_slice());
    let stack = libc::stack_t { ss_sp: room.as_mut_ptr().cast(), ss_flags: 0, ss_size: SIZE };
    // SAFETY: the memory is never freed, and nothing else uses it.
    let done = unsafe { libc::sigaltstack(&stack, std::ptr::null_mut()) };
    assert_eq!(done, 0, "no stack for the handlers");
    for signal in [libc::SIGSEGV, libc::SIGBUS] {
        // SAFETY: all zeros is the default action; libFuzzer puts its own in its place, and keeps the flag.
        let done = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_flags = libc::SA_ONSTACK;
            libc::sigaction(signal, &action, std::ptr::null_mut())
        };
        assert_eq!(done, 0, "no such signal");
    }
}
