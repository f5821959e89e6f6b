"""How long a key is remembered."""

from datetime import timedelta

import pytest

from domain.jobs.queues import JobCategory
from domain.jobs.uniqueness import for_ttl, keep_key_for, while_active

DAYS = {
    JobCategory.NOTIFICATION: 7,
    JobCategory.AUDIT_ENRICHMENT: 30,
    JobCategory.PLANNING: 30,
    JobCategory.IMPORT_EXPORT: 30,
    JobCategory.MAINTENANCE: 7,
    JobCategory.MAIL: 30,
}


@pytest.mark.parametrize("category", JobCategory)
def test_a_category_has_its_time_and_a_job_type_may_have_its_own(category: JobCategory) -> None:
    days = timedelta(days=DAYS[category])
    assert keep_key_for(None, category) == keep_key_for(while_active("a"), category) == days
    assert keep_key_for(for_ttl("a", keep_for=timedelta(hours=1)), category) == timedelta(hours=1)
