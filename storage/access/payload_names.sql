-- name: resolve_payload_names
-- A payload under its fields' own names; what other names stand for is looked up among the org's rows.
select postroom.resolve_payload_names(%(shape)s, %(payload)s, %(org_id)s) as payload
