//! The models of a batch, looked up before anything is submitted.

use std::collections::{BTreeMap, HashMap};

use svc_sdk::Open;
use svc_sdk::contract::Operation;

use super::manifest::{Manifest, Models};
use crate::error::{Exit, Failure, Suggestion};
use crate::request::pricing::before_submit;
use crate::session::{Access, Session};
use crate::text::{nearest, sanitize};

/// The catalog of models, read when it is needed for the first time.
pub(super) struct Catalog<'a> {
    session: &'a Session,
    models: Models,
    /// The operations of the models. `None` if the catalog cannot be read.
    kinds: Option<HashMap<String, Operation>>,
}

impl<'a> Catalog<'a> {
    pub(super) async fn set_operations(
        session: &'a Session,
        manifest: &mut Manifest,
    ) -> Result<Self, Failure> {
        let models = manifest.models()?;
        let mut catalog = Self { session, models, kinds: None };
        if !catalog.models.without_operation.is_empty() {
            let access = session.access::<Open>()?;
            catalog.kinds = Some(catalog.read(&access).await.map_err(unreadable)?);
            catalog.check_known(&catalog.models.without_operation)?;
            manifest.kinds = catalog.kinds.clone().unwrap_or_default();
        }
        Ok(catalog)
    }

    /// Checks that the models of images and videos exist, if anything is to be submitted.
    pub(super) async fn check_if(mut self, is_needed: bool) -> Result<(), Failure> {
        if !is_needed || self.models.named.is_empty() {
            return Ok(());
        }
        if self.kinds.is_none() && self.models.without_operation.is_empty() {
            let access = self.session.access::<Open>()?;
            match self.read(&access).await {
                Ok(kinds) => self.kinds = Some(kinds),
                Err(failure) if failure.exit() == Exit::Interrupted => return Err(failure),
                Err(failure) => self.session.printer.warn(&format!(
                    "the models are not checked, because the catalog cannot be read: {}",
                    sanitize(&failure.headline())
                )),
            }
        }
        self.check_known(&self.models.named)
    }

    async fn read(&self, access: &Access<Open>) -> Result<HashMap<String, Operation>, Failure> {
        before_submit(self.session, async {
            let models = access.client.models();
            let (images, videos) = tokio::try_join!(models.list_images(), models.list_videos())?;
            let images = images.items.into_iter().map(|it| (it.id, Operation::ImageGenerate));
            let videos = videos.items.into_iter().map(|it| (it.id, Operation::VideoGenerate));
            Ok(images.chain(videos).collect())
        })
        .await
    }

    fn check_known(&self, models: &BTreeMap<String, String>) -> Result<(), Failure> {
        let Some(kinds) = self.kinds.as_ref().filter(|it| !it.is_empty()) else { return Ok(()) };
        let unknown = models.iter().filter(|(model, _)| !kinds.contains_key(*model));
        let mut whys = unknown.map(|(model, place)| {
            let known = nearest(model, kinds.keys().map(String::as_str));
            let guess = known.map(|known| format!(": did you mean {known}?")).unwrap_or_default();
            format!("{place}the model `{model}` is not in the catalog{guess}")
        });
        let Some(first) = whys.next() else { return Ok(()) };
        let failure = whys.fold(Failure::usage(first), Failure::issue);
        Err(failure
            .hint(Suggestion::from("list the models with `").svc(["model", "list"]).then("`")))
    }
}

/// Returns the failure of a batch whose operations follow from a catalog that cannot be read.
fn unreadable(failure: Failure) -> Failure {
    let failure = match failure.exit() {
        Exit::Interrupted => return failure,
        Exit::Overloaded => failure.hint(
            "or name the operation: --operation image_generate or --operation video_generate",
        ),
        _ => failure,
    };
    let what =
        "cannot read the catalog, which says what the models generate; nothing was submitted";
    failure.context(what)
}
