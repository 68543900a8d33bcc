//! fio's options, and what becomes of each.

use block::names::did_you_mean;

/// What becomes of an option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// It is done.
    Taken,
    /// It changes nothing here, and that is said.
    NoEffect,
    /// It would change what is measured and cannot be had: why, and the cure.
    Refused(&'static str),
}

use Standing::{NoEffect, Refused, Taken};

/// The option that a word means, aliases resolved, if fio has it.
pub(crate) fn canonical(word: &str) -> Option<&'static str> {
    let word = word.to_ascii_lowercase();
    let meant = ALIASES.iter().find(|(alias, _)| *alias == word).map(|(_, name)| *name);
    let word = meant.unwrap_or(&word);
    OPTIONS.iter().map(|(name, _)| *name).find(|name| *name == word)
}

/// What becomes of an option, by its name.
pub fn standing(name: &str) -> Option<Standing> {
    let name = canonical(name)?;
    OPTIONS.iter().find(|(known, _)| *known == name).map(|(_, standing)| *standing)
}

/// A complaint about an option that fio does not have.
pub(crate) fn unknown(word: &str) -> String {
    let known = OPTIONS.iter().map(|(name, _)| *name);
    let near = did_you_mean(word, known.chain(ALIASES.iter().map(|(alias, _)| *alias)));
    if near.is_empty() {
        return format!("`{word}` is no option of a local engine of fio's: take the line out");
    }
    format!("there is no option `{word}`.{near}").trim_end_matches('.').to_owned()
}

const ALIASES: &[(&str, &str)] = &[
    ("readwrite", "rw"),
    ("blocksize", "bs"),
    ("blocksize_range", "bsrange"),
    ("blockalign", "ba"),
    ("blocksize_unaligned", "bs_unaligned"),
    ("rand_repeatable", "randrepeat"),
    ("threads", "thread"),
    ("timeout", "runtime"),
    ("wait_for_previous", "stonewall"),
    ("nr_files", "nrfiles"),
    ("io_limit", "io_size"),
    ("fill_fs", "fill_device"),
    ("steadystate", "ss"),
    ("steadystate_duration", "ss_dur"),
    ("steadystate_ramp_time", "ss_ramp"),
    ("iomem", "mem"),
    ("mem_align", "iomem_align"),
    ("file_service", "file_service_type"),
    ("iodepth_batch_submit", "iodepth_batch"),
    ("iodepth_batch_complete", "iodepth_batch_complete_min"),
    ("ratemin", "rate_min"),
    ("rate_iopsmin", "rate_iops_min"),
    ("thinktime_blocksize", "thinktime_blocks"),
    ("disable_bw", "disable_bw_measurement"),
    ("log_alternate_epoch", "log_unix_epoch"),
    ("numjob", "numjobs"),
];

const VERIFY: &str = "what was written is read back from its first byte to its last: leave it out";
const ZONES: &str = "zoned access is not supported: leave it out, or use a conventional device";
const REPLAY: &str = "a job replays no trace: leave it out";
const PRIORITY: &str = "operations have no priorities here: leave it out";
const LATENCY: &str = "the depth is not searched for: set `iodepth`, and read the latencies";
const FLOW: &str = "jobs do not wait for each other's progress: use `rate_iops` for the proportion";
const DEDUPE: &str = "data that deduplicate are not made: leave it out, or use \
                      `buffer_compress_percentage`";
const MACHINE: &str = "it changes the machine, which a method does not: set it before, or use \
                       `drivelab matrix`";
const COMMAND: &str = "job files start no programs here: start it yourself";
pub(crate) const TRIM: &str =
    "blocks are trimmed and written in jobs of their own: make two jobs of it";
const MIX: &str = "sizes are drawn for each operation: leave it out";
const THINK: &str = "a pause is given by `thinktime` and `thinktime_blocks`: leave it out";

/// Every option of fio's core and of its local engines.
const OPTIONS: &[(&str, Standing)] = &[
    // Taken.
    ("name", Taken),
    ("description", Taken),
    ("rw", Taken),
    ("bs", Taken),
    ("ba", Taken),
    ("bsrange", Taken),
    ("bssplit", Taken),
    ("size", Taken),
    ("io_size", Taken),
    ("filesize", Taken),
    ("fill_device", Taken),
    ("filename", Taken),
    ("directory", Taken),
    ("nrfiles", Taken),
    ("ioengine", Taken),
    ("iodepth", Taken),
    ("numjobs", Taken),
    ("direct", Taken),
    ("buffered", Taken),
    ("mem", Taken),
    ("runtime", Taken),
    ("time_based", Taken),
    ("ramp_time", Taken),
    ("stonewall", Taken),
    ("wait_for", Taken),
    ("norandommap", Taken),
    ("rwmixread", Taken),
    ("rwmixwrite", Taken),
    ("rate", Taken),
    ("rate_iops", Taken),
    ("rate_process", Taken),
    ("offset", Taken),
    ("random_distribution", Taken),
    ("rw_sequencer", Taken),
    ("loops", Taken),
    ("number_ios", Taken),
    ("fsync", Taken),
    ("fdatasync", Taken),
    ("sync", Taken),
    ("end_fsync", Taken),
    ("fsync_on_close", Taken),
    ("invalidate", Taken),
    ("overwrite", Taken),
    ("zero_buffers", Taken),
    ("buffer_compress_percentage", Taken),
    ("buffer_pattern", Taken),
    ("kb_base", Taken),
    ("ss", Taken),
    ("ss_dur", Taken),
    ("ss_ramp", Taken),
    ("verify", Taken),
    ("zonemode", Taken),
    ("flow", Refused(FLOW)),
    // Accepted without effect: how fio reports, logs, keeps time, lays out memory and files, and
    // draws its random numbers.
    ("thread", NoEffect),
    ("group_reporting", NoEffect),
    ("new_group", NoEffect),
    ("randrepeat", NoEffect),
    ("allrandrepeat", NoEffect),
    ("randseed", NoEffect),
    ("random_generator", NoEffect),
    ("softrandommap", NoEffect),
    ("gtod_reduce", NoEffect),
    ("gtod_cpu", NoEffect),
    ("clocksource", NoEffect),
    ("disable_lat", NoEffect),
    ("disable_clat", NoEffect),
    ("disable_slat", NoEffect),
    ("disable_bw_measurement", NoEffect),
    ("clat_percentiles", NoEffect),
    ("lat_percentiles", NoEffect),
    ("slat_percentiles", NoEffect),
    ("percentile_list", NoEffect),
    ("significant_figures", NoEffect),
    ("block_error_percentiles", NoEffect),
    ("per_job_logs", NoEffect),
    ("write_bw_log", NoEffect),
    ("write_lat_log", NoEffect),
    ("write_iops_log", NoEffect),
    ("write_hist_log", NoEffect),
    ("write_iolog", NoEffect),
    ("bwavgtime", NoEffect),
    ("iopsavgtime", NoEffect),
    ("log_entries", NoEffect),
    ("log_avg_msec", NoEffect),
    ("log_window_value", NoEffect),
    ("log_max_value", NoEffect),
    ("log_hist_msec", NoEffect),
    ("log_hist_coarseness", NoEffect),
    ("log_offset", NoEffect),
    ("log_prio", NoEffect),
    ("log_issue_time", NoEffect),
    ("log_compression", NoEffect),
    ("log_compression_cpus", NoEffect),
    ("log_store_compressed", NoEffect),
    ("log_unix_epoch", NoEffect),
    ("log_alternate_epoch_clock_id", NoEffect),
    ("stats", NoEffect),
    ("disk_util", NoEffect),
    ("unified_rw_reporting", NoEffect),
    ("unit_base", NoEffect),
    ("refill_buffers", NoEffect),
    ("scramble_buffers", NoEffect),
    ("buffer_compress_chunk", NoEffect),
    ("create_serialize", NoEffect),
    ("create_fsync", NoEffect),
    ("create_on_open", NoEffect),
    ("allow_file_create", NoEffect),
    ("allow_mounted_write", NoEffect),
    ("unlink", NoEffect),
    ("unlink_each_loop", NoEffect),
    ("fallocate", NoEffect),
    ("fadvise_hint", NoEffect),
    ("filename_format", NoEffect),
    ("unique_filename", NoEffect),
    ("lockfile", NoEffect),
    ("opendir", NoEffect),
    ("openfiles", NoEffect),
    ("file_service_type", NoEffect),
    ("iomem_align", NoEffect),
    ("hugepage_size", NoEffect),
    ("lockmem", NoEffect),
    ("iodepth_batch", NoEffect),
    ("iodepth_batch_complete_min", NoEffect),
    ("iodepth_batch_complete_max", NoEffect),
    ("iodepth_low", NoEffect),
    ("serialize_overlap", NoEffect),
    ("io_submit_mode", NoEffect),
    ("cpus_allowed", NoEffect),
    ("cpumask", NoEffect),
    ("cpus_allowed_policy", NoEffect),
    ("numa_cpu_nodes", NoEffect),
    ("numa_mem_policy", NoEffect),
    ("nice", NoEffect),
    ("prio", NoEffect),
    ("prioclass", NoEffect),
    ("exitall", NoEffect),
    ("exit_what", NoEffect),
    ("exitall_on_error", NoEffect),
    ("continue_on_error", NoEffect),
    ("ignore_error", NoEffect),
    ("error_dump", NoEffect),
    ("max_latency", NoEffect),
    ("rate_min", NoEffect),
    ("rate_iops_min", NoEffect),
    ("rate_cycle", NoEffect),
    ("write_hint", NoEffect),
    ("hipri", NoEffect),
    ("hipri_percentage", NoEffect),
    ("fixedbufs", NoEffect),
    ("registerfiles", NoEffect),
    ("sqthread_poll", NoEffect),
    ("sqthread_poll_cpu", NoEffect),
    ("nonvectored", NoEffect),
    ("force_async", NoEffect),
    ("userspace_reap", NoEffect),
    ("uncached", NoEffect),
    ("nowait", NoEffect),
    // Refused: they change what is measured.
    ("percentage_random", Taken),
    ("offset_increment", Taken),
    ("offset_align", NoEffect),
    ("bs_unaligned", Refused("blocks lie on multiples of their size: leave it out")),
    ("bs_is_seq_rand", Refused(MIX)),
    ("thinktime", Taken),
    ("thinktime_spin", NoEffect),
    ("thinktime_blocks", Taken),
    ("thinktime_blocks_type", NoEffect),
    ("thinktime_iotime", Refused(THINK)),
    ("rate_ignore_thinktime", NoEffect),
    ("startdelay", Taken),
    ("do_verify", Taken),
    ("verify_only", Refused(VERIFY)),
    ("verify_interval", NoEffect),
    ("verify_offset", Refused(VERIFY)),
    ("verify_pattern", NoEffect),
    ("verify_fatal", NoEffect),
    ("verify_dump", NoEffect),
    ("verify_async", NoEffect),
    ("verify_async_cpus", NoEffect),
    ("verify_backlog", NoEffect),
    ("verify_backlog_batch", NoEffect),
    ("verify_state_load", Refused(VERIFY)),
    ("verify_state_save", NoEffect),
    ("experimental_verify", NoEffect),
    ("trim_percentage", Refused(TRIM)),
    ("trim_verify_zero", Refused(TRIM)),
    ("trim_backlog", Refused(TRIM)),
    ("trim_backlog_batch", Refused(TRIM)),
    ("zonesize", Refused(ZONES)),
    ("zonecapacity", Refused(ZONES)),
    ("zonerange", Refused(ZONES)),
    ("zoneskip", Refused(ZONES)),
    ("read_beyond_wp", Refused(ZONES)),
    ("max_open_zones", Refused(ZONES)),
    ("job_max_open_zones", Refused(ZONES)),
    ("ignore_zone_limits", Refused(ZONES)),
    ("zone_reset_threshold", Refused(ZONES)),
    ("zone_reset_frequency", Refused(ZONES)),
    ("read_iolog", Refused(REPLAY)),
    ("read_iolog_chunked", Refused(REPLAY)),
    ("replay_no_stall", Refused(REPLAY)),
    ("replay_redirect", Refused(REPLAY)),
    ("replay_scale", Refused(REPLAY)),
    ("replay_align", Refused(REPLAY)),
    ("replay_time_scale", Refused(REPLAY)),
    ("replay_skip", Refused(REPLAY)),
    ("merge_blktrace_file", Refused(REPLAY)),
    ("merge_blktrace_scalars", Refused(REPLAY)),
    ("merge_blktrace_iters", Refused(REPLAY)),
    ("cmdprio_percentage", Refused(PRIORITY)),
    ("cmdprio_class", Refused(PRIORITY)),
    ("cmdprio", Refused(PRIORITY)),
    ("cmdprio_bssplit", Refused(PRIORITY)),
    ("latency_target", Refused(LATENCY)),
    ("latency_window", Refused(LATENCY)),
    ("latency_percentile", Refused(LATENCY)),
    ("latency_run", Refused(LATENCY)),
    ("flow_id", Refused(FLOW)),
    ("flow_sleep", Refused(FLOW)),
    ("flow_watermark", Refused(FLOW)),
    ("dedupe_percentage", Refused(DEDUPE)),
    ("dedupe_mode", Refused(DEDUPE)),
    ("dedupe_working_set_percentage", Refused(DEDUPE)),
    ("dedupe_global", Refused(DEDUPE)),
    ("ioscheduler", Refused(MACHINE)),
    ("cgroup", Refused(MACHINE)),
    ("cgroup_nodelete", Refused(MACHINE)),
    ("cgroup_weight", Refused(MACHINE)),
    ("uid", Refused(MACHINE)),
    ("gid", Refused(MACHINE)),
    ("exec_prerun", Refused(COMMAND)),
    ("exec_postrun", Refused(COMMAND)),
    ("profile", Refused("write the profile's jobs out")),
    ("atomic", Refused("atomic writes are not asked for: leave it out")),
    ("sync_file_range", Refused("use `fdatasync` with a number of writes")),
    ("write_barrier", Refused("use `fsync` with a number of writes")),
    ("file_append", Refused("files do not grow while they are measured: leave it out")),
    ("pre_read", Refused("the page cache is not filled first: run a job that reads before it")),
    ("create_only", Refused("files are made by the run itself: take the job out")),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_aliases_are_unique_and_aliases_mean_something() {
        for (at, (name, _)) in OPTIONS.iter().enumerate() {
            assert!(OPTIONS[..at].iter().all(|(other, _)| other != name), "{name} twice");
        }
        for (alias, name) in ALIASES {
            assert!(OPTIONS.iter().any(|(known, _)| known == name), "{alias} means {name}");
        }
        assert_eq!(canonical("blocksize"), Some("bs"));
        assert_eq!(standing("gtod_reduce"), Some(NoEffect));
        assert_eq!(canonical("bsplit"), None);
    }

    #[test]
    fn an_unknown_option_is_told_with_the_nearest() {
        assert_eq!(unknown("bsplit"), "there is no option `bsplit`. Did you mean `bssplit`?");
        assert!(unknown("hostname").contains("`hostname` is no option of a local engine"));
    }
}
