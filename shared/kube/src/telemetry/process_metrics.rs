//! The metrics of the process, under the names that the client libraries of Prometheus give them everywhere.
//!
//! They are read from Linux with each scrape. What cannot be read is left out.

use std::fmt;
use std::fs;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use crate::process::clock;

/// Returns a registry with the metrics of this process. Their names have no prefix.
pub(super) fn registry(program: &'static str) -> Registry {
    let mut registry = Registry::with_labels(std::iter::once(("program".into(), program.into())));
    registry.register_collector(Box::new(ProcessMetrics { started: clock::wall_since_epoch().as_secs_f64() }));
    registry
}

#[derive(Debug)]
struct ProcessMetrics {
    /// Unix time in seconds. The program creates its metrics within milliseconds of its start.
    started: f64,
}

impl Collector for ProcessMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut encode = |name: &str, help: &str, metric: &dyn EncodeMetric| {
            metric.encode(encoder.encode_descriptor(name, help, None, metric.metric_type())?)
        };
        if let Some(seconds) = cpu_seconds() {
            let help = "Processor time of the process, user and system";
            encode("process_cpu_seconds", help, &ConstCounter::new(seconds))?;
        }
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
        let gauges = [
            ("process_resident_memory_bytes", "Resident memory", bytes_of(&status, "VmRSS:")),
            ("process_virtual_memory_bytes", "Virtual memory", bytes_of(&status, "VmSize:")),
            ("process_open_fds", "Open file descriptors", open_files()),
            ("process_max_fds", "Limit of open file descriptors", most_files(&limits)),
            ("process_start_time_seconds", "Unix time of the start", Some(self.started)),
        ];
        for (name, help, value) in gauges {
            if let Some(value) = value {
                encode(name, help, &ConstGauge::new(value))?;
            }
        }
        Ok(())
    }
}

#[cfg(target_os = "linux")]
fn cpu_seconds() -> Option<f64> {
    use rustix::time::{ClockId, clock_gettime};
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Some(time.tv_sec as f64 + time.tv_nsec as f64 / 1e9)
}

#[cfg(not(target_os = "linux"))]
const fn cpu_seconds() -> Option<f64> {
    None
}

/// Returns an amount of `/proc/self/status` in bytes. The file has it in kB, by which it means 1,024 bytes.
fn bytes_of(status: &str, key: &str) -> Option<f64> {
    let amount = status.lines().find_map(|line| line.strip_prefix(key))?;
    let kilobytes: f64 = amount.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kilobytes * 1024.0)
}

/// Returns the soft limit of open files from `/proc/self/limits`.
fn most_files(limits: &str) -> Option<f64> {
    let row = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    row.split_whitespace().next()?.parse().ok()
}

/// Counts the open files, without the one that lists them.
fn open_files() -> Option<f64> {
    let count = fs::read_dir("/proc/self/fd").ok()?.count();
    Some(count.saturating_sub(1) as f64)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn amounts_of_the_kernel_are_bytes_and_files() {
        let status = "Name:\tdrift-poller\nVmSize:\t  412345 kB\nVmHWM:\t 9 kB\nVmRSS:\t   20480 kB\n";
        assert_eq!(bytes_of(status, "VmRSS:"), Some(20_971_520.0));
        assert_eq!(bytes_of(status, "VmSize:"), Some(412_345.0 * 1024.0));
        let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
                      Max processes             unlimited            unlimited            processes \n\
                      Max open files            1024                 524288               files     \n";
        assert_eq!(most_files(limits), Some(1024.0));
        for text in ["", "VmRSS:\n", "VmRSS:\t12\n", "Max open files            unlimited            unlimited\n"] {
            assert_eq!((bytes_of(text, "VmRSS:"), most_files(text)), (None, None), "{text}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_process_is_measured_with_each_scrape() {
        let registry = registry("poller");
        let value = |name: &str| {
            let mut text = String::new();
            prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
            let wanted = format!("{name}{{program=\"poller\"}} ");
            text.lines().find_map(|line| line.strip_prefix(&wanted)).unwrap().parse::<f64>().unwrap()
        };
        let files = value("process_open_fds");
        let _open: Vec<_> = (0..50).map(|_| fs::File::open("/proc/self/status").unwrap()).collect();
        assert!(value("process_open_fds") >= files + 40.0);
        assert!(value("process_max_fds") > files);
        assert!(value("process_resident_memory_bytes") > 1e6);
        assert!(value("process_virtual_memory_bytes") > value("process_resident_memory_bytes"));
        assert!(value("process_cpu_seconds_total") > 0.0);
        assert!((clock::wall_since_epoch().as_secs_f64() - value("process_start_time_seconds")).abs() < 600.0);
    }
}
