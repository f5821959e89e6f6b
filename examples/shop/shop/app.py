"""The shop's HTTP API: `uvicorn shop.app:from_environment --factory`."""

import os
from uuid import UUID

from fastapi import FastAPI, HTTPException
from pydantic import BaseModel
from sqlalchemy import Engine, create_engine
from sqlalchemy.orm import Session

from shop.orders import NewOrder, PlacedOrder
from shop.ways.by_sqlalchemy import Order, place


class OrderView(BaseModel):
    """An order as its buyer sees it."""

    order_id: UUID
    total_cents: int
    confirmed: bool


def create(engine: Engine, org_id: UUID) -> FastAPI:
    """The API on a database, for the shop that is this org in Postroom."""
    app = FastAPI(title="Shop")

    @app.post("/orders", status_code=201)
    def place_order(asked: NewOrder) -> PlacedOrder:
        """Place an order; its confirmation is a job, so that the buyer waits for neither."""
        with Session(engine) as session, session.begin():
            return place(session, org_id, asked)

    @app.get("/orders/{order_id}")
    def show_order(order_id: UUID) -> OrderView:
        """Show an order."""
        with Session(engine) as session:
            found = session.get(Order, order_id)
            if found is None:
                raise HTTPException(404, f"there is no order {order_id}")
            is_confirmed = found.confirmed_at is not None
            return OrderView(order_id=order_id, total_cents=found.total_cents, confirmed=is_confirmed)

    return app


def from_environment() -> FastAPI:
    """The API by `SHOP_DATABASE_URL`, a URL of SQLAlchemy's, and `SHOP_ORG_ID`."""
    return create(create_engine(os.environ["SHOP_DATABASE_URL"]), UUID(os.environ["SHOP_ORG_ID"]))
