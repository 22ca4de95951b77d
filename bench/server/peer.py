"""The same count through OpenDP behind FastAPI: `/count?age=N` with a token, each with a budget's share of its own. No ledger, no stored answers."""

import os

import opendp.prelude as dp
import polars as pl
from fastapi import FastAPI, Header, HTTPException

dp.enable_features("contrib")
app = FastAPI()
context = dp.Context.compositor(
    data=pl.scan_csv(os.environ["PEOPLE"]),
    privacy_unit=dp.unit_of(contributions=1),
    privacy_loss=dp.loss_of(epsilon=100.0),
    split_evenly_over=10_000,
)


@app.get("/count")
def count(age: int, authorization: str = Header()):
    if authorization != "Bearer token":
        raise HTTPException(401)
    query = context.query().filter(pl.col("age") >= age).select(dp.len())
    return {"n": query.release().collect().item()}
