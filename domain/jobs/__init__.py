"""What a job is: its states, contract, failures, retries, uniqueness and effects."""
