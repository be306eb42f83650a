// SPDX-License-Identifier: Apache-2.0
//! Paths, folders and patterns, and the tables made from them.
//!
//! The format is determined by the extension, and is Parquet for an unknown one. A folder has the
//! format of the files in it, which must not mix several. Files are local, or at a URL of an
//! [object store](crate::object_stores).

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashMap},
    fs,
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use datafusion::{
    catalog::{Session, TableProvider, TableProviderFactory},
    common::{DFSchema, DataFusionError, TableReference},
    logical_expr::CreateExternalTable,
};
use url::Url;

use crate::{error::PathError, object_stores::check_url, parquet::TableFactory};

/// Depth to which the folders below a table's folder are searched for its format.
const FOLDER_DEPTH_MAX: u32 = 8;

/// A file format and its extensions.
struct Format {
    /// Word of `STORED AS`.
    name: &'static str,
    extensions: &'static [&'static str],
    /// Options that the extension implies.
    options: &'static [(&'static str, &'static str)],
}

static FORMATS: [Format; 5] = [
    Format { name: "PARQUET", extensions: &["parquet"], options: &[] },
    Format { name: "CSV", extensions: &["csv"], options: &[] },
    Format { name: "CSV", extensions: &["tsv"], options: &[("format.delimiter", "\t")] },
    Format { name: "JSON", extensions: &["json", "ndjson", "jsonl"], options: &[] },
    Format { name: "ARROW", extensions: &["arrow"], options: &[] },
];

/// Compressions, with the extensions that follow that of the format.
static COMPRESSIONS: [(&str, &str); 4] =
    [("gz", "GZIP"), ("bz2", "BZIP2"), ("xz", "XZ"), ("zst", "ZSTD")];

/// The extensions of one file name, as far as they are known.
#[derive(Clone, Copy)]
struct Ending {
    format: &'static Format,
    extension: &'static str,
    compression: Option<&'static str>,
}

/// Whether an unresolved table name refers to a file: it has a slash, a wildcard or one of the
/// known extensions.
pub(crate) fn looks_like_file(name: &str) -> bool {
    name.contains(['/', '*']) || ending(name).is_some()
}

/// Makes a table from a file, a folder, a pattern or a URL.
///
/// # Errors
/// [`PathError`], as an external error of DataFusion, if there is no readable file;
/// [`StoreError`](crate::error::StoreError) if a store cannot be used; otherwise DataFusion's error
/// about the contents.
pub(crate) async fn open(
    state: &dyn Session,
    name: TableReference,
    location: &str,
) -> Result<Arc<dyn TableProvider>, DataFusionError> {
    check_url(location)?;
    let ending = match location.split_once("://") {
        Some((scheme, _)) if scheme != "file" => find_ending_of_url(location),
        _ => find_ending(location),
    };
    let ending = ending.map_err(|error| DataFusionError::External(error.into()))?;
    let format = ending.map_or(&FORMATS[0], |ending| ending.format);
    let location = folder_pattern(location, ending);
    let command =
        CreateExternalTable::builder(name, location, format.name, DFSchema::empty().into())
            .with_options(options_of(format, ending))
            .build();
    TableFactory::default().create(state, &command).await
}

/// The options that a format and an extension imply.
fn options_of(format: &Format, ending: Option<Ending>) -> HashMap<String, String> {
    let of_format = format.options.iter().map(|(key, value)| ((*key).into(), (*value).into()));
    let mut options: HashMap<String, String> = of_format.collect();
    if let Some(compression) = ending.and_then(|ending| ending.compression) {
        options.insert("format.compression".to_owned(), compression.to_owned());
    }
    options
}

/// The format of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileFormat {
    /// Parquet.
    Parquet,
    /// CSV with a line of names.
    Csv,
    /// JSON, one object a line.
    Json,
}

impl FileFormat {
    /// The format that the end of a file's name says, if it is one of these.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        let format = ending(name)?.format.name;
        [Self::Parquet, Self::Csv, Self::Json].into_iter().find(|known| known.name() == format)
    }

    /// The word of `STORED AS`.
    const fn name(self) -> &'static str {
        match self {
            Self::Parquet => "PARQUET",
            Self::Csv => "CSV",
            Self::Json => "JSON",
        }
    }
}

/// Rows from which the columns of CSV and JSON are inferred.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InferFrom {
    /// The first thousand.
    #[default]
    FirstRows,
    /// All, which reads the files once more.
    AllRows,
}

/// Makes a table of files or URLs of one format, which the end of the first one's name says if it
/// is not given; Parquet for an unknown one.
///
/// # Errors
/// Those of [`open`].
pub(crate) async fn open_all(
    state: &dyn Session,
    locations: Vec<String>,
    format: Option<FileFormat>,
    infer: InferFrom,
) -> Result<Arc<dyn TableProvider>, DataFusionError> {
    let first = locations.first().cloned().unwrap_or_default();
    let ending = ending(&first);
    let found = match format {
        Some(format) => FORMATS.iter().find(|known| known.name == format.name()),
        None => ending.map(|ending| ending.format),
    };
    let found = found.unwrap_or(&FORMATS[0]);
    let mut options = options_of(found, ending);
    if infer == InferFrom::AllRows && matches!(found.name, "CSV" | "JSON") {
        options.insert("format.schema_infer_max_rec".to_owned(), usize::MAX.to_string());
    }
    let table = TableReference::bare("files");
    let command = CreateExternalTable::builder(table, first, found.name, DFSchema::empty().into())
        .with_locations(locations)
        .with_options(options)
        .build();
    TableFactory::default().create(state, &command).await
}

/// Determines the extension of the files at a URL. DataFusion lists the files.
fn find_ending_of_url(location: &str) -> Result<Option<Ending>, PathError> {
    match Url::parse(location) {
        Ok(_) => Ok(ending(location)),
        Err(_) => Err(PathError::NotLocal { url: location.to_owned() }),
    }
}

/// Returns the path of a location.
///
/// # Errors
/// [`PathError::NotLocal`] for a URL that is not of a local file.
pub(crate) fn local_path(location: &str) -> Result<Cow<'_, Path>, PathError> {
    let not_local = || PathError::NotLocal { url: location.to_owned() };
    match location.split_once("://") {
        // A URL may be percent-encoded.
        Some(("file", _)) => {
            let path = Url::parse(location).ok().and_then(|url| url.to_file_path().ok());
            Ok(Cow::Owned(path.ok_or_else(not_local)?))
        }
        Some(_) => Err(not_local()),
        None => Ok(Cow::Borrowed(Path::new(location))),
    }
}

/// The part of a path in front of its first wildcard; the whole path where it exists as it is.
pub(crate) fn fixed_part(path: &Path) -> PathBuf {
    if path.exists() {
        return path.to_owned();
    }
    let is_fixed = |part: &Component<'_>| !is_pattern(&part.as_os_str().to_string_lossy());
    let fixed: PathBuf = path.components().take_while(is_fixed).collect();
    if fixed.as_os_str().is_empty() { PathBuf::from(".") } else { fixed }
}

/// Determines the extension of the files at `location`; an error if there are none.
fn find_ending(location: &str) -> Result<Option<Ending>, PathError> {
    let path = local_path(location)?;
    let path = path.as_ref();
    if path.is_dir() {
        let mut endings = Vec::new();
        collect_endings(path, 0, &mut endings);
        let formats: BTreeSet<&'static str> =
            endings.iter().map(|ending| ending.format.extensions[0]).collect();
        return match (endings.first(), formats.len()) {
            (None, _) => Err(PathError::Empty(path.to_owned())),
            (Some(ending), 1) => Ok(Some(*ending)),
            (Some(_), _) => Err(PathError::Mixed {
                path: path.to_owned(),
                formats: formats.into_iter().collect(),
            }),
        };
    }
    if !path.exists() {
        return if is_pattern(location) { check_pattern(path) } else { Err(not_found(path)) };
    }
    Ok(ending(location))
}

fn not_found(path: &Path) -> PathError {
    PathError::NotFound(path.to_owned())
}

/// Checks that the folder in front of the first wildcard exists; DataFusion lists the matching
/// files.
fn check_pattern(path: &Path) -> Result<Option<Ending>, PathError> {
    let fixed = fixed_part(path);
    if !fixed.is_dir() {
        return Err(not_found(&fixed));
    }
    Ok(ending(&path.to_string_lossy()))
}

fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// Returns a pattern for the files of a folder if their extension is not the one that DataFusion
/// expects of their format.
fn folder_pattern(location: &str, ending: Option<Ending>) -> String {
    let Some(ending) = ending else {
        return location.to_owned();
    };
    let usual = ending.extension == ending.format.name.to_ascii_lowercase();
    if usual || !Path::new(location).is_dir() {
        return location.to_owned();
    }
    let suffix = ending.compression.map_or_else(String::new, |compression| {
        let known = COMPRESSIONS.iter().find(|(_, name)| *name == compression);
        known.map_or_else(String::new, |(extension, _)| format!(".{extension}"))
    });
    format!("{}/*.{}{suffix}", location.trim_end_matches('/'), ending.extension)
}

fn collect_endings(folder: &Path, depth: u32, endings: &mut Vec<Ending>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        // Writers leave such files beside the data: _SUCCESS, .crc, temporary parts.
        if name.starts_with(['.', '_']) {
            continue;
        }
        let path = entry.path();
        if path.is_dir() {
            if depth < FOLDER_DEPTH_MAX {
                collect_endings(&path, depth + 1, endings);
            }
        } else {
            endings.extend(ending(&name));
        }
    }
}

/// Parses the known extensions at the end of a name.
fn ending(name: &str) -> Option<Ending> {
    let lower = name.to_ascii_lowercase();
    let (stem, compression) = COMPRESSIONS
        .iter()
        .find_map(|(extension, name)| {
            let stem = lower.strip_suffix(extension)?.strip_suffix('.')?;
            Some((stem, Some(*name)))
        })
        .unwrap_or((lower.as_str(), None));
    FORMATS.iter().find_map(|format| {
        let extension = format.extensions.iter().find(|extension| {
            stem.strip_suffix(**extension).is_some_and(|rest| rest.ends_with('.'))
        })?;
        Some(Ending { format, extension, compression })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("a.parquet", "PARQUET", None)]
    #[case("dir/A.PARQUET", "PARQUET", None)]
    #[case("a.csv.gz", "CSV", Some("GZIP"))]
    #[case("a.b.tsv", "CSV", None)]
    #[case("a.jsonl.zst", "JSON", Some("ZSTD"))]
    fn parses_known_extensions(
        #[case] name: &str,
        #[case] format: &str,
        #[case] compression: Option<&str>,
    ) {
        let ending = ending(name).unwrap();
        assert_eq!((ending.format.name, ending.compression), (format, compression));
    }

    #[rstest]
    #[case("lineitem", false)]
    #[case("csv", false)]
    #[case("schema.table", false)]
    #[case("lineitem.parquet", true)]
    #[case("data/lineitem", true)]
    #[case("s3://bucket/key", true)]
    #[case("*", true)]
    fn distinguishes_files_from_tables(#[case] name: &str, #[case] is_file: bool) {
        assert_eq!(looks_like_file(name), is_file);
    }

    #[test]
    fn folder_takes_the_format_of_its_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let location = path.to_str().unwrap();
        assert_eq!(find_ending(location).err(), Some(PathError::Empty(path.to_owned())));
        for name in ["_SUCCESS", ".a.csv", "readme"] {
            fs::write(path.join(name), "").unwrap();
        }
        assert_eq!(find_ending(location).err(), Some(PathError::Empty(path.to_owned())));
        fs::create_dir(path.join("year=2020")).unwrap();
        fs::write(path.join("year=2020/a.parquet"), "").unwrap();
        assert_eq!(find_ending(location).unwrap().unwrap().extension, "parquet");
        fs::write(path.join("b.csv"), "").unwrap();
        let mixed = PathError::Mixed { path: path.to_owned(), formats: vec!["csv", "parquet"] };
        assert_eq!(find_ending(location).err(), Some(mixed));
    }

    #[test]
    fn error_names_the_missing_path() {
        let missing = |path: &str| Some(PathError::NotFound(path.into()));
        assert_eq!(find_ending("/no/such.parquet").err(), missing("/no/such.parquet"));
        assert_eq!(find_ending("/no/such/*.parquet").err(), missing("/no/such"));
        let url = "s3://bucket/a.parquet".to_owned();
        assert_eq!(find_ending(&url).err(), Some(PathError::NotLocal { url }));
    }
}
