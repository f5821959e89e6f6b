"""The example's page runs as it is written: the fleet with its package, its tables, its service, an order."""

import json
import re

from sandbox.servers.free_port import find_free_port
from tests.house.reading import ROOT
from tests.recipes.machine import Machine
from tests.waiting import eventually
from tests.written_pages import Page

PAGE = Page(ROOT / "examples" / "shop" / "README.md")
ENDS_WITHIN_S = 120.0


def test_the_shop_takes_an_order_whose_job_succeeds(reader: Machine) -> None:
    export, up, environment, tables, orgs = PAGE.code("sh")[0].splitlines()
    reader.exports += f"\n{export}"
    reader.do(up)
    reader.exports += f"\n{environment}"
    reader.do(tables)
    (org, *_) = json.loads(reader.do(f"{orgs} --json"))
    (host,) = re.findall(r"@([^/]+)/", reader.do('printf %s "$POSTROOM_DATABASE_URL"'))
    port = str(find_free_port())
    export, serve, order, jobs = PAGE.code("sh")[1].replace("8080", port).splitlines()
    reader.exports += "\n" + export.replace("…", str(org["org_id"])).replace("HOST", host)
    reader.start(serve.removesuffix(" &"))
    eventually(lambda: '"order_id"' in reader.run(order)[1], within=ENDS_WITHIN_S, describe="the shop to take an order")
    eventually(
        lambda: "succeeded" in {one["state"] for one in json.loads(reader.do(f"{jobs} --json"))},
        within=ENDS_WITHIN_S,
        describe="its confirmation",
    )
    reader.do("make down")
