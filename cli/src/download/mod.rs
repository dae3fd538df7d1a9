//! Downloads: the folder, the names, and what is done with the files.

#[cfg(feature = "preview")]
mod image;
mod open;
#[cfg(feature = "preview")]
mod terminal_image;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use svc_sdk::Error;
use svc_sdk::download::{ArtifactName, Download, DownloadedFile, FileStatus, IfExists};
use tempfile::TempDir;

use crate::args::{DownloadArgs, FileArgs, FileName, Timeout};
use crate::error::{Failure, Result};
use crate::journal::prompt_of;
use crate::session::Session;
use crate::text::sanitize;

pub(crate) use crate::download::open::open_with_default;

#[derive(Debug)]
pub(crate) struct DownloadPlan {
    folder: PathBuf,
    args: FileArgs,
    file: Option<OneFile>,
    /// The folder of files that are only shown.
    temporary: Option<TempDir>,
    prompts: Vec<Option<String>>,
    by_item: bool,
}

const MEDIA_EXTENSIONS: &str = "png jpg jpeg webp gif mp4 webm mov mp3 wav m4a vtt srt";

fn is_media_extension(extension: &str) -> bool {
    MEDIA_EXTENSIONS.split(' ').any(|known| known.eq_ignore_ascii_case(extension))
}

/// Returns the name of an item without an extension of media, which its files are not given twice.
pub(crate) fn without_media_extension(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((stem, extension)) if is_media_extension(extension) => stem,
        _ => name,
    }
}

#[derive(Clone, Debug)]
struct OneFile {
    name: String,
    /// The extension of the media type, if it is another one than that of the name.
    other_extension: Arc<OnceLock<&'static str>>,
}

impl OneFile {
    /// Returns the folder and the name, if the path ends as a file of media does and is not a folder.
    fn in_path(path: &Path) -> Option<(PathBuf, Self)> {
        if !is_media_extension(path.extension()?.to_str()?) || path.is_dir() {
            return None;
        }
        let name = path.file_name()?.to_str()?.to_owned();
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).to_owned();
        Some((folder, Self { name, other_extension: Arc::default() }))
    }

    /// Returns the name of an artifact: `fox.png`, `fox-2.png`, …
    fn of(&self, artifact: &ArtifactName<'_>) -> String {
        let (stem, extension) = self.name.rsplit_once('.').unwrap_or((&self.name, ""));
        let is_same = extension.to_lowercase().replace("jpeg", "jpg") == artifact.extension;
        if !is_same {
            // One warning is enough for all files.
            let _ = self.other_extension.set(artifact.extension);
        }
        match artifact.number {
            1 => self.name.clone(),
            number => format!("{stem}-{number}.{extension}"),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Delivery {
    /// The files, unless they were only shown.
    pub(crate) files: Option<Vec<StoredFile>>,
    pub(crate) failure: Option<Failure>,
}

impl DownloadPlan {
    pub(crate) fn from_args(session: &Session, args: &DownloadArgs) -> Result<Option<Self>> {
        Self::planned(session, args, false)
    }

    /// Plans the downloads of items, whose files are named after them.
    pub(crate) fn for_items(session: &Session, args: &DownloadArgs) -> Result<Option<Self>> {
        Self::planned(session, args, true)
    }

    fn planned(session: &Session, args: &DownloadArgs, by_item: bool) -> Result<Option<Self>> {
        if let Some(folder) = &args.download {
            return Self::in_folder(session, folder, &args.files, by_item).map(Some);
        }
        let files = &args.files;
        let without_download = [
            ("--name", files.name.is_some()),
            ("--overwrite", files.overwrite),
            ("--open", files.open),
            ("--download-timeout", files.download_timeout.is_some() && !files.preview),
        ];
        if let Some((flag, _)) = without_download.iter().find(|(_, is_given)| *is_given) {
            return Err(Failure::usage(format!("{flag} requires --download")));
        }
        if !files.preview || !open::can_show_images(session)? {
            return Ok(None);
        }
        let temporary = tempfile::tempdir().map_err(|error| {
            Failure::other(format!("cannot create a temporary directory: {error}"))
        })?;
        Ok(Some(Self {
            folder: temporary.path().to_owned(),
            args: files.clone(),
            file: None,
            temporary: Some(temporary),
            prompts: Vec::new(),
            by_item,
        }))
    }

    /// Names the files after themselves, as earlier versions did, unless a template names them.
    pub(crate) fn name_by_id(&mut self) {
        self.by_item = false;
    }

    pub(crate) fn to_folder(session: &Session, folder: &Path, args: &FileArgs) -> Result<Self> {
        Self::in_folder(session, folder, args, false)
    }

    fn in_folder(session: &Session, folder: &Path, args: &FileArgs, by_item: bool) -> Result<Self> {
        let folder = expand_home(folder);
        let name = args.name.as_ref().filter(|_| !by_item);
        if name.is_some_and(FileName::has_item) {
            let why = "`{item}` in --name is the name of an item of a batch or a bulk queue";
            return Err(Failure::usage(why));
        }
        let (folder, file) = match OneFile::in_path(&folder) {
            Some(_) if name.is_some() => {
                let why = format!("{} and --name both name the file", folder.display());
                return Err(Failure::usage(why).hint("omit --name, or pass a directory"));
            }
            Some((folder, file)) => (folder, Some(file)),
            None => (folder, None),
        };
        check_writable(&folder)?;
        let mut args = args.clone();
        args.preview = args.preview && open::can_show_images(session)?;
        Ok(Self { folder, args, file, temporary: None, prompts: Vec::new(), by_item })
    }

    /// Checks that a command that makes several results does not name a single file for them.
    pub(crate) fn check_is_folder(&self, of: &str) -> Result {
        let Some(file) = &self.file else { return Ok(()) };
        Err(Failure::usage(format!(
            "`{}` is one file, and {of} can have several: expected a directory",
            file.name
        )))
    }

    pub(crate) fn check_result_of(&self, body: &Map<String, Value>) -> Result {
        let images = body.get("num_images").and_then(Value::as_u64).unwrap_or(1);
        if images > 1 {
            self.check_is_folder(&format!("a request of {images} images"))?;
        }
        if body.contains_key("items") {
            self.check_is_folder("a bulk queue")?;
        }
        Ok(())
    }

    pub(crate) fn check_names_of(&self, count: usize) -> Result {
        if count > 1 {
            self.check_is_folder(&format!("{count} jobs or runs"))?;
        }
        let Some(template) = self.args.name.as_ref().filter(|_| self.args.overwrite) else {
            return Ok(());
        };
        let text = template.to_string();
        let is_unique = ["{id}", "{job}", "{slug}", "{item}"]
            .iter()
            .any(|placeholder| text.contains(placeholder));
        if count < 2 || is_unique {
            return Ok(());
        }
        Err(Failure::usage(format!(
            "invalid --name `{text}` with --overwrite: expected {{id}}, {{job}} or {{slug}}, \
            because several are downloaded"
        )))
    }

    pub(crate) fn with_prompts_of(mut self, body: &Map<String, Value>) -> Self {
        let prompt = |body| prompt_of(body).map(str::to_owned);
        self.prompts = match body.get("items").and_then(Value::as_array) {
            Some(items) => items.iter().map(|item| prompt(item.as_object()?)).collect(),
            None => vec![prompt(body)],
        };
        self
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn flags(&self, folder_flag: &str) -> Vec<String> {
        if self.temporary.is_some() {
            return vec!["--preview".to_owned()];
        }
        let file = self.file.as_ref().map(|file| self.folder.join(&file.name));
        let path = file.as_ref().unwrap_or(&self.folder);
        let mut words = vec![folder_flag.to_owned(), path.display().to_string()];
        if let Some(template) = &self.args.name {
            words.extend(["--name".to_owned(), template.to_string()]);
        }
        if self.args.overwrite {
            words.push("--overwrite".to_owned());
        }
        words
    }

    /// Applies the options to a download of the item with that index, which people know by its number.
    pub(crate) fn configure(&self, item: usize, number: u64, download: Download) -> Download {
        let prompt = match self.prompts.as_slice() {
            [prompt] => prompt.as_deref(),
            prompts => prompts.get(item).and_then(Option::as_deref),
        };
        self.configure_item(&number.to_string(), prompt, download)
    }

    /// Applies the options to the download of an item's files, which are named after the item or its prompt.
    pub(crate) fn configure_item(
        &self,
        item: &str,
        prompt: Option<&str>,
        download: Download,
    ) -> Download {
        let template = self.args.name.as_ref().and_then(|name| name.template(item));
        let template = template.map(|template| match prompt {
            Some(prompt) => template.prompt(prompt),
            None => template,
        });
        let download = match (template, self.file.clone()) {
            (Some(template), _) => download.name_template(template),
            (None, Some(file)) => download.name_with(move |artifact| file.of(artifact)),
            (None, None) if self.by_item => {
                let item = item.to_owned();
                download.name_with(move |artifact| {
                    let extension = artifact.extension;
                    let stem = match item.rsplit_once('.') {
                        Some((stem, given)) if given.eq_ignore_ascii_case(extension) => stem,
                        _ => &item,
                    };
                    match artifact.number {
                        1 => format!("{stem}.{extension}"),
                        number => format!("{stem}-{number}.{extension}"),
                    }
                })
            }
            (None, None) => download,
        };
        let download = match self.args.overwrite {
            true => download.if_exists(IfExists::Overwrite),
            false => download,
        };
        match self.args.download_timeout {
            None => download,
            Some(Timeout(Some(timeout))) => download.timeout(timeout),
            Some(Timeout(None)) => download.no_timeout(),
        }
    }

    pub(crate) fn has_template(&self) -> bool {
        self.args.name.is_some()
    }

    /// Returns whether files are only shown, and removed afterwards.
    pub(crate) fn is_temporary(&self) -> bool {
        self.temporary.is_some()
    }

    pub(crate) fn opens_files(&self) -> bool {
        self.args.open
    }

    pub(crate) fn preview(&self, session: &Session, path: &Path) {
        if self.args.preview {
            open::show(session, path);
        }
    }

    pub(crate) async fn deliver(
        &self,
        session: &Session,
        result: Result<Vec<DownloadedFile>, Error>,
    ) -> Delivery {
        let (files, failure) = match result {
            Ok(files) => (files, None),
            Err(error) => (error.downloaded_files().to_vec(), Some(Failure::from(error))),
        };
        if self.temporary.is_none() {
            files.iter().for_each(|file| note_status(session, file));
        }
        for file in &files {
            self.preview(session, &file.path);
            if self.args.open {
                open::open(session, &file.path).await;
            }
        }
        let other_extension = self.file.as_ref().and_then(|file| file.other_extension.get());
        if let Some((extension, file)) = other_extension.zip(self.file.as_ref()) {
            let name = sanitize(&file.name);
            session.printer.warn(&format!("{name} has content of another type: {extension}"));
        }
        let stored = files.into_iter().map(StoredFile::from);
        Delivery { files: self.temporary.is_none().then(|| stored.collect()), failure }
    }
}

fn note_status(session: &Session, file: &DownloadedFile) {
    let path = sanitize(&file.path.display().to_string());
    let note = match file.status {
        FileStatus::Unchanged => format!("kept {path}: it already has this content"),
        FileStatus::Renamed => format!("saved as {path}: another file has the intended name"),
        FileStatus::Replaced => format!("replaced {path}"),
        _ => return,
    };
    session.printer.note(&note);
}

/// A shell leaves `~` as it is in `--download=~/films`.
fn expand_home(path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), etcetera::home_dir()) {
        (Ok(rest), Ok(home)) => home.join(rest),
        _ => path.to_owned(),
    }
}

/// Checks it before anything is paid for or waited for. Leaves nothing behind.
fn check_writable(folder: &Path) -> Result {
    let absolute = std::path::absolute(folder)
        .map_err(|error| Failure::file("cannot write to", folder, &error))?;
    let existing = absolute.ancestors().find(|path| path.exists()).unwrap_or(&absolute);
    match tempfile::tempfile_in(existing) {
        Ok(_) => Ok(()),
        Err(error) => Err(Failure::file("cannot write to", folder, &error)),
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredFile {
    pub(crate) path: String,
    pub(crate) bytes: u64,
    /// `created`, `unchanged`, `renamed`, `replaced` or `skipped`, and empty in older journals.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) status: String,
}

impl std::fmt::Display for StoredFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({} bytes)", self.path, self.bytes)
    }
}

impl From<DownloadedFile> for StoredFile {
    fn from(file: DownloadedFile) -> Self {
        Self {
            path: file.path.display().to_string(),
            bytes: file.bytes,
            status: match file.status {
                FileStatus::Unchanged => "unchanged",
                FileStatus::Renamed => "renamed",
                FileStatus::Replaced => "replaced",
                FileStatus::Skipped => "skipped",
                _ => "created",
            }
            .to_owned(),
        }
    }
}
