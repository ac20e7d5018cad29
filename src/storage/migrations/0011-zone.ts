/**
 * The serial number of the service zone, raised by every change of the keys in the zone; and an index of
 * registrations by the label that they have in the zone: the end of their id.
 *
 * A serial number is the time of the change in seconds, or one more than the last: it never goes back.
 */
import { runStatements } from '../migrate.js'

const raise = 'begin update zone_serial set serial = max(serial + 1, unixepoch()); end'

export const up = runStatements([
  'create table zone_serial (id integer primary key check (id = 1), serial integer not null) strict',
  'insert into zone_serial values (1, unixepoch())',
  `create trigger zone_keys_come after insert on dkim_keys ${raise}`,
  `create trigger zone_keys_go after delete on dkim_keys ${raise}`,
  `create trigger zone_keys_change after update of domain, selector, public_record on dkim_keys ${raise}`,
  `create trigger zone_domains_come after insert on domains ${raise}`,
  `create trigger zone_domains_go after delete on domains ${raise}`,
  'create index domains_label on domains (substr(id, 15))',
])
