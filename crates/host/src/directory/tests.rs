use super::*;
use std::{fs, os::unix::fs::symlink};

fn held(path: &Path) -> Directory {
    Directory::open(path).expect("it is there")
}

#[test]
fn no_link_and_no_dots_lead_out_by_either_way_of_opening() {
    let top = tempfile::tempdir().expect("a directory");
    let path = |name: &str| top.path().join(name);
    fs::create_dir_all(path("own/a/b")).expect("directories");
    fs::create_dir(path("precious")).expect("a directory");
    fs::write(path("precious/file"), "mine").expect("a file");
    fs::write(path("own/a/file"), "ours").expect("a file");
    symlink(path("precious"), path("own/link")).expect("a link");
    symlink("../a", path("own/a/again")).expect("a link");
    symlink(path("precious/file"), path("own/a/b/file")).expect("a link");
    let own = held(&path("own"));
    let absolute = path("precious/file");
    let absolute = absolute.to_str().expect("plain names");
    for bad in
        ["link/file", "a/again/file", "a/b/file", "../precious/file", "a/../a/file", absolute]
    {
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        let name = std::ffi::CString::new(bad).expect("no zero in it");
        // `a/../a` stays inside: openat2 may follow it, since it knows where it is.
        if bad != "a/../a/file" {
            assert!(own.open_beneath(bad, flags, Mode::empty()).is_err(), "{bad}");
        }
        let slow = by_component(own.as_fd(), &name, flags, Mode::empty());
        assert!(slow.is_err(), "{bad} by component");
    }
    for good in ["a/file", "./a/file"] {
        let name = std::ffi::CString::new(good).expect("no zero in it");
        own.open_beneath(good, OFlags::RDONLY, Mode::empty()).expect("it lies beneath");
        by_component(own.as_fd(), &name, OFlags::RDONLY, Mode::empty()).expect("likewise");
    }
    for name in ["", ".", "..", "a/b", "/"] {
        assert!(own.create(OsStr::new(name)).is_err(), "`{name}` is no name");
    }
    own.create(OsStr::new("link")).expect_err("a link is something");
    own.enter(OsStr::new("link")).expect_err("a link is no directory");
}

#[test]
fn a_directory_is_held_whatever_takes_its_place() {
    // Root measured a directory of somebody, who renamed it and put a link to another in its
    // place: root made, overwrote and removed files where the link led.
    let top = tempfile::tempdir().expect("a directory");
    let path = |name: &str| top.path().join(name);
    fs::create_dir(path("area")).expect("a directory");
    fs::create_dir_all(path("precious/tree/sub")).expect("directories");
    fs::write(path("precious/tree/file"), "mine").expect("a file");
    let area = held(&path("area"));
    let tree = area.make(OsStr::new("tree")).expect("a new directory");
    fs::rename(path("area/tree"), path("area/away")).expect("renamed");
    symlink(path("precious/tree"), path("area/tree")).expect("a link");
    fs::rename(path("area"), path("away")).expect("renamed");
    symlink(path("precious"), path("area")).expect("a link");
    tree.create(OsStr::new("file")).expect("it is made where it is held");
    mkdirat(tree.as_fd(), "sub", DIRECTORY_MODE).expect("likewise");
    assert!(path("away/away/sub").exists());
    tree.clear().expect("cleared where it is held");
    assert!(!area.remove_directory(OsStr::new("tree"), &tree).expect("looked at"));
    assert_eq!(fs::read_to_string(path("precious/tree/file")).expect("it stays"), "mine");
    assert!(path("precious/tree/sub").exists() && path("away/tree").is_symlink());
    assert_eq!(tree.names().expect("listed"), Vec::<OsString>::new());
}

#[test]
fn only_the_file_that_was_made_is_removed_by_its_path() {
    let top = tempfile::tempdir().expect("a directory");
    let path = |name: &str| top.path().join(name);
    for name in ["a", "b"] {
        fs::create_dir(path(name)).expect("a directory");
        fs::write(path(name).join("out.img"), name).expect("a file");
    }
    let made = File::open(path("a/out.img")).expect("it was made");
    fs::rename(path("a"), path("away")).expect("renamed");
    symlink(path("b"), path("a")).expect("a link");
    assert!(!remove_made(&path("a/out.img"), &made).expect("looked at"));
    assert_eq!(fs::read_to_string(path("b/out.img")).expect("it stays"), "b");
    assert!(remove_made(&path("away/out.img"), &made).expect("removed"));
}

/// The story: root measured in a directory of another user, who renamed the scratch file between
/// root's look at its name and the removal, and put a file of his own there. That one was removed,
/// and root's kept its 60 KiB under another name. A second name stands for the renamed one here.
#[test]
fn a_file_of_ours_that_keeps_a_name_is_emptied() {
    let top = tempfile::tempdir().expect("a directory");
    let (area, name) = (held(top.path()), OsStr::new("ours"));
    let bytes = |name: &str| fs::metadata(top.path().join(name)).map(|meta| meta.len()).ok();
    let made = |moves: &dyn Fn(&Path)| {
        let file = area.create(name).expect("new");
        file.set_len(61_440).expect("longer");
        moves(&top.path().join(name));
        area.give_back(name, &file).expect("given back")
    };
    let away = top.path().join("away");
    assert_eq!(made(&|_| {}), GivenBack::Removed);
    assert_eq!(made(&|ours| fs::hard_link(ours, &away).expect("linked")), GivenBack::Emptied);
    assert_eq!((bytes("ours"), bytes("away")), (None, Some(0)));
    assert_eq!(made(&|ours| fs::rename(ours, &away).expect("renamed")), GivenBack::Emptied);
    assert_eq!((bytes("ours"), bytes("away")), (None, Some(0)));
    assert_eq!(made(&|ours| fs::remove_file(ours).expect("removed")), GivenBack::AlreadyGone);
    let foreign = |ours: &Path| {
        fs::rename(ours, &away).expect("renamed");
        fs::write(ours, "his own").expect("another file");
    };
    assert_eq!(made(&foreign), GivenBack::Emptied);
    assert_eq!((bytes("ours"), bytes("away")), (Some(7), Some(0)));
}

#[test]
fn what_is_cleared_is_empty_and_what_its_links_lead_to_stays() {
    let top = tempfile::tempdir().expect("a directory");
    let path = |name: &str| top.path().join(name);
    fs::create_dir_all(path("own/a/b/c")).expect("directories");
    fs::create_dir(path("precious")).expect("a directory");
    fs::write(path("precious/file"), "mine").expect("a file");
    for number in 0..3000 {
        fs::write(path(&format!("own/a/b/{number}")), "x").expect("a file");
    }
    symlink(path("precious"), path("own/a/link")).expect("a link");
    held(&path("own")).clear().expect("cleared");
    assert_eq!(fs::read_dir(path("own")).expect("it stays").count(), 0);
    assert_eq!(fs::read_to_string(path("precious/file")).expect("it stays"), "mine");
}

#[test]
fn a_way_that_others_may_change_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let top = tempfile::tempdir().expect("a directory");
    let inner = top.path().join("open/inner");
    fs::create_dir_all(&inner).expect("directories");
    check_way(&inner).expect("nobody else may write there");
    let may = |mode| {
        let rights = fs::Permissions::from_mode(mode);
        fs::set_permissions(top.path().join("open"), rights).expect("chmod");
    };
    may(0o777);
    assert_eq!(check_way(&inner).expect_err("all may").kind(), ErrorKind::Permission);
    may(0o1777);
    check_way(&inner).expect("sticky: others can add, not rename");
}
