//! The rows of a table's files, as a table of DataFusion.
//!
//! Each file is read with its own column names, so that the order of columns may differ between files. A text file is
//! never split between processors: where a quoted text holds line breaks, nobody can tell from the middle of a file
//! whether a line break ends a row. No statistics of a file are used: every query reads the same rows. Parquet is read
//! by DataFusion, everything else by `text`.

use super::files::{DataFile, FileFormat, real_path};
use super::text::TextFiles;
use super::value::WantedType;
use crate::error::{DataFusionResult, Error, Result};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::config::TableParquetOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, ScalarValue, project_schema};
use datafusion::datasource::TableType;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::object_store::ObjectStoreUrl;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfigBuilder, ParquetSource};
use datafusion::datasource::source::DataSourceExec;
use datafusion::logical_expr::{Expr, lit};
use datafusion::object_store::path::Path as StorePath;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use datafusion::physical_plan::union::UnionExec;
use datafusion::prelude::ident;
use futures::future::BoxFuture;
use std::path::Path;
use std::sync::Arc;

/// This many cells are read at once.
const BATCH_CELLS: usize = 1 << 22;
/// Parquet files are read in pieces, about so many for each stream: streams take one after the other from a common
/// list, and end at about the same time.
const PIECES: u64 = 16;
/// Smaller pieces are not worth opening a file for.
const SMALLEST_PIECE: u64 = 4 << 20;

/// The declared columns of some files.
#[derive(Debug)]
pub(crate) struct FileRows {
    schema: SchemaRef,
    parts: Vec<FilePart>,
}

impl FileRows {
    /// Files whose columns are those of `schema`, in its order and types.
    pub fn new(schema: Schema, parts: Vec<FilePart>) -> Self {
        Self { schema: Arc::new(schema), parts }
    }
}

/// One file, and how its columns become the declared ones.
#[derive(Debug)]
pub(crate) struct FilePart {
    file: DataFile,
    /// What DataFusion calls it.
    location: StorePath,
    /// The declared columns as they are read.
    fields: Vec<Field>,
    /// For each declared column, which of the file's it is.
    places: Vec<usize>,
    /// For each declared column, what a text file must hold there.
    wanted: Vec<WantedType>,
    /// For each declared column, its value.
    values: Vec<Expr>,
    /// For each declared column, its one value in all rows, where the file's folder says it.
    constants: Vec<Option<ScalarValue>>,
}

impl FilePart {
    /// A file, none of whose columns has been declared yet.
    pub fn new(file: &DataFile) -> Result<Self> {
        let location = match file.form {
            FileFormat::Memory => StorePath::default(),
            _ => StorePath::from_absolute_path(real_path(&file.path)?).map_err(|_| {
                Error::input(format!("the path {} has characters that cannot be read: rename it", file.path.display()))
            })?,
        };
        let (fields, places, wanted) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { file: file.clone(), location, fields, places, wanted, values: Vec::new(), constants: Vec::new() })
    }

    /// The next declared column: the file's column at `place`, called `name`, which is read as `kind` and, from text
    /// files, is what is wanted; `value` is what becomes of it.
    pub fn push(
        &mut self,
        place: usize,
        name: &str,
        (kind, wanted): (DataType, WantedType),
        value: impl FnOnce(Expr, &DataType) -> Expr,
    ) {
        let value = value(ident(name), &kind);
        self.declare(name, (place, kind, wanted), value, None);
    }

    fn declare(
        &mut self,
        name: &str,
        (place, kind, wanted): (usize, DataType, WantedType),
        value: Expr,
        constant: Option<ScalarValue>,
    ) {
        self.fields.push(Field::new(name, kind, true));
        self.places.push(place);
        self.wanted.push(wanted);
        self.values.push(value.alias(name));
        self.constants.push(constant);
    }

    /// The next declared column, where all rows of the file have one value.
    pub fn push_constant(&mut self, name: &str, constant: ScalarValue, value: impl FnOnce(Expr) -> Expr) {
        let (value, kind) = (value(lit(constant.clone())), constant.data_type());
        self.declare(name, (usize::MAX, kind, WantedType::Text), value, Some(constant));
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.file.path
    }

    /// The types in which the declared columns are read.
    pub fn kinds(&self) -> impl Iterator<Item = &DataType> {
        self.fields.iter().map(Field::data_type)
    }

    /// Whether one scan can read both files.
    fn is_like(&self, other: &Self) -> bool {
        self.fields == other.fields
            && self.places == other.places
            && self.wanted == other.wanted
            && self.constants == other.constants
    }

    fn listed(&self) -> DataFusionResult<PartitionedFile> {
        let mut file = PartitionedFile::new("", std::fs::metadata(&self.file.path)?.len());
        file.object_meta.location = self.location.clone();
        Ok(file)
    }

    /// Rows are cut into batches: as many as usual, or fewer where a row is so wide that they would fill the memory.
    fn batch_size(&self, usual: usize) -> usize {
        (BATCH_CELLS / self.fields.len().max(1)).clamp(16, usual.max(16)).min(usual)
    }

    /// The declared columns `wanted` of files that are all like this one.
    fn scan(&self, state: &dyn Session, files: &[&Self], wanted: &[usize]) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        let partitions = state.config().target_partitions();
        let batch = self.batch_size(state.config().batch_size());
        let read: Vec<usize> = wanted.iter().copied().filter(|column| self.constants[*column].is_none()).collect();
        let scan = match self.file.form {
            FileFormat::Parquet => self.parquet(files, &read, partitions, batch)?,
            _ => self.streams(files, &read, partitions, batch)?,
        };
        if wanted.is_empty() {
            return Ok(scan);
        }
        // A constant reads no column, wherever that would be.
        let place = |column: usize| read.iter().position(|other| *other == column).unwrap_or(0);
        let values = wanted.iter().map(|&column| self.value(state, column, place(column)));
        Ok(Arc::new(ProjectionExec::try_new(values.collect::<DataFusionResult<Vec<_>>>()?, scan)?))
    }

    fn parquet(
        &self,
        files: &[&Self],
        wanted: &[usize],
        partitions: usize,
        batch: usize,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        let mut options = TableParquetOptions::default();
        options.global.pruning = false;
        options.global.enable_page_index = false;
        options.global.bloom_filter_on_read = false;
        let schema = Arc::new(Schema::new(self.fields.clone()));
        let source = ParquetSource::new(schema).with_table_parquet_options(options);
        let listed = files.iter().map(|part| part.listed()).collect::<DataFusionResult<Vec<_>>>()?;
        let config = FileScanConfigBuilder::new(ObjectStoreUrl::local_filesystem(), Arc::new(source))
            .with_file_groups(FileGroup::new(pieces(listed, partitions)).split_files(partitions))
            .with_batch_size(Some(batch))
            .with_projection_indices(Some(wanted.to_vec()))?
            .build();
        Ok(DataSourceExec::from_data_source(config))
    }

    /// The files in as many streams as can run at once.
    fn streams(
        &self,
        files: &[&Self],
        wanted: &[usize],
        partitions: usize,
        batch: usize,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        let schema =
            Arc::new(Schema::new(wanted.iter().map(|&column| self.fields[column].clone()).collect::<Vec<_>>()));
        let places: Vec<usize> = wanted.iter().map(|&column| self.places[column]).collect();
        let kinds: Vec<WantedType> = wanted.iter().map(|&column| self.wanted[column]).collect();
        let streams = files.chunks(files.len().div_ceil(partitions.max(1)).max(1)).map(|chunk| {
            let files = chunk.iter().map(|part| part.file.clone()).collect();
            let (schema, places, wanted) = (schema.clone(), places.clone(), kinds.clone());
            Arc::new(TextFiles { schema, files, places, wanted, batch }) as Arc<dyn PartitionStream>
        });
        let scan = StreamingTableExec::try_new(schema.clone(), streams.collect(), None, [], false, None)?;
        Ok(Arc::new(scan))
    }

    /// A declared column with its name, where the column that it is made from is at `place`.
    fn value(
        &self,
        state: &dyn Session,
        column: usize,
        place: usize,
    ) -> DataFusionResult<(Arc<dyn PhysicalExpr>, String)> {
        let name = self.values[column].schema_name().to_string();
        // Planned on its one column, so that no time is spent on looking for it among many.
        let input = DFSchema::try_from(Schema::new(vec![self.fields[column].clone()]))?;
        let value = state.create_physical_expr(self.values[column].clone(), &input)?;
        let placed = value.transform(|part| {
            Ok(match part.downcast_ref::<Column>() {
                Some(column) => Transformed::yes(Arc::new(Column::new(column.name(), place)) as Arc<dyn PhysicalExpr>),
                None => Transformed::no(part),
            })
        })?;
        Ok((placed.data, name))
    }
}

/// The files in ranges of bytes; the rows of a range are those whose group of rows begins in it.
fn pieces(files: Vec<PartitionedFile>, streams: usize) -> Vec<PartitionedFile> {
    let whole: u64 = files.iter().map(|file| file.object_meta.size).sum();
    let largest = (whole / (PIECES * streams.max(1) as u64)).max(SMALLEST_PIECE);
    let cut = |file: PartitionedFile| {
        let (size, count) = (file.object_meta.size, file.object_meta.size.div_ceil(largest).max(1));
        let end = move |piece: u64| (u128::from(size) * u128::from(piece) / u128::from(count)) as i64;
        (0..count).map(move |piece| file.clone().with_range(end(piece), end(piece + 1)))
    };
    files.into_iter().flat_map(cut).collect()
}

impl FileRows {
    fn plan(&self, state: &dyn Session, projection: Option<&Vec<usize>>) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        let wanted = projection.cloned().unwrap_or_else(|| (0..self.schema.fields().len()).collect());
        let mut alike: Vec<Vec<&FilePart>> = Vec::new();
        for part in &self.parts {
            match alike.iter_mut().find(|files| files[0].is_like(part)) {
                Some(files) => files.push(part),
                None => alike.push(vec![part]),
            }
        }
        let scans = alike.iter().map(|files| files[0].scan(state, files, &wanted));
        let mut scans = scans.collect::<DataFusionResult<Vec<_>>>()?;
        match scans.len() {
            0 => Ok(Arc::new(EmptyExec::new(project_schema(&self.schema, projection)?))),
            1 => Ok(scans.remove(0)),
            _ => UnionExec::try_new(scans),
        }
    }
}

impl TableProvider for FileRows {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn scan<'life0, 'life1, 'life2, 'life3, 'async_trait>(
        &'life0 self,
        state: &'life1 dyn Session,
        projection: Option<&'life2 Vec<usize>>,
        _filters: &'life3 [Expr],
        _limit: Option<usize>,
    ) -> BoxFuture<'async_trait, DataFusionResult<Arc<dyn ExecutionPlan>>>
    where
        'life0: 'async_trait,
        'life1: 'async_trait,
        'life2: 'async_trait,
        'life3: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(std::future::ready(self.plan(state, projection)))
    }
}
