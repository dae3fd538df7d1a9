//! Paths of the configuration and the state.

use std::path::PathBuf;

use etcetera::{AppStrategy, AppStrategyArgs};

use super::environment::Environment;
use crate::error::Failure;

/// Returns the path of the configuration: `SVC_CONFIG`, or `config.toml` in the platform's folder.
pub(crate) fn config_file(environment: &Environment) -> Result<PathBuf, Failure> {
    match environment.get("SVC_CONFIG") {
        Some(path) => Ok(path.into()),
        None => Ok(strategy("SVC_CONFIG")?.config_dir().join("config.toml")),
    }
}

/// Returns the folder of the journal: `SVC_STATE_DIR`, or the platform's folder.
pub(crate) fn state_dir(environment: &Environment) -> Result<PathBuf, Failure> {
    match environment.get("SVC_STATE_DIR") {
        Some(path) => Ok(path.into()),
        None => {
            let strategy = strategy("SVC_STATE_DIR")?;
            Ok(strategy.state_dir().unwrap_or_else(|| strategy.data_dir()))
        }
    }
}

fn strategy(variable: &str) -> Result<impl AppStrategy, Failure> {
    let app = AppStrategyArgs {
        app_name: "svc".to_owned(),
        ..AppStrategyArgs::default()
    };
    etcetera::app_strategy::choose_native_strategy(app).map_err(|error| {
        Failure::configuration(format!("cannot find the home directory: {error}"))
            .hint(format!("set {variable}"))
    })
}
