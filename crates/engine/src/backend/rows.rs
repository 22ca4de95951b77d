//! The rows of a table's files, as a table of DataFusion.
//!
//! Each file is read with its own column names, so that the order of columns may differ between files. A CSV file is never split between
//! processors: where a quoted text holds line breaks, nobody can tell from the middle of a file whether a line break ends a row.
//! No statistics of a file are used: every query reads the same rows.

use super::files::{DataFile, Form, real_path};
use crate::error::{Error, Result};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::config::{CsvOptions, TableParquetOptions};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, project_schema};
use datafusion::datasource::TableType;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::object_store::ObjectStoreUrl;
use datafusion::datasource::physical_plan::{CsvSource, FileGroup, FileScanConfigBuilder, FileSource, ParquetSource};
use datafusion::datasource::source::DataSourceExec;
use datafusion::error::DataFusionError;
use datafusion::logical_expr::Expr;
use datafusion::object_store::path::Path as StorePath;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::union::UnionExec;
use datafusion::prelude::ident;
use futures::future::BoxFuture;
use std::path::Path;
use std::sync::Arc;

/// So many cells are read at once.
const BATCH_CELLS: usize = 1 << 22;

type Outcome<T> = std::result::Result<T, DataFusionError>;

/// The declared columns of some files.
#[derive(Debug)]
pub(crate) struct Rows {
    schema: SchemaRef,
    parts: Vec<Part>,
}

impl Rows {
    /// Files whose columns are those of `schema`, in its order and types.
    pub fn new(schema: Schema, parts: Vec<Part>) -> Self {
        Self { schema: Arc::new(schema), parts }
    }
}

/// One file, and how its columns become the declared ones.
#[derive(Debug)]
pub(crate) struct Part {
    file: DataFile,
    /// What DataFusion calls it.
    location: StorePath,
    /// The columns as they are read: all of a CSV file, the declared ones of a Parquet file.
    fields: Vec<Field>,
    /// For each declared column, which of `fields` it is.
    places: Vec<usize>,
    /// For each declared column, its value.
    values: Vec<Expr>,
}

impl Part {
    /// A file of this many columns, none of which has been declared yet.
    pub fn new(file: &DataFile, width: usize) -> Result<Self> {
        // The columns of a CSV file have their places as names: those in the file may be anything.
        let fields = match file.form {
            Form::Csv => (0..width).map(|place| Field::new(place.to_string(), DataType::Utf8, true)).collect(),
            Form::Parquet => Vec::new(),
        };
        let location = StorePath::from_absolute_path(real_path(&file.path)?).map_err(|_| {
            Error::input(format!("the path {} has letters that cannot be read: rename it", file.path.display()))
        })?;
        Ok(Self { file: file.clone(), location, fields, places: Vec::new(), values: Vec::new() })
    }

    /// The next declared column: the file's column at `place`, called `name`, which is read as `kind`; `value` is what becomes of it.
    pub fn push(&mut self, place: usize, name: &str, kind: DataType, value: impl FnOnce(Expr, &DataType) -> Expr) {
        let field = match self.file.form {
            Form::Csv => {
                self.fields[place] = Field::new(place.to_string(), kind.clone(), true);
                place
            }
            Form::Parquet => {
                self.fields.push(Field::new(name, kind.clone(), true));
                self.fields.len() - 1
            }
        };
        self.values.push(value(ident(self.fields[field].name()), &kind).alias(name));
        self.places.push(field);
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.file.path
    }

    /// The types in which the declared columns are read.
    pub fn kinds(&self) -> impl Iterator<Item = &DataType> {
        self.places.iter().map(|&place| self.fields[place].data_type())
    }

    /// Whether one scan can read both files.
    fn is_like(&self, other: &Self) -> bool {
        self.fields == other.fields && self.places == other.places
    }

    fn source(&self) -> Arc<dyn FileSource> {
        let schema = Arc::new(Schema::new(self.fields.clone()));
        match self.file.form {
            Form::Csv => {
                let options =
                    CsvOptions { has_header: Some(true), newlines_in_values: Some(true), ..CsvOptions::default() };
                Arc::new(CsvSource::new(schema).with_csv_options(options))
            }
            Form::Parquet => {
                let mut options = TableParquetOptions::default();
                options.global.pruning = false;
                options.global.enable_page_index = false;
                options.global.bloom_filter_on_read = false;
                Arc::new(ParquetSource::new(schema).with_table_parquet_options(options))
            }
        }
    }

    fn listed(&self) -> Outcome<PartitionedFile> {
        let mut file = PartitionedFile::new("", std::fs::metadata(&self.file.path)?.len());
        file.object_meta.location = self.location.clone();
        Ok(file)
    }

    /// Rows are cut into batches: as many as usual, or fewer where a row is so wide that they would fill the memory.
    fn batch_size(&self, usual: usize) -> usize {
        (BATCH_CELLS / self.fields.len().max(1)).clamp(16, usual.max(16)).min(usual)
    }

    /// The declared columns `wanted` of files that are all like this one.
    fn scan(&self, state: &dyn Session, files: Vec<FileGroup>, wanted: &[usize]) -> Outcome<Arc<dyn ExecutionPlan>> {
        let read = wanted.iter().map(|&column| self.places[column]).collect();
        let config = FileScanConfigBuilder::new(ObjectStoreUrl::local_filesystem(), self.source())
            .with_file_groups(files)
            .with_batch_size(Some(self.batch_size(state.config().batch_size())))
            .with_projection_indices(Some(read))?
            .build();
        let scan: Arc<dyn ExecutionPlan> = DataSourceExec::from_data_source(config);
        if wanted.is_empty() {
            return Ok(scan);
        }
        let values = wanted.iter().enumerate().map(|(place, &column)| self.value(state, column, place));
        Ok(Arc::new(ProjectionExec::try_new(values.collect::<Outcome<Vec<_>>>()?, scan)?))
    }

    /// A declared column with its name, where the column that it is made from is at `place`.
    fn value(&self, state: &dyn Session, column: usize, place: usize) -> Outcome<(Arc<dyn PhysicalExpr>, String)> {
        let name = self.values[column].schema_name().to_string();
        // Planned on its one column, so that no time is spent on looking for it among many.
        let input = DFSchema::try_from(Schema::new(vec![self.fields[self.places[column]].clone()]))?;
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

impl Rows {
    fn plan(&self, state: &dyn Session, projection: Option<&Vec<usize>>) -> Outcome<Arc<dyn ExecutionPlan>> {
        let wanted = projection.cloned().unwrap_or_else(|| (0..self.schema.fields().len()).collect());
        let mut alike: Vec<(&Part, Vec<PartitionedFile>)> = Vec::new();
        for part in &self.parts {
            let file = part.listed()?;
            match alike.iter_mut().find(|(first, _)| first.is_like(part)) {
                Some((_, files)) => files.push(file),
                None => alike.push((part, vec![file])),
            }
        }
        let partitions = state.config().target_partitions();
        let scans = alike
            .into_iter()
            .map(|(part, files)| part.scan(state, FileGroup::new(files).split_files(partitions), &wanted));
        let mut scans = scans.collect::<Outcome<Vec<_>>>()?;
        match scans.len() {
            0 => Ok(Arc::new(EmptyExec::new(project_schema(&self.schema, projection)?))),
            1 => Ok(scans.remove(0)),
            _ => UnionExec::try_new(scans),
        }
    }
}

impl TableProvider for Rows {
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
    ) -> BoxFuture<'async_trait, Outcome<Arc<dyn ExecutionPlan>>>
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
