//! Data of set-up that is made once: by a server of its own, before the nodes of the turn are started.

use std::time::Instant;

use super::Live;
use super::node::connect;
use crate::execute::world::{Failure, Reply};
use crate::lab::dataset;
use crate::plan::instruction::Dataset;

impl Live<'_> {
    /// Finds a node's data, or makes it. A node that is under way is started and stopped completely; between, an
    /// interrupt ends it, and nothing of it is kept.
    pub(super) async fn make_data(&mut self, wanted: &Dataset) -> Result<Reply, Failure> {
        let lab = self.lab;
        let request = self.request(&wanted.node);
        let name = lab.lock().await.dataset_name(&request, &wanted.key).map_err(|error| failed(&error))?;
        let found = lab.lock().await.dataset(&name);
        if let Some(found) = found {
            self.data.insert(wanted.node.clone(), found);
            return Ok(Reply::Done);
        }
        let mut stop = self.stop.clone();
        let cache = lab.lock().await.cache();
        let area = tokio::select! { biased;
            () = stopped(&mut stop) => return Err(interrupted()),
            area = dataset::lock(&cache) => area.map_err(|error| failed(&error))?,
        };
        // Another runner may have made it meanwhile.
        let found = lab.lock().await.dataset(&name);
        if let Some(found) = found {
            self.data.insert(wanted.node.clone(), found);
            return Ok(Reply::Done);
        }
        let began = Instant::now();
        let own = request.name.clone();
        let node = lab.lock().await.start(request).await.map_err(|error| Failure::new(error.to_string()))?;
        let live = connect(node.clone()).await?;
        for (what, sql) in &wanted.steps {
            tokio::select! { biased;
                () = stopped(&mut stop) => return Err(interrupted()),
                done = live.batch(sql) => {
                    done.map_err(|failure| Failure::new(format!("{what}: {}", failure.reason)))?;
                }
            }
        }
        tokio::select! { biased;
            () = stopped(&mut stop) => return Err(interrupted()),
            done = live.batch("CHECKPOINT") => done?,
        }
        drop(live);
        node.stop_fast().await.map_err(|error| Failure::new(error.to_string()))?;
        let status = node.try_ended();
        if !status.is_some_and(|status| status.success()) {
            return Err(Failure::new(format!("the server that made the data did not stop in good order: {status:?}")));
        }
        let mut lab = lab.lock().await;
        lab.stop(|name| name == own).await.map_err(|error| Failure::new(error.to_string()))?;
        let kept =
            lab.keep_data(&area, &name, &node.data, began.elapsed().as_secs_f64()).map_err(|error| failed(&error))?;
        let note = (!kept.kept).then(|| {
            "larger than what the cache may hold (RUNNER_CACHE_MAX), so it is used for this run only".to_owned()
        });
        let reply = Reply::Made { seconds: kept.made.seconds, bytes: kept.made.bytes, note };
        self.data.insert(wanted.node.clone(), kept);
        Ok(reply)
    }
}

async fn stopped(stop: &mut tokio::sync::watch::Receiver<bool>) {
    // A sender that is gone will never interrupt.
    if stop.wait_for(|stop| *stop).await.is_err() {
        std::future::pending::<()>().await;
    }
}

fn interrupted() -> Failure {
    Failure::new("interrupted")
}

fn failed(error: &dataset::DatasetError) -> Failure {
    Failure::new(error.to_string())
}
