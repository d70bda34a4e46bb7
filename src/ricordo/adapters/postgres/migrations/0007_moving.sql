-- Moving a ledger as a whole needs somebody who sees every row. That is a role of its own, which
-- nobody logs in as: an administrator takes it on for `ricordo migrate`. A program that could take
-- it on is refused, as with the owner's and the operator's.

set local role ricordo_owner;

do $$
declare place text; guarded boolean;
begin
  for place, guarded in
    select relname, relrowsecurity from pg_class
    where relnamespace = 'ricordo'::regnamespace and relkind = 'r'
      and relowner = 'ricordo_owner'::regrole
  loop
    execute format('grant select, insert, update, delete on %I to ricordo_mover', place);
    if guarded then
      execute format(
        'create policy moving on %I to ricordo_mover using (true) with check (true)', place);
    end if;
  end loop;
end $$;
grant select, update on all sequences in schema ricordo to ricordo_mover;

grant execute on function note_change(bigint, text, text) to ricordo_mover;
grant execute on function note_relation() to ricordo_mover;
grant execute on function note_entity() to ricordo_mover;
grant execute on function note_name() to ricordo_mover;

reset role;
set local role ricordo_operator;
grant execute on function number_events() to ricordo_mover;
reset role;
