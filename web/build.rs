//! Makes the web view with npm, in the directory of the build and nowhere else, and lists its files for `src/lib.rs`.
//!
//! `PANEWIRE_WEB` says what is wanted: `auto` (the default) takes a small page where npm cannot do it, `require` stops the
//! build then, `skip` takes the small page at once.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, io, thread};

/// What the bundle is made of.
const SOURCES: &[&str] =
    &["app", "build", "package.json", "package-lock.json", ".npmrc", "vite.config.js", "wire.schema.json"];

/// npm may wait for a network that is not there.
const WITHIN: Duration = Duration::from_secs(300);

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("cargo::error=web view: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    println!("cargo::rerun-if-env-changed=PANEWIRE_WEB");
    for source in SOURCES.iter().chain(&["build.rs", "missing"]) {
        println!("cargo::rerun-if-changed={source}");
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
    let wish = env::var("PANEWIRE_WEB").unwrap_or_default();
    let made = match wish.as_str() {
        "skip" => None,
        "" | "auto" => bundle(&out)
            .inspect_err(|error| println!("cargo::warning=web view: {error}; a small page takes its place"))
            .ok(),
        "require" => Some(bundle(&out)?),
        other => return Err(format!("PANEWIRE_WEB={other} is none of auto, require, skip")),
    };
    let site = made.unwrap_or_else(|| PathBuf::from("missing"));
    let site = fs::canonicalize(&site).map_err(|error| format!("{}: {error}", site.display()))?;
    let list = listing(&site).map_err(|error| format!("{}: {error}", site.display()))?;
    fs::write(out.join("site.rs"), list).map_err(|error| format!("site.rs: {error}"))
}

/// Has npm make the bundle of a copy of the sources.
fn bundle(out: &Path) -> Result<PathBuf, String> {
    let workshop = out.join("web");
    let lock = workshop.join("package-lock.json");
    let installed = workshop.join("node_modules/.installed");
    for source in SOURCES {
        let copy = workshop.join(source);
        if copy.is_dir() {
            fs::remove_dir_all(&copy).map_err(|error| format!("{}: {error}", copy.display()))?;
        }
        copy_all(Path::new(source), &copy).map_err(|error| format!("{source}: {error}"))?;
    }
    let wanted = fs::read(&lock).map_err(|error| format!("package-lock.json: {error}"))?;
    if fs::read(&installed).ok().as_ref() != Some(&wanted) {
        npm(&workshop, &["ci", "--omit=dev", "--prefer-offline", "--no-progress", "--fetch-retries=1"])?;
        fs::write(&installed, wanted).map_err(|error| format!("node_modules: {error}"))?;
    }
    npm(&workshop, &["run", "build"])?;
    Ok(workshop.join("dist"))
}

/// Runs npm; an error is the last thing it said.
fn npm(directory: &Path, arguments: &[&str]) -> Result<(), String> {
    let called = format!("npm {}", arguments.join(" "));
    let log = directory.join("npm.log");
    let output = fs::File::create(&log).map_err(|error| format!("{}: {error}", log.display()))?;
    let errors = output.try_clone().map_err(|error| format!("{}: {error}", log.display()))?;
    let mut child = Command::new(if cfg!(windows) { "npm.cmd" } else { "npm" })
        .args(arguments)
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors)
        .spawn()
        .map_err(|error| format!("npm cannot be run: {error}"))?;
    let until = Instant::now() + WITHIN;
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(_)) => {
                let said = fs::read_to_string(&log).unwrap_or_default();
                let told = said.lines().map(str::trim).find(|line| line.to_lowercase().contains("error "));
                let told = told.or_else(|| said.lines().map(str::trim).rfind(|line| !line.is_empty()));
                return Err(format!("{called} failed: {} (all of it: {})", told.unwrap_or_default(), log.display()));
            }
            Ok(None) if Instant::now() < until => thread::sleep(Duration::from_millis(50)),
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("{called} took more than {} s", WITHIN.as_secs()));
            }
            Err(error) => return Err(format!("{called}: {error}")),
        }
    }
}

fn copy_all(from: &Path, to: &Path) -> io::Result<()> {
    if !from.is_dir() {
        return fs::copy(from, to).map(drop);
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        copy_all(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

/// The files of a directory as Rust source.
fn listing(site: &Path) -> io::Result<String> {
    let mut files = Vec::new();
    find(site, &mut files)?;
    files.sort();
    let mut list = String::from("/// Every file of the web view.\npub const SITE: &[Asset] = &[\n");
    for file in files.iter().filter(|file| !is_compressed(file)) {
        let name = file.strip_prefix(site).unwrap_or(file).to_string_lossy().replace('\\', "/");
        let path = if name == "index.html" { "/".to_owned() } else { format!("/{name}") };
        let plain = format!("{:?}", file.to_string_lossy());
        let compressed = |suffix: &str| {
            let beside = PathBuf::from(format!("{}.{suffix}", file.display()));
            let there = beside.exists().then(|| format!("Some(include_bytes!({:?}))", beside.to_string_lossy()));
            there.unwrap_or_else(|| "None".to_owned())
        };
        let _ = writeln!(
            list,
            "    Asset {{ path: {path:?}, content_type: {:?}, etag: \"\\\"{:016x}\\\"\", immutable: {}, plain: \
             include_bytes!({plain}), gzip: {}, brotli: {} }},",
            content_type(&name),
            fingerprint(&fs::read(file)?),
            path.starts_with("/assets/"),
            compressed("gz"),
            compressed("br"),
        );
    }
    list.push_str("];\n");
    Ok(list)
}

fn find(directory: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            find(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

fn is_compressed(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "gz" || extension == "br")
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "webmanifest" => "application/manifest+json",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

/// FNV-1a: tells one content from another, and is no secret.
fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
