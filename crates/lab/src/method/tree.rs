//! Cells that work on a file tree: what a method says of the tree, and whether its cells follow one
//! another.

use super::{
    CellBound, CellFile, CellSpec,
    choice::{one_of, unknown},
};
use crate::workload::{
    Caching, EngineChoice, Io, Op, Pattern, Stream,
    tree::{
        FileSize, Naming, Stage, TREE_FILES_MAX, TreeCell, TreeLayout, TreeOp, TreeOrder,
        TreeState, TreeSync,
    },
};
use serde::Deserialize;

/// Files of a tree whose method does not say.
const FILES: u64 = 1000;
/// Most directories that hold files, and levels of them.
const DIRECTORIES_MAX: u32 = 100_000;
const DEPTH_MAX: u32 = 16;

/// The tree of a cell: `tree = { files = 1000, file_size = "4KiB" }`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TreeFile {
    /// How many files; 1000 when absent.
    pub files: Option<u64>,
    /// `0`, `4KiB`, `1KiB..16KiB`, `lognormal:8KiB:1.5` (median and sigma); empty files when
    /// absent.
    pub file_size: Option<String>,
    /// How many directories hold files; one when absent.
    pub directories: Option<u32>,
    /// Levels of directories; 0, all files in the tree's root, when absent and there is one
    /// directory, else 1.
    pub levels: Option<u32>,
    /// `ordered` or `random`.
    pub names: Option<String>,
    /// `none`, `file`, `directory`, `both`: what an operation makes durable before it is done.
    pub sync: Option<String>,
}

/// The keys of [`TreeFile`] that `--set` knows.
pub(super) const TREE_KEYS: &[&str] =
    &["files", "file_size", "directories", "levels", "names", "sync"];

impl TreeFile {
    /// This tree with `over`'s settings in place of its own where `over` has any.
    pub(super) fn overlaid(self, over: Self) -> Self {
        Self {
            files: over.files.or(self.files),
            file_size: over.file_size.or(self.file_size),
            directories: over.directories.or(self.directories),
            levels: over.levels.or(self.levels),
            names: over.names.or(self.names),
            sync: over.sync.or(self.sync),
        }
    }

    /// Sets one of [`TREE_KEYS`].
    pub(super) fn set(&mut self, key: &str, text: String) -> Result<(), String> {
        let number =
            || text.parse::<u64>().map_err(|_| format!("`{key}={text}`: a whole number is needed"));
        let small = || Ok::<_, String>(u32::try_from(number()?).unwrap_or(u32::MAX));
        match key {
            "files" => self.files = Some(number()?),
            "directories" => self.directories = Some(small()?),
            "levels" => self.levels = Some(small()?),
            "file_size" => self.file_size = Some(text),
            "names" => self.names = Some(text),
            "sync" => self.sync = Some(text),
            other => unreachable!("`{other}` is not in TREE_KEYS"),
        }
        Ok(())
    }

    fn layout(&self) -> Result<TreeLayout, String> {
        let files = self.files.unwrap_or(FILES);
        if !(1..=TREE_FILES_MAX).contains(&files) {
            return Err(format!("files = {files}: a whole number from 1 to {TREE_FILES_MAX}"));
        }
        let directories = self.directories.unwrap_or(1);
        if !(1..=DIRECTORIES_MAX).contains(&directories) || u64::from(directories) > files {
            return Err(format!(
                "directories = {directories}: from 1 to {DIRECTORIES_MAX}, and no more than files"
            ));
        }
        let depth = self.levels.unwrap_or(u32::from(directories > 1));
        if depth > DEPTH_MAX || (depth == 0 && directories > 1) {
            return Err(format!(
                "levels = {depth}: levels of directories, up to {DEPTH_MAX}; 0 only where there is one directory"
            ));
        }
        let size = FileSize::parse(self.file_size.as_deref().unwrap_or("0"))?;
        let naming = one_of("names", &self.names, Naming::parse, Naming::NAMES)?;
        Ok(TreeLayout::new(files, size, directories, depth, naming))
    }
}

/// Whether a written cell works on a tree; a cell of several operations does when its first one
/// does.
pub(super) fn is_tree(cell: &CellFile) -> bool {
    let op = cell.op.as_ref().and_then(|axis| axis.0.first());
    op.is_some_and(|op| TreeOp::parse(op).is_some())
}

/// The tree of a cell whose axes have one value each; `None` for a cell of blocks.
pub(super) fn tree_cell(cell: &CellFile) -> Result<Option<TreeCell>, String> {
    let op = match cell.op.as_ref().map(|axis| axis.0.as_slice()) {
        Some([op]) => TreeOp::parse(op),
        _ => None,
    };
    let Some(op) = op else {
        return match cell.tree {
            Some(_) if cell.streams.is_empty() && cell.op.is_some() => {
                Err("`tree` is for operations on trees: create, stat, readdir...".to_owned())
            }
            _ => Ok(None),
        };
    };
    refuse_block_settings(cell, op)?;
    let tree = cell.tree.clone().unwrap_or_default();
    let order = match cell.pattern.as_ref().map(|axis| axis.0.as_slice()) {
        None => TreeOrder::default(),
        Some([text]) => {
            TreeOrder::parse(text).ok_or_else(|| unknown("pattern", text, TreeOrder::NAMES))?
        }
        Some(_) => return Err("a cell on a tree takes one `pattern`".to_owned()),
    };
    if order == TreeOrder::Readdir && matches!(op, TreeOp::Create | TreeOp::Mkdir) {
        return Err(format!(
            "pattern = `readdir`: {} makes the names that a directory could list; use creation or random",
            op.name()
        ));
    }
    Ok(Some(TreeCell {
        op,
        order,
        sync: sync(op, &tree)?,
        layout: tree.layout()?,
        stage: Stage::default(),
        tree: TreeState::AsIs,
    }))
}

/// What an operation can make durable.
fn sync(op: TreeOp, tree: &TreeFile) -> Result<TreeSync, String> {
    let sync = one_of("sync", &tree.sync, TreeSync::parse, TreeSync::NAMES)?;
    Ok(match op {
        TreeOp::ReadFile | TreeOp::Stat | TreeOp::Readdir => TreeSync::None,
        // These change names alone; writing changes none.
        TreeOp::Unlink | TreeOp::Mkdir | TreeOp::Rmdir | TreeOp::Rename | TreeOp::Link => {
            if sync.directory() { TreeSync::Directory } else { TreeSync::None }
        }
        TreeOp::WriteFile => {
            if sync.file() {
                TreeSync::File
            } else {
                TreeSync::None
            }
        }
        TreeOp::Create => sync,
    })
}

fn refuse_block_settings(cell: &CellFile, op: TreeOp) -> Result<(), String> {
    let set = [
        ("block", cell.block.is_some()),
        ("depth", cell.depth.is_some()),
        ("file", cell.file.is_some()),
        ("engine", cell.engine.is_some()),
        ("io", cell.io.is_some()),
        ("data", cell.data.is_some()),
        ("flush_every", cell.flush_every.is_some()),
        ("rate", cell.rate.is_some()),
        ("rate_of", cell.rate_of.is_some()),
        ("think_time_us", cell.think_time_us.is_some()),
        ("think_every", cell.think_every.is_some()),
        ("start_after", cell.start_after.is_some()),
        ("sequential_share", cell.sequential_share.is_some()),
        ("offset_increment", cell.offset_increment.is_some()),
        ("moves_every", cell.moves_every.is_some()),
        ("part", cell.part.is_some()),
        ("start", cell.start.is_some()),
        ("length", cell.length.is_some()),
        ("shift", cell.shift.is_some()),
        ("written_max", cell.written_max.is_some()),
        ("before", cell.before.is_some()),
        ("drop_cache", cell.drop_cache.is_some()),
        ("stream", !cell.streams.is_empty()),
    ];
    match set.iter().find(|(_, is_set)| *is_set) {
        Some((key, _)) => Err(format!(
            "`{key}` is for blocks of a file, and {} works on a file tree: its files are shaped by `tree` (files, \
             file_size, directories, levels, names, sync)",
            op.name()
        )),
        None => Ok(()),
    }
}

/// The stream that stands for a tree's operations: buffered, one in flight for each worker.
pub(super) fn stream(tree: &TreeCell, name: String, threads: u16) -> Stream {
    let bytes = if tree.op.moves_bytes() { tree.layout.size.mean() as u32 } else { 0 };
    let pattern = match tree.order {
        TreeOrder::Random => Pattern::Permutation,
        TreeOrder::Creation | TreeOrder::Readdir => Pattern::Sequential,
    };
    Stream {
        name,
        threads,
        engine: EngineChoice::Sync,
        io: Io { caching: Caching::Buffered, ..Io::default() },
        ..Stream::new(Op::Tree(tree.op), pattern, bytes)
    }
}

/// `create-1000x4K-t1`, and the order where it is not that of creation.
pub(super) fn name_of(tree: &TreeCell, threads: u16) -> String {
    let mut name = tree.op.name().to_owned();
    if tree.order != TreeOrder::Creation {
        name += &format!("-{}", tree.order.name());
    }
    if threads > 1 {
        name += &format!("-t{threads}");
    }
    name
}

/// How a pass of a tree's cell ends: everything once unless it says otherwise.
pub(super) fn bound(tree: &TreeCell, written: Option<CellBound>) -> Result<CellBound, String> {
    match written {
        None | Some(CellBound::Once) => Ok(CellBound::Once),
        Some(CellBound::Exhaust | CellBound::Drain) => {
            Err("bound = `exhaust` and `drain` are for blocks: `time`, `once` or a number"
                .to_owned())
        }
        Some(_) if !tree.op.repeats() => Err(format!(
            "bound: {} can be done to each file only once: leave `bound` out, and set `files`",
            tree.op.name()
        )),
        Some(CellBound::Time) if tree.op.writes() => {
            Err("bound = `time`: write_file takes `once` or a number of operations".to_owned())
        }
        Some(bound) => Ok(bound),
    }
}

/// Gives every cell the stage that the cells before it leave the tree in.
pub(super) fn follow(cells: &mut [CellSpec]) -> Result<(), String> {
    let mut stage = None::<Stage>;
    let mut layout = None::<TreeLayout>;
    for cell in cells {
        let Some(tree) = &mut cell.tree else { continue };
        let before = stage.unwrap_or_default();
        let is_new = stage.is_none() || (tree.op == TreeOp::Create && before.files);
        tree.stage = if is_new { Stage::default() } else { before };
        tree.tree = if is_new { TreeState::New } else { TreeState::AsIs };
        let starts = is_new || (tree.op == TreeOp::Create && !before.directories);
        if starts {
            // A tree of another shape needs other directories.
            if layout.as_ref() != Some(&tree.layout) {
                tree.tree = TreeState::New;
            }
            layout = Some(tree.layout.clone());
        } else if layout.as_ref() != Some(&tree.layout) {
            return Err(format!(
                "cell {}: its tree is not the one that the cells before it made: give all cells from one `create` to \
                 the next the same files, file_size, directories, levels and names",
                cell.name
            ));
        }
        let after = tree.stage.after(tree.op);
        stage = Some(after.map_err(|reason| format!("cell {}: {reason}", cell.name))?);
    }
    Ok(())
}
