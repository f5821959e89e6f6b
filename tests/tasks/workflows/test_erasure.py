"""What an erasure has taken out of a workflow comes back into nothing that a later run makes."""

from tests.workflows.workflow_runs import Workflows

ADDRESS = "anna.q@schmidt.example"


def test_a_process_that_knows_a_workflow_sees_that_its_document_was_written_anew(flows: Workflows) -> None:
    version = flows.save(f"name: mailing\nnodes:\n  send: {{job: workflow_jobs.echo, with: {{value: {ADDRESS}}}}}\n")
    before = flows.finish("mailing")
    assert flows.outputs(before)["send"]["value"] == ADDRESS
    hash_before = flows.database.execute("select hash from workflow_definitions").fetchone()
    flows.database.execute("update workflow_definitions set document = replace(document, %s, 'erased')", (ADDRESS,))
    assert flows.database.execute("select hash from workflow_definitions").fetchone() != hash_before
    after = flows.finish("mailing", version=version)
    assert flows.outputs(after)["send"]["value"] == "erased"
