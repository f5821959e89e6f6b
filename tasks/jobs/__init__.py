"""Steps of jobs that look after other jobs."""
