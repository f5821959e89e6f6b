"""A Redis is connected when its client is made; one that refuses leaves no socket behind."""

import pytest
import redis
from redis.exceptions import NoPermissionError

from engine.broker.redis_client import connect_to_redis
from sandbox.servers.free_port import LOOPBACK
from sandbox.servers.valkey_server import ValkeyServer


def test_a_client_that_is_refused_leaves_no_connection(own_valkey: ValkeyServer) -> None:
    with redis.Redis.from_url(own_valkey.url()) as server:
        server.execute_command("ACL", "SETUSER", "mute", "on", ">x", "+@all", "-ping", "~*", "&*")
        before = len(server.client_list())
        kept: list[BaseException] = []
        for _ in range(3):
            with pytest.raises(NoPermissionError) as refused:
                connect_to_redis(f"redis://mute:x@{LOOPBACK}:{own_valkey.port}/0", 5.0)
            kept.append(refused.value)  # with its frames, as a logged error has them for a while
        assert len(server.client_list()) == before
