"""A broker that answers and takes no writes is named with its cause, and so is why workers cannot be asked."""

from collections.abc import Callable

import pytest
import redis
from pydantic import SecretStr

from commands.doctor import broker_check, examine, limits_check
from engine.runtime import Runtime
from sandbox.servers.free_port import LOOPBACK
from sandbox.servers.valkey_server import ValkeyServer
from settings import Settings

PASSWORD = "hunter2hunter2"
EVERY_COMMAND, EVERY_KEY, EVERY_CHANNEL = "+@all", "~*", "&*"


def become_replica(server: redis.Redis) -> None:
    server.replicaof(LOOPBACK, 1)


def become_full(server: redis.Redis) -> None:
    server.config_set("maxmemory-policy", "noeviction")
    server.config_set("maxmemory", "1")


@pytest.mark.parametrize(
    ("become", "cause"),
    [
        (become_replica, "takes no writes: it is a replica: "),
        (become_full, "takes no writes: its memory is full: "),
    ],
)
def test_a_server_that_takes_no_writes_is_named_as_broker_and_as_counter(
    settings: Settings, own_valkey: ValkeyServer, become: Callable[[redis.Redis], None], cause: str
) -> None:
    process = Runtime(settings.model_copy(update={"broker_url": SecretStr(own_valkey.url())}))
    assert (broker_check(process.settings).ok, limits_check(process).ok) == (True, True)
    with redis.Redis.from_url(own_valkey.url()) as server:
        assert server.keys() == [], "what was written is gone"
        become(server)
    told = {check.name: check for check in examine(process)}
    assert told["broker"].finding.startswith(cause)
    assert told["broker"].remedy
    assert told["rate limits"].finding.startswith(f"calls are not counted: {cause}")
    for name in ("workers", "worker names"):
        assert told[name].finding.partition("the broker ")[2].startswith(cause)
    process.close()


@pytest.mark.parametrize(
    "rights",
    [
        ("-@all", "+@connection", "+info", EVERY_KEY, EVERY_CHANNEL),
        (EVERY_COMMAND, EVERY_KEY, "resetchannels"),
        (EVERY_COMMAND, "-@scripting", EVERY_KEY, EVERY_CHANNEL),
        (EVERY_COMMAND, "resetkeys", "~other:*", EVERY_CHANNEL),
        (EVERY_COMMAND, "-lpush", EVERY_KEY, EVERY_CHANNEL),
    ],
    ids=["no commands", "no channels", "no scripts", "other keys", "no messages"],
)
def test_a_login_without_a_right_that_workers_need_is_named(
    settings: Settings, own_valkey: ValkeyServer, rights: tuple[str, ...]
) -> None:
    with redis.Redis.from_url(own_valkey.url()) as server:
        server.execute_command("ACL", "SETUSER", "narrow", "on", f">{PASSWORD}", *rights)
    url = f"redis://narrow:{PASSWORD}@{LOOPBACK}:{own_valkey.port}/0"
    check = broker_check(settings.model_copy(update={"broker_url": SecretStr(url)}))
    assert (check.ok, check.finding.startswith("refuses: ")) == (False, True)
    assert "POSTROOM_BROKER_URL" in check.remedy
    assert PASSWORD not in str(check)
