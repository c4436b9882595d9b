//! Memory shared with virtio devices: addresses need no translation, and the queues are in a few static pages.

use core::cell::UnsafeCell;
use core::ptr::NonNull;

use portable_atomic::{AtomicUsize, Ordering};
use virtio_drivers::{BufferDirection, Hal, PAGE_SIZE, PhysAddr};

/// Two for each of the two queues of the network card and of the console.
const PAGES: usize = 8;

#[repr(C, align(4096))]
struct Pool(UnsafeCell<[u8; PAGES * PAGE_SIZE]>);

// SAFETY: accessed through `Dma::dma_alloc` alone, which hands out every page once.
unsafe impl Sync for Pool {}

static POOL: Pool = Pool(UnsafeCell::new([0; PAGES * PAGE_SIZE]));
static TAKEN: AtomicUsize = AtomicUsize::new(0);

/// The machine as virtio devices see it.
pub struct Dma;

// SAFETY: pages are zeroed, aligned, handed out once and never reused; addresses need no translation.
unsafe impl Hal for Dma {
    fn dma_alloc(pages: usize, _: BufferDirection) -> (PhysAddr, NonNull<u8>) {
        let first = TAKEN.fetch_add(pages, Ordering::Relaxed);
        assert!(first + pages <= PAGES, "more virtio queues than the pool has pages for");
        // SAFETY: inside the pool, as was just checked.
        let start = unsafe { NonNull::new_unchecked(POOL.0.get().cast::<u8>().add(first * PAGE_SIZE)) };
        (start.addr().get() as PhysAddr, start)
    }

    unsafe fn dma_dealloc(_: PhysAddr, _: NonNull<u8>, _: usize) -> i32 {
        0
    }

    unsafe fn mmio_phys_to_virt(address: PhysAddr, _: usize) -> NonNull<u8> {
        NonNull::new(address as usize as *mut u8).expect("no device is at address zero")
    }

    unsafe fn share(buffer: NonNull<[u8]>, _: BufferDirection) -> PhysAddr {
        buffer.addr().get() as PhysAddr
    }

    unsafe fn unshare(_: PhysAddr, _: NonNull<[u8]>, _: BufferDirection) {}
}
