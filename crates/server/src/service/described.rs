//! What a question's answer will look like, for those who must know it before they ask.

use super::{QueryRequest, Service, allowed};
use crate::access::{Person, Role};
use crate::refusal::Refusal;
use scumble_engine::kinds::{ColumnKind, PublishedColumn, columns_of, parameters};
use scumble_engine::project::Request;
use std::sync::Arc;

impl Service {
    /// The columns of the answer to a question, those for errors among them. Charges nothing and touches no data.
    pub(crate) async fn columns(
        self: &Arc<Self>,
        person: &Person,
        question: &QueryRequest,
    ) -> Result<Vec<PublishedColumn>, Refusal> {
        allowed(person, Role::Analyst)?;
        let (person, question) = (person.clone(), question.clone());
        self.at_work(move |service| {
            let request = Request::sql("plan", &question.sql, &question.cost)?;
            let planned = service.runner(&person, None).plan(&request)?;
            Ok(planned.columns()?.unwrap_or_default())
        })
        .await
    }

    /// The same, whatever values its conditions have.
    pub(crate) async fn columns_of(
        self: &Arc<Self>,
        person: &Person,
        sql: &str,
    ) -> Result<Vec<PublishedColumn>, Refusal> {
        allowed(person, Role::Analyst)?;
        let sql = sql.to_string();
        self.at_work(move |service| Ok(columns_of(&sql, &service.project)?)).await
    }

    /// The words of a question's cost, with the scope that the project gives it.
    pub(crate) fn words_of_cost(&self, question: &QueryRequest) -> String {
        self.project.cost_with_scope(&question.cost).to_string()
    }

    /// The types of the parameters `$1`, `$2` … of a query, as far as it determines them.
    pub(crate) async fn parameters(
        self: &Arc<Self>,
        person: &Person,
        sql: &str,
    ) -> Result<Vec<Option<ColumnKind>>, Refusal> {
        allowed(person, Role::Analyst)?;
        let sql = sql.to_string();
        self.at_work(move |service| Ok(parameters(&sql, &service.project)?)).await
    }
}
