// SPDX-License-Identifier: Apache-2.0
//! Simulates a card that vanishes: the emulated one, behind a connection that can be cut or
//! delayed.

use std::{
    io::{Read, Write},
    os::unix::net::{UnixListener, UnixStream},
    sync::{
        Arc,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    time::Duration,
};

use nearscan_drive::{
    CardModel, DeviceClock, Failure, MakeMemory, Modelled, Refusal, Work, clock::pause,
};
use nearscan_emulator::EmulatedCard;

/// The outcome of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Link {
    /// It works.
    Up,
    /// Nothing comes back any more.
    Silent,
    /// It is closed.
    Cut,
}

/// The emulated card behind such a connection.
#[derive(Debug)]
pub(crate) struct Proxy {
    card: Arc<EmulatedCard>,
    link: Arc<AtomicU32>,
    load_ms: AtomicU64,
    loads: AtomicU32,
}

impl Proxy {
    pub(crate) fn new(card: EmulatedCard) -> Self {
        let link = Arc::new(AtomicU32::new(Link::Up as u32));
        Self { card: Arc::new(card), link, load_ms: AtomicU64::new(0), loads: AtomicU32::new(0) }
    }

    /// Makes loading an image last so long, from the next time on.
    pub(crate) fn set_load_time(&self, time: Duration) {
        let ms = u64::try_from(time.as_millis()).unwrap();
        self.load_ms.store(ms, Ordering::SeqCst);
    }

    /// Number of images that have been loaded, or are being loaded.
    pub(crate) fn loads(&self) -> u32 {
        self.loads.load(Ordering::SeqCst)
    }

    /// Lets something become of the connection, from the next answer on.
    pub(crate) fn set(&self, link: Link) {
        self.link.store(link as u32, Ordering::SeqCst);
    }
}

impl CardModel for Proxy {
    fn clock(&self) -> &dyn DeviceClock {
        self.card.clock()
    }

    fn merge_part_rows(&self) -> u64 {
        self.card.merge_part_rows()
    }

    fn admit(&self, work: &Work) -> Result<(), Refusal> {
        self.card.admit(work)
    }

    fn begin(&self, work: &Work, path: &str) -> Result<(), Failure> {
        self.card.begin(work, path)
    }

    fn took(&self, work: &Work, time: Modelled) -> Modelled {
        self.card.took(work, time)
    }

    fn end(&self, work: &Work) {
        self.card.end(work);
    }

    fn serve(self: Arc<Self>, listener: UnixListener, memory: MakeMemory) -> std::io::Result<()> {
        self.loads.fetch_add(1, Ordering::SeqCst);
        pause(Duration::from_millis(self.load_ms.load(Ordering::SeqCst)));
        let folder = tempfile::tempdir()?;
        let inner = folder.path().join("card");
        Arc::clone(&self.card).serve(UnixListener::bind(&inner)?, memory)?;
        let card = UnixStream::connect(&inner)?;
        std::thread::spawn(move || {
            let (runtime, _) = listener.accept().unwrap();
            let (mut calls, mut to_card) =
                (runtime.try_clone().unwrap(), card.try_clone().unwrap());
            std::thread::spawn(move || std::io::copy(&mut calls, &mut to_card));
            self.answer(card, runtime);
        });
        Ok(())
    }
}

impl Proxy {
    /// Hands answers on for as long as the connection works.
    fn answer(&self, mut card: UnixStream, mut runtime: UnixStream) {
        let mut bytes = vec![0; 1 << 16];
        while let Ok(length @ 1..) = card.read(&mut bytes) {
            if self.link.load(Ordering::SeqCst) == Link::Silent as u32 {
                continue;
            }
            if self.link.load(Ordering::SeqCst) == Link::Cut as u32 {
                drop(runtime.shutdown(std::net::Shutdown::Both));
                return;
            }
            runtime.write_all(&bytes[..length]).unwrap();
        }
    }
}
