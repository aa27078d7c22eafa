//! Interrupts: the first asks everything to stop, a second one kills.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

/// A flag that becomes true with the first SIGINT, SIGTERM or SIGHUP. Must be called within a runtime.
///
/// A second one calls `second`, which ends the process at once: servers get their parent-death signal, and the guard
/// removes what is left.
pub fn watch_signals(second: impl Fn() + Send + 'static) -> std::io::Result<watch::Receiver<bool>> {
    let (sender, receiver) = watch::channel(false);
    let mut signals: Vec<Signal> = Vec::new();
    for kind in [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()] {
        signals.push(signal(kind)?);
    }
    tokio::spawn(async move {
        let mut seen = 0;
        loop {
            std::future::poll_fn(|context| {
                for signal in &mut signals {
                    if signal.poll_recv(context).is_ready() {
                        return std::task::Poll::Ready(());
                    }
                }
                std::task::Poll::Pending
            })
            .await;
            seen += 1;
            if seen > 1 {
                second();
            }
            sender.send_replace(true);
        }
    });
    Ok(receiver)
}
