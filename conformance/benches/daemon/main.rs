//! What the daemon costs: `cargo bench -p panewire-conformance --bench daemon [-- --size 1GB] [--session FILE] [--daemon PATH] [--clients N]`.
//!
//! The release daemon (`cargo build --release -p panewire` comes first) serves a generated session, or a copy of FILE, over real sockets. What
//! it does is measured in the same interleaved rounds as what nothing could do faster: a scan of the same file for newlines,
//! and a thread that writes the same frames to as many sockets. Read the ratios; a machine is never the same twice.
#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a benchmark that cannot go on is of no use"
)]
#![expect(clippy::cast_precision_loss, reason = "figures to look at")]

mod client;
mod daemon;
mod session;

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use client::Client;
use daemon::{Daemon, Home};
use session::Session;

const ROUNDS: usize = 7;
const APPENDS: usize = 60;
const SMALL_BYTES: u64 = 1_000_000;
/// Long enough for each client to be pinged twice.
const IDLE: Duration = Duration::from_secs(40);
const CHILDREN: u32 = 63;

/// What was asked for.
struct Wanted {
    bytes: u64,
    session: Option<std::path::PathBuf>,
    daemon: std::path::PathBuf,
    clients: usize,
}

fn main() {
    let mut wanted = wanted();
    let home = Home::new();
    let (mut large, small) = match &wanted.session {
        Some(session) => {
            (Session::copy(&home, "large", session, u64::MAX), Session::copy(&home, "small", session, SMALL_BYTES))
        }
        None => (Session::generate(&home, "large", wanted.bytes), Session::generate(&home, "small", SMALL_BYTES)),
    };
    large.spawn(CHILDREN);
    wanted.bytes = large.path().metadata().unwrap().len();
    println!("a session of {} MB, {} clients\n", wanted.bytes / 1_000_000, wanted.clients);
    println!("{:<44}{:>14}{:>14}{:>14}", "", "measured", "target", "stretch");

    let (mut scans, mut words, mut cold) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        scans.push(timed(|| scan(large.path())));
        words.push(timed(|| count_by_program(large.path())));
        let daemon = Daemon::start(&wanted.daemon, &home, true);
        cold.push(timed(|| drop(Client::open(&daemon, &large.pane(), ""))));
    }
    row("open cold, x `wc -l`", ratio(&cold, &words), "3 x", "1.8 x", "x");
    row("  x a scan for newlines", ratio(&cold, &scans), "", "", "x");
    row("  in milliseconds", median(&cold) * 1e3, "", "", "ms");

    let daemon = Daemon::start(&wanted.daemon, &home, true);
    let mut first = Client::open(&daemon, &large.pane(), "");
    Client::open(&daemon, &small.pane(), "");
    let (mut of_large, mut of_small, mut middle, mut end) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS * 3 {
        of_large.push(timed(|| drop(Client::open(&daemon, &large.pane(), ""))));
        of_small.push(timed(|| drop(Client::open(&daemon, &small.pane(), ""))));
        middle.push(timed(|| first.page(first.total / 2, 150)));
        end.push(timed(|| first.page(first.total - 150, 150)));
    }
    row("open warm, x a session of 1 MB", ratio(&of_large, &of_small), "1.5 x", "1.1 x", "x");
    row("  in milliseconds", median(&of_large) * 1e3, "", "3 ms", "ms");
    row("page in the middle, x near the end", ratio(&middle, &end), "3 x", "", "x");
    row("  in milliseconds", median(&middle) * 1e3, "8 ms", "4 ms", "ms");

    let cursor = first.cursor();
    let mut waits = Vec::new();
    for _ in 0..APPENDS {
        let line = large.next_line();
        waits.push(timed(|| {
            large.append(&line);
            first.live();
        }));
        std::thread::sleep(Duration::from_millis(37));
    }
    waits.sort_by(f64::total_cmp);
    row("append to frame, p50", waits[waits.len() / 2] * 1e3, "10 ms", "1 ms", "ms");
    row("append to frame, p99", waits[waits.len() * 99 / 100] * 1e3, "50 ms", "", "ms");
    let resumed = timed(|| {
        let client = Client::open(&daemon, &large.pane(), &cursor);
        assert_eq!(client.opened, APPENDS as u64, "exactly what came since");
    });
    row("resume behind so many entries", resumed * 1e3, "", "", "ms");
    let paging = timed(|| assert_eq!(first.page_to_the_beginning(), first.total));
    row("all pages to the beginning", paging, "", "", "s");
    row("  entries", first.total as f64, "", "", "");
    row("most memory so far, one client", daemon.memory("VmHWM") / 1024.0, "16 MiB", "10 MiB", "MiB");

    let mut clients = vec![first];
    let idle_of_one = daemon.idle(|| client::rest(&mut clients, IDLE));
    let before = daemon.memory("VmRSS");
    clients.extend((1..wanted.clients).map(|_| Client::open(&daemon, &large.pane(), "")));
    let more = (clients.len() - 1).max(1) as f64;
    row("memory for each further client", (daemon.memory("VmRSS") - before) / more, "12 KiB", "5 KiB", "KiB");
    let idle = daemon.idle(|| client::rest(&mut clients, IDLE));
    row("idle, all clients: CPU", idle.cpu_millis, "2 ms/s", "0.5 ms/s", "ms/s");
    row("idle, all clients: switches", idle.switches, "10/s", "1/s", "/s");
    row("idle, all clients against one", idle.cpu_millis / idle_of_one.cpu_millis.max(1.0), "1.5 x", "1.1 x", "x");

    let (fan_out, raw) = fan_out(&daemon, &mut large, &mut clients);
    row("one line to all clients, CPU x raw sends", fan_out / raw, "3 x", "1.5 x", "x");
    row("most memory, all clients", daemon.memory("VmHWM") / 1024.0, "", "", "MiB");

    // A daemon that has seen no change yet does not know whether hints can be trusted: it looks by the clock.
    drop((clients, daemon));
    let daemon = Daemon::start(&wanted.daemon, &home, true);
    let mut clients: Vec<Client> = (0..wanted.clients).map(|_| Client::open(&daemon, &large.pane(), "")).collect();
    let idle = daemon.idle(|| client::rest(&mut clients, IDLE));
    row("idle, before the first change: CPU", idle.cpu_millis, "2 ms/s", "0.5 ms/s", "ms/s");
    row("idle, before the first change: switches", idle.switches, "10/s", "1/s", "/s");
}

/// CPU seconds for lines to every client: by the daemon, and by a thread that writes the same frames to as many sockets.
fn fan_out(daemon: &Daemon, session: &mut Session, clients: &mut [Client]) -> (f64, f64) {
    let mut raw = Raw::connect(clients.len());
    let (before, mut theirs) = (daemon.cpu_seconds(), 0.0);
    for _ in 0..APPENDS * 4 {
        let line = session.next_line();
        session.append(&line);
        let mut frame = 0;
        for client in &mut *clients {
            frame = client.live();
        }
        theirs += raw.send(frame);
    }
    (daemon.cpu_seconds() - before, theirs)
}

/// A thread that writes frames to sockets and does nothing else. Its clients read as the daemon's do, meanwhile.
struct Raw {
    clients: Vec<TcpStream>,
    sizes: Sender<usize>,
    spent: Receiver<f64>,
}

impl Raw {
    fn connect(sockets: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let ends = (0..sockets).map(|_| {
            let client = TcpStream::connect(address).unwrap();
            (listener.accept().unwrap().0, client)
        });
        let (mut servers, clients): (Vec<TcpStream>, _) = ends.unzip();
        let (sizes, wanted) = channel();
        let (spends, spent) = channel();
        std::thread::spawn(move || {
            for bytes in wanted {
                let frame = vec![b'x'; bytes];
                let before = daemon::own_cpu_seconds();
                for server in &mut servers {
                    server.write_all(&frame).unwrap();
                }
                spends.send(daemon::own_cpu_seconds() - before).unwrap();
            }
        });
        Self { clients, sizes, spent }
    }

    fn send(&mut self, bytes: usize) -> f64 {
        self.sizes.send(bytes).unwrap();
        let mut taken = vec![0; bytes];
        for client in &mut self.clients {
            client.read_exact(&mut taken).unwrap();
        }
        self.spent.recv().unwrap()
    }
}

/// Counts the newlines of a file as quickly as can be.
fn scan(path: &Path) {
    let mut file = File::open(path).unwrap();
    let (mut buffer, mut newlines) = (vec![0; 256 * 1024], 0);
    loop {
        let read = file.read(&mut buffer).unwrap();
        if read == 0 {
            break;
        }
        newlines += memchr::memchr_iter(b'\n', &buffer[..read]).count();
    }
    assert!(std::hint::black_box(newlines) > 0);
}

/// The same by the program that everybody has.
fn count_by_program(path: &Path) {
    let counted = Command::new("wc").arg("-l").arg(path).stdout(Stdio::null()).status();
    assert!(counted.expect("wc is there").success());
}

fn timed<T>(act: impl FnOnce() -> T) -> f64 {
    let began = Instant::now();
    act();
    began.elapsed().as_secs_f64()
}

fn median(times: &[f64]) -> f64 {
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn ratio(ours: &[f64], theirs: &[f64]) -> f64 {
    median(ours) / median(theirs)
}

fn row(what: &str, measured: f64, target: &str, stretch: &str, unit: &str) {
    println!("{what:<44}{:>14}{target:>14}{stretch:>14}", format!("{measured:.2} {unit}"));
}

fn wanted() -> Wanted {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let beside = std::env::current_exe().unwrap().parent().and_then(Path::parent).unwrap().join("panewire");
    let mut wanted = Wanted { bytes: 100_000_000, session: None, daemon: beside, clients: 100 };
    while let Some(option) = arguments.next() {
        let value = arguments.next().expect("each option has a value");
        match option.as_str() {
            "--size" => wanted.bytes = session::bytes(&value),
            "--session" => wanted.session = Some(value.into()),
            "--daemon" => wanted.daemon = value.into(),
            "--clients" => wanted.clients = value.parse().expect("a number of clients"),
            _ => panic!("--size, --session, --daemon or --clients, not {option}"),
        }
    }
    wanted
}
