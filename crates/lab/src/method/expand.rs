//! From a method's file to its cells: axes multiplied out, the user's settings on top.

use super::{
    Axis, CellFile, CellSpec, MethodFile,
    cell::{self, suffix},
    complaint::cell_at,
    tree,
};
use block::names::did_you_mean;
use std::collections::BTreeSet;

/// What the user changes about the cells.
pub(super) struct User {
    /// Settings of every cell, stronger than the cell's own.
    cell: CellFile,
    /// Only the cells of these tests, if any are named.
    tests: Option<Axis>,
    /// Whether record sizes were named, which then are all wanted.
    names_blocks: bool,
}

impl User {
    /// Sorts the `--set` keys: the method's axes and its precondition are replaced in `file`, the
    /// rest is kept for the cells.
    pub fn new(file: &mut MethodFile, settings: &[(String, String)]) -> Result<Self, String> {
        let names_blocks = settings.iter().any(|(key, _)| key == "block");
        let mut user = Self { cell: CellFile::default(), tests: None, names_blocks };
        for (key, value) in settings {
            if key == "precondition" {
                file.precondition = Some(value.clone());
                continue;
            }
            // A range of rates is one value.
            let value = match key.as_str() {
                "rate" => Axis(vec![value.clone()]),
                _ => Axis::parse(value)?,
            };
            match file.axes.get_mut(key) {
                Some(axis) => *axis = value,
                None if key == "test" => user.tests = Some(value),
                None => user.cell.set(key, value)?,
            }
        }
        Ok(user)
    }
}

impl User {
    /// What the user set for this cell. Where a method has cells of blocks and cells on trees, each
    /// kind takes what is meant for it.
    fn settings(&self, cell: &CellFile, has_blocks: bool) -> CellFile {
        let user = self.cell.clone();
        if !tree::is_tree(cell) {
            return CellFile { tree: None, ..user };
        }
        if !has_blocks {
            return user;
        }
        let CellFile { tree, threads, .. } = user;
        CellFile { tree, threads, ..CellFile::default() }
    }
}

/// The axes that may stand around the whole list of cells, outermost first.
const OUTER_AXES: &[&str] = &["file", "op", "pattern", "block", "threads", "depth"];

/// Multiplies the method's axes, then each cell's own.
pub(super) fn cells(file: &MethodFile, text: &str, user: &User) -> Result<Vec<CellSpec>, String> {
    if let Some(wrong) = file.axes.keys().find(|key| !OUTER_AXES.contains(&key.as_str())) {
        return Err(format!("axes.{wrong}: axes are {}", OUTER_AXES.join(", ")));
    }
    if file.cells.is_empty() {
        return Err("it has no [[cell]]".to_owned());
    }
    let is_tree = |cell: &CellFile| tree::is_tree(&file.defaults.overlaid(cell));
    let has_blocks = file.cells.iter().any(|cell| !is_tree(cell));
    if user.cell.tree.is_some() && !file.cells.iter().any(is_tree) {
        return Err("it has no cells on a file tree, which alone has files, file_size, directories, names and sync".to_owned());
    }
    let mut cells = Vec::new();
    for (around, suffix) in &around(file)? {
        for (number, written) in (1..).zip(&file.cells) {
            let mut whole = file.defaults.overlaid(around).overlaid(written);
            whole = whole.overlaid(&user.settings(&whole, has_blocks));
            if let Some(name) = &mut whole.name {
                *name += suffix;
            }
            let expanded = cell::expand(&whole)
                .map_err(|reason| format!("{}: {reason}", cell_at(text, number)))?;
            cells.extend(expanded);
        }
    }
    keep_tests(&mut cells, user)?;
    tree::follow(&mut cells)?;
    cells.retain(|cell| fits(cell, file.skip_small_records && !user.names_blocks));
    if cells.is_empty() {
        return Err("no record size fits any file size: raise --set file=, or lower --set block="
            .to_owned());
    }
    make_names_unique(&mut cells);
    for (at, cell) in cells.iter().enumerate() {
        let Some(rate) = &cell.rate_of else { continue };
        if !cells[..at].iter().any(|before| before.name == rate.cell) {
            return Err(format!(
                "{}: rate_of names `{}`, which is no cell before it",
                cell.name, rate.cell
            ));
        }
    }
    Ok(cells)
}

/// One set of settings for each point of the method's axes, and what it adds to a cell's given
/// name.
fn around(file: &MethodFile) -> Result<Vec<(CellFile, String)>, String> {
    let mut points = vec![(CellFile::default(), String::new())];
    for key in OUTER_AXES {
        let Some(Axis(values)) = file.axes.get(*key) else { continue };
        let mut next = Vec::with_capacity(points.len() * values.len());
        for (cell, name) in &points {
            for value in values {
                let (mut cell, mut name) = (cell.clone(), name.clone());
                cell.set(key, Axis(vec![value.clone()]))?;
                if values.len() > 1 {
                    name += &format!("-{}", suffix(key, value));
                }
                next.push((cell, name));
            }
        }
        points = next;
    }
    Ok(points)
}

fn test_of(cell: &CellSpec) -> Option<&str> {
    cell.coordinates.get("test").map(String::as_str)
}

/// Leaves the tests that the user named.
fn keep_tests(cells: &mut Vec<CellSpec>, user: &User) -> Result<(), String> {
    let Some(Axis(wanted)) = &user.tests else { return Ok(()) };
    let known: BTreeSet<&str> = cells.iter().filter_map(test_of).collect();
    if let Some(wrong) = wanted.iter().find(|test| !known.contains(test.as_str())) {
        if known.is_empty() {
            return Err("`test` cannot be set: the cells of this method have no tests".to_owned());
        }
        let near = did_you_mean(wrong, known.iter().copied());
        let known = Vec::from_iter(known).join(", ");
        return Err(format!("test = `{wrong}` is unknown.{near} There are: {known}."));
    }
    cells.retain(|cell| test_of(cell).is_some_and(|test| wanted.iter().any(|one| one == test)));
    Ok(())
}

/// Files above this are spared small records.
const LARGE_FILE_BYTES: u64 = 16 << 20;
/// Records under this are small.
const SMALL_RECORD_BYTES: u64 = 64 << 10;

/// Whether IOzone would run the cell: no record larger than its file and, unless told otherwise, no
/// small record in a large file (iozone -a without -z).
fn fits(cell: &CellSpec, skip_small_records: bool) -> bool {
    let Some(file_bytes) = cell.file_bytes else { return true };
    let smallest =
        if skip_small_records && file_bytes > LARGE_FILE_BYTES { SMALL_RECORD_BYTES } else { 0 };
    let fitting = smallest..=file_bytes;
    cell.streams.iter().all(|stream| fitting.contains(&u64::from(stream.block_bytes)))
}

/// Cells that differ in something their name does not say get the test's name or a number.
fn make_names_unique(cells: &mut [CellSpec]) {
    let mut taken = BTreeSet::new();
    for cell in cells {
        if let Some(test) = cell.coordinates.get("test") {
            cell.name = format!("{}-{}", test.replace(' ', "-"), cell.name);
        }
        let mut name = cell.name.clone();
        let mut number = 2;
        while !taken.insert(name.clone()) {
            name = format!("{}#{number}", cell.name);
            number += 1;
        }
        cell.name = name;
    }
}
