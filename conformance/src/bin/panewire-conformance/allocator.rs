//! An allocator that knows what the core holds: each allocation carries whose it is, wherever it is freed.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::Cell;
use std::alloc::System;

use panewire_conformance::trial::Meter;

/// For one thread: each plays trials of its own, and nothing goes from one to another.
pub(crate) const METER: Meter = Meter { inside: |inside| INSIDE.set(inside), take_peak };

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
    static LIVE: Cell<usize> = const { Cell::new(0) };
    static PEAK: Cell<usize> = const { Cell::new(0) };
}

#[global_allocator]
static ALLOCATOR: Telling = Telling;

/// The system's allocator, with a note in front of every block.
struct Telling;

fn take_peak() -> usize {
    PEAK.replace(LIVE.get())
}

fn noted(layout: Layout) -> Option<(Layout, usize)> {
    Layout::new::<bool>().extend(layout).ok().map(|(whole, offset)| (whole.pad_to_align(), offset))
}

#[expect(unsafe_code, reason = "an allocator is unsafe by its nature")]
// SAFETY: every block is the system's, larger by a note in front of it; the note's size follows from the layout alone, so
// that the block is found again when it is freed. `realloc` is the provided one, which goes through these two.
unsafe impl GlobalAlloc for Telling {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some((whole, offset)) = noted(layout) else { return core::ptr::null_mut() };
        // SAFETY: the layout is not empty: it holds the note.
        let block = unsafe { System.alloc(whole) };
        if block.is_null() {
            return block;
        }
        let ours = INSIDE.get();
        if ours {
            let live = LIVE.get() + layout.size();
            LIVE.set(live);
            PEAK.set(PEAK.get().max(live));
        }
        // SAFETY: the block begins with room for the note, and `offset` lies in it.
        unsafe {
            block.write(u8::from(ours));
            block.add(offset)
        }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        let Some((whole, offset)) = noted(layout) else { return };
        // SAFETY: `alloc` gave out this place in a block of the same layout, which begins with the note.
        unsafe {
            let block = pointer.sub(offset);
            if block.read() != 0 {
                LIVE.set(LIVE.get().saturating_sub(layout.size()));
            }
            System.dealloc(block, whole);
        }
    }
}
