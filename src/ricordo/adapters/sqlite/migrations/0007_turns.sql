-- Whose turn it is is found without counting what waits: by who holds what, and by tenant.

create index queue_leased on queue (scope_id, lease_until) where state = 'leased';
create index scopes_turns on scopes (tenant, served);
