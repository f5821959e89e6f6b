"""Why a handler stops before its end although nothing went wrong."""

from domain.jobs.failures import Failure


class Canceled(Failure):
    """Somebody asked for the job to be canceled."""

    code = "canceled"


class Interrupted(Failure):
    """The process is stopping; the job goes back to its queue and the attempt is not counted."""

    code = "interrupted"
