//! A campaign for schedulers that are not called from here: what is printed is handed to them.

use super::{arguments::Starter, words::in_words};
use ::campaign::{Campaign, CampaignFile, Task, task};
use anyhow::{Context, Result, bail, ensure};
use std::{env, fmt::Write, path::Path};

/// Pods at the same time, unless the file says.
const PARALLELISM: u32 = 4;
/// Starts of a pod over for one task, before it is given up.
const RETRIES: u32 = 6;

/// Whether the file has what must be known, asked before anything is made.
///
/// # Errors
/// A key that is missing, with an example; tasks that would wait for each other for ever.
pub fn check(starter: Starter, file: &CampaignFile, tasks: &[Task]) -> Result<()> {
    ensure!(
        file.soak.is_none(),
        "seeds are tried by `cargo xtask soak --campaign`, which no printed script starts"
    );
    match starter {
        Starter::Ssh => {
            ensure!(
                !file.hosts.is_empty(),
                "--print ssh: the campaign's file names no hosts: write hosts = [\"node1\", \
                 \"node2\"]"
            );
            let on_a_host = task::repetition_max_on_a_host(tasks);
            ensure!(
                !file.together || on_a_host <= 1,
                "--print ssh: {on_a_host} tasks of a repetition are for one host, which does one \
                 after the other, and with `together = true` each waits for all: name one target, \
                 method and setting, or leave out `together`"
            );
        }
        Starter::Kubernetes => {
            let keys = [
                ("image", &file.kubernetes.image, "registry/drivelab"),
                ("directory_claim", &file.kubernetes.directory_claim, "campaigns"),
            ];
            if let Some((key, _, example)) = keys.iter().find(|(_, value, _)| value.is_none()) {
                bail!(
                    "--print kubernetes: the campaign's file needs {key} under [kubernetes], such \
                     as {key} = \"{example}\""
                );
            }
            let (asked, together) = (file.kubernetes.parallelism, task::repetition_max(tasks));
            if let Some(pods) = asked.filter(|&pods| file.together && (pods as usize) < together) {
                bail!(
                    "--print kubernetes: {together} tasks begin together and {pods} pods run at a \
                     time, so they would wait for each other for ever: let kubernetes.parallelism \
                     be {together}, or leave out `together`"
                );
            }
        }
    }
    Ok(())
}

/// An Indexed Job of Kubernetes': pod K does task K.
///
/// # Errors
/// The list of tasks cannot be read.
pub fn kubernetes(campaign: &Campaign, store: Option<&Path>) -> Result<String> {
    let file = &campaign.file.kubernetes;
    let image = file.image.as_deref().expect("checked");
    let directory = file.directory_claim.as_deref().expect("checked");
    let tasks = campaign.head.tasks;
    let together = match campaign.file.together {
        true => task::repetition_max(&campaign.tasks().map_err(in_words)?) as u32,
        false => 1,
    };
    let parallelism = file.parallelism.unwrap_or(PARALLELISM.max(together)).min(tasks);
    let place = campaign.place().display();
    let name: String = campaign.head.name.to_ascii_lowercase().replace(['_', '.'], "-");
    let mut text = format!(
        "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: {name}\nspec:\n  \
         completionMode: Indexed\n  completions: {tasks}\n  parallelism: {parallelism}\n  \
         backoffLimitPerIndex: {RETRIES}\n  template:\n    spec:\n      \
         restartPolicy: Never\n      containers:\n        - name: task\n          \
         image: {image:?}\n          command:\n"
    );
    for word in ["drivelab", "campaign", "run", &place.to_string(), "--task"] {
        writeln!(text, "            - {word:?}")?;
    }
    // Kubernetes puts the index there.
    text += "            - \"$(JOB_COMPLETION_INDEX)\"\n";
    if let Some(store) = store {
        write!(
            text,
            "            - \"--store\"\n            - {:?}\n",
            store.display().to_string()
        )?;
    }
    text += "          volumeMounts:\n";
    write!(text, "            - name: campaign\n              mountPath: \"{place}\"\n")?;
    if let Some(claim) = &file.target_claim {
        let mount = match file.block {
            true => {
                "          volumeDevices:\n            - name: target\n              \
                 devicePath: /dev/target\n"
            }
            false => "            - name: target\n              mountPath: /target\n",
        };
        text += mount;
        text += "      volumes:\n";
        text += &volume("target", claim);
    } else {
        text += "      volumes:\n";
    }
    Ok(text + &volume("campaign", directory))
}

fn volume(name: &str, claim: &str) -> String {
    format!(
        "        - name: {name}\n          persistentVolumeClaim:\n            \
         claimName: {claim:?}\n"
    )
}

/// A line a host for a shell: each does the tasks of its host.
///
/// # Errors
/// This program cannot be found.
pub fn ssh(campaign: &Campaign, store: Option<&Path>) -> Result<String> {
    let hosts = &campaign.file.hosts;
    let program = env::current_exe().context("where this program is")?;
    let mut command = format!(
        "{} campaign run {} --task 0 --every 1",
        record::quoted(&program),
        record::quoted(campaign.place())
    );
    if let Some(store) = store {
        write!(command, " --store {}", record::quoted(store))?;
    }
    let mut text = String::new();
    for host in hosts {
        let (host, command) = (record::quoted(host), record::quoted(&command));
        writeln!(text, "ssh {host} {command} &")?;
    }
    Ok(text + "wait\n")
}
