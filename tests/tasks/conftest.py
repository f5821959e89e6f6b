"""What the tests of several job families share."""

import pytest

from tests.doubles.mail_environment import MailEnvironment
from tests.doubles.meanwhile import Meanwhile, WatchedModel


@pytest.fixture
def meanwhile(env: MailEnvironment) -> Meanwhile:
    """Lets something happen once while a job asks the model."""
    return WatchedModel(env.process).arrange
