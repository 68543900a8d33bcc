//! What the power cuts found, beside the classes that were predicted.

use crate::{Configuration, Cut, Durability, Machine};
use report::{
    chart::{Column, Entry, Table},
    document::Block,
};

/// One row a configuration whose power was cut, and a warning for each that is worse than was
/// predicted.
pub fn blocks(
    configurations: &[Configuration],
    machines: &[Machine],
    cuts: &[Option<Cut>],
) -> Vec<Block> {
    let mut rows: Vec<Vec<Entry>> = Vec::new();
    let mut disproved = Vec::new();
    for ((configuration, machine), cut) in configurations.iter().zip(machines).zip(cuts) {
        let (predicted, _) = Durability::of(configuration, *machine);
        let (held, found) = match cut {
            None => continue,
            Some(Cut::Failed(why)) => ("not checked", why.clone()),
            Some(Cut::Done(cut)) if cut.disproves(predicted) => {
                disproved.push(format!(
                    "DISPROVED: {configuration} was to be of the class \"{predicted}\", and a power cut showed that it {}: {cut}.",
                    cut.class()
                ));
                ("NO", cut.to_string())
            }
            Some(Cut::Done(cut)) => ("yes", cut.to_string()),
        };
        let mut row: Vec<Entry> =
            configuration.levels().map(|(_, level)| Entry::text(level)).collect();
        row.extend([&predicted.to_string(), held, &found].map(Entry::text));
        rows.push(row);
    }
    if rows.is_empty() {
        return Vec::new();
    }
    let axes = configurations[0].levels().map(|(axis, _)| Column::text(axis.name()));
    let columns = axes.chain(["predicted", "held", "found"].map(Column::text)).collect();
    let title = "Checked by a power cut".to_owned();
    let line = "One cut each, of drives that were served anew, with all that no flush covered at \
                stake. It can disprove a class, and prove none.";
    let mut blocks =
        vec![Block::Table(Table { title, rows, columns }), Block::Text(line.to_owned())];
    blocks.extend(disproved.into_iter().map(Block::Text));
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Axes, Axis, PowerCut};
    use record::FileSystemState;
    use report::terminal::{Page, Style};

    #[test]
    fn a_class_that_the_cut_disproves_is_said_aloud_and_taken_away() {
        let mut axes = Axes::default();
        axes.add(Axis::Fs, "ext4,xfs").expect("levels");
        let configurations = axes.configurations();
        let machine = Machine { volatile_cache: Some(true) };
        let cut = |intact, file_system| {
            let cut = PowerCut { flushed: 64, intact, foreign: 0, file_system, lost_sectors: 9 };
            Some(Cut::Done(cut))
        };
        let cuts = [cut(64, FileSystemState::Sound), cut(60, FileSystemState::Sound)];
        let classes = configurations.iter().zip(&cuts);
        let classes: Vec<Durability> =
            classes.map(|(one, cut)| Cut::class(cut.as_ref(), one, machine)).collect();
        let expected = [Durability::SurvivesPowerLoss, Durability::MayLoseAcknowledgedWrites];
        assert_eq!(classes, expected);
        let style = Style { width: 200, ..Style::PLAIN };
        let mut page = Page::new(&style);
        let blocks = blocks(&configurations, &[machine, machine], &cuts);
        crate::page::put_blocks(&mut page, &blocks);
        let text = page.finish();
        assert!(text.contains("yes   64 of 64 flushed files intact"), "{text}");
        assert!(text.contains("DISPROVED: fs=xfs was to be of the class \"survives power loss\""));
        assert!(text.contains("showed that it may lose acknowledged writes: 60 of 64"), "{text}");
    }
}
