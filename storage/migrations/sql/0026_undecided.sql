-- Which models and prompt gave no answer to use, where nobody decided; others may be asked anew. A message that these models
-- refuse is not asked about again by each sync (docs: mail.md#undecided).
alter table decisions add column undecided_by text check (length(undecided_by) between 1 and 300);
alter table decisions add constraint only_the_undecided_names_its_models
  check (undecided_by is null or (classification = 'needs_review' and source = 'llm'));
