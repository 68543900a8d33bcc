//! Each package as its user has it: installed in a place of its own, run, removed, nothing left.
//!
//! ```text
//!   program  a root that has /proc alone   .tar.gz  unpacked into such a root
//!   .deb     lintian; a Debian made by debootstrap     .rpm  an empty root with rpm's data base
//!   image    sums, layers unpacked into an empty root  wheel a virtual environment, by pip
//! ```

use super::{
    Ground,
    tools::{output, run, sha256, started},
};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Tries each of the packages, by the endings of their names.
pub fn all(ground: &Ground, made: &[PathBuf]) -> Result<()> {
    for path in made {
        let name = path.file_name().expect("it is a file").to_string_lossy().into_owned();
        let tried = match name.as_str() {
            name if name.ends_with(".deb") => deb(ground, path),
            name if name.ends_with(".rpm") => rpm(ground, path),
            name if name.ends_with("-oci.tar") => image(ground, path),
            name if name.ends_with(".tar.gz") => archive(ground, path),
            name if name.ends_with(".whl") => wheel(ground, path),
            name if name.ends_with("-linux") => alone(ground, path),
            _ => continue,
        };
        match tried.with_context(|| format!("trying {name}"))? {
            Tried::Worked(what) => println!("tried  {name}: {what}"),
            Tried::Skipped(why) => skipped(&name, &why)?,
        }
    }
    Ok(())
}

/// What became of a trial that found no fault.
enum Tried {
    Worked(&'static str),
    /// Something that it needs is not there.
    Skipped(String),
}

/// Says what was not tried; an error where nothing may be left out.
fn skipped(name: &str, why: &str) -> Result<()> {
    ensure!(env::var_os("DRIVELAB_NO_SKIP").is_none(), "{name} cannot be tried: it needs {why}");
    println!("skipped {name}: trying it needs {why}");
    Ok(())
}

/// Makes all once more from the same program, and compares the sums.
pub fn same_again(
    ground: &Ground,
    sums: &str,
    packages: impl FnOnce(&Ground) -> Result<Vec<PathBuf>>,
) -> Result<()> {
    let again = ground.room("again")?;
    let ground = Ground {
        root: ground.root.clone(),
        work: ground.room("again-work")?,
        to: again,
        version: ground.version.clone(),
        epoch: ground.epoch,
    };
    for path in packages(&ground)? {
        let name = path.file_name().expect("it is a file").to_string_lossy();
        let line = format!("{}  {name}\n", sha256(&path)?);
        ensure!(sums.contains(&line), "{name} has other bytes when it is made again");
    }
    println!("made again: the same sums");
    Ok(())
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Runs the program below `top` as if that were the whole system, with `/proc` and without `/dev`
/// and libraries: a drive is modelled, measured and kept, and the manual is there.
fn runs_in(ground: &Ground, top: &Path, program: &str) -> Result<()> {
    fs::create_dir_all(top.join("proc"))?;
    let call = |words: &[&str]| {
        // What is mounted goes with the name space, whatever happens here.
        let mut command = Command::new("unshare");
        let script = "mount -t proc proc \"$0/proc\" && exec chroot \"$0\" \"$@\"";
        command.args(["--mount", "sh", "-c", script]);
        command.arg(top).arg(program).args(words).env_clear().env("HOME", "/root");
        command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        output(&mut command).with_context(|| format!("`drivelab {}`", words.join(" ")))
    };
    let version = call(&["--version"])?;
    ensure!(version.trim() == format!("drivelab {}", ground.version), "it is {version}");
    ensure!(call(&["docs", "terms"])?.starts_with("# Terms"), "it has no page of terms");
    fs::create_dir_all(top.join("root"))?;
    let words = ["run", "model:nvme-tlc", "--max-time", "1s", "--quiet", "--seed", "1"];
    let table = call(&words)?;
    ensure!(table.contains("random read"), "no table of a model: {table}");
    let history = call(&["history"])?;
    ensure!(history.contains("model:nvme-tlc"), "the run was not kept: {history}");
    fs::remove_dir_all(top.join("root"))?;
    speaks_postgresql(|words| call(words))
}

/// Whether a program was built with what the packages promise: it looks for a server where none is.
fn speaks_postgresql(call: impl Fn(&[&str]) -> Result<String>) -> Result<()> {
    let said = match call(&["history", "--store", "postgresql://127.0.0.1:1/lab"]) {
        Ok(said) => said,
        Err(error) => format!("{error:#}"),
    };
    ensure!(said.contains("cannot reach the database"), "it speaks no PostgreSQL: {said}");
    Ok(())
}

fn alone(ground: &Ground, program: &Path) -> Result<Tried> {
    if !is_root() {
        return Ok(Tried::Skipped("root, for chroot".to_owned()));
    }
    let top = ground.room("empty-root")?;
    fs::copy(program, top.join("drivelab"))?;
    runs_in(ground, &top, "/drivelab")?;
    Ok(Tried::Worked("run in a root that has /proc alone"))
}

fn archive(ground: &Ground, archive: &Path) -> Result<Tried> {
    if !is_root() {
        return Ok(Tried::Skipped("root, for chroot".to_owned()));
    }
    let top = ground.room("unpacked-root")?;
    let local = top.join("usr/local");
    fs::create_dir_all(&local)?;
    run(Command::new("tar").arg("--extract").arg("--file").arg(archive).arg("-C").arg(&local))?;
    runs_in(ground, &top, "/usr/local/bin/drivelab")?;
    ensure!(local.join("share/man/man1/drivelab-run.1.gz").exists(), "it has no manual");
    Ok(Tried::Worked("unpacked and run in an empty root"))
}

/// In a Debian that nobody has used.
fn deb(ground: &Ground, package: &Path) -> Result<Tried> {
    if !has("lintian") || !has("debootstrap") || !is_root() {
        return Ok(Tried::Skipped("root, lintian and debootstrap".to_owned()));
    }
    run(Command::new("lintian").args(["--allow-root", "--fail-on", "error"]).arg(package))?;
    let top = ground.room("debian")?;
    let mut made = Command::new("debootstrap");
    made.args(["--variant=minbase", "stable"]).arg(&top);
    let said = started(&mut made)?;
    if !said.status.success() {
        let text = String::from_utf8_lossy(&said.stdout).into_owned();
        let last = text.lines().last().unwrap_or_default().to_owned();
        return Ok(Tried::Skipped(format!("Debian's mirror, for debootstrap: {last}")));
    }
    let before = named_after_us(&top)?;
    ensure!(before.is_empty(), "a Debian that has {before:?} is not clean");
    fs::copy(package, top.join("drivelab.deb"))?;
    let dpkg = |words: &[&str]| {
        run(Command::new("chroot").arg(&top).arg("dpkg").args(words).env("LC_ALL", "C"))
    };
    dpkg(&["--install", "/drivelab.deb"])?;
    dpkg(&["--verify", "drivelab"])?;
    runs_in(ground, &top, "/usr/bin/drivelab")?;
    dpkg(&["--purge", "drivelab"])?;
    fs::remove_file(top.join("drivelab.deb"))?;
    let left = named_after_us(&top)?;
    ensure!(left.is_empty(), "it left {left:?}");
    Ok(Tried::Worked(
        "lintian without errors; installed in a new Debian, run, purged, nothing left",
    ))
}

/// In a root that has nothing but rpm's own data base.
fn rpm(ground: &Ground, package: &Path) -> Result<Tried> {
    if !has("rpm") || !is_root() {
        return Ok(Tried::Skipped("root and rpm".to_owned()));
    }
    let top = ground.room("rpm-root")?;
    let rpm = |words: &[&str]| {
        let mut command = Command::new("rpm");
        // Debian's own rpm would keep its data base below the user's home.
        command.arg("--root").arg(&top).args(["--dbpath", "/var/lib/rpm"]).args(words);
        command
    };
    run(&mut rpm(&["--initdb"]))?;
    // This machine's own rpm may have been installed by apt, which it warns of.
    run(rpm(&["--install", "--force-debian"]).arg(package))?;
    run(&mut rpm(&["--verify", "drivelab"]))?;
    runs_in(ground, &top, "/usr/bin/drivelab")?;
    run(&mut rpm(&["--erase", "drivelab"]))?;
    let left = named_after_us(&top)?;
    ensure!(left.is_empty(), "it left {left:?}");
    Ok(Tried::Worked("installed in an empty root, verified, run, erased, nothing left"))
}

/// As a runtime unpacks it: each blob by its sum, the layers in their order.
fn image(ground: &Ground, archive: &Path) -> Result<Tried> {
    let layout = ground.room("layout")?;
    run(Command::new("tar").arg("--extract").arg("--file").arg(archive).arg("-C").arg(&layout))?;
    let read = |path: PathBuf| -> Result<Value> {
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        Ok(serde_json::from_str(&text)?)
    };
    let blob = |described: &Value| -> Result<PathBuf> {
        let digest = described["digest"].as_str().context("a digest")?;
        let sum = digest.strip_prefix("sha256:").context("a sum of this kind")?;
        let path = layout.join("blobs/sha256").join(sum);
        ensure!(sha256(&path)? == sum, "{digest} has another sum");
        let bytes = described["size"].as_u64();
        ensure!(bytes == Some(fs::metadata(&path)?.len()), "{digest} is not of its size");
        Ok(path)
    };
    let version = read(layout.join("oci-layout"))?;
    ensure!(version["imageLayoutVersion"] == "1.0.0", "{version}");
    let index = read(layout.join("index.json"))?;
    let manifest = read(blob(&index["manifests"][0])?)?;
    let config = read(blob(&manifest["config"])?)?;
    let top = ground.room("image-root")?;
    for (at, layer) in manifest["layers"].as_array().context("layers")?.iter().enumerate() {
        let pressed = blob(layer)?;
        let unpacked = ground.work.join("layer.unpacked");
        run(Command::new("sh")
            .args(["-c", "gzip --decompress --stdout \"$0\" > \"$1\""])
            .arg(&pressed)
            .arg(&unpacked))?;
        let sum = format!("sha256:{}", sha256(&unpacked)?);
        ensure!(config["rootfs"]["diff_ids"][at] == sum, "layer {at} is not what its config says");
        run(Command::new("tar").arg("-xf").arg(&unpacked).arg("-C").arg(&top))?;
    }
    if !is_root() {
        return Ok(Tried::Skipped("root, for chroot (its sums are right)".to_owned()));
    }
    let program = config["config"]["Entrypoint"][0].as_str().context("what runs")?;
    runs_in(ground, &top, program)?;
    Ok(Tried::Worked("every sum right, unpacked and run in an empty root"))
}

fn wheel(ground: &Ground, wheel: &Path) -> Result<Tried> {
    let room = ground.room("environment")?;
    let made = Command::new("python3").args(["-m", "venv"]).arg(&room).output();
    if !made.is_ok_and(|made| made.status.success()) {
        return Ok(Tried::Skipped("python3 with venv and pip".to_owned()));
    }
    let pip = |words: &[&str]| {
        let mut command = Command::new(room.join("bin/pip"));
        command.args(["--disable-pip-version-check"]).args(words);
        command
    };
    run(pip(&["install", "--no-index"]).arg(wheel))?;
    run(&mut pip(&["check"]))?;
    let said = output(Command::new(room.join("bin/drivelab")).arg("--version"))?;
    ensure!(said.trim() == format!("drivelab {}", ground.version), "it is {said}");
    run(&mut pip(&["uninstall", "--yes", "drivelab"]))?;
    let left = named_after_us(&room)?;
    ensure!(left.is_empty(), "it left {left:?}");
    Ok(Tried::Worked("installed by pip in a virtual environment, run, uninstalled, nothing left"))
}

fn has(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut directories = env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    directories.any(|directory| directory.join(program).is_file())
}

/// Files below `top` that have drivelab in their name, or lie in a directory that has.
fn named_after_us(top: &Path) -> Result<BTreeSet<PathBuf>> {
    let listed = output(
        Command::new("find")
            .arg(top)
            .args(["-mindepth", "1", "-path", "*drivelab*", "-printf"])
            .arg("%P\\n"),
    )?;
    let names = listed.lines().filter(|line| line.contains("drivelab"));
    Ok(names.map(PathBuf::from).collect())
}
