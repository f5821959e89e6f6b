"""Operators keep, list and remove secrets of an org; no answer, error or log shows one."""

from uuid import UUID

import pytest
from psycopg import Connection

from commands.secrets import secrets
from engine.runtime import Runtime
from storage.orgs.secrets import org_secrets
from storage.orgs.secrets.sealing import SecretPlace
from tests.commands.calling import answer, call, refusal

pytestmark = pytest.mark.usefixtures("process")
VALUE = "blue-horse-battery-7719"
SET = ("set", "crm.api_key", "--org", "an org", "--as", "ada")


def test_a_secret_is_typed_listed_and_removed_and_never_shown(
    process: Runtime, org: UUID, capfd: pytest.CaptureFixture[str]
) -> None:
    (made,) = answer(secrets, *SET, typed=VALUE + "\n")
    assert (made["org_id"], made["name"]) == (str(org), "crm.api_key")
    with process.database.tenant(org) as tx:
        found = org_secrets.opened(tx, process.sealer, SecretPlace(org, "crm.api_key"))
    assert found.get_secret_value() == VALUE
    outputs = [call(secrets, *SET, typed=VALUE).output, call(secrets, "list").output]
    outputs += [call(secrets, "list", "--org", "an org", "--json").output, call(secrets, "reseal").output]
    outputs += [call(secrets, "remove", "crm.api_key", "--org", "an org").output]
    assert all("crm.api_key" in output for output in (*outputs[:3], outputs[4]))
    assert VALUE not in "".join((*outputs, *capfd.readouterr()))
    assert answer(secrets, "list") == []


def test_what_is_refused_is_not_repeated(org: UUID) -> None:
    assert org
    assert "invalid: name: " in refusal(secrets, "set", "Name", "--org", "an org", typed=VALUE)
    long = refusal(secrets, *SET, typed=VALUE * 1000)
    assert "value: " in long
    assert VALUE not in long
    assert "gone: " in refusal(secrets, "remove", "crm.api_key", "--org", "an org")


def test_an_older_keys_secrets_are_sealed_anew(database: Connection, org: UUID) -> None:
    assert org
    answer(secrets, *SET, typed=VALUE)
    assert answer(secrets, "reseal") == {"resealed": 0}
    database.execute("update org_secrets set key_id = '12345678'")
    assert answer(secrets, "reseal") == {"resealed": 1}
