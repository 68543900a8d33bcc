//! The built-in catalog, and what is wrong with others.

use super::*;
use std::collections::BTreeSet;

fn house() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn built_in() -> Catalog {
    Catalog::built_in().unwrap_or_else(|bad| panic!("{bad}"))
}

/// A file as the catalog's, whose numbers no fit moves.
fn example() -> &'static str {
    include_str!("example.toml")
}

#[test]
fn every_file_of_the_folder_is_built_in_and_named_as_its_drive() {
    let listed = [built_in::DRIVES, built_in::PORTS, built_in::DRIVERS].concat();
    let listed: BTreeSet<String> = listed.iter().map(|(file, _)| (*file).to_owned()).collect();
    let mut there = BTreeSet::new();
    for folder in ["catalog", "catalog/ports", "catalog/drivers"] {
        let files = fs::read_dir(house().join(folder)).expect("the catalog").flatten();
        let names = files.map(|file| file.file_name().to_string_lossy().into_owned());
        there.extend(names.filter(|name| name.ends_with(".toml")).map(|n| format!("{folder}/{n}")));
    }
    assert_eq!(listed, there, "crates/target/src/catalog/built_in.rs lists the catalog's files");
    let catalog = built_in();
    let hosts = catalog.ports().iter().chain(catalog.drivers()).map(|host| &host.entry);
    for entry in catalog.drives().iter().map(|drive| &drive.entry).chain(hosts) {
        assert!(entry.file.ends_with(&format!("/{}.toml", entry.name)), "{}", entry.file);
    }
}

#[test]
fn every_drive_can_be_built_and_has_an_honest_number_of_fitted_numbers() {
    for drive in built_in().drives() {
        let built = drive.build(&DriveSettings::default(), 4);
        let machine = built.unwrap_or_else(|bad| panic!("{bad}"));
        assert_eq!(machine.geometry(block::Drive(0)).capacity_bytes, drive.capacity_bytes);
        assert!(drive.fitted() <= FITTED_MAX, "{}", drive.name());
        let is_generic = drive.entry.reality == Reality::Generic;
        assert_eq!(
            is_generic,
            drive.entry.about.contains("Generic, not fitted"),
            "{}",
            drive.name()
        );
    }
}

#[test]
fn a_wrong_unit_or_key_is_refused_with_file_line_and_key() {
    let line_of =
        |word: &str| 1 + example().lines().position(|line| line.contains(word)).expect(word);
    let command = line_of("command = ");
    let cases = [
        (
            "value = 43.8, unit = \"us\"",
            "value = 43.8, unit = \"usec\"",
            command,
            "`parameters.command.unit` is `usec`",
        ),
        (
            "value = 43.8, unit = \"us\"",
            "value = 43.8, unit = \"MiB\"",
            command,
            "a time is wanted: ns, us, ms, s",
        ),
        ("value = 43.8, ", "", command, "`parameters.command.value` is missing"),
        ("value = 43.8", "value = \"43.8\"", command, "wants a number"),
        ("value = 43.8", "value = -1", command, "it goes from"),
        ("command = {", "comand = {", line_of("[parameters]"), "`parameters.command` is missing"),
        (
            "buffer_lines",
            "extra = { value = 1, unit = \"us\", from = \"fit\", source = \"x\" }\nbuffer_lines",
            line_of("buffer_lines"),
            "no key `parameters.extra`",
        ),
        (
            "from = \"fit\", source = \"EasyCo 2007, random reads\" }\nread",
            "from = \"fits\", source = \"x\" }\nread",
            command,
            "Did you mean `fit`?",
        ),
        (
            "kind = \"block-mapped\"",
            "kind = \"block-maped\"",
            line_of("kind ="),
            "Did you mean `block-mapped`?",
        ),
        ("title = ", "titel = ", line_of("name ="), "`title` is missing"),
        ("name = \"mtron-pro-32\"", "name = \"Mtron PRO\"", line_of("name ="), "small letters"),
        ("command = {", "command = 3 #", command, "wants a table"),
        ("kind = \"block-mapped\"", "kind = \"block-mapped", line_of("kind ="), ""),
    ];
    for (old, new, line, told) in cases {
        let text = example().replacen(old, new, 1);
        assert_ne!(text, example(), "{old}");
        let refusal = DriveEntry::parse("own/x.toml", &text).expect_err(new).to_string();
        assert!(refusal.starts_with(&format!("own/x.toml, line {line}: ")), "{new}: {refusal}");
        assert!(refusal.contains(told) && !refusal.contains('\n'), "{new}: {refusal}");
    }
}

#[test]
fn too_many_fitted_numbers_and_contradictions_are_refused() {
    let generic = example().replacen("port =", "generic = true\nport =", 1);
    let refusal = DriveEntry::parse("x.toml", &generic).expect_err("fitted and generic");
    assert!(refusal.to_string().contains("generic has no fitted numbers"), "{refusal}");
    let twisted = example().replacen("saved_from = { value = 256", "saved_from = { value = 4", 1);
    let twisted = DriveEntry::parse("x.toml", &twisted).expect("each number is possible");
    let Err(refusal) = twisted.build(&DriveSettings::default(), 4) else { panic!("it was built") };
    assert!(refusal.to_string().contains("in this order"), "{refusal}");
}

/// A parameter that only means something beside another was taken and did nothing without it.
#[test]
fn a_parameter_of_a_cache_a_retry_or_a_suspend_that_is_not_there_is_refused() {
    let catalog = built_in();
    let plain = catalog.drive("intel-x25e-64").expect("a drive without any of them").entry.text();
    for (name, value, unit, needs) in [
        ("slc_fold", 1.0, "ms", "slc_fold needs slc_cache or slc_dynamic"),
        ("bits_per_cell", 4.0, "count", "bits_per_cell needs slc_cache or slc_dynamic"),
        ("slc_program", 1.0, "ms", "need each other"),
        ("slc_dynamic", 1.0, "GB", "need each other"),
        ("retry", 1.0, "ms", "retry_share and retry need each other"),
        ("suspend_share", 50.0, "percent", "suspend_share needs suspend"),
        ("suspend_spread", 50.0, "percent", "suspend_spread needs suspend"),
        ("pause", 1.0, "ms", "pause and pause_every need each other"),
        ("throttle", 50.0, "percent", "throttle and throttle_every need each other"),
        ("throttle_every", 50.0, "ms", "throttle and throttle_every need each other"),
        ("throttle_below", 50.0, "MB/s", "throttle_below needs throttle"),
        ("retry_spread", 50.0, "percent", "retry_spread needs retry_share and retry"),
    ] {
        let line = format!(
            "{name} = {{ value = {value}, unit = \"{unit}\", from = \"assumed\", source = \"x\" }}"
        );
        let drive = DriveEntry::parse("x.toml", &format!("{plain}\n{line}\n"));
        let drive = drive.unwrap_or_else(|error| panic!("{name}: {error}"));
        let Err(refusal) = drive.build(&DriveSettings::default(), 4) else { panic!("{name}") };
        assert!(refusal.to_string().contains(needs), "{refusal}");
    }
}

#[test]
fn a_controllers_memory_has_all_of_its_numbers_or_none() {
    let catalog = built_in();
    let text = catalog.driver("generic-bbu").expect("a controller").entry.text();
    for key in ["cache = ", "cache_command", "cache_rate", "cache_eager", "cache_age", "cache_rows"]
    {
        let lines = text.lines().filter(|line| !line.starts_with(key));
        let text = lines.map(|line| format!("{line}\n")).collect::<String>();
        let refusal = HostEntry::parse_driver("x.toml", &text).expect_err(key).to_string();
        assert!(
            refusal.contains(&format!("`{}` beside it", key.trim_end_matches(" = "))),
            "{refusal}"
        );
    }
    assert!(!catalog.driver("md").expect("it is there").has_memory());
}

/// A fuzzed file asked for 10^9 GB, and the model for 4 TB of memory; another had a write buffer of
/// 10^15 B.
#[test]
fn every_number_at_either_end_of_its_range_is_built_or_refused_in_a_sentence() {
    for capacity in ["1e9", "0.0001", "1e300"] {
        let text = example().replacen("value = 32", &format!("value = {capacity}"), 1);
        let refusal = DriveEntry::parse("x.toml", &text).expect_err(capacity).to_string();
        assert!(refusal.contains("it goes from 1 MiB to 256 TiB"), "{refusal}");
    }
    let (mut built, mut refused) = (0, 0);
    for drive in built_in().drives() {
        for key in drive.kind.keys() {
            let (Holds::Number(_, range), Some(parameter)) =
                (&key.holds, drive.entry.parameters.get(key.name))
            else {
                continue;
            };
            for end in [range.start(), range.end()] {
                let mut odd = drive.clone();
                let value = *end as f64 / parameter.factor;
                odd.entry.set(key.name, value).expect("a number");
                match odd.build(&DriveSettings::default(), 4) {
                    Ok(_) => built += 1,
                    Err(refusal) => {
                        refused += 1;
                        assert!(!refusal.to_string().contains('\n'), "{refusal}");
                    }
                }
            }
        }
    }
    assert!(built > 300 && refused > 50, "{built} built, {refused} refused");
}

/// The number `command` of a generic drive that is the median of the drives named.
fn kind_of(median_of: &str, of: &str) -> String {
    let kind = format!("generic = true\nmedian_of = [{median_of}]\nport =");
    let text = example().replace("from = \"fit\"", "from = \"assumed\"");
    let text = text.replacen("mtron-pro-32", "attic-kind", 1).replacen("port =", &kind, 1);
    let (before, after) = text.split_once("command = ").expect("a command");
    let median = format!("from = \"median\"{of}");
    format!("{before}command = {}", after.replacen("from = \"assumed\"", &median, 1))
}

#[test]
fn a_median_needs_a_kind_whose_drives_are_of_the_catalog() {
    let refused = |text: &str| DriveEntry::parse("x.toml", text).expect_err("refused").to_string();
    let product = example().replacen("from = \"fit\"", "from = \"median\"", 1);
    assert!(refused(&product).contains("names its drives in `median_of`"), "{product}");
    let known = kind_of("\"mtron-pro-32\"", "");
    assert!(DriveEntry::parse("x.toml", &known).is_ok(), "{known}");
    let twice = kind_of("\"mtron-pro-32\", \"mtron-pro-32\"", "");
    assert!(refused(&twice).contains("each once"), "{twice}");
    let beside = known.replacen("from = \"median\"", "from = \"assumed\", of = [\"x\"]", 1);
    assert!(refused(&beside).contains("is for `from = \"median\"` alone"), "{beside}");
    let no_kind = known.replacen("generic = true", "", 1).replace("\"median\"", "\"assumed\"");
    assert!(refused(&no_kind).contains("is for a file with `generic = true`"), "{no_kind}");
    let mut catalog = built_in();
    for odd in
        [kind_of("\"mtron-pro-23\"", ""), kind_of("\"mtron-pro-32\"", ", of = [\"mtron-pro-23\"]")]
    {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("kind.toml"), odd).expect("a file");
        let left_out = catalog.add_folder(folder.path());
        let said = left_out.first().expect("left out").to_string();
        assert!(said.contains("no drive `mtron-pro-23`. Did you mean `mtron-pro-32`?"), "{said}");
    }
}

#[test]
fn a_users_drive_joins_the_catalog_and_replaces_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let own = folder.path().join("attic.toml");
    fs::write(&own, example().replacen("mtron-pro-32", "attic", 1)).expect("a file");
    fs::write(folder.path().join("notes.txt"), "no drive").expect("a file");
    let mut catalog = built_in();
    assert_eq!(catalog.add_folder(folder.path()), []);
    assert_eq!(catalog.drive("attic").expect("it is there").entry.file, own.display().to_string());
    assert_eq!(catalog.add_folder(&folder.path().join("absent")), [], "no folder, no drives");
}

/// One wrong file in the user's folder took away all drives, his own and drivelab's: `drives`,
/// `--spec` and every model failed with its complaint.
#[test]
fn a_users_file_that_is_wrong_is_left_out_and_the_others_stay() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("a file");
    write("attic.toml", &example().replacen("mtron-pro-32", "attic", 1));
    write("cut.toml", "name = \"cut");
    write(
        "port.toml",
        &example().replacen("mtron-pro-32", "port", 1).replacen("highpoint2320", "highpoint", 1),
    );
    write("taken.toml", example());
    std::os::unix::fs::symlink("/dev/zero", folder.path().join("zero.toml")).expect("a link");
    let mut catalog = built_in();
    let left_out: Vec<String> =
        catalog.add_folder(folder.path()).iter().map(ToString::to_string).collect();
    let told = [
        ("cut.toml", "line 1"),
        ("port.toml", "no port"),
        ("taken.toml", "catalog/mtron-pro-32.toml"),
        ("zero.toml", "longer than"),
    ];
    assert_eq!(left_out.len(), told.len(), "{left_out:?}");
    for (said, (file, why)) in left_out.iter().zip(told) {
        assert!(said.contains(file) && said.contains(why) && !said.contains('\n'), "{said}");
    }
    assert!(catalog.drive("attic").is_some() && catalog.drive("mtron-pro-32").is_some());
}

#[test]
fn a_number_is_changed_in_its_place_and_everything_else_stays() {
    let mut drive = DriveEntry::parse("x.toml", example()).expect("a drive");
    drive.entry.set("command", 44.25).expect("a number");
    drive.entry.set("merge", 8099.5).expect("a number");
    drive.entry.set("command", 5.0).expect("a number");
    let expected = example().replacen("43.8", "5", 1).replacen("8101", "8099.5", 1);
    assert_eq!(drive.entry.text(), expected);
    let again = DriveEntry::parse("x.toml", drive.entry.text()).expect("still a drive");
    assert_eq!(again, drive, "what was changed is what is read");
    assert_eq!(again.entry.parameters["command"].base(), 5000.0);
    let refusal = drive.entry.set("comand", 1.0).expect_err("no such number").to_string();
    assert!(refusal.contains("Did you mean `command`?"), "{refusal}");
}

/// A fit that searched the P4510's numbers would have written 3.3 queues into its file.
#[test]
fn a_count_stays_whole() {
    let mut catalog = Catalog::built_in().expect("a catalog");
    let entry = &mut catalog.drive_mut("intel-p4510-1000").expect("a drive").entry;
    for (asked, whole) in [(3.3, 3.0), (3.6, 4.0)] {
        entry.set("write_queues", asked).expect("a number");
        assert_eq!(entry.parameters["write_queues"].base(), whole);
    }
}

#[test]
fn the_document_describes_every_parameter_unit_and_word() {
    let document =
        fs::read_to_string(house().join("docs/reference/catalog-format.md")).expect("a page");
    let in_one_line = document.split_whitespace().collect::<Vec<_>>().join(" ");
    let lists = DriveKind::ALL.map(DriveKind::keys).into_iter().chain([PORT_KEYS, DRIVER_KEYS]);
    for key in lists.flatten() {
        let (holds, units) = match &key.holds {
            Holds::Number(dimension, _) => (dimension.to_string(), dimension.units()),
            Holds::Word(words) => ("a word".to_owned(), words.join(", ")),
        };
        let need = if key.need == Need::Required { "yes" } else { "" };
        let row = format!("| `{}` | {holds} | {need} | {} |", key.name, key.about);
        assert!(document.contains(&row), "docs/reference/catalog-format.md should say\n{row}");
        assert!(
            in_one_line.contains(&units),
            "docs/reference/catalog-format.md should list {units}"
        );
    }
    for origin in Origin::ALL {
        assert!(document.contains(&format!("`{}`", origin.name())), "{}", origin.name());
    }
}
