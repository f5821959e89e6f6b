-- What a secret looks like: the patterns of domain/secrets.py, word for word (a test compares them). Each is checked where a value
-- comes in: nothing that a secret looks like becomes a payload, a key, an actor, a request, a step's result or an output (promise P9).

create or replace function postroom.looks_secret(words text) returns boolean
language plpgsql immutable strict parallel safe as $$
begin
  -- A regular expression costs ten times as much as all of these.
  return (strpos(words, 'earer') > 0 or strpos(words, 'asic') > 0 or strpos(words, 'eyJ') > 0 or strpos(words, 'ya29.') > 0
    or strpos(words, '1//') > 0 or strpos(words, 'sk-') > 0 or strpos(words, 'k_live_') > 0 or strpos(words, 'k_test_') > 0
    or strpos(words, 'whsec_') > 0 or strpos(words, 'SG.') > 0 or strpos(words, 're_') > 0 or strpos(words, 'hf_') > 0
    or strpos(words, 'npm_') > 0 or strpos(words, 'glpat-') > 0 or strpos(words, 'ghp_') > 0 or strpos(words, 'gho_') > 0
    or strpos(words, 'ghu_') > 0 or strpos(words, 'ghs_') > 0 or strpos(words, 'ghr_') > 0 or strpos(words, 'github_pat_') > 0
    or strpos(words, 'xox') > 0 or strpos(words, 'AKIA') > 0 or strpos(words, 'ASIA') > 0 or strpos(words, 'AIza') > 0
    or strpos(words, 'PRIVATE KEY') > 0 or strpos(words, '://') > 0 or strpos(words, '=') > 0)
    and words ~ '[Bb]earer[^!-~]+([A-Za-z0-9+/=._~-]{16,}|[A-Za-z+/=._~-]*[0-9][A-Za-z0-9+/=._~-]{7,})|[Bb]asic[^!-~]+([A-Za-z0-9+/]{20,}={0,2}|[A-Za-z+/]*[0-9][A-Za-z0-9+/]{7,}={0,2})|(?:^|[^A-Za-z0-9_])(eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*)|(?:^|[^A-Za-z0-9_])(ya29\.[A-Za-z0-9_-]{8,})|(?:^|[^A-Za-z0-9_])(1//[A-Za-z0-9_-]{16,})|(?:^|[^A-Za-z0-9_])(sk-(?:ant-[A-Za-z0-9_-]{8,}|[A-Za-z0-9_-]{16,}|[A-Za-z_-]*[0-9][A-Za-z0-9_-]{11,}))|(?:^|[^A-Za-z0-9_])((?:[rs]k_(?:live|test)|whsec)_[A-Za-z0-9+/=]{16,})|(?:^|[^A-Za-z0-9_])(SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,})|(?:^|[^A-Za-z0-9_])(re_[A-Za-z0-9]{8}_[A-Za-z0-9]{16,})|(?:^|[^A-Za-z0-9_])((?:hf_|npm_|glpat-)[A-Za-z0-9_-]{20,})|(?:^|[^A-Za-z0-9_])((?:gh[pousr]_|github_pat_)[A-Za-z0-9_]{20,})|(?:^|[^A-Za-z0-9_])(xox[abeoprs]-[A-Za-z0-9-]{10,})|(?:^|[^A-Za-z0-9_])((?:AKIA|ASIA)[A-Z0-9]{16})|(?:^|[^A-Za-z0-9_])(AIza[A-Za-z0-9_-]{30,})|(-----BEGIN [A-Z ]*PRIVATE KEY[A-Z ]*-----[^-]*(?:-----END [A-Z ]*-----)?)|://([^][\t\n\v\f\r :/@]*:[^][\t\n\v\f\r @/]+)@|(https://hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9_/-]+)|(https://(?:[a-z]+\.)?discord(?:app)?\.com/api/(?:v[0-9]+/)?webhooks/[0-9]+/[A-Za-z0-9_-]+)|(https://[A-Za-z0-9.-]*webhook\.office\.com/[A-Za-z0-9@_/-]+)|(https://hooks\.zapier\.com/hooks/[A-Za-z0-9_/-]+)|(?:^|[^A-Za-z0-9])((?:[A-Za-z0-9]+[_-])?(?:[Pp]assword|PASSWORD|[Pp]asswd|[Pp]assphrase|[Aa]ccess[_-]?[Tt]oken|[Rr]efresh[_-]?[Tt]oken|[Ii]d[_-]?[Tt]oken|[Aa]uth[_-]?[Tt]oken|[Aa]pi[_-]?[Kk]ey|[Cc]lient[_-]?[Ss]ecret|[Ss]ecret) ?= ?[''\"]?[^][''\"\t\n\v\f\r &;,<>]{3,})';
end
$$;
grant execute on function postroom.looks_secret to postroom_ledger, postroom_tenant;

-- Whether a field's name is that of a secret.
create or replace function postroom.names_secret(field text) returns boolean
language plpgsql immutable strict parallel safe as $$
declare
  bare text := regexp_replace(lower(field collate "C"), '[^a-z0-9]', '', 'g');
begin
  return bare ~ '(?:passw(?:or)?ds?|passwort|pwd|passphrase|passcode|secrets?|credentials?|authorization|cookies?|jwt|token|(?:access|refresh|auth|bearer|session|id)tokens|(?:api|access|private|secret|signing|sealing|encryption)keys?)(?:[0-9]+|hash|pem|value)?$'
    and bare !~ '(?:page|next|sync|continuation|draft)token$';
end
$$;
grant execute on function postroom.names_secret to postroom_ledger, postroom_tenant;

-- The name of a field that names or holds a secret, at any depth; null when none does. What stands in a list belongs to the field that
-- holds the list. In PL/pgSQL, for a check is made ready anew in each statement that writes: a function in SQL would be read there.
-- The first look passes over what stands between the letters of a name, as postroom.names_secret does: `pass_word` is a password's name.
create or replace function postroom.carries_secret(document jsonb) returns text
language plpgsql immutable strict parallel safe as $$
declare
  words text := lower(document::text collate "C");
  letters text := translate(words, '_-. ', '');
begin
  -- Nearly every document ends here: none of its words is part of a secret's name or look.
  if not (strpos(letters, 'passw') > 0 or strpos(letters, 'pwd') > 0 or strpos(letters, 'passphrase') > 0 or strpos(letters, 'passcode') > 0
    or strpos(letters, 'secret') > 0 or strpos(letters, 'credential') > 0 or strpos(letters, 'authorization') > 0
    or strpos(letters, 'cookie') > 0 or strpos(letters, 'jwt') > 0 or strpos(letters, 'token') > 0 or strpos(letters, 'key') > 0
    or strpos(words, 'earer') > 0 or strpos(words, 'asic') > 0 or strpos(words, 'eyj') > 0 or strpos(words, 'ya29.') > 0
    or strpos(words, '1//') > 0 or strpos(words, 'sk-') > 0 or strpos(words, 'k_live_') > 0 or strpos(words, 'k_test_') > 0
    or strpos(words, 'whsec_') > 0 or strpos(words, 'sg.') > 0 or strpos(words, 're_') > 0 or strpos(words, 'hf_') > 0
    or strpos(words, 'npm_') > 0 or strpos(words, 'glpat-') > 0 or strpos(words, 'ghp_') > 0 or strpos(words, 'gho_') > 0
    or strpos(words, 'ghu_') > 0 or strpos(words, 'ghs_') > 0 or strpos(words, 'ghr_') > 0 or strpos(words, 'github_pat_') > 0
    or strpos(words, 'xox') > 0 or strpos(words, 'akia') > 0 or strpos(words, 'asia') > 0 or strpos(words, 'aiza') > 0
    or strpos(words, '://') > 0 or strpos(words, '=') > 0) then
    return null;
  end if;
  return (
    with recursive walk (field, inner_value) as (
      select '', document
      union all
      select coalesce(i.field, w.field), i.inner_value
      from walk w cross join lateral (
        select o.key as field, o.value as inner_value
        from jsonb_each(case jsonb_typeof(w.inner_value) when 'object' then w.inner_value else '{}' end) as o
        union all
        select null, a.value from jsonb_array_elements(case jsonb_typeof(w.inner_value) when 'array' then w.inner_value else '[]' end) as a
      ) as i
    )
    select w.field from walk w
    where postroom.names_secret(w.field) or postroom.looks_secret(w.field)
      or (jsonb_typeof(w.inner_value) = 'string' and postroom.looks_secret(w.inner_value #>> '{}'))
    limit 1);
end
$$;
grant execute on function postroom.carries_secret to postroom_ledger, postroom_tenant;

-- For checks: each names the field, which a check by itself cannot. All take the value, or PostgreSQL would call them when it plans.
create or replace function postroom.refuse_secret(payload jsonb) returns boolean language plpgsql immutable as $$
begin
  raise exception 'payload.%: a payload must not carry a secret', postroom.carries_secret(payload) using errcode = 'PR003';
end
$$;
grant execute on function postroom.refuse_secret to postroom_ledger;

create or replace function postroom.refuse_secret_in(place text, document jsonb) returns boolean language plpgsql immutable as $$
begin
  raise exception '%.%: must not carry a secret', place, postroom.carries_secret(document) using errcode = 'PR003';
end
$$;
grant execute on function postroom.refuse_secret_in to postroom_ledger;

create or replace function postroom.refuse_secret_as(place text, words text) returns boolean language plpgsql immutable as $$
begin
  raise exception '%: must not carry a secret', place using errcode = 'PR003';
end
$$;
grant execute on function postroom.refuse_secret_as to postroom_ledger;
