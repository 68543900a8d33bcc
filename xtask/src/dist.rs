//! Packages that people install, of one static program, in one directory with their sums.
//!
//! ```text
//!   cargo build, static -> program ---------------------> drivelab-VERSION-x86_64-linux
//!     -> it writes its man pages and completions
//!       -> Tree, as it lies in a system -> .tar.gz, .deb, .rpm, an OCI image, a wheel
//!   cargo package -> .crate files
//!   all of them -> SHA256SUMS -> --check: each installed, run and removed
//! ```
//!
//! Made twice of the same commit they are the same bytes: times are those of SOURCE_DATE_EPOCH, or
//! of the commit. docs/guide/install.md tells users of them.

mod archive;
mod check;
mod crates;
mod deb;
mod image;
mod rpm;
mod tools;
mod tree;
mod wheel;

use crate::check::root;
use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};
use tools::{output, run as call, sha256};
use tree::Tree;

/// What programs are built for: with glibc's start-up code in them, where `gnu` is.
const TRIPLE: &str = "x86_64-unknown-linux-gnu";
/// What packages have and a plain build has not: who installs one compiles nothing.
const FEATURES: &str = "postgresql,parquet";

/// A kind of package.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    /// The program alone, and with its pages in a .tar.gz.
    Archive,
    /// For Debian and what comes of it.
    Deb,
    /// For Fedora, SUSE and others.
    Rpm,
    /// An OCI image, from scratch.
    Image,
    /// For pip and pipx.
    Wheel,
    /// For cargo.
    Crates,
}

/// What is packed, where to, and whether it is tried.
#[derive(clap::Args)]
pub struct Options {
    /// These alone; all where none is named.
    #[arg(value_name = "PART")]
    parts: Vec<Part>,
    /// The directory, which is made; packages of the same name in it are replaced.
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
    /// This program, which must be static, instead of one that is built.
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Links the program of what the tests have built, which takes a tenth of the time: larger,
    /// slower, and paths of this machine are in it.
    #[arg(long, conflicts_with = "program")]
    quick: bool,
    /// Crates from a working tree with changes.
    #[arg(long)]
    allow_dirty: bool,
    /// Then installs, runs and removes each in a place of its own, as root, and makes all once
    /// more to see the same sums.
    #[arg(long)]
    check: bool,
}

impl Options {
    /// Whether this part is wanted.
    fn has(&self, part: Part) -> bool {
        self.parts.is_empty() || self.parts.contains(&part)
    }
}

/// What every package needs to know.
struct Ground {
    /// The repository.
    root: PathBuf,
    /// A directory for what is no result; gone at the end.
    work: PathBuf,
    /// Where the packages go.
    to: PathBuf,
    version: String,
    /// Seconds since 1970 that stand for now.
    epoch: u64,
}

impl Ground {
    /// An empty directory for a package's own files.
    fn room(&self, name: &str) -> Result<PathBuf> {
        let room = self.work.join(name);
        if room.exists() {
            fs::remove_dir_all(&room).with_context(|| room.display().to_string())?;
        }
        fs::create_dir_all(&room).with_context(|| room.display().to_string())?;
        Ok(room)
    }
}

/// Makes the packages, and tries them if asked to.
pub fn run(options: &Options) -> Result<()> {
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), Into::into);
    let to = options.to.clone().unwrap_or_else(|| target.join("dist"));
    fs::create_dir_all(&to).with_context(|| to.display().to_string())?;
    let work = target.join(format!("dist-work-{}", std::process::id()));
    fs::create_dir_all(&work).with_context(|| work.display().to_string())?;
    // Programs are started in other directories.
    let (to, work) = (to.canonicalize()?, work.canonicalize()?);
    let ground = Ground { root: root(), work, to, version: version()?, epoch: epoch()? };
    let outcome = carry_out(options, &ground, &target);
    let removed = fs::remove_dir_all(&ground.work);
    outcome?;
    removed.with_context(|| ground.work.display().to_string())
}

/// The programs that pack these parts, and try them.
fn programs(options: &Options) -> Vec<&'static str> {
    let mut names = vec!["strip"];
    if options.has(Part::Deb) {
        names.push("dpkg-deb");
        names.extend(options.check.then_some("lintian"));
    }
    if options.has(Part::Rpm) {
        names.extend(["rpmbuild", "rpm"]);
    }
    if options.has(Part::Wheel) && options.check {
        names.push("python3");
    }
    names
}

fn carry_out(options: &Options, ground: &Ground, target: &Path) -> Result<()> {
    // The program takes minutes to build, and rpmbuild was missed after them.
    programs(options).into_iter().try_for_each(tools::require)?;
    if options.has(Part::Crates) && !options.allow_dirty {
        let mut git = Command::new("git");
        let changed = output(git.args(["status", "--porcelain"]).current_dir(&ground.root))?;
        ensure!(
            changed.is_empty(),
            "crates are packed of what is committed, and this is not: commit it, or agree with \
             --allow-dirty:\n{changed}"
        );
    }
    let program = match &options.program {
        Some(program) => program.clone(),
        None if options.quick => linked(ground, target)?,
        None => built(ground, target)?,
    };
    let tree = Tree::new(ground, &program)?;
    let made = packages(options, ground, &tree)?;
    for path in &made {
        let name = path.file_name().expect("it is a file").to_string_lossy();
        println!("{:>10} bytes  {name}", fs::metadata(path)?.len());
    }
    let sums = sums_of(&ground.to)?;
    fs::write(ground.to.join("SHA256SUMS"), &sums).context("SHA256SUMS")?;
    println!("in {}, with SHA256SUMS", ground.to.display());
    if options.check {
        check::all(ground, &made)?;
        check::same_again(ground, &sums, |again| packages(options, again, &tree))?;
    }
    Ok(())
}

/// A line for each package in a directory, those of earlier calls too, as `sha256sum -c` reads it.
fn sums_of(directory: &Path) -> Result<String> {
    let mut lines = Vec::new();
    for entry in fs::read_dir(directory).with_context(|| directory.display().to_string())? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.starts_with("drivelab") {
            lines.push((name.clone(), sha256(&directory.join(&name))?));
        }
    }
    lines.sort();
    Ok(lines.iter().map(|(name, sum)| format!("{sum}  {name}\n")).collect())
}

/// Every package that is wanted.
fn packages(options: &Options, ground: &Ground, tree: &Tree) -> Result<Vec<PathBuf>> {
    let mut made = Vec::new();
    for part in Part::value_variants().iter().filter(|part| options.has(**part)) {
        match part {
            Part::Archive => made.extend(archive::pack(ground, tree)?),
            Part::Deb => made.push(deb::pack(ground, tree)?),
            Part::Rpm => made.push(rpm::pack(ground, tree)?),
            Part::Image => made.push(image::pack(ground, tree)?),
            Part::Wheel => made.push(wheel::pack(ground, tree)?),
            Part::Crates => made.extend(crates::pack(ground, options.allow_dirty)?),
        }
    }
    Ok(made)
}

/// The program, with all that it needs in it, and no path of this machine.
fn built(ground: &Ground, target: &Path) -> Result<PathBuf> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cargo")));
    let mut flags = vec!["-Ctarget-feature=+crt-static".to_owned()];
    let own = [(Some(ground.root.clone()), "drivelab"), (home, "cargo")];
    for (path, name) in own.into_iter().filter_map(|(path, name)| Some((path?, name))) {
        flags.push(format!("--remap-path-prefix={}={name}", path.display()));
    }
    call(
        cargo(ground)
            .args(["build", "--locked", "--release", "--package", "drivelab", "--target", TRIPLE])
            .args(["--features", FEATURES])
            // Parted by what stands in no path.
            .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f")),
    )?;
    Ok(target.join(TRIPLE).join("release/drivelab"))
}

/// A static program of libraries that were built for a dynamic one: only the linker differs.
fn linked(ground: &Ground, target: &Path) -> Result<PathBuf> {
    call(
        cargo(ground)
            .args(["rustc", "--locked", "--package", "drivelab", "--bin", "drivelab"])
            .args(["--features", FEATURES, "--"])
            .arg("-Ctarget-feature=+crt-static"),
    )?;
    Ok(target.join("debug/drivelab"))
}

/// The cargo that runs us, in the repository.
fn cargo(ground: &Ground) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(&ground.root);
    command
}

/// Of the workspace, as this crate's.
fn version() -> Result<String> {
    Ok(env!("CARGO_PKG_VERSION").to_owned())
}

/// SOURCE_DATE_EPOCH, or the time of the commit.
fn epoch() -> Result<u64> {
    let text = match env::var("SOURCE_DATE_EPOCH") {
        Ok(text) => text,
        Err(_) => {
            output(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(root()))
                .context("no commit tells the time: set SOURCE_DATE_EPOCH")?
        }
    };
    let epoch = text.trim().parse();
    let epoch: u64 = epoch.with_context(|| format!("SOURCE_DATE_EPOCH={text}: a whole number"))?;
    ensure!(epoch < 1 << 33, "SOURCE_DATE_EPOCH={epoch}: seconds since 1970");
    Ok(epoch)
}
