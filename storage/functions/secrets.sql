-- What a secret looks like: the patterns of domain/orgs/privacy/secrets.py, word for word (a test compares them). Each is checked where a value
-- comes in: nothing that a secret looks like becomes a payload, a key, an actor, a request, a step's result or an output (promise P9).

-- Whether a text may look like a secret: it has the beginning of one. A regular expression of them all costs ten times as much.
create or replace function postroom.begins_secret(words text) returns boolean
language plpgsql immutable strict parallel safe as $$
declare
  lowered text := lower(words collate "C");
begin
  return strpos(lowered, 'earer') > 0 or strpos(lowered, 'asic') > 0 or strpos(lowered, 'eyj') > 0 or strpos(lowered, 'ya29.') > 0
    or strpos(lowered, '1//') > 0 or strpos(lowered, '1%2f') > 0 or strpos(lowered, '4/0') > 0 or strpos(lowered, '4%2f0') > 0
    or strpos(lowered, 'gocspx-') > 0 or strpos(lowered, 'aiza') > 0 or strpos(lowered, 'apa91b') > 0 or strpos(lowered, 'aw50zx') > 0
    or strpos(lowered, 'sk-') > 0 or strpos(lowered, 'k_live_') > 0 or strpos(lowered, 'k_test_') > 0 or strpos(lowered, 'whsec_') > 0
    or strpos(lowered, 'sg.') > 0 or strpos(lowered, 're_') > 0 or strpos(lowered, 'hf_') > 0 or strpos(lowered, 'npm_') > 0
    or strpos(lowered, 'glpat-') > 0 or strpos(lowered, 'ghp_') > 0 or strpos(lowered, 'gho_') > 0 or strpos(lowered, 'ghu_') > 0
    or strpos(lowered, 'ghs_') > 0 or strpos(lowered, 'ghr_') > 0 or strpos(lowered, 'github_pat_') > 0 or strpos(lowered, 'xox') > 0
    or strpos(lowered, 'akia') > 0 or strpos(lowered, 'asia') > 0 or strpos(lowered, 'iqojb') > 0 or strpos(lowered, 'fwogz') > 0
    or strpos(lowered, 'private') > 0 or strpos(lowered, '://') > 0 or strpos(lowered, 'bot') > 0
    -- Each of these has a capital letter, and most payloads have none.
    or words <> lowered and words ~ '[MNO][DTjz][AEIMQUYcgk][wxyz0-5]|SK[0-9a-f]{4}|[01]\.A|M\.[CR][0-9]|Ew[A-D]|Q~';
end
$$;
grant execute on function postroom.begins_secret to postroom_ledger, postroom_tenant, postroom_auditor;

-- Whether a text may hold the name of a secret; what stands between the letters of a name is passed over, as postroom.names_secret
-- does: `pass_word` is a password's name.
create or replace function postroom.mentions_secret(words text) returns boolean
language plpgsql immutable strict parallel safe as $$
declare
  letters text := translate(lower(words collate "C"), '_-. ', '');
begin
  return strpos(letters, 'passw') > 0 or strpos(letters, 'pwd') > 0 or strpos(letters, 'passphrase') > 0 or strpos(letters, 'passcode') > 0
    or strpos(letters, 'secret') > 0 or strpos(letters, 'credential') > 0 or strpos(letters, 'authorization') > 0 or strpos(letters, 'cookie') > 0
    or strpos(letters, 'jwt') > 0 or strpos(letters, 'token') > 0 or strpos(letters, 'key') > 0 or strpos(letters, 'clientstate') > 0;
end
$$;
grant execute on function postroom.mentions_secret to postroom_ledger, postroom_tenant, postroom_auditor;

-- What every job has is known to be none, or its checks would cost as much as all the rest of its row: an id, a derived key
-- (postroom.unique_key), and a short word. Each secret needs more letters, or others.
create or replace function postroom.looks_secret(words text) returns boolean
language plpgsql immutable strict parallel safe as $$
begin
  if (case
    when length(words) < 16 then translate(words, 'abcdefghijklmnopqrstuvwxyz', '') = ''
    when words like '________-____-____-____-____________' then translate(words, '0123456789abcdef-', '') = ''
    else substr(words, strpos(words, ':') + 1) like '________-____-____-____-____________:%'
      and translate(substr(words, strpos(words, ':')), '0123456789abcdef:-', '') = ''
      and translate(left(words, strpos(words, ':')), 'abcdefghijklmnopqrstuvwxyz_.:', '') = ''
    end)
  then
    return false;
  end if;
  return postroom.begins_secret(words)
      and words ~ '[Bb][Ee][Aa][Rr][Ee][Rr](?:[^!-~]|%20|\+)+([A-Za-z0-9+/=._~-]{16,}|[A-Za-z+/=._~-]*[0-9][A-Za-z0-9+/=._~-]{7,})|[Bb][Aa][Ss][Ii][Cc](?:[^!-~]|%20|\+)+([A-Za-z0-9+/]{20,}={0,2}|[A-Za-z+/]*[0-9][A-Za-z0-9+/]{7,}={0,2})|[Bb][Oo][Tt](?:[^!-~]|%20|\+)+([A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{16,})|(?:^|[^A-Za-z0-9_]|\\[nrt]|\\u[0-9A-Fa-f]{4}|%[0-9A-Fa-f]{2})(eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*|ya29\.[A-Za-z0-9_-]{8,}|(?:1//|1%2[Ff]%2[Ff])[A-Za-z0-9_-]{16,}|4(?:/|%2[Ff])0[A-Za-z0-9_-]{10,}|GOCSPX-[A-Za-z0-9_-]{8,}|AIza[A-Za-z0-9_-]{30,}|[A-Za-z0-9_-]{8,}(?::|%3[Aa])APA91b[A-Za-z0-9_-]{16,}|[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{30,}|[01]\.A[A-Za-z0-9_-]{20,}\.?[A-Za-z0-9_.-]{20,}|M\.[CR][0-9]+_[A-Z0-9]+\.[A-Za-z0-9!*$._-]{16,}|Ew[A-D][A-Za-z0-9+/]{60,}={0,2}|[MNO][DTjz][AEIMQUYcgk][wxyz0-5][A-Za-z0-9_-]{13,}\.[A-Za-z0-9_-]{5,7}\.[A-Za-z0-9_-]{25,}|aW50ZXJhY3Rpb246[A-Za-z0-9+/=_-]{16,}|sk-(?:ant-[A-Za-z0-9_-]{8,}|[A-Za-z0-9_-]{16,}|[A-Za-z_-]*[0-9][A-Za-z0-9_-]{11,})|(?:[rs]k_(?:live|test)|whsec)_[A-Za-z0-9+/=]{16,}|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|re_[A-Za-z0-9]{8}_[A-Za-z0-9]{16,}|SK[0-9a-f]{32}|(?:hf_|npm_|glpat-)[A-Za-z0-9_-]{20,}|(?:gh[pousr]_|github_pat_)[A-Za-z0-9_]{20,}|xox[abeoprs]-[A-Za-z0-9-]{10,}|(?:AKIA|ASIA)[A-Z0-9]{16}|(?:IQoJb3JpZ2lu|FwoGZXIvYXdz)[A-Za-z0-9+/=%]{16,})|(-{4,5}(?: |%20|\+)?BEGIN[A-Z0-9 %+]*PRIVATE(?: |%20|\+)KEY(?:.|\n)*?(?:-{4,5}(?: |%20|\+)?END[A-Z0-9 %+]*PRIVATE(?: |%20|\+)KEY[A-Z0-9 %+]*-{0,5}|$))|://([^][\t\n\v\f\r :/@]*:[^][\t\n\v\f\r @/]+)@|(https://hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9_/-]+)|(https://(?:[a-z]+\.)?discord(?:app)?\.com/api/(?:v[0-9]+/)?webhooks/[0-9]+/[A-Za-z0-9_-]+)|(https://[A-Za-z0-9.-]*webhook\.office\.com/[A-Za-z0-9@_/-]+)|(https://hooks\.zapier\.com/hooks/[A-Za-z0-9_/-]+)'
    or postroom.mentions_secret(words) and exists (
      select from regexp_matches(words collate "C", '((?:[?&]|&amp;)?[a-z0-9_. -]*(?:w(?:or)?ds?|wort|pwd|phrase|code|secrets?|credentials?|authorization|cookies?|jwt|tokens?|keys?|state)(?:[_. -]?(?:[0-9]+|hash|pem|value))?)'
        || '(?=\\*["'']?[\t ]*(?::?=>?|:)[\t\n\r ]*b?(?:"(?!\[redacted\])((?:[^"\\\n\r]|\\.)+)|''(?!\[redacted\])((?:[^''\\\n\r]|\\.)+)|\\+"(?!\[redacted\])([^"]+)|\\+''(?!\[redacted\])([^'']+))|[\t ]*(?:=|%3[Dd])[\t ]?(?!\[redacted\])([^"''\t\n\v\f\r &;,<>]{4,})|\\*["'']?[\t ]*:(?![0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})[\t ]*(?:[A-Za-z0-9_-]{1,20}[\t ]+)?([A-Za-z0-9_.-]+=[^\t\n\r ;,]{4,}(?:[;,] ?[^\t\n\r ;,]+)*|[A-Za-z+/=._~-]{0,40}[0-9][A-Za-z0-9+/=._~-]{15,}|[A-Za-z0-9+/=_~-]{32,}))', 'gi') as found (named)
      where postroom.names_secret(found.named[1]) and found.named[1] !~* '^(?:[?&]|&amp;)(?:token|pwd)$');
end
$$;
grant execute on function postroom.looks_secret to postroom_ledger, postroom_tenant, postroom_auditor;

-- Whether a field's name is that of a secret.
create or replace function postroom.names_secret(field text) returns boolean
language plpgsql immutable strict parallel safe as $$
declare
  bare text := regexp_replace(lower(field collate "C"), '[^a-z0-9]', '', 'g');
begin
  return bare ~ '(?:passw(?:or)?ds?|passwort|pwd|passphrase|passcode|secrets?|credentials?|authorization|cookies?|jwt|token|clientstate|(?:access|refresh|auth|bearer|session|id)tokens|(?:api|access|private|secret|signing|sealing|encryption|server|account|auth)keys?)(?:[0-9]+|hash|pem|value)?$'
    and bare !~ '(?:page|next|sync|continuation|draft)token$';
end
$$;
grant execute on function postroom.names_secret to postroom_ledger, postroom_tenant, postroom_auditor;

-- The name of a field that names or holds a secret, at any depth; null when none does. What stands in a list belongs to the field that
-- holds the list. In PL/pgSQL, for a check is made ready anew in each statement that writes: a function in SQL would be read there.
create or replace function postroom.carries_secret(document jsonb) returns text
language plpgsql immutable strict parallel safe as $$
declare
  words text := document::text;
begin
  -- Nearly every document ends here: none of its words is part of a secret's name or look.
  if not (postroom.mentions_secret(words) or postroom.begins_secret(words)) then
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
grant execute on function postroom.carries_secret to postroom_ledger, postroom_tenant, postroom_auditor;

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
-- Handlers write rows that have such a check.
grant execute on function postroom.refuse_secret_in to postroom_ledger, postroom_tenant;

create or replace function postroom.refuse_secret_as(place text, words text) returns boolean language plpgsql immutable as $$
begin
  raise exception '%: must not carry a secret', place using errcode = 'PR003';
end
$$;
grant execute on function postroom.refuse_secret_as to postroom_ledger;
