"""In the transaction of a SQLAlchemy session."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import func
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from shop.orders import ENQUEUE, NewOrder, PlacedOrder, confirmation_of


class Base(DeclarativeBase):
    """The shop's tables."""


class Order(Base):
    """A row of `shop.orders`."""

    __tablename__ = "orders"
    __table_args__ = {"schema": "shop"}  # noqa: RUF012  # SQLAlchemy's own way to say so

    id: Mapped[UUID] = mapped_column(server_default=func.uuidv7(), primary_key=True)
    org_id: Mapped[UUID]
    buyer: Mapped[str]
    total_cents: Mapped[int]
    placed_at: Mapped[datetime] = mapped_column(server_default=func.now())
    confirmed_at: Mapped[datetime | None]


def place(session: Session, org_id: UUID, asked: NewOrder) -> PlacedOrder:
    """Add the order and its job to the session's transaction, which the caller commits or rolls back."""
    order = Order(org_id=org_id, buyer=asked.buyer, total_cents=asked.total_cents)
    session.add(order)
    session.flush()  # for the order's id
    job_id = session.connection().exec_driver_sql(ENQUEUE, confirmation_of(order.id, org_id)).scalar_one()
    return PlacedOrder(order_id=order.id, job_id=str(job_id))
