"""The example's five ways to enqueue, on a fleet that has its package: one job where the order is, and none else."""

import json
from uuid import UUID, uuid4

import httpx2
import psycopg
from celery import Celery
from sqlalchemy import create_engine
from sqlalchemy.orm import Session

from shop.orders import PLACE, NewOrder
from shop.ways import by_celery, by_http, by_psycopg, by_sqlalchemy
from tests.examples.shop.running_shop import Shop
from tests.house.reading import ROOT
from tests.servers.python_processes import run_python
from tests.waiting import eventually

ASKED = NewOrder(buyer="Ada", total_cents=1250)


def place_alone(service: psycopg.Connection, shop: Shop) -> UUID:
    """An order that is committed, and of which no job knows yet."""
    ((order_id,),) = service.execute(PLACE, {"org_id": shop.org_id, **ASKED.model_dump()}).fetchall()
    service.commit()
    return UUID(str(order_id))


def test_a_sqlalchemy_session_has_the_job_with_the_order_or_neither(shop: Shop) -> None:
    engine = create_engine(shop.sqlalchemy_url)
    with Session(engine) as session:
        undone = by_sqlalchemy.place(session, shop.org_id, ASKED)
        session.rollback()
        done = by_sqlalchemy.place(session, shop.org_id, ASKED)
        session.commit()
    engine.dispose()
    assert shop.jobs_of(undone.order_id) == []
    assert list(map(str, shop.jobs_of(done.order_id))) == [done.job_id]
    assert shop.wait_for_invoice(done.order_id) == f"S-{str(done.order_id)[-12:].upper()}"


def test_a_transaction_of_psycopg_has_the_job_with_the_order_or_neither(
    shop: Shop, service: psycopg.Connection
) -> None:
    undone = by_psycopg.place(service, shop.org_id, ASKED)
    service.rollback()
    done = by_psycopg.place(service, shop.org_id, ASKED)
    assert shop.jobs_of(done.order_id) == []  # nobody sees it before the commit
    service.commit()
    assert shop.jobs_of(undone.order_id) == []
    assert list(map(str, shop.jobs_of(done.order_id))) == [done.job_id]
    assert shop.wait_for_invoice(done.order_id)


def test_djangos_atomic_has_the_job_with_the_order_or_neither(shop: Shop) -> None:
    words = ("tests.examples.shop.django_program", shop.conninfo, str(shop.org_id))
    status, said = run_python(*words, folder=ROOT, environment={"PYTHONPATH": "examples/shop"})
    assert status == 0, said
    done = json.loads(said)
    assert shop.orders_of("Undecided by Django") == []
    order_id = UUID(done["order_id"])
    assert shop.orders_of("Django") == [order_id]
    assert list(map(str, shop.jobs_of(order_id))) == [done["job_id"]]
    assert shop.fleet.ask("select count(*) from jobs where job_type = 'orders.confirm' and org_id = %s", shop.org_id)
    assert shop.wait_for_invoice(order_id)


def test_by_http_an_order_is_confirmed_once_however_often_it_is_asked_for(
    shop: Shop, service: psycopg.Connection
) -> None:
    order_id = place_alone(service, shop)
    url = shop.serve("gateway", path="/healthz")
    with httpx2.Client(base_url=url, headers={"Authorization": f"Bearer {shop.make_key()}"}) as client:
        asked = [by_http.confirm(client, order_id) for _ in range(2)]
        assert asked == [str(job_id) for job_id in shop.jobs_of(order_id)] * 2
        assert shop.wait_for_invoice(order_id)
        shown = client.get(f"/v1/jobs/{asked[0]}").json()
        assert (shown["job_type"], shown["output"]["buyer"]) == ("orders.confirm", "Ada")
        listed = client.get("/v1/jobs", params={"job_type": "orders.confirm", "limit": 100}).json()
        assert asked[0] in {one["job_id"] for one in listed["jobs"]}
        refused = client.post("/v1/jobs", json={"job_type": "orders.confirm", "payload": {"order": 1}})
        assert (refused.status_code, refused.json()["field"]) == (422, "payload.order_id")
        described = client.get("/v1/openapi.json").json()
        assert "payload.invoices.make" in described["components"]["schemas"]


def test_a_celery_client_needs_none_of_the_fleets_code(shop: Shop, service: psycopg.Connection) -> None:
    order_id = place_alone(service, shop)
    with Celery("shop", broker=shop.fleet.broker_url) as app:
        for _ in range(2):
            by_celery.confirm(app, shop.org_id, order_id)
        eventually(lambda: shop.jobs_of(order_id), within=60, describe="the job")
    assert shop.wait_for_invoice(order_id)
    assert len(shop.jobs_of(order_id)) == 1


def test_the_shops_api_places_an_order_that_is_confirmed_by_a_job(shop: Shop) -> None:
    environment = {"SHOP_DATABASE_URL": shop.sqlalchemy_url, "SHOP_ORG_ID": str(shop.org_id)}
    url = shop.serve("uvicorn", "shop.app:from_environment", "--factory", path=f"/orders/{uuid4()}", **environment)
    placed = httpx2.post(f"{url}/orders", json=ASKED.model_dump())
    assert placed.status_code == httpx2.codes.CREATED
    order_id = placed.json()["order_id"]
    shop.wait_for_invoice(UUID(order_id))
    shown = httpx2.get(f"{url}/orders/{order_id}").json()
    assert shown == {"order_id": order_id, "total_cents": ASKED.total_cents, "confirmed": True}
    assert httpx2.post(f"{url}/orders", json={"buyer": "", "total_cents": 0}).status_code == 422


def test_an_order_that_is_not_there_fails_its_job_with_the_reason(shop: Shop) -> None:
    order_id = uuid4()
    query = "select postroom.enqueue('orders.confirm', %s, jsonb_build_object('order_id', %s::uuid))"
    ((job_id,),) = shop.fleet.ask(query, shop.org_id, order_id)
    assert shop.fleet.wait_for_end([job_id]) == {"failed": 1}
    ((reason,),) = shop.fleet.ask("select error ->> 'reason' from jobs where id = %s", job_id)
    assert reason == f"there is no order {order_id}"


def test_a_handler_sees_no_order_of_another_org(shop: Shop, service: psycopg.Connection) -> None:
    other = "00000000-0000-7000-8000-000000000001"
    ((order_id,),) = service.execute(PLACE, {"org_id": other, **ASKED.model_dump()}).fetchall()
    service.commit()
    ((job_id,),) = shop.fleet.ask(
        "select postroom.enqueue('orders.confirm', %s, jsonb_build_object('order_id', %s::uuid))",
        shop.org_id,
        order_id,
    )
    assert shop.fleet.wait_for_end([job_id]) == {"failed": 1}
    assert shop.fleet.ask("select confirmed_at from shop.orders where id = %s", order_id) == [(None,)]
