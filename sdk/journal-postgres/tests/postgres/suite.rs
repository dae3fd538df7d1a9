//! The checks that every store passes.

use deadpool_postgres::Pool;
use svc_journal_postgres::PostgresStore;
use svc_sdk::journal::testing::{StoreSource, run_concurrent_calls, run_random_operations};

use crate::servers::{Server, ServerKind};
use crate::support::{new_schema, pool};

const SEEDS: u64 = 4;

/// The machines of one database, each with connections of its own.
struct Machines {
    address: String,
    observer: Pool,
}

impl Machines {
    async fn new(server: &Server) -> Self {
        let address = new_schema(server).await;
        let observer = pool(&address);
        Self { address, observer }
    }

    async fn count(&self) -> i64 {
        let connection = self.observer.get().await.unwrap();
        let count = "SELECT count(*) FROM svc_journal_owners";
        connection.query_one(count, &[]).await.unwrap().get(0)
    }
}

impl StoreSource for Machines {
    type Store = PostgresStore;

    async fn open(&self) -> PostgresStore {
        PostgresStore::new(pool(&self.address)).await.unwrap()
    }

    async fn close(&self, store: PostgresStore) {
        let before = self.count().await;
        drop(store);
        while self.count().await == before {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn agrees_with_the_model() {
    let Some(server) = Server::start(ServerKind::Postgres) else { return };
    for seed in 0..SEEDS {
        run_random_operations(&Machines::new(&server).await, seed).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn decides_between_concurrent_calls() {
    let Some(server) = Server::start(ServerKind::Postgres) else { return };
    run_concurrent_calls(&Machines::new(&server).await).await;
}
