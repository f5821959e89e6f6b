"""A key that cannot be one is refused before anything is sent, and not shown."""

import httpx
import pytest
from postroom_client import AsyncClient, Client, Invalid, Unauthorised

SECRET = "pr_abcdefgh_SECRET"


def answer(request: httpx.Request) -> httpx.Response:
    return httpx.Response(401, json={"code": "unauthorized", "reason": request.headers["Authorization"]})


@pytest.mark.parametrize("client", [Client, AsyncClient])
@pytest.mark.parametrize("key", ["", " ", f"{SECRET}\nX-Other: 1", f"{SECRET}\x00", f"{SECRET}é"])
def test_a_key_that_no_head_carries_is_refused_without_it(client: type[Client | AsyncClient], key: str) -> None:
    with pytest.raises(Invalid) as refused:
        client("http://gateway", key)
    assert refused.value.field == "api_key"
    assert SECRET not in str(refused.value)


def test_the_end_of_a_line_is_no_part_of_a_key() -> None:
    with (
        httpx.Client(transport=httpx.MockTransport(answer)) as http,
        Client("http://gateway", f"{SECRET}\n", http=http) as client,
        pytest.raises(Unauthorised, match=f"Bearer {SECRET}$"),
    ):
        client.job("0")
